// Stacks of small matrices: one matrix per lane. What is true of each of them must not depend on the others.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "kernels/lapack.hpp"
#include "long_tests.hpp"
#include "ops/lines.hpp"
#include "simd/isa.hpp"
#include "tensors.hpp"
#include "wellposed/wellposed.hpp"

namespace {

using namespace wp;
using linalg::Status;

enum class Want : std::uint8_t { any, symmetric, definite };

std::vector<double> draw(std::int64_t m, std::int64_t n, Want want, std::mt19937_64& g) {
  std::normal_distribution<double> normal;
  std::vector<double> a(static_cast<std::size_t>(m * n));
  for (double& v : a) v = normal(g);
  if (want == Want::any) return a;
  std::vector<double> out(a);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < n && want == Want::definite; ++k)
        sum += a[static_cast<std::size_t>(i * n + k)] * a[static_cast<std::size_t>(j * n + k)];
      const auto ij = static_cast<std::size_t>(i * n + j), ji = static_cast<std::size_t>(j * n + i);
      out[ij] = want == Want::definite ? sum + (i == j ? 0.5 : 0) : (a[ij] + a[ji]) / 2;
    }
  return out;
}

struct Function {
  const char* name;
  Want want;
  bool square;
  std::function<Tensors(const Tensor&)> call;
};
// Without policies: NaN members come back as NaN.
const std::vector<Function>& functions() {
  using namespace linalg::diagnosed;
  static const std::vector<Function> all = {
      {"inv", Want::any, true, [](const Tensor& a) { return Tensors{inv(a).value}; }},
      {"solve", Want::any, true,
       [](const Tensor& a) {
         const std::int64_t n = a.shape().back();
         std::vector<double> b;
         for (std::int64_t i = 0; i < n; ++i) b.push_back(static_cast<double>(i + 1));
         return Tensors{solve(a, astype(Tensor::from(b, {n, 1}), a.dtype())).value};
       }},
      {"solve with many right-hand sides", Want::any, true,
       [](const Tensor& a) { return Tensors{solve(a, eye(a.shape().back(), {.dtype = a.dtype()})).value}; }},
      {"det", Want::any, true, [](const Tensor& a) { return Tensors{det(a).value}; }},
      {"slogdet", Want::any, true,
       [](const Tensor& a) {
         const auto s = slogdet(a).value;
         return Tensors{s.sign, s.logabsdet};
       }},
      {"cholesky", Want::definite, true, [](const Tensor& a) { return Tensors{cholesky(a).value}; }},
      {"eigh", Want::symmetric, true,
       [](const Tensor& a) {
         const auto e = eigh(a).value;
         return Tensors{e.eigenvalues, e.eigenvectors};
       }},
      {"eigvalsh", Want::symmetric, true, [](const Tensor& a) { return Tensors{eigvalsh(a).value}; }},
      {"svd", Want::any, false,
       [](const Tensor& a) {
         const auto s = svd(a, {.full_matrices = false}).value;
         return Tensors{s.U, s.S, s.Vh};
       }},
      {"qr", Want::any, false,
       [](const Tensor& a) {
         const auto f = qr(a).value;
         return Tensors{f.Q, f.R};
       }},
      {"svdvals", Want::any, false, [](const Tensor& a) { return Tensors{svdvals(a).value}; }},
  };
  return all;
}

std::string bytes_of(const Tensor& t) {
  const Tensor c = packed(t, t.dtype());
  return std::string(reinterpret_cast<const char*>(c.node()->data),
                     static_cast<std::size_t>(c.size()) * (t.dtype() == f32 ? 4 : 8));
}
std::string all_bytes(const Tensors& t, std::int64_t member) {
  std::string out;
  for (const Tensor& x : t) out += bytes_of(x[{member}]);
  return out;
}

