#include "linalg/factored.hpp"

#include <cmath>

#include "base/text.hpp"
#include "kernels/condition.hpp"
#include "kernels/each_float.hpp"
#include "kernels/triangular.hpp"
#include "linalg/prescaled.hpp"
#include "linalg/system.hpp"

namespace wp::linalg {
namespace {

template <class T>
double size_at(kernels::View<T> a, std::int64_t i, std::int64_t j) {
  return std::abs(std::complex<double>(a.data[i * a.rows + j * a.columns]));
}

// y = |triangle|·x.
template <class T>
std::vector<double> times(std::int64_t n, kernels::View<T> a, bool upper, const std::vector<double>& x) {
  std::vector<double> y(x.size(), 0.0);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = upper ? i : 0; j < (upper ? n : i + 1); ++j)
      y[static_cast<std::size_t>(i)] += size_at(a, i, j) * x[static_cast<std::size_t>(j)];
  return y;
}

// The sizes of X's elements, each column relative to its largest; the largest of every row.
template <class T>
std::vector<double> relative_sizes(std::int64_t n, std::int64_t columns, kernels::View<T> x) {
  std::vector<double> out(static_cast<std::size_t>(n), 0.0);
  for (std::int64_t j = 0; j < columns; ++j) {
    double most = 0;
    for (std::int64_t i = 0; i < n; ++i) most = std::max(most, size_at(x, i, j));
    for (std::int64_t i = 0; i < n && most > 0; ++i)
      out[static_cast<std::size_t>(i)] = std::max(out[static_cast<std::size_t>(i)], size_at(x, i, j) / most);
  }
  return out;
}

// Rounding errors mostly cancel: 2u stands for γ (Higham 2002, §9.3).
template <class T>
constexpr double gamma = std::numeric_limits<typename kernels::RealOf<T>::type>::epsilon();

}  // namespace

RightSides::RightSides(const Call& c, std::size_t at, std::int64_t size, const Dims& factors)
    : n(size), vector(c.in[at].ndim() == 1) {
  const Tensor& given = c.in[at];
  const std::int64_t rows = given.ndim() == 0 ? -1 : given.shape()[given.shape().size() - (vector ? 1 : 2)];
  if (rows != n)
    refuse<ShapeError>(
        "WP-SHP-017",
        say(c.op.params[at].name, " must have as many rows as the factors, ", n, "; got ", given.shape(), "."),
        "A vector is 1-d; stacks of vectors are [..., n, 1].");
  k = vector ? 1 : given.shape().back();
  b = vector ? view_of(given, {n, 1}, {given.strides()[0], 1}) : given;
  batch = broadcast(factors, batch_of(b));
}

Dims RightSides::shape() const {
  Dims out = batch;
  out.push_back(n);
  if (!vector) out.push_back(k);
  return out;
}

AttrSpec factored_policy_attr() {
  AttrSpec spec = policy_attr();
  spec.doc = "What becomes of factors that are not finite, or with which no digit of the answer is sure.";
  return spec;
}

template <class T>
bool Triangles<T>::finite() const {
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      const bool below = j < i;
      if (!std::isfinite(size_at(below ? lower : upper, i, j))) return false;
      if (i == j && !std::isfinite(size_at(lower, i, i))) return false;
    }
  return true;
}

template <class T>
void Triangles<T>::solve(std::int64_t columns, kernels::MutableView<T> x, bool adjoint) const {
  kernels::solve_triangular<T>({false, false}, n, columns, adjoint ? upper.transposed().conjugated() : lower, x);
  kernels::solve_triangular<T>({true, false}, n, columns, adjoint ? lower.transposed().conjugated() : upper, x);
}

template <class T>
double Triangles<T>::threshold() {
  return 10 * gamma<T>;
}

template <class T>
Verdict Triangles<T>::judge(std::int64_t columns, kernels::View<T> x) const {
  using R = typename kernels::RealOf<T>::type;
  const double u = std::numeric_limits<R>::epsilon() / 2;
  Verdict v;
  const std::vector<double> d = times(n, lower, false, times(n, upper, true, relative_sizes(n, columns, x)));
  const auto by_d = [&](T* y) {
    for (std::int64_t i = 0; i < n; ++i) y[i] *= static_cast<R>(d[static_cast<std::size_t>(i)]);
  };
  // ‖A⁻¹·D‖∞ = ‖D·A⁻ᴴ‖₁.
  const auto plain = [&](T* y) {
    solve(1, {y, 1, 1}, true);
    by_d(y);
  };
  const auto adjoint = [&](T* y) {
    by_d(y);
    solve(1, {y, 1, 1}, false);
  };
  const double condition = static_cast<double>(kernels::inverse_norm<T>(n, plain, adjoint).estimate);
  v.rcond = 1 / std::max(condition, 1.0);
  v.forward_error = gamma<T> * condition;
  v.digits = digits_of(v.forward_error, u);
  v.status = status_of(v.digits, -1, u);
  return v;
}

template <class T>
Verdict solve_factored(const Triangles<T>& a, std::int64_t k, T* x, bool keep) {
  Verdict v;
  const std::int64_t n = a.n;
  if (n == 0 || k == 0) return v;
  const kernels::MutableView<T> to{x, k, 1};
  if (!a.finite() || !std::isfinite(kernels::norms<T>(n, k, to).largest)) {
    v.status = Status::nonfinite_input;
    fill_nan(x, n * k);
    return v;
  }
  for (std::int64_t i = 0; i < n; ++i)
    if (size_at(a.lower, i, i) == 0 || size_at(a.upper, i, i) == 0) {
      v.status = Status::singular;
      v.rcond = 0;
      v.exactly_singular = true;
    }
  a.solve(k, to);
  if (v.status == Status::ok) v = a.judge(k, to);
  if (v.status == Status::singular && !keep) fill_nan(x, n * k);
  return v;
}

#define WP_INSTANTIATE(T)       \
  template struct Triangles<T>; \
  template Verdict solve_factored<T>(const Triangles<T>&, std::int64_t, T*, bool);
WP_FOR_FLOATS(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::linalg
