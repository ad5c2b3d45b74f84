#include "base/pool.hpp"
#include "base/text.hpp"
#include "kernels/convert.hpp"
#include "kernels/walk.hpp"
#include "ops/derivative.hpp"
#include "ops/moves.hpp"
#include "wellposed/ops.hpp"

// What stands beside the transforms: their frequencies, and the order in which people look at them.
namespace wp {
extern const Op op_fft_fftshift, op_fft_ifftshift, op_fft_fftfreq, op_fft_rfftfreq;
namespace {

// fftshift brings frequency 0 from the front to element n/2; ifftshift brings it back.
template <bool back>
void shift(Call& c) {
  const Tensor& x = c.in[0];
  const auto moved = reduced_axes(c.attr(0), x.ndim());
  Dims by(x.shape().size(), 0);
  for (std::size_t k = 0; k < by.size(); ++k)
    if (const std::int64_t n = x.shape()[k]; moved[k] && n > 1) by[k] = back ? n - n / 2 : n / 2;
  rolled_into(c.output(x.dtype(), x.shape()), x, by);
}

template <bool back>
Tensors vjp(const Backward& b) {
  const OptionalInts axes = b.attr(0) ? OptionalInts(b.attr(0).ints()) : OptionalInts();
  return {back ? fft::fftshift(b.g(), {.axes = axes}) : fft::ifftshift(b.g(), {.axes = axes})};
}

std::vector<Sample> shift_samples(const Op& op) {
  std::vector<Sample> all = moving_samples(op, {2, 3}, {Dims{-1}});
  all.push_back({{counting(f64, {3, 4})}, {Attr()}, "all axes"});
  all.push_back({{counting(f64, {0, 2})}, {Dims{0}}, "empty"});
  return all;
}

template <bool back>
Op shifting(std::string_view name, std::string_view doc, std::vector<Sample> (*samples)()) {
  return {
      .name = name,
      .ns = "fft",
      .group = "Fourier transform",
      .doc = doc,
      .params = {{"x"}},
      .attrs = {{"axes", AttrType::ints, {}, "The axes; none: all of them."}},
      .infer = no_outputs,
      .forward = shift<back>,
      .notes = Notes::moves,
      .flow = flow_moves,
      .vjp = vjp<back>,
      .jvp = jvp_linear,
      .branches = {"all axes", "empty"},
      .samples = samples,
  };
}

enum { kN, kD, kDtype };

template <bool half>
void infer(Call& c) {
  const std::int64_t n = c.attr(kN).integer();
  const double d = c.attr(kD).real();
  if (n < 1) refuse<ArgumentError>("WP-ARG-001", say("n must be at least 1; got ", n, "."));
  if (d == 0 || std::isnan(d))
    refuse<ArgumentError>("WP-ARG-001", say("d is the distance of two points and must not be ", d, "."));
  const DType dtype = c.attr(kDtype) ? c.attr(kDtype).dtype() : f64;
  if (!is(dtype, kinds::real_floating))
    refuse<DtypeError>("WP-DTY-003", say("makes real floating-point numbers; got dtype ", dtype, "."));
  c.output(dtype, {half ? n / 2 + 1 : n});
}

// k/(n d): one rounding of n d, one of the quotient.
template <bool half>
void frequencies(Call& c) {
  const Tensor& y = c.out[0];
  const std::int64_t n = c.attr(kN).integer(), positive = half ? y.size() : (n + 1) / 2;
  const double whole = static_cast<double>(n) * c.attr(kD).real();
  const auto item = static_cast<std::int64_t>(size_of(y.dtype()));
  parallel_for(y.size(), kernels::kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
      const double f = static_cast<double>(k < positive ? k : k - n) / whole;
      kernels::convert(y.node()->data + k * item, y.dtype(), &f, f64, 1, 1);
    }
  });
}

std::vector<Sample> frequency_samples() {
  std::vector<Sample> all;
  for (const DType d : {f16, bf16, f32, f64}) all.push_back({{}, {8, 0.5, d}});
  all.push_back({{}, {7, 1.0, Attr()}, "odd"});
  all.push_back({{}, {1, -2.0, Attr()}, "one point"});
  return all;
}

template <bool half>
Op frequency(std::string_view name, std::string_view doc) {
  return {
      .name = name,
      .ns = "fft",
      .group = "creation",
      .doc = doc,
      .params = {},
      .attrs = {{.name = "n", .type = AttrType::integer, .doc = "The number of points.", .required = true},
                {"d", AttrType::real, 1.0, "The distance of two points."},
                {"dtype", AttrType::dtype, {}, "The dtype; none: f64."}},
      .infer = infer<half>,
      .forward = frequencies<half>,
      .notes = Notes::gives,
      .flow = flow_nothing,
      .no_derivative = "its values do not depend on any argument that could be differentiated.",
      .branches = {"odd", "one point"},
      .samples = frequency_samples,
  };
}

}  // namespace

const Op op_fft_fftshift =
    shifting<false>("fftshift", "x with frequency 0 brought from the front to the middle of the axes, element n/2.",
                    [] { return shift_samples(op_fft_fftshift); });
const Op op_fft_ifftshift =
    shifting<true>("ifftshift", "The inverse of fftshift: element n/2 of the axes comes to the front.",
                   [] { return shift_samples(op_fft_ifftshift); });
const Op op_fft_fftfreq =
    frequency<false>("fftfreq", "The frequencies of fft's results, in their order: 0, 1, …, -2, -1, divided by n d.");
const Op op_fft_rfftfreq =
    frequency<true>("rfftfreq", "The frequencies of rfft's results: 0, 1, …, n/2, divided by n d.");

}  // namespace wp