Tensor stack_of(std::int64_t m, std::int64_t n, const std::vector<std::vector<double>>& members, DType dtype) {
  std::vector<double> all;
  for (const auto& x : members) all.insert(all.end(), x.begin(), x.end());
  return astype(Tensor::from(all, {static_cast<std::int64_t>(members.size()), m, n}), dtype);
}

class EachIsa : public testing::TestWithParam<simd::Isa> {
 protected:
  void SetUp() override {
    if (!simd::supported(GetParam())) return;
    before_ = simd::isa();
    simd::set_isa(GetParam());
  }
  void TearDown() override { simd::set_isa(before_); }
  bool there() const { return simd::supported(GetParam()); }

 private:
  simd::Isa before_ = simd::isa();
};

// Shuffled, sliced, padded, alone: the same bits. With NaN, a singular and a badly scaled matrix among them.
TEST_P(EachIsa, AMembersBitsDependOnItsOwnValuesOnly) {
  if (!there()) return;
  std::mt19937_64 g(7);
  for (const Function& f : functions())
    for (const DType dtype : {f64, f32})
      for (const auto& [m, n] : std::vector<std::pair<std::int64_t, std::int64_t>>{
               {1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}, {7, 7}, {8, 8}, {9, 9}, {16, 16}, {32, 32}, {5, 3}, {3, 8}}) {
        if (f.square && m != n) continue;
        std::vector<std::vector<double>> members;
        for (int i = 0; i < 21; ++i) members.push_back(draw(m, n, f.want, g));
        std::fill(members[3].begin(), members[3].end(), 1.0);  // singular
        members[5][0] = std::nan("");
        for (double& v : members[9]) v *= 1e-30;
        members[11].assign(members[11].size(), 0.0);
        const Tensors together = f.call(stack_of(m, n, members, dtype));
        for (std::size_t i = 0; i < members.size(); ++i) {
          const Tensors alone = f.call(stack_of(m, n, {members[i]}, dtype));
          EXPECT_EQ(all_bytes(together, static_cast<std::int64_t>(i)), all_bytes(alone, 0))
              << f.name << " " << m << "x" << n << " member " << i;
        }
        std::vector<std::vector<double>> turned(members.rbegin(), members.rend() - 2);
        const Tensors reversed = f.call(stack_of(m, n, turned, dtype));
        for (std::size_t i = 0; i < turned.size(); ++i)
          EXPECT_EQ(all_bytes(reversed, static_cast<std::int64_t>(i)),
                    all_bytes(together, static_cast<std::int64_t>(members.size() - 1 - i)))
              << f.name;
      }
}
INSTANTIATE_TEST_SUITE_P(Small, EachIsa, testing::Values(simd::Isa::baseline, simd::Isa::avx2, simd::Isa::avx512),
                         [](const auto& which) { return std::string(simd::name(which.param)); });

// Views, broadcast matrices and batches of several axes are the same matrices.
TEST(SmallStacks, OfAnyLayoutGiveTheSameBits) {
  std::mt19937_64 g(8);
  for (const Function& f : functions()) {
    std::vector<std::vector<double>> members;
    for (int i = 0; i < 12; ++i) members.push_back(draw(5, 5, f.want, g));
    const Tensor a = stack_of(5, 5, members, f64);
    const Tensors plain = f.call(a);
    const auto same = [&](const Tensors& got, const Dims& batch, const char* what) {
      for (std::size_t k = 0; k < got.size(); ++k) {
        Dims shape = batch;
        for (std::size_t d = 1; d < plain[k].shape().size(); ++d) shape.push_back(plain[k].shape()[d]);
        EXPECT_EQ(bytes_of(got[k]), bytes_of(reshape(plain[k], shape))) << f.name << ": " << what;
      }
    };
    same(f.call(matrix_transpose(packed(matrix_transpose(a), f64))), {12}, "column-major");
    same(f.call(reshape(a, {3, 4, 5, 5})), {3, 4}, "two axes");
    const Tensor turned = permute_dims(packed(permute_dims(reshape(a, {3, 4, 5, 5}), {1, 0, 2, 3}), f64), {1, 0, 2, 3});
    same(f.call(turned), {3, 4}, "axes in another order");
    const Tensor wide = concat({a, a}, {.axis = 2});
    same(f.call(wide[{ellipsis, slice(0, 5)}]), {12}, "rows with gaps");
  }
}

