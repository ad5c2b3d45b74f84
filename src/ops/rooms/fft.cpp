#include <algorithm>
#include <cmath>
#include <vector>

#include "base/text.hpp"
#include "kernels/fft.hpp"
#include "ops/derivative.hpp"
#include "ops/lines.hpp"
#include "ops/reduce.hpp"
#include "wellposed/ops.hpp"

// The ten transforms differ in what they read and write, in the sign of the exponent, and in the number of axes.
namespace wp {
extern const Op op_fft_fft, op_fft_ifft, op_fft_rfft, op_fft_irfft, op_fft_hfft, op_fft_ihfft, op_fft_fftn,
    op_fft_ifftn, op_fft_rfftn, op_fft_irfftn;
namespace {

enum Mode {
  whole,      // n complex numbers to n complex numbers
  to_half,    // n real numbers to the n/2 + 1 that determine the others, which are their conjugates
  from_half,  // and back
};
enum { kN, kAxis, kNorm };

struct Along {
  std::int64_t axis, n;  // n points of the transform
};

// The axes in the order given, with the number of points along each. Of the last one Mode decides.
std::vector<Along> alongs(const Dims& shape, Attrs attrs, Mode mode, bool many) {
  const auto ndim = static_cast<std::int64_t>(shape.size());
  Dims axes, points;
  if (!many) {
    axes = {attrs[kAxis].integer()};
    if (attrs[kN]) points = {attrs[kN].integer()};
  } else {
    if (attrs[kN]) points = attrs[kN].ints();
    if (attrs[kAxis]) axes = attrs[kAxis].ints();
    if (!attrs[kAxis])
      for (std::int64_t k = 0; k < ndim; ++k) axes.push_back(k);
    if (axes.empty()) refuse<ArgumentError>("WP-ARG-002", say("needs at least one axis; x has shape ", shape, "."));
    if (attrs[kN] && points.size() != axes.size())
      refuse<ArgumentError>("WP-ARG-003", say("s needs one length per axis; got s ", points, " for axes ", axes, "."),
                            "Name the axes that s belongs to: axes = ….");
  }
  std::vector<Along> all;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t axis = normal_axis(axes[i], ndim), have = shape[static_cast<std::size_t>(axis)];
    for (const Along& a : all)
      if (a.axis == axis) refuse<ArgumentError>("WP-ARG-003", say("axis ", axis, " is named twice in ", axes, "."));
    const bool half = mode == from_half && i + 1 == axes.size();
    const std::int64_t n = points.empty() ? (half ? 2 * (have - 1) : have) : points[i];
    if (n < 1)
      refuse<ArgumentError>(
          "WP-ARG-001",
          say("needs at least one point along axis ", axis, "; got ", n, " for x of shape ", shape, "."),
          half ? "Say how long the result is: n, or s." : "");
    all.push_back({axis, n});
  }
  return all;
}

std::int64_t length_out(const Along& a, Mode mode) {
  return mode == to_half ? a.n / 2 + 1 : a.n;
}

template <Mode mode, bool many>
void infer(Call& c) {
  const Tensor& x = c.in[0];
  const std::vector<Along> all = alongs(x.shape(), c.attrs, mode, many);
  Dims shape = x.shape();
  for (const Along& a : all) shape[static_cast<std::size_t>(a.axis)] = a.n;
  shape[static_cast<std::size_t>(all.back().axis)] = length_out(all.back(), mode);
  const DType d = x.dtype();
  const bool narrow = d == f16 || d == bf16 || d == f32 || d == c64;
  c.output(mode == from_half ? (narrow ? f32 : f64) : narrow ? c64 : c128, shape);
}

// One axis. Lines are computed in c128 whatever the dtype.
struct Job {
  const kernels::Fourier& transform;
  Mode mode;
  bool inverse;
  double scale;
};

// Reads a line of `have` numbers, cut off or filled up with zeros, into n of them.
void read_line(const Job& job, const LineBlock& b, std::int64_t line, complex128* z) {
  const std::int64_t n = job.transform.length();
  const std::int64_t taken = std::min(b.n, job.mode == from_half ? n / 2 + 1 : n);
  if (job.mode == to_half)
    std::copy_n(static_cast<const double*>(b.in) + line * b.n, taken, z);
  else
    std::copy_n(static_cast<const complex128*>(b.in) + line * b.n, taken, z);
  std::fill(z + taken, z + n, complex128());
  if (job.mode != from_half) return;
  z[0] = z[0].real();
  for (std::int64_t k = 1; k <= n - k; ++k) z[n - k] = k == n - k ? complex128(z[k].real()) : std::conj(z[k]);
}

// 2^k that brings numbers near the limits of f64 to the middle, where no sum of them overflows before it is scaled.
int shift_of(const complex128* z, std::int64_t n) {
  double most = 0;
  for (std::int64_t k = 0; k < n; ++k) most = std::max({most, std::fabs(z[k].real()), std::fabs(z[k].imag())});
  if (!std::isfinite(most) || most == 0) return 0;
  const int exponent = std::ilogb(most);
  return exponent > 900 || exponent < -900 ? -exponent : 0;
}

void transform_lines(const LineBlock& b) {
  const Job& job = *static_cast<const Job*>(b.context);
  const std::int64_t n = job.transform.length();
  std::vector<complex128> space(static_cast<std::size_t>(n + job.transform.work_size()));
  complex128 *const z = space.data(), *const work = z + n;
  for (std::int64_t line = 0; line < b.count; ++line) {
    read_line(job, b, line, z);
    const int shift = shift_of(z, n);
    const auto scaled = [](complex128 v, int by) {
      return complex128(std::ldexp(v.real(), by), std::ldexp(v.imag(), by));
    };
    if (shift)
      for (std::int64_t k = 0; k < n; ++k) z[k] = scaled(z[k], shift);
    job.transform.run(z, work, job.inverse);
    for (std::int64_t k = 0; k < b.m; ++k) {
      complex128 v = z[k] * job.scale;
      if (shift) v = scaled(v, -shift);
      if (job.mode == from_half)
        static_cast<double*>(b.out)[line * b.m + k] = v.real();
      else
        static_cast<complex128*>(b.out)[line * b.m + k] = v;
    }
  }
}

double scale_of(std::string_view norm, bool inverse, std::int64_t n) {
  if (norm == "ortho") return 1 / std::sqrt(static_cast<double>(n));
  return (norm == "backward") == inverse ? 1 / static_cast<double>(n) : 1.0;
}

template <Mode mode, bool inverse, bool many>
void forward(Call& c) {
  if (c.out[0].size() == 0) return;
  std::vector<Along> all = alongs(c.in[0].shape(), c.attrs, mode, many);
  const std::int64_t last = all.back().axis;
  if (mode == to_half) std::reverse(all.begin(), all.end());  // real numbers are read once, and written once
  Tensor x = c.in[0];
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Along& a = all[i];
    const Mode here = a.axis == last ? mode : whole;
    const auto plan = kernels::fourier(a.n);
    const Job job{*plan, here, inverse, scale_of(c.attr(kNorm).text(), inverse, a.n)};
    Dims shape = x.shape();
    shape[static_cast<std::size_t>(a.axis)] = length_out(a, here);
    Tensor y = i + 1 == all.size() ? c.out[0] : Tensor::adopt(detail::make_node(c128, shape));
    run_lines(c, x, here == to_half ? f64 : c128, y, here == from_half ? f64 : c128, a.axis, transform_lines, &job);
    x = y;
  }
}

