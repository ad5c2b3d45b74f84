#include <cmath>

#include "kernels/lapack.hpp"
#include "linalg/each.hpp"
#include "linalg/randomized_rule.hpp"
#include "linalg/spectral.hpp"
#include "ops/random.hpp"
#include "ops/reduce.hpp"

namespace wp {
extern const Op op_linalg_randomized_svd;
namespace {

using namespace linalg;

void infer(Call& c) {
  const Tensor& x = c.in[0];
  need_matrices(x, "x");
  const std::int64_t m = x.shape()[x.shape().size() - 2], n = x.shape().back(), k = attr(c, "rank").integer();
  if (k < 0 || k > std::min(m, n))
    refuse_value(c, "rank", say("between 0 and ", std::min(m, n)), "A matrix has min(m, n) singular values.");
  if (attr(c, "oversampling").integer() < 0)
    refuse_value(c, "oversampling", "at least 0", "It is how many more random vectors there are than rank.");
  if (const std::int64_t q = attr(c, "power_iterations").integer(); q < 0 || q > 100)
    refuse_value(c, "power_iterations", "between 0 and 100", "Two or three are enough for most matrices.");
  c.key = float_result(x.dtype());
  const auto shape = [&](std::initializer_list<std::int64_t> more) {
    Dims s = batch_of(x);
    for (const std::int64_t d : more) s.push_back(d);
    return s;
  };
  c.output(c.key, shape({m, k}));
  c.output(real_of(c.key), shape({k}));
  c.output(c.key, shape({k, n}));
}

// Columns become an orthonormal basis of what they span, by QR. False: they depend on each other.
template <class T>
bool orthonormalise(Dense<T>& y) {
  Dense<T> columns = y.transposed();
  std::vector<T> tau(static_cast<std::size_t>(std::min(y.m, y.n)));
  lapack::qr<T>(y.m, y.n, columns.data.data(), y.m, tau.data());
  double least = HUGE_VAL, most = 0;
  for (std::int64_t i = 0; i < y.n; ++i) {
    const double pivot = static_cast<double>(std::abs(columns.data[static_cast<std::size_t>(i * y.m + i)]));
    least = std::min(least, pivot);
    most = std::max(most, pivot);
  }
  lapack::householder_product<T>(y.m, y.n, y.n, columns.data.data(), y.m, tau.data());
  y = columns.transposed();
  return least > 8 * static_cast<double>(y.m) * Dense<T>::u * most;
}

// n × l standard normal numbers, the same for every member; complex ones have normal parts.
template <class T>
Dense<T> gaussian(const Call& c, std::int64_t n, std::int64_t l) {
  constexpr std::int64_t parts = kernels::RealOf<T>::parts;
  const double p[] = {0, 1};
  std::vector<double> draws(static_cast<std::size_t>(n * l * parts));
  kernels::draw(stream_of(c), simd::Draw::normal64, p, f64, draws.data(), n * l * parts);
  Dense<T> out(n, l);
  for (std::size_t i = 0; i < out.data.size(); ++i) {
    using R = typename Dense<T>::Real;
    if constexpr (parts == 2)
      out.data[i] = {static_cast<R>(draws[2 * i]), static_cast<R>(draws[2 * i + 1])};
    else
      out.data[i] = static_cast<R>(draws[i]);
  }
  return out;
}

// The same as a tensor, for the derivative.
Tensor drawn(const Call& c, std::int64_t n, std::int64_t l) {
  const Tensor out = Tensor::adopt(detail::make_node(is_complex(c.key) ? c128 : f64, {n, l}));
  with_float(out.dtype(), [&]<class T>(T) {
    const Dense<T> omega = gaussian<T>(c, n, l);
    std::copy(omega.data.begin(), omega.data.end(), reinterpret_cast<T*>(out.node()->data));
  });
  return brought(out, c.key);
}

// Halko, Martinsson & Tropp 2011, algorithms 4.4 and 5.1: Q spans (A Aᴴ)^q A Ω; then the singular values of QᴴA.
template <class T>
void decompose(Job<T>& job, const Dense<T>& omega, std::int64_t k, std::int64_t iterations, Sketch& sketch) {
  using R = typename Dense<T>::Real;
  Verdict& v = job.verdict;
  v.method = Method::svd;
  Dense<T> a = job.matrix();
  const int e = scaling_exponent(a);
  a.shift(e);
  const Dense<T> adjoint = a.adjoint();
  Dense<T> q = a * omega;
  const bool full = orthonormalise(q);
  for (std::int64_t i = 0; i < iterations; ++i) {
    Dense<T> back = adjoint * q;
    orthonormalise(back);
    q = a * back;
    orthonormalise(q);
  }
  const Dense<T> b = q.adjoint() * a;
  const Spectral<T> svd(b.m, b.n, b.view());
  svd.judge(v);
  if (v.status != Status::ok) return;
  const Dense<T> u = q * Dense<T>(b.m, k, svd.u());
  job.put(u);
  std::copy_n(svd.vh().data, k * job.n, job.template to<T>(2));
  for (std::int64_t i = 0; i < k; ++i)
    job.template to<R>(1)[i] = static_cast<R>(std::ldexp(svd.sigma()[static_cast<std::size_t>(i)], -e));
  // ‖A − Q Qᴴ A‖ bounds how far singular values are off, relative here to the largest.
  const double all = a.frobenius();
  a -= q * b;
  const bool captured = a.frobenius() <= 8 * static_cast<double>(std::max(a.m, a.n)) * Dense<T>::u * all;
  sketch = !captured || (iterations == 0 && full) ? Sketch::range
           : iterations > 0                       ? Sketch::whole
                                                  : Sketch::whole_but_turning;
  const double largest = svd.largest();
  v.forward_error = largest > 0 ? a.frobenius() / largest : 0;
  v.digits = digits_of(v.forward_error, Dense<T>::u);
  double left = 0;
  for (std::size_t i = static_cast<std::size_t>(k); i < svd.sigma().size(); ++i)
    left = std::hypot(left, svd.sigma()[i]);
  const double missed = std::hypot(a.frobenius(), left), whole = job.matrix().frobenius();
  v.backward_error = whole > 0 ? missed / std::ldexp(whole, e) : 0;
}

void forward(Call& c) {
  const Dims& s = c.in[0].shape();
  const std::int64_t n = s.back(), shortest = std::min(s[s.size() - 2], n), k = attr(c, "rank").integer();
  const std::int64_t more = std::min(attr(c, "oversampling").integer(), shortest - k), l = k + more;
  const Advice advice{policy_of(c, 5), "Look at the matrix: a member did not give its singular values."};
  const Tensor sketches = Tensor::adopt(detail::make_node(i64, batch_of(c.in[0])));
  auto* const kinds = reinterpret_cast<std::int64_t*>(sketches.node()->data);
  std::fill_n(kinds, sketches.size(), std::int64_t{0});
  const std::int64_t iterations = attr(c, "power_iterations").integer();
  for_each_matrix(c, advice, [&]<class T>(Job<T>& job) {
    Sketch sketch = Sketch::range;
    if (l > 0) decompose(job, gaussian<T>(c, n, l), k, iterations, sketch);
    kinds[job.member] = static_cast<std::int64_t>(sketch);
  });
  c.beside().keeps_after = true;
  if (l < shortest) c.beside().residuals = {drawn(c, n, l), sketches};
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  const auto add = [&](DType d, const Dims& shape, const std::vector<complex128>& v, std::int64_t k,
                       std::string_view covers, std::int64_t more = 10, Attr if_ill = "raise") {
    out.push_back({{sample_tensor(d, shape, v)}, {k, 42, 0, more, 2, if_ill}, covers});
  };
  for (int k = 0; k < kDTypes; ++k)
    if (const auto d = static_cast<DType>(k); is(d, op_linalg_randomized_svd.params[0].kinds))
      add(d, {3, 2}, {4, 1, 2, 3, 5, 7}, 1, "tall");
  for (const DType d : {f32, f64, c64, c128}) {
    add(d, {2, 3}, {4, {1, 2}, 2, 3, 5, 7}, 2, "wide");
    add(d, {3, 3}, {{1, 1}, 2, 3, {2, 2}, 4, 6, {1, 1}, 2, 3}, 1, "of less rank than vectors", 0);
  }
  add(f64, {2, 2, 2}, {4, 1, 2, 3, 1, 5, 0.5, 2}, 1, "a batch");
  add(f64, {4, 4}, {4, 1, 2, 0, 3, 5, 7, 1, 1, 0, 2, 6, 2, 2, 1, 3}, 1, "some of the range", 1);
  add(f64, {2, 2}, {1e300, 2e300, 3e300, 5e300}, 2, "far from 1");
  add(f64, {2, 3}, {0}, 2, "zero");
  add(f64, {2, 3}, {4, 1, 2, 3, 5, 7}, 0, "rank 0", 0);
  add(f64, {0, 2}, {0}, 0, "empty");
  add(f64, {2, 2}, {1, HUGE_VAL, 0, 1}, 1, "not finite", 10, "nan");
  return out;
}

}  // namespace

const Op op_linalg_randomized_svd = of_matrices({
    .name = "randomized_svd",
    .doc = "The leading singular values and vectors x ≈ U diag(S) Vh of each matrix, from its products with random "
           "vectors: far cheaper than svd for a small rank of a large matrix. The diagnosis has a bound of the error "
           "of S relative to its largest (forward_error) and of what is left of x (backward_error).",
    .attrs = stream_attrs(
        {{.name = "rank", .type = AttrType::integer, .doc = "How many singular values.", .required = true}},
        {{"oversampling", AttrType::integer, 10, "How many more random vectors than rank."},
         {"power_iterations", AttrType::integer, 2, "Products with x and its adjoint that sharpen the result."},
         policy_attr()}),
    .outputs = {"U", "S", "Vh"},
    .infer = infer,
    .forward = forward,
    .vjp = vjp_randomized_svd,
    .jvp = jvp_randomized_svd,
    .saves_inputs = 1,
    .saves_outputs = 7,
    .branches = {"tall", "wide", "of less rank than vectors", "some of the range", "a batch", "far from 1", "zero",
                 "rank 0", "empty", "not finite"},
    .samples = samples,
});

}  // namespace wp