// ---- errors beside those of a loop over LAPACK ---------------------------------------------------------------------
extern "C" {
void dgetrf_(const int*, const int*, double*, const int*, int*, int*);
void dgetri_(const int*, double*, const int*, const int*, double*, const int*, int*);
}
using Quad = __float128;

std::vector<Quad> exact_inverse(int n, const std::vector<double>& a) {
  std::vector<Quad> m(static_cast<std::size_t>(n * 2 * n));
  const auto at = [&](int i, int j) -> Quad& { return m[static_cast<std::size_t>(i * 2 * n + j)]; };
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) at(i, j) = a[static_cast<std::size_t>(i * n + j)], at(i, n + j) = i == j;
  const auto size = [](Quad v) { return v < 0 ? -v : v; };
  for (int k = 0; k < n; ++k) {
    int pivot = k;
    for (int i = k + 1; i < n; ++i)
      if (size(at(i, k)) > size(at(pivot, k))) pivot = i;
    for (int j = 0; j < 2 * n; ++j) std::swap(at(k, j), at(pivot, j));
    for (int j = 2 * n; j-- > k;) at(k, j) /= at(k, k);
    for (int i = 0; i < n; ++i)
      if (i != k)
        for (int j = 2 * n; j-- > k;) at(i, j) -= at(i, k) * at(k, j);
  }
  std::vector<Quad> out;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) out.push_back(at(i, n + j));
  return out;
}
double error_of(const std::vector<Quad>& exact, const double* got) {
  Quad worst = 0, largest = 0;
  for (std::size_t e = 0; e < exact.size(); ++e) {
    const Quad off = exact[e] - Quad(got[e]), size = exact[e];
    worst = std::max(worst, off < 0 ? -off : off);
    largest = std::max(largest, size < 0 ? -size : size);
  }
  return static_cast<double>(worst / largest);
}

template <class T>
double largest_of(const std::vector<T>& a) {
  double out = 0;
  for (const T v : a) out = std::max(out, std::fabs(static_cast<double>(v)));
  return out;
}

// A kind of matrix that is hard in its own way.
std::vector<double> of_kind(const std::string& kind, int n, std::mt19937_64& g) {
  std::vector<double> a = draw(n, n, Want::any, g);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      double& v = a[static_cast<std::size_t>(i * n + j)];
      if (kind == "graded") v = std::ldexp(v, -4 * std::max(i, j));
      if (kind == "repeated spectrum") v = (i == j ? 2 : 0) + 1e-3 * v;
      if (kind == "denormal") v = std::ldexp(v, -1030);
      if (kind == "near overflow") v = std::ldexp(v, 1000);
    }
  return a;
}

