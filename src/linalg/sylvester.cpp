#include "linalg/sylvester.hpp"

#include <cmath>
#include <vector>

#include "kernels/condition.hpp"
#include "kernels/each_float.hpp"
#include "kernels/lapack.hpp"
#include "kernels/residual.hpp"
#include "linalg/interpret.hpp"
#include "linalg/judgement.hpp"
#include "linalg/refine.hpp"

namespace wp::linalg {
namespace {

std::size_t count(std::int64_t n) {
  return static_cast<std::size_t>(n);
}

// A = Z S Zᴴ of the matrix scaled by 2^exponent, column-major.
template <class T>
struct Schur {
  std::int64_t n;
  std::vector<T> s, z;
  int info;
  Schur(std::int64_t size, kernels::View<T> a, int exponent) : n(size), s(count(n * n)), z(count(n * n)) {
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j)
        s[count(i + j * n)] = times_power(a.data[i * a.rows + j * a.columns], exponent);
    std::vector<lapack::Complex<T>> w(count(n));
    info = lapack::schur<T>(n, s.data(), n, w.data(), z.data(), n);
  }
  kernels::View<T> vectors() const { return {z.data(), 1, n}; }
  kernels::View<T> adjoint() const {
    const kernels::View<T> v{z.data(), n, 1};
    return kernels::RealOf<T>::parts == 2 ? v.conjugated() : v;
  }
};

// X ↦ the solution of A X + X B = X, A and B in Schur form.
template <class T>
class Operator {
 public:
  Operator(const Schur<T>& a, const Schur<T>& b) : a_(a), b_(b) {}
  bool common() const { return common_; }  // eigenvalues of A and −B, to working precision

  // Column-major m × n, in Schur coordinates.
  void solve(T* c, bool adjoint) {
    typename kernels::RealOf<T>::type scale = 1;
    const lapack::Op op = adjoint ? lapack::Op::adjoint : lapack::Op::none;
    const int info =
        lapack::sylvester<T>(op, op, 1, a_.n, b_.n, a_.s.data(), a_.n, b_.s.data(), b_.n, c, a_.n, &scale);
    common_ = common_ || info != 0;
    if (scale != 1)
      for (std::int64_t i = 0; i < a_.n * b_.n; ++i) c[i] /= scale;
  }
  // The same for row-major C as given: X = U (S⁻¹ (Uᴴ C V)) Vᴴ; S⁻ᴴ instead.
  void apply(T* c, bool adjoint = false) {
    const std::int64_t m = a_.n, n = b_.n;
    kernels::Buffer<T> half(m * n), turned(m * n);
    const kernels::MutableView<T> h{half.data(), n, 1}, t{turned.data(), 1, m}, x{c, n, 1};
    kernels::gemm<T>(m, n, m, a_.adjoint(), x, h);
    kernels::gemm<T>(m, n, n, h, b_.vectors(), t);
    solve(turned.data(), adjoint);
    kernels::gemm<T>(m, n, m, a_.vectors(), t, h);
    kernels::gemm<T>(m, n, n, h, b_.adjoint(), x);
  }
  double rcond() {
    const auto plain = [&](T* x) { solve(x, false); };
    const auto adjoint = [&](T* x) { solve(x, true); };
    const double inverse = kernels::inverse_norm<T>(a_.n * b_.n, plain, adjoint).estimate;
    // Column (k, l) of the operator: column k of A beside row l of B.
    const double norm = kernels::norms<T>(a_.n, a_.n, {a_.s.data(), 1, a_.n}).one +
                        kernels::norms<T>(b_.n, b_.n, {b_.s.data(), 1, b_.n}).infinity;
    return !common_ && norm > 0 && inverse > 0 && std::isfinite(inverse) ? std::min(1.0, 1 / norm / inverse) : 0;
  }
  // The same for changes of the elements of A and B relative to each, which units do not change:
  // max |X| / ‖|P⁻¹|·(|A||X| + |X||B|)‖∞ with P X = A X + X B. x: X, row-major; A, B scaled by 2^exponent.
  double rcond(kernels::View<T> a, kernels::View<T> b, int exponent, const T* x) {
    const std::int64_t m = a_.n, n = b_.n;
    const auto size = [exponent](const T& v) { return std::ldexp(size_of_number(v), exponent); };
    std::vector<double> d(count(m * n));
    double most = 0;
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        double& sum = d[count(i * n + j)];
        for (std::int64_t k = 0; k < m; ++k)
          sum += size(a.data[i * a.rows + k * a.columns]) * size_of_number(x[k * n + j]);
        for (std::int64_t k = 0; k < n; ++k)
          sum += size_of_number(x[i * n + k]) * size(b.data[k * b.rows + j * b.columns]);
        most = std::max(most, size_of_number(x[i * n + j]));
      }
    const auto by_d = [&](T* y) {
      for (std::int64_t e = 0; e < m * n; ++e) y[e] *= static_cast<typename kernels::RealOf<T>::type>(d[count(e)]);
    };
    const auto plain = [&](T* y) {
      apply(y, true);
      by_d(y);
    };
    const auto adjoint = [&](T* y) {
      by_d(y);
      apply(y);
    };
    const double condition = kernels::inverse_norm<T>(m * n, plain, adjoint).estimate / most;
    return !common_ && std::isfinite(condition) ? 1 / std::max(condition, 1.0) : 0;
  }

