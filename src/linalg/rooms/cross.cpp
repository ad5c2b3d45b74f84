#include <cmath>

#include "base/pool.hpp"
#include "base/text.hpp"
#include "kernels/scan.hpp"
#include "kernels/types.hpp"
#include "linalg/rules.hpp"
#include "linalg/solving.hpp"
#include "ops/arithmetic.hpp"
#include "ops/derivative.hpp"
#include "ops/lines.hpp"
#include "ops/moves.hpp"
#include "ops/products.hpp"
#include "ops/reduce.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_linalg_cross;
namespace {

struct Shapes {
  Dims shape;             // of the result
  std::int64_t axis = 0;  // of the vectors in it

  explicit Shapes(const Call& c) {
    const Dims &x1 = c.in[0].shape(), &x2 = c.in[1].shape();
    const std::int64_t given = c.attr(0).integer();
    if (given >= 0 && x1.size() != x2.size())
      refuse<ArgumentError>("WP-ARG-003",
                            say("axis must be negative when the arguments differ in their number of axes; got axis ",
                                given, ", x1 ", x1, ", x2 ", x2, "."),
                            "Count axes from the end.");
    for (std::size_t i = 0; i < 2; ++i)
      if (const Dims& s = c.in[i].shape(); s[static_cast<std::size_t>(normal_axis(given, c.in[i].ndim()))] != 3)
        refuse<ShapeError>("WP-SHP-014",
                           say("vectors must have 3 elements along axis ", given, "; got x1 ", x1, ", x2 ", x2, "."));
    shape = broadcast(x1, x2);
    axis = normal_axis(given, static_cast<std::int64_t>(shape.size()));
  }
  // Dims with the axis of the vectors last.
  Dims turned(Dims d) const {
    const std::int64_t v = d[static_cast<std::size_t>(axis)];
    d.erase(static_cast<std::size_t>(axis));
    d.push_back(v);
    return d;
  }
};

// Σ xᵢ yᵢ as if in twice the precision (Dot2 of Ogita, Rump & Oishi 2005): cancelling products keep their digits.
template <std::size_t N>
double dot(const double (&x)[N], const double (&y)[N]) {
  double sum = 0, rest = 0, plain = 0;
  for (std::size_t i = 0; i < N; ++i) {
    const double p = x[i] * y[i], s = sum + p, part = s - sum;
    rest += std::fma(x[i], y[i], -p) + ((sum - (s - part)) + (p - part));
    plain += p;
    sum = s;
  }
  const double v = sum + rest;
  return std::isfinite(v) ? v : plain;
}

// a b − c d
template <class T>
T minor(T a, T b, T c, T d) {
  if constexpr (std::is_integral_v<T>) {
    using W = Wrapping<T>;
    return static_cast<T>(static_cast<W>(a) * static_cast<W>(b) - static_cast<W>(c) * static_cast<W>(d));
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(dot<2>({a, -c}, {b, d}));
  } else {
    using R = typename T::value_type;
    return T(
        static_cast<R>(dot<4>({a.real(), -a.imag(), -c.real(), c.imag()}, {b.real(), b.imag(), d.real(), d.imag()})),
        static_cast<R>(dot<4>({a.real(), a.imag(), -c.real(), -c.imag()}, {b.imag(), b.real(), d.imag(), d.real()})));
  }
}

template <class T>
void products(std::int64_t n, const T* a, const T* b, T* y) {
  parallel_for(n, 1 << 12, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = 3 * begin; i < 3 * end; i += 3) {
      y[i] = minor<T>(a[i + 1], b[i + 2], a[i + 2], b[i + 1]);
      y[i + 1] = minor<T>(a[i + 2], b[i], a[i], b[i + 2]);
      y[i + 2] = minor<T>(a[i], b[i + 1], a[i + 1], b[i]);
    }
  });
}