// A result rests on what is read of its line, or of its block of lines.
template <Mode mode, bool many>
void flow(const FlowQuery& q, Visit visit) {
  const Dims &in = q.call.in[0].shape(), &out = q.call.out[0].shape();
  const std::vector<Along> all = alongs(in, q.call.attrs, mode, many);
  Dims first(in.size(), 0), count(in.size(), 1);
  std::int64_t rest = q.element;
  for (std::size_t k = in.size(); k-- > 0; rest /= out[k]) first[k] = rest % out[k];
  for (const Along& a : all) {
    const auto k = static_cast<std::size_t>(a.axis);
    first[k] = 0;
    count[k] = std::min(in[k], mode == from_half && &a == &all.back() ? a.n / 2 + 1 : a.n);
  }
  std::int64_t total = 1;
  for (const std::int64_t n : count) total *= n;
  for (std::int64_t e = 0; e < total; ++e) {
    std::int64_t left = e, element = 0, stride = 1;
    for (std::size_t k = in.size(); k-- > 0; left /= count[k], stride *= in[k])
      element += (first[k] + left % count[k]) * stride;
    visit(element);
  }
}

std::string_view swapped(std::string_view norm) {
  return norm == "backward" ? "forward" : norm == "forward" ? "backward" : "ortho";
}