 private:
  const Schur<T>&a_, &b_;
  bool common_ = false;
};

}  // namespace

template <class T>
Verdict sylvester(std::int64_t m, std::int64_t n, kernels::View<T> a, kernels::View<T> b, T* x,
                  const Options& options) {
  using Real = typename kernels::RealOf<T>::type;
  Verdict v;
  v.method = Method::eigen;
  v.growth = 1;
  const kernels::MutableView<T> answer{x, n, 1};
  const double largest = std::max(kernels::norms<T>(m, m, a).largest, kernels::norms<T>(n, n, b).largest);
  const double size = kernels::norms<T>(m, n, answer).largest;
  if (!std::isfinite(kernels::norms<T>(m, m, a).largest + kernels::norms<T>(n, n, b).largest) ||
      !std::isfinite(size)) {
    v.status = Status::nonfinite_input;
    return v;
  }
  v.nonzero = size > 0;  // of a regular equation
  if (m * n == 0) {
    v.rcond = 1;
    conclude<T>(v, 0, options.min_digits);
    return v;
  }
  const int down = largest > 0 ? -(std::ilogb(largest) + 1) : 0, right = size > 0 ? -(std::ilogb(size) + 1) : 0;
  const Schur<T> sa(m, a, down), sb(n, b, down);
  interpret(Routine::schur, sa.info, m, m, v);
  if (sa.info == 0) interpret(Routine::schur, sb.info, n, n, v);
  if (sa.info != 0 || sb.info != 0) return v;
  for (std::int64_t i = 0; i < m * n; ++i) x[i] = times_power(x[i], right);
  kernels::Buffer<T> c(m * n), wide(m * (m + n)), tall((m + n) * n);
  std::copy_n(x, m * n, c.data());
  Operator<T> op(sa, sb);
  v.rcond = op.rcond();
  conclude<T>(v, expected_error<T>(v), options.min_digits);
  op.apply(x);
  if (refinement_pays<T>(options, true, v) && v.rcond > 0) {
    kernels::scale<T, T>(m, m, a, std::vector<int>(count(m), down).data(), std::vector<int>(count(m)).data(),
                         wide.data());
    for (std::int64_t i = m; i-- > 0;)
      std::copy_backward(wide.data() + i * m, wide.data() + (i + 1) * m, wide.data() + i * (m + n) + m);
    kernels::scale<T, T>(n, n, b, std::vector<int>(count(n), down).data(), std::vector<int>(count(n)).data(),
                         tall.data() + m * n);
    const Refined refined = refine<T>(
        m * n, 1, {x, 1, 1}, {}, {}, 0,
        [&](T* r, Real* sizes) {  // C − [A X]·[X; B]
          for (std::int64_t i = 0; i < m; ++i) std::copy_n(x + i * n, n, wide.data() + i * (m + n) + m);
          std::copy_n(x, m * n, tall.data());
          kernels::residual<T>(m, m + n, n, {wide.data(), m + n, 1}, {tall.data(), n, 1}, {}, {c.data(), n, 1}, r,
                               sizes);
        },
        [&](kernels::MutableView<T> r) { op.apply(r.data); });
    v.backward_error = refined.backward_error;
    conclude<T>(v, refined.error, options.min_digits);
  }
  if (v.status <= Status::ill_conditioned && size > 0 && v.rcond < std::sqrt(kUnit<T>))
    v.rcond = std::max(v.rcond, op.rcond(a, b, down, x));  // it may be the units only
  for (std::int64_t i = 0; i < m * n; ++i) x[i] = times_power(x[i], down - right);
  return v;
}

#define WP_INSTANTIATE(T) \
  template Verdict sylvester(std::int64_t, std::int64_t, kernels::View<T>, kernels::View<T>, T*, const Options&);
WP_FOR_FLOATS(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::linalg