void forward(Call& c) {
  const Shapes s(c);
  Tensor& y = c.out[0];
  const DType dtype = line_dtype(c.key);
  const Dims turned = s.turned(s.shape);
  const auto lines = [&](const Tensor& x) {
    return packed(view_of(x, turned, s.turned(broadcast_strides(x, s.shape))), dtype);
  };
  const Tensor a = lines(c.in[0]), b = lines(c.in[1]), out = Tensor::adopt(detail::make_node(dtype, turned));
  kernels::with_type(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<T, bool> && !std::is_same_v<T, Half> && !std::is_same_v<T, BFloat16>)
      products(out.size() / 3, reinterpret_cast<const T*>(a.node()->data), reinterpret_cast<const T*>(b.node()->data),
               reinterpret_cast<T*>(out.node()->data));
  });
  scatter_into(y, s.turned(y.strides()), 0, packed(out, c.key));
  if (is_floating(c.key) && kernels::any_nonfinite(c.key, y.node()->data, y.size()))
    c.status.bits |= simd::Status::nonfinite;
}

// The two other elements of both vectors.
void flow(const FlowQuery& q, Visit visit) {
  const Shapes s(q.call);
  const Dims& own = q.call.in[q.input].shape();
  const Dims steps = row_major(s.shape), own_steps = row_major(own);
  const auto axis = static_cast<std::size_t>(s.axis);
  const std::size_t shift = s.shape.size() - own.size();
  std::int64_t first = 0;
  for (std::size_t k = shift; k < s.shape.size(); ++k)
    if (k != axis && own[k - shift] != 1) first += q.element / steps[k] % s.shape[k] * own_steps[k - shift];
  const std::int64_t component = q.element / steps[axis] % 3;
  for (std::int64_t other = 0; other < 3; ++other)
    if (other != component) visit(first + other * own_steps[axis - shift]);
}

// g · (d × x2) = d · (x2 × g), g · (x1 × d) = d · (g × x1).
Tensors vjp(const Backward& b) {
  const std::int64_t axis = b.attr(0).integer();
  return {b.wants(0) ? linalg::cross(conj_of(b.in[1]), b.g(), {.axis = axis}) : Tensor(),
          b.wants(1) ? linalg::cross(b.g(), conj_of(b.in[0]), {.axis = axis}) : Tensor()};
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  const auto add = [&](DType d, const Dims& a, const Dims& b, int axis, std::string_view covers) {
    out.push_back({{small_numbers(d, a), small_numbers(d, b, 4)}, {axis}, covers});
  };
  for (int d = 0; d < kDTypes; ++d)
    if (const auto dtype = static_cast<DType>(d); is(dtype, op_linalg_cross.params[0].kinds))
      add(dtype, {2, 3}, {2, 3}, -1, {});
  for (const DType d : {i64, f64, c128}) {
    add(d, {3, 4}, {3, 4}, 0, "another axis");
    add(d, {2, 3, 2}, {3, 1}, -2, "batches broadcast");
    add(d, {0, 3}, {3}, -1, "empty");
  }
  out.push_back({{Tensor{1.0 / 3, 0.1, 1e8 / 3}, Tensor{1.0 / 3, 0.1 + 1e-17, 1e8 / 3 + 1e-7}}, {-1}, "cancels"});
  out.push_back({{sample_tensor(c128, {3}, {{0.1, 0.3}, {1.0 / 3, 0.7}, {0.2, -0.9}}),
                  sample_tensor(c128, {3}, {{0.1, 0.3 + 1e-12}, {1.0 / 3, 0.7}, {0.2, -0.9 + 1e-12}})},
                 {-1},
                 "cancels"});
  out.push_back({{Tensor{1e308, 1.0, 1.0}, Tensor{1.0, 10.0, 1e308}}, {-1}, "overflow: inf"});
  return out;
}

}  // namespace

const Op op_linalg_cross = {
    .name = "cross",
    .ns = "linalg",
    .group = "linear algebra",
    .doc =
        "The cross product of vectors of 3 elements along an axis; the other axes broadcast. Products that cancel "
        "keep "
        "their digits. Nothing is conjugated. Integers wrap around.",
    .params = {{"x1", kinds::numeric}, {"x2", kinds::numeric}},
    .attrs = {{.name = "axis", .type = AttrType::integer, .fallback = -1, .doc = "The axis of the vectors in both."}},
    .infer =
        [](Call& c) {
          c.key = common_dtype(c);
          c.output(c.key, Shapes(c).shape);
        },
    .forward = forward,
    .flow = flow,
    .vjp = vjp,
    .jvp = jvp_multilinear,
    .saves_inputs = 3,
    .for_others = 3,
    .branches = {"another axis", "batches broadcast", "empty", "cancels", "overflow: inf"},
    .samples = samples,
};

}  // namespace wp
