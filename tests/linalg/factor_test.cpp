// Factorisations through the public functions: residuals in units of rounding over hard kinds of matrices.
#include <gtest/gtest.h>

#include <functional>

#include "long_tests.hpp"
#include "matrices.hpp"
#include "wellposed/wellposed.hpp"

namespace wp {
namespace {

using matrices::Kind;
using matrices::kRight;
using matrices::Matrix;
using matrices::Real;
using matrices::Size;
using matrices::Wide;
using matrices::wide;

template <class T>
Tensor tensor(const Matrix<T>& a) {
  std::vector<T> rows;
  for (Size i = 0; i < a.m; ++i)
    for (Size j = 0; j < a.n; ++j) rows.push_back(a(i, j));
  return Tensor::from(rows, {a.m, a.n});
}
template <class T>
Matrix<T> matrix(const Tensor& given) {
  Matrix<T> a(given.ndim() == 1 ? 1 : given.shape()[0], given.shape().back(), 0);
  const std::vector<T> data = given.to_vector<T>();
  for (Size i = 0; i < a.m; ++i)
    for (Size j = 0; j < a.n; ++j) a(i, j) = data[static_cast<std::size_t>(i * a.n + j)];
  return a;
}
std::vector<std::int64_t> indices(const Tensor& t) {
  return t.to_vector<std::int64_t>();
}
template <class T>
Matrix<T> permuted(const Matrix<T>& a, const std::vector<std::int64_t>& rows,
                   const std::vector<std::int64_t>& columns) {
  Matrix<T> b(a.m, a.n, 0);
  for (Size i = 0; i < a.m; ++i)
    for (Size j = 0; j < a.n; ++j)
      b(i, j) = a(rows.empty() ? i : rows[static_cast<std::size_t>(i)],
                  columns.empty() ? j : columns[static_cast<std::size_t>(j)]);
  return b;
}
template <class T>
bool is_triangular(const Matrix<T>& a, bool upper) {
  for (Size j = 0; j < a.n; ++j)
    for (Size i = 0; i < a.m; ++i)
      if ((upper ? i > j : i < j) && a(i, j) != T(0)) return false;
  return true;
}

// Of large matrices a few kinds, unless there is time.
bool chosen(Size n, const std::string& name) {
  return n < 200 || long_tests() || name == "random" || name == "graded" || name == "geometric singular values" ||
         name == "clustered";
}
// Matrices m × n of every kind: those of matrices.hpp, and given singular values, geometric or in two clusters.
template <class T>
void for_matrices(Size m, Size n, const std::function<void(const Matrix<T>&, const std::string&)>& f) {
  const auto give = [&](const Matrix<T>& a, const std::string& name) {
    SCOPED_TRACE(name + " " + std::to_string(m) + " × " + std::to_string(n));
    if (chosen(std::max(m, n), name)) f(a, name);
  };
  matrices::for_kinds([&](Kind kind) { give(matrices::make<T>(kind, m, n), matrices::name(kind)); });
  const Size k = std::min(m, n);
  if (k == 0) return;
  const double u = matrices::unit<T>;
  for (const double cond : {1 / std::sqrt(u), 1 / u})
    for (const bool clustered : {false, true}) {
      std::vector<double> s;
      for (Size i = 0; i < k; ++i)
        s.push_back(clustered
                        ? (i == 0 ? 1 : 1 / cond)
                        : std::pow(cond, -static_cast<double>(i) / static_cast<double>(std::max<Size>(k - 1, 1))));
      give(matrices::with_values<T>(m, n, s, 17),
           clustered ? "clustered singular values" : "geometric singular values");
    }
  Matrix<T> diagonal(m, n);
  for (Size j = 0; j < n; ++j)
    for (Size i = 0; i < m; ++i)
      diagonal(i, j) = T(static_cast<Real<T>>(i == j ? 1.0 / static_cast<double>(i + 1) : 0));
  give(diagonal, "diagonal");
}
template <class T>
void for_hermitian(Size n, const std::function<void(const Matrix<T>&, const std::string&)>& f) {
  for_matrices<T>(n, n, [&](Matrix<T> a, const std::string& name) {
    for (Size j = 0; j < n; ++j)
      for (Size i = 0; i <= j; ++i) {
        const T mean = a(i, j) * Real<T>(0.5) + matrices::conjugate(a(j, i)) * Real<T>(0.5);
        a(i, j) = i == j ? T(std::real(mean)) : mean;
        a(j, i) = matrices::conjugate(a(i, j));
      }
    f(a, name);
  });
}
// f32 and c64 of at most 256 rows are computed in f64: few of them; one size beyond for the narrow kernels.
template <class T>
std::vector<Size> sizes() {
  if (sizeof(Real<T>) == 4 && !long_tests()) return {0, 1, 2, 3, 5, 10, 260};
  return {0, 1, 2, 3, 5, 10, 50, 200};
}

// The worst ratio of a test, in its record.
class Worst {
 public:
  void operator()(double ratio) {
    EXPECT_LT(ratio, kRight);
    worst_ = std::max(worst_, ratio);
  }
  ~Worst() { testing::Test::RecordProperty("worst_ratio", std::to_string(worst_)); }