// x cut off or filled up with zeros along an axis.
Tensor fitted(const Tensor& x, std::int64_t axis, std::int64_t length) {
  Dims shape = x.shape();
  std::int64_t& n = shape[static_cast<std::size_t>(axis)];
  if (n == length) return x;
  if (n > length) return part(x, axis, 0, length);
  n = length - n;
  return concat({x, zeros_for({shape, x.dtype()})}, {.axis = axis});
}

// The adjoint Fᴴ is the transform with the other sign and the same scale. Of to_half: of g filled up with zeros, its
// real part. Of from_half: to_half, where all but the first (and the middle one of an even n) count twice, as they
// are read twice.
template <Mode mode, bool inverse, bool many>
Tensors vjp(const Backward& b) {
  std::vector<Along> all = alongs(b.shape(0), b.attrs, mode, many);
  const std::string_view norm = swapped(b.attr(kNorm).text());
  const Along last = all.back();
  Tensor g = b.g();
  if (mode == from_half) {
    g = inverse ? fft::rfft(g, {.axis = last.axis, .norm = norm}) : fft::ihfft(g, {.axis = last.axis, .norm = norm});
    std::vector<double> weight(static_cast<std::size_t>(last.n / 2 + 1), 2.0);
    weight[0] = 1;
    if (last.n % 2 == 0) weight.back() = 1;
    Dims shape(g.shape().size(), 1);
    shape[static_cast<std::size_t>(last.axis)] = last.n / 2 + 1;
    g = multiply(g, astype(Tensor::from(weight, shape), g.dtype() == c64 ? f32 : f64));
    all.pop_back();
  }
  Dims axes, points;
  for (const Along& a : all) {
    axes.push_back(a.axis);
    points.push_back(a.n);
  }
  if (!axes.empty())
    g = inverse ? fft::fftn(g, {.s = points, .axes = axes, .norm = norm})
                : fft::ifftn(g, {.s = points, .axes = axes, .norm = norm});
  if (mode == to_half) g = real(g);
  if (mode == from_half) axes.push_back(last.axis);
  for (const std::int64_t axis : axes) g = fitted(g, axis, b.shape(0)[static_cast<std::size_t>(axis)]);
  return {g};
}

const std::vector<complex128> kValues{{3, 1}, {1, -2}, {4, 0.5}, {-1, 3}, {5, -1}, {9, 2}, {-2, 6}, {6, 5}};

// Values for a parameter of this dtype: whole numbers for integers, real ones for real dtypes.
Tensor sample(DType d, const Dims& shape) {
  std::vector<complex128> v = kValues;
  for (complex128& z : v)
    if (!is_complex(d)) z = is(d, kinds::unsigned_integer) ? std::fabs(z.real()) : z.real();
  return sample_tensor(d, shape, v);
}

std::vector<Sample> samples_1d(const Op& op) {
  std::vector<Sample> all;
  for (int k = 0; k < kDTypes; ++k)
    if (const auto d = static_cast<DType>(k); is(d, op.params[0].kinds))
      all.push_back({{sample(d, {2, 3})}, {Attr(), -1, "backward"}});
  const DType d = is(c128, op.params[0].kinds) ? c128 : f64;
  all.push_back({{sample(d, {3, 2})}, {Attr(), 0, "ortho"}, "ortho"});
  all.push_back({{sample(d, {4})}, {Attr(), -1, "forward"}, "forward"});
  all.push_back({{sample(d, {5})}, {4, -1, "backward"}, "n shorter than x"});
  all.push_back({{sample(d, {2, 3})}, {8, 1, "ortho"}, "n longer than x"});
  all.push_back({{sample(d, {6})}, {6, -1, "backward"}});
  all.push_back({{sample(d, {1})}, {1, -1, "backward"}, "one point"});
  all.push_back({{sample(d, {67})}, {67, -1, "ortho"}, "a large prime"});
  all.push_back({{sample(d, {0, 3})}, {3, -1, "backward"}, "empty"});
  return all;
}

