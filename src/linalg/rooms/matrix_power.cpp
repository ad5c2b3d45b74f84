#include <cmath>
#include <optional>

#include "linalg/exponential.hpp"
#include "linalg/lost_digits.hpp"
#include "linalg/rules.hpp"
#include "linalg/schur_function.hpp"
#include "ops/derivative.hpp"
#include "ops/reduce.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_linalg_matrix_power;
namespace {

using namespace linalg;

void infer(Call& c) {
  const double p = c.attr(0).real();
  if (!(std::fabs(p) <= 0x1p53))
    refuse<ArgumentError>("WP-ARG-001", say("exponent must be a number of at most 2^53; got ", p, "."));
  infer_square(c);
}

// value · 2^exponent: powers leave the range of floats long before the matrix does. error: at least ‖δ value‖_F;
// bound: at least |δ value|, element by element, where it is asked for.
template <class T>
struct Scaled {
  Dense<T> value;
  double exponent = 0, error = 0;
  std::optional<Dense<T>> bound = {};
  void normalise() {
    const int e = scaling_exponent(value);
    value.shift(e);
    exponent -= e;
    error = std::ldexp(error, e);
    if (bound) bound->shift(e);
  }
  Dense<T> plain() {
    value.shift(static_cast<int>(std::clamp(exponent, -5000.0, 5000.0)));
    return std::move(value);
  }
};

// a with an error relative to its largest element; not known: 0. Brought near 1.
template <class T>
Scaled<T> with_error(const Dense<T>& a, double relative, bool by_elements) {
  const double each = (relative > 0 && relative < 1 ? relative : 0) * a.largest();
  Scaled<T> out{a, 0, each * static_cast<double>(a.n)};
  if (by_elements) {
    out.bound = Dense<T>(a.n, a.n);
    std::fill(out.bound->data.begin(), out.bound->data.end(), T(static_cast<typename Dense<T>::Real>(each)));
  }
  out.normalise();
  return out;
}
constexpr std::int64_t kByElements = 512;  // rows up to which errors are followed by elements: four products for one

template <class T>
Dense<T> sizes_of(Dense<T> a) {
  for (T& v : a.data) v = T(std::abs(v));
  return a;
}
// Errors add up as products do: |δ(x y)| ≤ |δx||y| + |x||δy| + |δx||δy| + n·u|x||y|, in norms or by elements.
template <class T>
Scaled<T> product_of(const Scaled<T>& x, const Scaled<T>& y) {
  using R = typename Dense<T>::Real;
  const double rounding = static_cast<double>(x.value.n) * Dense<T>::u, left = x.value.frobenius(),
               right = y.value.frobenius();
  Scaled<T> z{x.value * y.value, x.exponent + y.exponent};
  z.error = x.error * right + left * y.error + x.error * y.error + rounding * left * right;
  if (!x.bound || !y.bound) return z;
  Dense<T> size = sizes_of(y.value), more = *y.bound;
  for (std::size_t e = 0; e < size.data.size(); ++e) {
    more.data[e] += size.data[e] * static_cast<R>(rounding);
    size.data[e] += y.bound->data[e];
  }
  z.bound = *x.bound * size;  // |δx|(|y| + |δy|) + |x|(|δy| + n·u|y|)
  const Dense<T> rest = sizes_of(x.value) * more;
  for (std::size_t e = 0; e < rest.data.size(); ++e) z.bound->data[e] += rest.data[e];
  return z;
}

// a^k by repeated squaring, k ≥ 0. `scale`: every product is brought near 1.
template <class T>
Scaled<T> whole_power(Scaled<T> a, std::uint64_t k, bool scale) {
  Scaled<T> out{Dense<T>::identity(a.value.n), 0};
  const auto times = [&](const Scaled<T>& x, const Scaled<T>& y) {
    Scaled<T> z = product_of(x, y);
    if (scale) z.normalise();
    return z;
  };
  for (bool first = true; k > 0; k >>= 1) {
    if (k & 1) {
      out = first ? a : times(out, a);
      first = false;
    }
    if (k > 1) a = times(a, a);
  }
  return out;
}

// How good a power made of products is; one that is 0 is exactly that.
template <class T>
void judge(const Scaled<T>& a, Verdict& v) {
  const double most = a.value.largest();
  v.nonzero = most > 0;
  const double error = a.bound ? a.bound->largest() : a.error;
  v.forward_error = std::max(most > 0 ? std::min(1.0, error / most) : 0, Dense<T>::u);
  v.digits = digits_of(v.forward_error, Dense<T>::u);
  if (v.status > Status::ill_conditioned) return;
  v.status = std::min(status_of(v.digits, -1, Dense<T>::u), Status::ill_conditioned);
  if (v.status == Status::ok) return;
  v.reason = say("has a power in which products cancel: ",
                 v.digits >= 1 ? say("about ", std::lround(std::floor(v.digits))) : std::string("no"),
                 " digits of it can be vouched for.");
}

// Without scaling where all products stay in range: elements far below the largest are then kept. The error of a is
// relative to its largest element.
template <class T>
Dense<T> whole_power(const Dense<T>& a, std::uint64_t k, double error, Verdict& v) {
  Scaled<T> scaled = whole_power(with_error(a, error, false), k, true);
  judge(scaled, v);
  if (v.status == Status::ill_conditioned && a.n <= kByElements) {  // norms say little of a graded or triangular one
    v.status = Status::ok;
    v.reason.clear();
    scaled = whole_power(with_error(a, error, true), k, true);
    judge(scaled, v);
  }
  Dense<T> out = whole_power(Scaled<T>{a, 0}, k, false).plain();
  const double most = out.largest(), least = std::numeric_limits<typename Dense<T>::Real>::min() / Dense<T>::u;
  return most >= least && most < HUGE_VAL && out.finite() ? out : scaled.plain();
}

struct Power {
  double p;
  template <class S>
  Dense<S> operator()(const Dense<S>& t) const {
    return triangular_power(t, p);
  }
  template <class S>
  S operator()(S v) const {
    using R = typename kernels::RealOf<S>::type;
    return v == S(0) && p > 0 ? S(0) : std::pow(v, static_cast<R>(p));
  }
  bool at_zero() const { return p > 0; }
  // |√A − √B| ≤ |A − B|^½, and likewise for exponents below 1 (Bhatia 1997, theorem X.1.3).
  double limit(double distance) const { return p > 0 && p < 1 ? std::pow(distance, p) : 1; }
  double slope(double v) const { return v > 0 || p < 1 ? std::fabs(p) * std::pow(v, p - 1) : 0; }
};

// The inverse, or the reason why there is none in the verdict.
template <class T>
Dense<T> inverse_of(const Dense<T>& a, Verdict& v) {
  static const Options plain;
  Dense<T> x(a.n, a.n);
  v = System<T>(a.n, a.view(), plain).inverse(x.data.data(), a.n);
  return x;
}

// base^whole · rest, of errors relative to the largest elements; that of `rest` is in the verdict, which becomes that
// of the product. First by norms, then, where that leaves few digits, by elements.
template <class T>
Scaled<T> times_whole_power(const Dense<T>& base, double error, std::uint64_t whole, const Dense<T>& rest,
                            Verdict& v) {
  const auto product = [&](bool by_elements) {
    return product_of(whole_power(with_error(base, error, by_elements), whole, true),
                      with_error(rest, v.forward_error, by_elements));
  };
  Scaled<T> out = product(false);
  if (v.status != Status::ok) return out;
  Verdict found = v;
  judge(out, found);
  if (found.status != Status::ok && base.n <= kByElements) judge(product(true), found = v);
  v = found;
  return out;
}

// a^p = a^whole · a^rest, |rest| < 1 with the sign of p, so that neither factor undoes the other (Higham & Lin 2011),
// of 2^exponent·value: times 2^(exponent·p).
template <class T>
void fractional_power(Job<T>& job, Scaled<T> a, double p) {
  Verdict& v = job.verdict;
  const double whole = std::trunc(p), scale = a.exponent * p;
  const Smooth<Power> power{"power", {p - whole}, static_cast<int>(-a.exponent)};
  Scaled<T> out{Dense<T>(job.n, job.n), 0};
  if (a.value.hermitian()) {
    by_eigenvalues(a.value, Smooth<Power>{"power", {p}, power.scale}, out.value, v);
  } else {
    Verdict inverse;
    smooth_function(a.value, power, out.value, v);
    const Dense<T> base = whole < 0 && v.status < Status::singular ? inverse_of(a.value, inverse) : a.value;
    if (inverse.status != Status::ok) v = inverse;
    if (whole != 0)
      out =
          times_whole_power(base, inverse.forward_error, static_cast<std::uint64_t>(std::fabs(whole)), out.value, v);
  }
  v.nonzero = out.value.largest() > 0;
  out.value *= static_cast<typename Dense<T>::Real>(std::exp2(scale - std::floor(scale)));
  out.exponent += std::floor(scale);
  job.put(out.plain());
}

template <class T>
void power(Job<T>& job, double p) {
  if (job.n == 0) return;
  if (p != std::nearbyint(p)) {
    Scaled<T> a{job.matrix(), 0};
    a.normalise();
    return fractional_power(job, std::move(a), p);
  }
  const Dense<T> base = p < 0 ? inverse_of(job.matrix(), job.verdict) : job.matrix();
  const double error = p < 0 && job.verdict.forward_error < 1 ? job.verdict.forward_error : 0;
  job.put(whole_power(base, static_cast<std::uint64_t>(std::fabs(p)), error, job.verdict));
}

void forward(Call& c) {
  const double p = c.attr(0).real();
  const Advice advice{policy_of(c, 1),
                      p == std::nearbyint(p)
                          ? "Use pinv for a singular matrix."
                          : "For a negative eigenvalue give a complex matrix, astype(x, c128), or a whole exponent; "
                            "for lost digits a matrix of better condition, or a wider dtype."};
  for_each_matrix(c, advice, [&]<class T>(Job<T>& job) { power(job, p); });
}

// Negative whole powers are those of X = A⁻¹, which moves by −X E X: no inverse of a block matrix, whose condition
// grows with E.
Tensor along(const Tensor& a, const Attr& exponent, const Tensor& e) {
  const double p = exponent.real();
  const bool inverse = p < 0 && p == std::nearbyint(p);
  const Tensor x = inverse ? diagnosed::inv(a).value : a;
  return block_derivative([&](const Tensor& m) { return diagnosed::matrix_power(m, inverse ? -p : p).value; }, x,
                          inverse ? negative(product(x, e, x)) : e);
}
Tensors vjp(const Backward& b) {
  const auto at = [&](const Tensor& a) { return adjoint(along(a, b.attr(0), adjoint(b.g()))); };
  const Tensor g = at(b.in[0]);
  find_unsteady(
      b, b.in[0], 1, [&] { return b.in[0]; }, b.out[0], b.g(), g, at);
  return {g};
}
Tensors jvp(const Forward& f) {
  return {along(f.in[0], f.attr(0), f.tangents[0])};
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  const auto add = [&](DType d, const Dims& shape, const std::vector<complex128>& v, double p,
                       std::string_view covers, Attr if_ill = "raise") {
    out.push_back({{sample_tensor(d, shape, v)}, {p, if_ill}, covers});
  };
  for (int k = 0; k < kDTypes; ++k)
    if (const auto d = static_cast<DType>(k); is(d, op_linalg_matrix_power.params[0].kinds)) {
      add(d, {2, 2}, {4, 1, 2, 3}, 3, "a whole exponent");
      add(d, {2, 2}, {4, 1, 2, 3}, -2, "a negative exponent");
      add(d, {2, 2}, {4, 1, 2, 3}, 0, "exponent 0: the identity");
      add(d, {2, 2}, {4, 1, 2, 3}, 0.3, "a fraction");
    }
  for (const DType d : {f32, f64, c64, c128}) {
    add(d, {2, 2}, {{4, 1}, 1, {2, -1}, 3}, -1.75, "a fraction");
    add(d, {2, 2}, {4, 1, 1, 3}, 2.5, "positive definite");
    add(d, {3, 3}, {1, 2, 0, -2, 1, 1, 0, 0.5, 5}, 0.5, "complex eigenvalues");
  }
  add(c128, {2, 2}, {-4, 1, 0, 3}, 0.25, "a negative eigenvalue");
  add(f64, {3, 3}, {4, 1, 7, 0, 9, 2, 0, 0, 16}, 1.25, "triangular");
  add(f64, {2, 2, 2}, {4, 1, 2, 3, 1, 5, 0.5, 4}, 2, "a batch");
  add(f64, {2, 2}, {0.5, 0.25, 0.125, 0.5}, 1000, "a whole exponent");
  add(f64, {2, 2}, {1e200, 0, 0, 1e-100}, 3, "beyond the range of floats");
  add(f64, {2, 2}, {1e-300, 2e-301, 0, 5e-300}, 0.5, "far from 1");
  add(f64, {2, 2}, {1, 1, 1, 1}, 0.5, "semidefinite");
  add(f64, {2, 2}, {1, 1, 1, 1}, -1, "singular: nan", "nan");
  add(f64, {2, 2}, {-4, 1, 0, 3}, 0.5, "no real power: nan", "nan");
  add(f64, {0, 0}, {0}, 2, "empty");
  add(f64, {2, 2}, {1, HUGE_VAL, 0, 1}, 2, "not finite", "nan");
  return out;
}

}  // namespace

const Op op_linalg_matrix_power = of_matrices({
    .name = "matrix_power",
    .doc =
        "The power of each square matrix with a real exponent: by repeated squaring if that is whole (negative: of "
        "the inverse), else the principal power by the Schur form, or by the eigenvalues if x is symmetric or "
        "Hermitian.",
    .attrs = {{.name = "exponent", .type = AttrType::real, .doc = "The exponent, at most 2^53.", .required = true},
              policy_attr()},
    .infer = infer,
    .forward = forward,
    .vjp = vjp,
    .jvp = jvp,
    .saves_inputs = 1,
    .saves_outputs = 1,
    .branches = {"a whole exponent", "a negative exponent", "exponent 0: the identity", "a fraction",
                 "positive definite", "complex eigenvalues", "a negative eigenvalue", "triangular", "a batch",
                 "beyond the range of floats", "far from 1", "semidefinite", "singular: nan", "no real power: nan",
                 "empty", "not finite"},
    .samples = samples,
});

}  // namespace wp