 private:
  double worst_ = 0;
};

template <class T>
class Factorisations : public testing::Test {};
using Types = testing::Types<float, double, complex64, complex128>;
TYPED_TEST_SUITE(Factorisations, Types);

template <class T>
std::vector<matrices::Shape> shapes() {
  std::vector<matrices::Shape> out{{0, 3}, {3, 0}, {1, 7}, {7, 1}, {5, 3}, {3, 5}};
  for (const Size n : sizes<T>()) out.push_back({n, n});
  if (sizeof(Real<T>) == 8) out.insert(out.end(), {{50, 10}, {10, 50}, {200, 20}, {20, 200}});
  return out;
}

template <class T>
void check_qr(const Matrix<T>& a, const Tensor& q, const Tensor& r, Worst& worst) {
  const auto Q = matrix<T>(q), R = matrix<T>(r);
  EXPECT_TRUE(is_triangular(R, true));
  worst(matrices::unorthogonality(Q));
  worst(matrices::ratio<T>(wide(a) - wide(Q) * wide(R), norm(wide(a)), std::max(a.m, a.n)));
}
TYPED_TEST(Factorisations, OfQrAreOrthonormalAndTriangularAndReconstruct) {
  using T = TypeParam;
  Worst worst;
  for (const auto [m, n] : shapes<T>())
    for_matrices<T>(m, n, [&](const Matrix<T>& a, const std::string&) {
      const Tensor x = tensor(a);
      const auto thin = linalg::qr(x);
      check_qr(a, thin.Q, thin.R, worst);
      EXPECT_EQ(thin.Q.shape(), (Dims{a.m, std::min(a.m, a.n)}));
      if (a.m < 60) {
        const auto full = linalg::qr(x, {.mode = "complete"});
        check_qr(a, full.Q, full.R, worst);
        EXPECT_EQ(full.Q.shape(), (Dims{a.m, a.m}));
      }
      const auto pivoted = linalg::qr_pivoted(x);
      check_qr(permuted(a, {}, indices(pivoted.P)), pivoted.Q, pivoted.R, worst);
    });
}

TYPED_TEST(Factorisations, OfLuAreTriangularAndReconstructTheRowsInTheirOrder) {
  using T = TypeParam;
  Worst worst;
  for (const auto [m, n] : shapes<T>())
    for_matrices<T>(m, n, [&](const Matrix<T>& a, const std::string&) {
      const auto f = linalg::lu(tensor(a));
      const auto L = matrix<T>(f.L), U = matrix<T>(f.U);
      EXPECT_TRUE(is_triangular(L, false) && is_triangular(U, true));
      for (Size i = 0; i < L.n; ++i) EXPECT_EQ(L(i, i), T(1));
      const auto A = wide(permuted(a, indices(f.P), {}));
      worst(matrices::ratio<T>(A - wide(L) * wide(U), norm(A), std::max(a.m, a.n)));
    });
}

TYPED_TEST(Factorisations, OfLdlReconstructWithBlocksOfAtMostTwo) {
  using T = TypeParam;
  Worst worst;
  for (const Size n : sizes<T>())
    for_hermitian<T>(n, [&](const Matrix<T>& a, const std::string&) {
      const auto f = linalg::ldl(tensor(a));
      const auto L = matrix<T>(f.L), D = matrix<T>(f.D);
      EXPECT_TRUE(is_triangular(L, false));
      for (Size i = 0; i < n; ++i)
        for (Size j = 0; j < n; ++j) EXPECT_TRUE(std::abs(i - j) <= 1 || D(i, j) == T(0));
      const auto order = indices(f.P);
      const auto A = wide(permuted(a, order, order));
      worst(matrices::ratio<T>(A - wide(L) * wide(D) * adjoint(wide(L)), norm(A), n));
    });
}

TYPED_TEST(Factorisations, OfSvdAreOrthonormalAndReconstructByEveryMethod) {
  using T = TypeParam;
  Worst worst;
  for (const auto [m, n] : shapes<T>())
    for_matrices<T>(m, n, [&](const Matrix<T>& a, const std::string& name) {
      for (const char* accuracy : {"normal", "high"}) {
        if (std::max(a.m, a.n) >= 200 && name != "random" && accuracy[0] == 'h') continue;
        SCOPED_TRACE(accuracy);
        const auto f = linalg::svd(tensor(a), {.full_matrices = false, .accuracy = accuracy});
        const auto U = matrix<T>(f.U), Vh = matrix<T>(f.Vh);
        const auto S = matrix<Real<T>>(f.S);
        std::vector<Real<T>> s;
        for (Size i = 0; i < std::min(a.m, a.n); ++i) s.push_back(S(0, i));
        EXPECT_TRUE(std::is_sorted(s.rbegin(), s.rend()));
        worst(matrices::unorthogonality(U));
        worst(matrices::unorthogonality(adjoint(Vh)));
        worst(matrices::ratio<T>(wide(a) - scaled(wide(U), s) * wide(Vh), norm(wide(a)), std::max(a.m, a.n)));
      }
    });
}

TYPED_TEST(Factorisations, OfEighAreOrthonormalAndReconstructByEveryMethod) {
  using T = TypeParam;
  Worst worst;
  for (const Size n : sizes<T>())
    for_hermitian<T>(n, [&](const Matrix<T>& a, const std::string& name) {
      const auto A = wide(a);
      for (const char* accuracy : {"normal", "high"}) {
        if (n >= 200 && name != "random" && accuracy[0] == 'h') continue;
        SCOPED_TRACE(accuracy);
        const auto f = linalg::eigh(tensor(a), {.accuracy = accuracy});
        const auto W = matrix<Real<T>>(f.eigenvalues);
        const auto Z = matrix<T>(f.eigenvectors);
        std::vector<Real<T>> w;
        for (Size i = 0; i < n; ++i) w.push_back(W(0, i));
        EXPECT_TRUE(std::is_sorted(w.begin(), w.end()));
        worst(matrices::unorthogonality(Z));
        worst(matrices::ratio<T>(A - scaled(wide(Z), w) * adjoint(wide(Z)), norm(A), n));
        const auto only = matrix<Real<T>>(linalg::eigvalsh(tensor(a), {.accuracy = accuracy}));
        Matrix<Real<T>> apart(1, n, 0);
        for (Size i = 0; i < n; ++i) apart(0, i) = only(0, i) - W(0, i);
        worst(matrices::ratio<Real<T>>(wide(apart), norm(A), n));
      }
    });
}

TYPED_TEST(Factorisations, OfAPencilAreOrthonormalInItsMetric) {
  using T = TypeParam;
  Worst worst;
  for (const Size n : sizes<T>()) {
    if (n == 0) continue;
    Matrix<T> b = matrices::make_hermitian<T>(Kind::random, n);
    for (Size j = 0; j < n; ++j) b(j, j) += T(static_cast<Real<T>>(2 * n));
    for_hermitian<T>(n, [&](const Matrix<T>& a, const std::string& name) {
      if (name == "denormal") return;
      const auto f = linalg::eigh_generalized(tensor(a), tensor(b));
      const auto W = matrix<Real<T>>(f.eigenvalues);
      const auto A = wide(a), B = wide(b), Z = wide(matrix<T>(f.eigenvectors));
      std::vector<Real<T>> w;
      for (Size i = 0; i < n; ++i) w.push_back(W(0, i));
      worst(matrices::ratio<T>(matrices::identity<Wide<T>>(n) - adjoint(Z) * B * Z, 1, n));
      worst(matrices::ratio<T>(A * Z - scaled(B * Z, w), norm(A) * norm(Z), n));
    });
  }
}

TYPED_TEST(Factorisations, OfEigSatisfyTheirEquationAndSchurReconstructs) {
  using T = TypeParam;
  using C = std::complex<Real<T>>;
  Worst worst;
  for (const Size n : sizes<T>())
    for_matrices<T>(n, n, [&](const Matrix<T>& a, const std::string&) {
      const Tensor x = tensor(a);
      Matrix<C> same(n, n, 0);
      for (Size j = 0; j < n; ++j)
        for (Size i = 0; i < n; ++i) same(i, j) = C(a(i, j));
      const auto A = wide(same);
      const auto f = linalg::diagnosed::eig(x).value;
      const auto W = matrix<C>(f.eigenvalues), V = matrix<C>(f.eigenvectors);
      std::vector<C> w;
      for (Size i = 0; i < n; ++i) w.push_back(W(0, i));
      worst(matrices::ratio<C>(A * wide(V) - scaled(wide(V), w), norm(A), n));
      const auto real = linalg::schur(x);
      const auto Z = matrix<T>(real.Z);
      worst(matrices::unorthogonality(Z));
      worst(matrices::ratio<T>(wide(a) - wide(Z) * wide(matrix<T>(real.T)) * adjoint(wide(Z)), norm(A), n));
      const auto complex = linalg::schur(x, {.output = "complex"});
      const auto form = matrix<C>(complex.T), vectors = matrix<C>(complex.Z);
      EXPECT_TRUE(is_triangular(form, true));
      worst(matrices::unorthogonality(vectors));
      worst(matrices::ratio<C>(A - wide(vectors) * wide(form) * adjoint(wide(vectors)), norm(A), n));
    });
}

TYPED_TEST(Factorisations, SolveSystemsAndFollowUpdates) {
  using T = TypeParam;
  Worst worst;
  for (const Size n : sizes<T>()) {
    if (n == 0) continue;
    SCOPED_TRACE(n);
    const Matrix<T> g = matrices::random<T>(n, n, 5), b = matrices::random<T>(n, 3, 6),
                    x = matrices::random<T>(1, n, 7);
    const auto f = linalg::lu(tensor(g));
    const auto X = wide(matrix<T>(linalg::diagnosed::lu_solve(f.P, f.L, f.U, tensor(b)).value));
    worst(matrices::ratio<T>(wide(g) * X - wide(b), norm(wide(g)) * norm(X), n));
    Matrix<T> spd = matrices::make_hermitian<T>(Kind::random, n);
    for (Size j = 0; j < n; ++j) spd(j, j) += T(static_cast<Real<T>>(2 * n));
    const Tensor l = linalg::cholesky(tensor(spd)), v = reshape(tensor(x), {n});
    const auto Y = wide(matrix<T>(linalg::cho_solve(l, tensor(b))));
    worst(matrices::ratio<T>(wide(spd) * Y - wide(b), norm(wide(spd)) * norm(Y), n));
    const auto L = wide(matrix<T>(l)), V = wide(matrix<T>(reshape(v, {n, 1})));
    const Tensor grown = linalg::chol_update(l, v);
    const auto U = wide(matrix<T>(grown)), back = wide(matrix<T>(linalg::chol_update(grown, v, {.downdate = true})));
    const auto A = L * adjoint(L), more = V * adjoint(V);
    worst(matrices::ratio<T>(U * adjoint(U) - A - more, norm(A), n));
    worst(matrices::ratio<T>(U * adjoint(U) - more - back * adjoint(back), norm(A), n));
  }
}

TYPED_TEST(Factorisations, OfReflectorsMultiplyToOrthonormalColumns) {
  using T = TypeParam;
  Worst worst;
  // I − τ v vᴴ with τ = 2/‖v‖² is unitary.
  for (const Size n : {1, 2, 5, 50}) {
    Matrix<T> x = matrices::random<T>(n + 3, n, 9), tau(1, n, 0);
    for (Size j = 0; j < n; ++j) {
      long double sum = 1;
      for (Size i = j + 1; i < x.m; ++i) sum += std::norm(x(i, j));
      tau(0, j) = T(static_cast<Real<T>>(2 / sum));
    }
    const Tensor q = linalg::householder_product(tensor(x), reshape(tensor(tau), {n}));
    worst(matrices::unorthogonality(matrix<T>(q)));
  }
}

}  // namespace
}  // namespace wp