TEST(SmallStacks, InversesAreAtMostTwiceAsWrongAsThoseOfLapack) {
  const int count = long_tests() ? 100000 : 2000;
  for (const char* const kind : {"random", "graded", "repeated spectrum", "near overflow"})
    for (const int n : {2, 3, 4, 8}) {
      std::mt19937_64 g(static_cast<unsigned>(n));
      std::vector<std::vector<double>> members;
      for (int i = 0; i < count; ++i) members.push_back(of_kind(kind, n, g));
      const Tensor x = linalg::inv(stack_of(n, n, members, f64));
      const double* const got = reinterpret_cast<const double*>(x.node()->data);
      double ours = 0, theirs = 0;  // sums of squares of errors over condition
      for (int i = 0; i < count; ++i) {
        std::vector<double> a = members[static_cast<std::size_t>(i)];
        const std::vector<Quad> exact = exact_inverse(n, a);
        const double rcond = 1 / (largest_of(a) * largest_of(exact));
        ours += std::pow(rcond * error_of(exact, got + i * n * n), 2);
        std::vector<int> pivots(static_cast<std::size_t>(n));
        std::vector<double> work(static_cast<std::size_t>(64 * n));
        const int length = 64 * n;
        int info = 0;
        dgetrf_(&n, &n, a.data(), &n, pivots.data(), &info);  // of the transpose: so is the inverse
        dgetri_(&n, a.data(), &n, pivots.data(), work.data(), &length, &info);
        theirs += std::pow(rcond * error_of(exact, a.data()), 2);
      }
      EXPECT_LE(std::sqrt(ours), 2 * std::sqrt(theirs)) << kind << " " << n;
    }
}

TEST(SmallStacks, SolutionsAreRightToTheLastDigit) {
  std::mt19937_64 g(3);
  const int count = long_tests() ? 50000 : 1000;
  for (const int n : {1, 2, 3, 4, 6, 8, 12, 32}) {
    const int of_this = n > 8 ? count / 20 : count;
    std::vector<std::vector<double>> members, sides;
    for (int i = 0; i < of_this; ++i) {
      members.push_back(draw(n, n, Want::any, g));
      sides.push_back(draw(n, 1, Want::any, g));
    }
    const Tensor x = linalg::solve(stack_of(n, n, members, f64), stack_of(n, 1, sides, f64));
    double worst = 0;
    for (int i = 0; i < of_this; ++i) {
      const std::vector<Quad> inverse = exact_inverse(n, members[static_cast<std::size_t>(i)]);
      std::vector<Quad> exact(static_cast<std::size_t>(n));
      for (int r = 0; r < n; ++r)
        for (int c = 0; c < n; ++c)
          exact[static_cast<std::size_t>(r)] += inverse[static_cast<std::size_t>(r * n + c)] *
                                                Quad(sides[static_cast<std::size_t>(i)][static_cast<std::size_t>(c)]);
      worst = std::max(worst, error_of(exact, reinterpret_cast<const double*>(x.node()->data) + i * n));
    }
    EXPECT_LE(worst, 2.3e-16) << n;
  }
}

// ‖A − V diag(λ) Vᵀ‖ and ‖VᵀV − I‖ over those of LAPACK.
struct Residuals {
  double product = 0, orthogonality = 0;
};
Residuals residuals(int m, int n, const double* a, const double* left, const double* values, const double* right,
                    bool right_by_rows) {
  const int k = std::min(m, n);
  Residuals out;
  long double largest = 0;
  for (int e = 0; e < m * n; ++e) largest = std::max<long double>(largest, std::fabs(a[e]));
  const auto r = [&](int i, int c) { return right_by_rows ? right[c * n + i] : right[i * k + c]; };
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      long double sum = -static_cast<long double>(a[i * n + j]);
      for (int c = 0; c < k; ++c) sum += static_cast<long double>(left[i * k + c]) * values[c] * r(j, c);
      out.product = std::max(out.product, static_cast<double>(std::fabs(sum) / largest));
    }
  for (int p = 0; p < k; ++p)
    for (int q = 0; q < k; ++q) {
      long double u = p == q ? -1 : 0, v = u;
      for (int i = 0; i < m; ++i) u += static_cast<long double>(left[i * k + p]) * left[i * k + q];
      for (int i = 0; i < n; ++i) v += static_cast<long double>(r(i, p)) * r(i, q);
      out.orthogonality = std::max({out.orthogonality, static_cast<double>(std::fabs(u)), static_cast<double>(std::fabs(v))});
    }
  return out;
}

