#include <cmath>
#include <optional>

#include "linalg/each.hpp"
#include "linalg/rules.hpp"
#include "ops/derivative.hpp"
#include "ops/reduce.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_linalg_covariance;
namespace {

using namespace linalg;

void infer(Call& c) {
  const Tensor& x = c.in[0];
  need_matrices(x, "x");
  const Attr& shrinkage = c.attr(0);
  if (shrinkage.is_number() && !(shrinkage.real() >= 0 && shrinkage.real() <= 1))
    refuse<ArgumentError>("WP-ARG-001", say("shrinkage must be between 0 and 1; got ", shrinkage.real(), "."));
  const std::int64_t n = x.shape()[x.shape().size() - 2];
  const double ddof = c.attr(1).real();
  if (!(ddof >= 0) || !(static_cast<double>(n) > ddof))
    refuse<ArgumentError>("WP-ARG-001",
                          say("ddof must be at least 0 and less than the number of observations (rows); got ddof = ",
                              ddof, ", x ", x.shape(), "."));
  c.key = float_result(x.dtype());
  Dims shape = x.shape();
  shape[shape.size() - 2] = shape.back();
  c.output(c.key, shape);
}

// Columns minus their means, summed in long double.
template <class T>
void centre(Dense<T>& x) {
  for (std::int64_t j = 0; j < x.n; ++j) {
    std::complex<long double> sum = 0;
    for (std::int64_t i = 0; i < x.m; ++i) sum += std::complex<long double>(x(i, j));
    const std::complex<long double> mean = sum / static_cast<long double>(x.m);
    for (std::int64_t i = 0; i < x.m; ++i) {
      using R = typename Dense<T>::Real;
      const std::complex<long double> v = std::complex<long double>(x(i, j)) - mean;
      if constexpr (kernels::RealOf<T>::parts == 2)
        x(i, j) = {static_cast<R>(v.real()), static_cast<R>(v.imag())};
      else
        x(i, j) = static_cast<R>(v.real());
    }
  }
}

// Ledoit & Wolf 2004, §3.2: ρ = b²/d² with d² = ‖S − μI‖², b² = min(d², Σ‖xₖxₖᴴ − S‖²/n²), S = XᴴX/n, μ = tr S/p.
template <class T>
double best_shrinkage(const Dense<T>& x, const Dense<T>& products) {
  const auto n = static_cast<double>(x.m), p = static_cast<double>(x.n);
  double trace = 0, squares = 0, fourth = 0;
  for (std::int64_t i = 0; i < x.n; ++i) trace += static_cast<double>(std::real(products(i, i))) / n;
  for (const T& v : products.data) squares += std::norm(std::complex<double>(v)) / (n * n);
  for (std::int64_t i = 0; i < x.m; ++i) {
    double square = 0;
    for (std::int64_t j = 0; j < x.n; ++j) square += std::norm(std::complex<double>(x(i, j)));
    fourth += square * square;
  }
  const double d2 = squares - trace * trace / p, b2 = (fourth / n - squares) / n;
  return d2 > 0 ? std::clamp(b2 / d2, 0.0, 1.0) : 1;
}

void forward(Call& c) {
  const Attr& shrinkage = c.attr(0);
  const double ddof = c.attr(1).real();
  const Advice advice{policy_of(c, 2), "Look at the data that came in, or mask it before."};
  for_each_matrix(c, advice, [&]<class T>(Job<T>& job) {
    using R = typename Dense<T>::Real;
    Dense<T> x = job.matrix();
    x.shift(scaling_exponent(x));
    centre(x);
    const int e = scaling_exponent(x);
    x.shift(e);
    job.verdict.nonzero = x.largest() > 0;
    const int back = -2 * (e + scaling_exponent(job.matrix()));
    Dense<T> s = x.transposed() * x.adjoint().transposed();
    const double rho = shrinkage.is_number()               ? shrinkage.real()
                       : shrinkage.text() == "ledoit_wolf" ? best_shrinkage(x, s)
                                                           : 0;
    s *= static_cast<R>(1 / (static_cast<double>(job.m) - ddof));
    job.verdict.structure = Structure::symmetric;
    if (rho > 0) {
      double trace = 0;
      for (std::int64_t i = 0; i < job.n; ++i) trace += static_cast<double>(std::real(s(i, i)));
      s *= static_cast<R>(1 - rho);
      for (std::int64_t i = 0; i < job.n; ++i) s(i, i) += static_cast<R>(rho * trace / static_cast<double>(job.n));
      job.verdict.ridge = rho;
    }
    for (std::int64_t i = 0; i < job.n; ++i)
      for (std::int64_t j = 0; j <= i; ++j) s(j, i) = i == j ? T(std::real(s(i, i))) : conjugate(s(i, j));
    s.shift(back);
    job.put(s);
  });
}

// x minus its column means; also the cotangent of x from that of it.
Tensor centred(const Tensor& x) {
  const auto n = static_cast<double>(x.shape()[x.shape().size() - 2]);
  return subtract(x, divide(sum(x, {.axis = -2, .keepdims = true}), n));
}
Tensor square_sizes(const Tensor& x) {
  return is_complex(x.dtype()) ? add(square(real(x)), square(imag(x))) : square(x);
}
// Xᵀ conj(X), and X's cotangent from that of it.
Tensor products(const Tensor& x) {
  return matmul(matrix_transpose(x), conj_of(x));
}
Tensor products_cotangent(const Tensor& x, const Tensor& g) {
  return matmul(x, add(matrix_transpose(g), conj_of(g)));
}

// Ledoit and Wolf's ρ = b²/d² of centred data as best_shrinkage, and its derivative: d² = Q − t²/p, b² = (F/n − Q)/n
// with t = Σ|x|²/n, Q = ‖S‖², S = Xᵀ conj(X)/n, F = Σₖ(Σⱼ|xₖⱼ|²)².
struct Shrinkage {
  Tensor value, slope;  // [..., 1, 1] and like x; slope 0 where ρ is cut off at 0 or 1
  Tensor flat;          // d² is 0
  explicit Shrinkage(const Tensor& x) {
    const auto n = static_cast<double>(x.shape()[x.shape().size() - 2]), p = static_cast<double>(x.shape().back());
    const auto total = [](const Tensor& t) { return sum(t, {.axis = {-2, -1}, .keepdims = true}); };
    const Tensor s = divide(products(x), n), rows = sum(square_sizes(x), {.axis = -1, .keepdims = true});
    const Tensor t = divide(total(rows), n), q = total(square_sizes(s)), f = total(square(rows));
    const Tensor d2 = subtract(q, divide(square(t), p)), b2 = divide(subtract(divide(f, n), q), n);
    flat = less_equal(d2, 0);
    const Tensor safe = where(flat, 1, d2), rho = divide(b2, safe);
    const Tensor low = logical_and(logical_not(flat), less(rho, 0)), high = logical_or(flat, greater(rho, 1));
    value = where(low, 0, where(high, 1, rho));
    const Tensor of_t = multiply(x, 2 / n), of_q = multiply(matmul(x, conj_of(s)), 4 / n),
                 of_f = multiply(multiply(x, rows), 4);
    const Tensor of_b2 = divide(subtract(divide(of_f, n), of_q), n),
                 of_d2 = subtract(of_q, multiply(of_t, multiply(t, 2 / p)));
    slope = where(logical_or(low, high), 0, divide(subtract(of_b2, multiply(of_d2, rho)), safe));
  }
};

// C = (1 − ρ) S + ρ tr(S)/p · 1, S = Xᵀ conj(X)/(n − ddof) of centred X.
Tensors vjp(const Backward& b) {
  const Tensor& given = b.in[0];
  if (given.size() == 0) return {zeros_for(b.facts[0])};
  const auto n = static_cast<double>(given.shape()[given.shape().size() - 2]),
             p = static_cast<double>(given.shape().back());
  const Tensor x = centred(given), g = b.g();
  const double c = 1 / (n - b.attr(1).real());
  const bool number = b.attr(0).is_number(), best = !number && b.attr(0).text() == "ledoit_wolf";
  if (!number && !best) return {centred(multiply(products_cotangent(x, g), c))};
  const Tensor one = identity(given.shape().back(), g.dtype());
  const auto spread_mean = [&](const Tensor& s) { return multiply(each(divide(real(linalg::trace(s)), p)), one); };
  const Tensor size = best ? each(scale_of(x)) : Tensor();
  std::optional<Shrinkage> found;
  if (best) found.emplace(divide(x, size));
  if (best && b.recorded() && any_true(found->flat))
    no_derivative_here("Ledoit and Wolf's shrinkage of data that do not vary has no second derivative.",
                       "Give a number as shrinkage.");
  const Tensor rho = best ? found->value : Tensor(b.attr(0).real());
  const Tensor of_s = add(multiply(g, subtract(1, rho)), multiply(spread_mean(g), rho));
  Tensor own = multiply(products_cotangent(x, of_s), c);
  if (best) {
    const Tensor s = multiply(products(x), c), change = subtract(spread_mean(s), s);
    const Tensor of_rho = sum(real(multiply(conj_of(g), change)), {.axis = {-2, -1}, .keepdims = true});
    own = add(own, divide(multiply(found->slope, of_rho), size));
  }
  return {centred(own)};
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  const auto add = [&](DType d, const Dims& shape, const std::vector<complex128>& v, std::string_view covers,
                       const Setting& shrinkage = "none", double ddof = 1, Attr if_ill = "raise") {
    out.push_back({{sample_tensor(d, shape, v)}, {shrinkage, ddof, if_ill}, covers});
  };
  const std::vector<complex128> data{1, 2, 0, 4, 3, 1, 2, 7, 5, 9, 4, 3};
  for (int k = 0; k < kDTypes; ++k)
    if (const auto d = static_cast<DType>(k); is(d, op_linalg_covariance.params[0].kinds)) {
      add(d, {4, 3}, data, {});
      add(d, {4, 3}, data, "Ledoit and Wolf", "ledoit_wolf", 0);
    }
  for (const DType d : {c64, c128}) {
    add(d, {4, 2}, {{1, 2}, {0, 4}, {3, -1}, {2, 7}, {5, 1}, {9, 4}, 3, {0, 1}}, {});
    add(d, {4, 2}, {{1, 2}, {0, 4}, {3, -1}, {2, 7}, {5, 1}, {9, 4}, 3, {0, 1}}, "Ledoit and Wolf", "ledoit_wolf");
  }
  add(f64, {4, 3}, data, "a given shrinkage", 0.25);
  add(f64, {4, 3}, data, "ddof 0", "none", 0);
  add(f64, {2, 2, 3}, data, "a batch");
  add(f64, {3, 2}, {1e9 + 1, 1e9 + 2, 1e9 + 4, 1e9, 1e9 - 3, 1e9 + 5}, "far from zero beside their spread");
  add(f64, {3, 2}, {1e150, 2e150, 4e150, 0, -3e150, 5e150}, "far from 1");
  add(f64, {3, 2}, {1e-150, 2e-150, 4e-150, 0, -3e-150, 5e-150}, "far from 1");
  add(f64, {2, 2}, {1, 1, 1, 1}, "constant: zeros", "ledoit_wolf");
  add(f64, {3, 0}, {0}, "empty");
  add(f64, {2, 2}, {1, HUGE_VAL, 0, 1}, "not finite", "none", 1, "nan");
  return out;
}

}  // namespace

const Op op_linalg_covariance = of_matrices({
    .name = "covariance",
    .doc =
        "The covariance matrix of the columns of x over its rows, the observations: Σ (x_i - mean) conj(x_j - mean) "
        "/ "
        "(n - ddof), [..., p, p]; with shrinkage s: (1 - s) times it plus s times its mean variance on the diagonal.",
    .attrs = {{.name = "shrinkage",
               .type = AttrType::setting,
               .fallback = Setting("none"),
               .doc = "Between 0 and 1, or \"ledoit_wolf\": the one with the least expected square error.",
               .choices = {"none", "ledoit_wolf"}},
              {.name = "ddof",
               .type = AttrType::real,
               .fallback = 1.0,
               .doc = "What is taken off the number of observations: 1 for an unbiased estimate."},
              policy_attr()},
    .infer = infer,
    .forward = forward,
    .vjp = vjp,
    .saves_inputs = 1,
    .branches = {"Ledoit and Wolf", "a given shrinkage", "ddof 0", "a batch", "far from zero beside their spread",
                 "far from 1", "constant: zeros", "empty", "not finite"},
    .samples = samples,
});

}  // namespace wp