std::vector<Sample> samples_nd(const Op& op) {
  std::vector<Sample> all;
  for (int k = 0; k < kDTypes; ++k)
    if (const auto d = static_cast<DType>(k); is(d, op.params[0].kinds))
      all.push_back({{sample(d, {2, 3})}, {Attr(), Attr(), "backward"}});
  const DType d = is(c128, op.params[0].kinds) ? c128 : f64;
  all.push_back({{sample(d, {2, 3, 2})}, {Attr(), Dims{2, 0}, "ortho"}, "some axes"});
  all.push_back({{sample(d, {3, 2})}, {Dims{2, 4}, Dims{0, 1}, "forward"}, "other lengths"});
  all.push_back({{sample(d, {4})}, {Attr(), Attr(), "forward"}, "one axis"});
  all.push_back({{sample(d, {2, 0, 3})}, {Attr(), Dims{0, 2}, "backward"}, "empty"});
  return all;
}

template <Mode mode, bool inverse, bool many>
Op transform(std::string_view name, std::string_view doc, std::vector<Sample> (*samples)()) {
  const AttrSpec norm{.name = "norm",
                      .type = AttrType::text,
                      .fallback = "backward",
                      .doc = "What is scaled by 1/n: the inverse, the forward transform, or both by 1/sqrt(n).",
                      .choices = {"backward", "ortho", "forward"}};
  Op op = {
      .name = name,
      .ns = "fft",
      .group = "Fourier transform",
      .doc = doc,
      .params = {{"x", mode == to_half ? kinds::real : kinds::numeric}},
      .infer = infer<mode, many>,
      .forward = forward<mode, inverse, many>,
      .flow = flow<mode, many>,
      .vjp = vjp<mode, inverse, many>,
      .jvp = jvp_linear,
      .samples = samples,
  };
  if (many) {
    op.attrs = {{"s", AttrType::ints, {}, "Points along each of the axes: x is cut off, or filled up with zeros."},
                {"axes", AttrType::ints, {}, "The axes; none: all of them."},
                norm};
    op.branches = {"some axes", "other lengths", "one axis", "empty"};
  } else {
    op.attrs = {{"n",
                 AttrType::integer,
                 {},
                 mode == from_half ? "Length of the result: x is read up to n/2 + 1; none: 2 (length - 1)."
                                   : "Points: x is cut off, or filled up with zeros; none: its length."},
                axis_attr(),
                norm};
    op.branches = {"ortho", "forward", "n shorter than x", "n longer than x", "one point", "a large prime", "empty"};
  }
  return op;
}

}  // namespace

const Op op_fft_fft = transform<whole, false, false>(
    "fft", "The discrete Fourier transform along an axis: the sum of x[j] exp(-2 pi i j k / n) over j.",
    [] { return samples_1d(op_fft_fft); });
const Op op_fft_ifft = transform<whole, true, false>(
    "ifft", "The inverse of fft: the sum of x[k] exp(2 pi i j k / n) over k, divided by n.",
    [] { return samples_1d(op_fft_ifft); });
const Op op_fft_rfft = transform<to_half, false, false>(
    "rfft", "fft of real numbers: the first n/2 + 1 results; the others are their conjugates.",
    [] { return samples_1d(op_fft_rfft); });
const Op op_fft_irfft =
    transform<from_half, true, false>("irfft",
                                      "The inverse of rfft: n real numbers from n/2 + 1 complex ones. Of the first "
                                      "one, and of the last one if n is even, the real part counts.",
                                      [] { return samples_1d(op_fft_irfft); });
const Op op_fft_hfft =
    transform<from_half, false, false>("hfft",
                                       "fft of numbers of which the second half are the conjugates of the first: x "
                                       "is the first half, the result is real.",
                                       [] { return samples_1d(op_fft_hfft); });
const Op op_fft_ihfft = transform<to_half, true, false>(
    "ihfft", "The inverse of hfft: the first n/2 + 1 results of ifft of real numbers.",
    [] { return samples_1d(op_fft_ihfft); });
const Op op_fft_fftn = transform<whole, false, true>("fftn", "fft along several axes, one after the other.",
                                                     [] { return samples_nd(op_fft_fftn); });
const Op op_fft_ifftn = transform<whole, true, true>("ifftn", "The inverse of fftn: ifft along several axes.",
                                                     [] { return samples_nd(op_fft_ifftn); });
const Op op_fft_rfftn = transform<to_half, false, true>(
    "rfftn", "fftn of real numbers: rfft along the last of the axes, fft along the others.",
    [] { return samples_nd(op_fft_rfftn); });
const Op op_fft_irfftn = transform<from_half, true, true>(
    "irfftn", "The inverse of rfftn: ifft along all axes but the last, irfft along that.",
    [] { return samples_nd(op_fft_irfftn); });

}  // namespace wp