TEST(SmallStacks, DecompositionsAreAtMostTwiceAsWrongAsThoseOfLapack) {
  const int count = long_tests() ? 100000 : 2000;
  for (const char* const kind : {"random", "graded", "repeated spectrum", "denormal", "near overflow"})
    for (const int n : {2, 3, 4, 8, 16}) {
      const int of_this = n > 8 ? count / 20 : count;
      std::mt19937_64 g(static_cast<unsigned>(n));
      std::vector<std::vector<double>> members;
      for (int i = 0; i < of_this; ++i) {
        members.push_back(of_kind(kind, n, g));
        auto& a = members.back();
        for (int r = 0; r < n; ++r)
          for (int c = 0; c < r; ++c)
            a[static_cast<std::size_t>(r * n + c)] = a[static_cast<std::size_t>(c * n + r)];
      }
      const Tensor a = stack_of(n, n, members, f64);
      const auto e = linalg::eigh(a);
      const auto s = linalg::svd(a);
      const auto data = [](const Tensor& t) { return reinterpret_cast<const double*>(t.node()->data); };
      Residuals eigh, svd, their_eigh, their_svd;
      const auto take = [](Residuals& to, const Residuals& r) {
        to.product += r.product * r.product;
        to.orthogonality += r.orthogonality * r.orthogonality;
      };
      const bool tiny = std::string(kind) == "denormal";  // LAPACK's own product is as coarse as the numbers
      for (int i = 0; i < of_this; ++i) {
        const double* const m = members[static_cast<std::size_t>(i)].data();
        take(eigh, residuals(n, n, m, data(e.eigenvectors) + i * n * n, data(e.eigenvalues) + i * n,
                             data(e.eigenvectors) + i * n * n, false));
        take(svd, residuals(n, n, m, data(s.U) + i * n * n, data(s.S) + i * n, data(s.Vh) + i * n * n, true));
        std::vector<double> w(static_cast<std::size_t>(n)), u(static_cast<std::size_t>(n * n)), v(u), z(u);
        ASSERT_EQ(lapack::eigh<double>(lapack::Triangle::lower, n, m, n, w.data(), z.data(), n), 0);
        for (int r = 0; r < n; ++r)
          for (int c = 0; c < n; ++c) u[static_cast<std::size_t>(c * n + r)] = z[static_cast<std::size_t>(r * n + c)];
        take(their_eigh, residuals(n, n, m, u.data(), w.data(), u.data(), false));
        ASSERT_EQ(lapack::svd<double>(lapack::Vectors::thin, n, n, m, n, w.data(), v.data(), n, z.data(), n), 0);
        // Row-major memory is the transpose: U and V change places, and rows are columns.
        for (int r = 0; r < n; ++r)
          for (int c = 0; c < n; ++c) u[static_cast<std::size_t>(r * n + c)] = z[static_cast<std::size_t>(r * n + c)];
        take(their_svd, residuals(n, n, m, u.data(), w.data(), v.data(), true));
      }
      const auto compare = [&](const Residuals& ours, const Residuals& theirs, const char* what) {
        EXPECT_LE(std::sqrt(ours.orthogonality), 2 * std::sqrt(theirs.orthogonality)) << what << " " << kind << " " << n;
        if (tiny) return;
        EXPECT_LE(std::sqrt(ours.product), 2 * std::sqrt(theirs.product)) << what << " " << kind << " " << n;
      };
      compare(eigh, their_eigh, "eigh");
      compare(svd, their_svd, "svd");
    }
}

// ---- verdicts ------------------------------------------------------------------------------------------------------
TEST(SmallStacks, NameTheSingularMemberAndKeepTheOthers) {
  std::mt19937_64 g(5);
  std::vector<std::vector<double>> members;
  for (int i = 0; i < 1000; ++i) members.push_back(draw(2, 2, Want::any, g));
  members[617] = {1, 1, 1.00001, 1.00001};
  const Tensor a = stack_of(2, 2, members, f64);
  try {
    linalg::inv(a);
    FAIL();
  } catch (const SingularMatrix& e) {
    EXPECT_EQ(e.finding().members, (std::vector<std::int64_t>{617}));
    EXPECT_EQ(e.diagnosis()[617].dependent, "row 1 = 1.00001 × row 0");
    EXPECT_TRUE(e.diagnosis()[617].exactly_singular);
    EXPECT_EQ(e.diagnosis()[616].status, Status::ok);
    const Tensor& x = e.value()[0];
    for (std::int64_t i = 0; i < 1000; ++i) EXPECT_EQ(std::isfinite(x[{i, 0, 0}].item<double>()), i != 617);
  }
  const auto counted = linalg::diagnosed::inv(a).diagnosis;
  EXPECT_EQ(counted.worst(), 617);
  EXPECT_EQ(counted.text().substr(0, 45), "inv: 1000 members: 999 ok, 1 singular.\n  memb");
}

// rcond is 1/(‖A‖₁‖A⁻¹‖₁), digits and structure are those of the member, whichever way it went.
TEST(SmallStacks, EveryMemberHasItsOwnDiagnosis) {
  const Tensor a = Tensor::from(std::vector<double>{4, 1, 1, 3, 2, 0, 0, 8, 1, 2, 3, 4, 1, 1, 1, 1 + 1e-13}, {4, 2, 2});
  for (const bool solve : {false, true}) {
    const linalg::Diagnosis d = solve ? linalg::diagnosed::solve(a, Tensor{1.0, 2.0}).diagnosis
                                      : linalg::diagnosed::inv(a).diagnosis;
    EXPECT_NEAR(d[0].rcond, 11.0 / 5 / 5, 1e-15);
    EXPECT_NEAR(d[2].rcond, 1.0 / (6 * 3.5), 1e-15);
    EXPECT_EQ(d[0].structure, "positive definite");
    EXPECT_EQ(d[1].structure, "diagonal");
    EXPECT_EQ(d[2].structure, "general");
    EXPECT_GT(d[2].digits, 13);
    EXPECT_LT(d[3].rcond, 1e-12);
    EXPECT_EQ(d.rcond().shape(), (Dims{4}));
  }
}

TEST(SmallStacks, OfMatricesInOtherUnitsAreNotRefused) {
  std::mt19937_64 g(6);
  std::vector<std::vector<double>> members;
  for (int i = 0; i < 200; ++i) {
    members.push_back(draw(4, 4, Want::any, g));
    for (int r = 0; r < 4; ++r)
      for (int c = 0; c < 4; ++c) members.back()[static_cast<std::size_t>(4 * r + c)] *= std::pow(10.0, 30 * r - 20 * c);
  }
  const auto d = linalg::diagnosed::inv(stack_of(4, 4, members, f64)).diagnosis;
  EXPECT_TRUE(d.ok());
}

TEST(SmallStacks, OfF32AreRightToF32) {
  std::mt19937_64 g(9);
  std::vector<std::vector<double>> members;
  for (int i = 0; i < 500; ++i) {
    members.push_back(draw(4, 4, Want::any, g));
    for (int c = 0; c < 4; ++c) members.back()[static_cast<std::size_t>(12 + c)] = members.back()[static_cast<std::size_t>(c)] * (1 + 1e-5 * c);
    for (double& v : members.back()) v = static_cast<double>(static_cast<float>(v));
  }
  const Tensor x = linalg::diagnosed::inv(stack_of(4, 4, members, f32)).value;
  for (int i = 0; i < 500; ++i) {
    std::vector<double> got;
    for (int e = 0; e < 16; ++e) got.push_back(static_cast<double>(reinterpret_cast<const float*>(x.node()->data)[16 * i + e]));
    EXPECT_LT(error_of(exact_inverse(4, members[static_cast<std::size_t>(i)]), got.data()), 1e-6);
  }
}

}  // namespace
