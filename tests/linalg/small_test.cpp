// Stacks of small matrices: one matrix per lane. What is true of each of them must not depend on the others.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

#include "kernels/batched/lanes.hpp"
#include "ops/lines.hpp"
#include "simd/isa.hpp"
#include "small_stacks.hpp"
#include "tensors.hpp"
#include "wellposed/threads.hpp"
#include "wellposed/wellposed.hpp"

namespace {

using namespace wp;
using namespace small_stacks;
using linalg::Status;

struct Function {
  const char* name;
  Want want;
  bool square;
  std::function<Tensors(const Tensor&)> call;
};
// 1, 2, 3, … with `columns` columns, for a matrix of m rows.
Tensor right_side(std::int64_t m, std::int64_t columns, DType dtype) {
  std::vector<double> b;
  for (std::int64_t i = 0; i < m * columns; ++i) b.push_back(static_cast<double>(i + 1));
  return astype(Tensor::from(b, {m, columns}), dtype);
}
// Without policies: NaN members come back as NaN.
const std::vector<Function>& functions() {
  using namespace linalg::diagnosed;
  static const std::vector<Function> all = {
      {"inv", Want::any, true, [](const Tensor& a) { return Tensors{inv(a).value}; }},
      {"solve", Want::any, true,
       [](const Tensor& a) { return Tensors{solve(a, right_side(a.shape(-1), 1, a.dtype())).value}; }},
      {"solve with many right-hand sides", Want::any, true,
       [](const Tensor& a) { return Tensors{solve(a, eye(a.shape().back(), {.dtype = a.dtype()})).value}; }},
      {"expm", Want::any, true, [](const Tensor& a) { return Tensors{expm(a).value}; }},
      {"matmul", Want::any, false, [](const Tensor& a) { return Tensors{matmul(a, matrix_transpose(a))}; }},
      {"matmul with one matrix", Want::any, false,
       [](const Tensor& a) {
         const std::int64_t n = a.shape().back();
         const Tensor b = reshape(astype(arange(n * 3), a.dtype()), {n, 3});
         return Tensors{matmul(a, b), matmul(a, b[{slice(), slice(1, 2)}])};
       }},
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
      {"svd with all vectors", Want::any, false,
       [](const Tensor& a) {
         const auto s = svd(a).value;
         return Tensors{s.U, s.S, s.Vh};
       }},
      {"qr with all of Q", Want::any, false,
       [](const Tensor& a) {
         const auto f = qr(a, {.mode = "complete"}).value;
         return Tensors{f.Q, f.R};
       }},
      {"svdvals", Want::any, false, [](const Tensor& a) { return Tensors{svdvals(a).value}; }},
      {"lu", Want::any, false,
       [](const Tensor& a) {
         const auto f = lu(a).value;
         return Tensors{f.P, f.L, f.U};
       }},
      {"lstsq", Want::any, false,
       [](const Tensor& a) { return Tensors{lstsq(a, right_side(a.shape(-2), 1, a.dtype())).value}; }},
      {"lstsq with many right-hand sides", Want::any, false,
       [](const Tensor& a) { return Tensors{lstsq(a, right_side(a.shape(-2), 6, a.dtype())).value}; }},
      {"solve with more right-hand sides than lanes take", Want::any, true,
       [](const Tensor& a) { return Tensors{solve(a, right_side(a.shape(-1), 40, a.dtype())).value}; }},
      {"lstsq with more right-hand sides than lanes take", Want::any, false,
       [](const Tensor& a) { return Tensors{lstsq(a, right_side(a.shape(-2), 40, a.dtype())).value}; }},
      {"pinv", Want::any, false, [](const Tensor& a) { return Tensors{pinv(a).value}; }},
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
  for (const Tensor& x : t) {
    const Tensor all = packed(x, x.dtype());
    const auto each = static_cast<std::size_t>(all.nbytes()) / static_cast<std::size_t>(x.shape(0));
    out.append(reinterpret_cast<const char*>(all.node()->data) + static_cast<std::size_t>(member) * each, each);
  }
  return out;
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

// The members of a stack, or of those that `order` names.
using Members = std::vector<std::vector<double>>;
Members chosen(const Members& from, const std::vector<std::size_t>& order) {
  Members out;
  for (const std::size_t i : order) out.push_back(from[i]);
  return out;
}
// Good ones, and one of each that is not: NaN and infinity in the first or the last place, all zero, singular, nearly
// so, denormal, near overflow, far from 1, rows of different sizes.
constexpr std::size_t kGood = 12, kAll = kGood + 12;
Members difficult(std::int64_t m, std::int64_t n, Want want, DType dtype, std::mt19937_64& g) {
  Members out;
  for (std::size_t i = 0; i < kAll; ++i) out.push_back(draw(m, n, want, g));
  const auto scale = [&](std::size_t i, double by) {
    for (double& v : out[i]) v *= by;
  };
  auto bad = out.begin() + kGood;
  const bool single = dtype == f32;
  bad[0][0] = std::nan("");
  bad[1].back() = std::nan("");
  bad[2][0] = HUGE_VAL;
  bad[3].back() = -HUGE_VAL;
  bad[4].assign(bad[4].size(), 0.0);
  bad[5].assign(bad[5].size(), 1.0);
  bad[6].assign(bad[6].size(), 1.0);
  bad[6][0] += single ? 1e-6 : 1e-14;
  scale(kGood + 7, single ? 1e-40 : 1e-310);
  scale(kGood + 8, single ? 1e37 : 1e307);
  scale(kGood + 9, 1e-30);
  scale(kGood + 10, single ? 1e-30 : 1e-200);
  for (std::int64_t e = 0; e < m * n; ++e) {  // symmetric if it was
    const auto row = e / n, column = e % n;
    bad[11][static_cast<std::size_t>(e)] *= std::pow(1e-3, (row == m - 1) + (column == n - 1));
  }
  return out;
}

constexpr std::pair<std::int64_t, std::int64_t> kShapes[] = {
    {1, 1},   {2, 2},   {3, 3},   {4, 4},   {5, 5}, {6, 6}, {7, 7},  {8, 8},  {9, 9}, {13, 13},
    {16, 16}, {17, 17}, {31, 31}, {32, 32}, {5, 3}, {3, 8}, {12, 9}, {9, 20}, {31, 6}};

// Shuffled, sliced, padded with others, drawn at random, alone: the same bits.
TEST_P(EachIsa, AMembersBitsDependOnItsOwnValuesOnly) {
  if (!there()) return;
  std::mt19937_64 g(7);
  const int before = threads();
  std::vector<std::size_t> shuffled(kAll);
  std::iota(shuffled.begin(), shuffled.end(), 0);
  for (const Function& f : functions())
    for (const DType dtype : {f64, f32})
      for (const auto& [m, n] : kShapes) {
        if (f.square && m != n) continue;
        const Members members = difficult(m, n, f.want, dtype, g);
        const Tensors together = f.call(stack_of(m, n, members, dtype));
        const auto same = [&](const std::vector<std::size_t>& order, const char* how) {
          set_threads(1 + static_cast<int>(order.size() % 2));
          const Tensors got = f.call(stack_of(m, n, chosen(members, order), dtype));
          for (std::size_t i = 0; i < order.size(); ++i)
            EXPECT_EQ(all_bytes(got, static_cast<std::int64_t>(i)),
                      all_bytes(together, static_cast<std::int64_t>(order[i])))
                << f.name << " " << m << "x" << n << " " << name(dtype) << " " << how << ", member " << order[i];
        };
        for (std::size_t i = 0; i < kAll; ++i) same({i}, "alone");
        std::shuffle(shuffled.begin(), shuffled.end(), g);
        same(shuffled, "shuffled");
        same({shuffled.begin() + 4, shuffled.begin() + 17}, "sliced");
        // Each good one among others of one sort, more than there are lanes.
        for (std::size_t bad = kGood; bad < kAll; ++bad) {
          std::vector<std::size_t> padded(1 + g() % 15, bad);
          padded[g() % padded.size()] = bad - kGood;
          same(padded, "padded");
        }
        std::vector<std::size_t> drawn;
        for (std::size_t left = 1 + g() % 50; left > 0; --left) drawn.push_back(g() % kAll);
        same(drawn, "drawn");
      }
  set_threads(before);
}

// What is said of a member, good or bad, is what is said of it alone, whoever stands beside it.
TEST_P(EachIsa, VerdictsOfAMemberDependOnItsOwnValuesOnly) {
  if (!there()) return;
  using namespace linalg::diagnosed;
  struct Judged {
    const char* name;
    Want want;
    std::function<linalg::Diagnosis(const Tensor&)> by;
  };
  const std::vector<Judged> all = {
      {"inv", Want::any, [](const Tensor& a) { return inv(a).diagnosis; }},
      {"solve", Want::any, [](const Tensor& a) { return solve(a, right_side(a.shape(-1), 1, f64)).diagnosis; }},
      {"det", Want::any, [](const Tensor& a) { return det(a).diagnosis; }},
      {"slogdet", Want::any, [](const Tensor& a) { return slogdet(a).diagnosis; }},
      {"cholesky", Want::definite, [](const Tensor& a) { return cholesky(a).diagnosis; }},
      {"eigh", Want::symmetric, [](const Tensor& a) { return eigh(a).diagnosis; }},
      {"svd", Want::any, [](const Tensor& a) { return svd(a).diagnosis; }},
      {"lstsq", Want::any, [](const Tensor& a) { return lstsq(a, right_side(a.shape(-2), 1, f64)).diagnosis; }},
      {"pinv", Want::any, [](const Tensor& a) { return pinv(a).diagnosis; }},
      {"expm", Want::any, [](const Tensor& a) { return expm(a).diagnosis; }},
  };
  std::mt19937_64 g(15);
  const auto same = [](const linalg::Member& x, const linalg::Member& y, const std::string& what) {
    const auto numbers = [](const linalg::Member& m) {
      return std::array{m.rcond, m.digits, m.forward_error, m.growth, m.rank_gap};
    };
    for (std::size_t k = 0; k < numbers(x).size(); ++k)
      EXPECT_EQ(std::bit_cast<std::uint64_t>(numbers(x)[k]), std::bit_cast<std::uint64_t>(numbers(y)[k]))
          << what << k;
    EXPECT_EQ(x.status, y.status) << what;
    EXPECT_EQ(x.exactly_singular, y.exactly_singular) << what;
    EXPECT_EQ(x.method, y.method) << what;
    EXPECT_EQ(x.dependent, y.dependent) << what;
  };
  for (const Judged& f : all)
    for (const std::int64_t n : {2, 4, 7, 13}) {
      const Members members = difficult(n, n, f.want, f64, g);
      const linalg::Diagnosis together = f.by(stack_of(n, n, members, f64));
      for (std::size_t i = 0; i < kAll; ++i)
        same(together[static_cast<std::int64_t>(i)], f.by(stack_of(n, n, {members[i]}, f64))[0],
             std::string(f.name) + " " + std::to_string(n) + " member " + std::to_string(i) + " ");
    }
}

// A right-hand side that is not finite is the matter of its own member.
TEST_P(EachIsa, RightHandSidesThatAreNotFiniteChangeNoOtherMember) {
  if (!there()) return;
  std::mt19937_64 g(16);
  for (const auto& [m, n] : kShapes)
    for (const std::int64_t columns : {1, 6, 40}) {
      constexpr std::size_t kMembers = 21;
      Members a, b;
      for (std::size_t i = 0; i < kMembers; ++i) {
        a.push_back(draw(m, n, Want::any, g));
        b.push_back(draw(m, columns, Want::any, g));
      }
      Members bad = b;
      for (const std::size_t i : {0, 5, 17}) bad[i][g() % bad[i].size()] = i == 5 ? HUGE_VAL : std::nan("");
      const auto check = [&](const auto& f) {
        const Tensor matrices = stack_of(m, n, a, f64);
        const auto good = f(matrices, stack_of(m, columns, b, f64)),
                   mixed = f(matrices, stack_of(m, columns, bad, f64));
        for (std::size_t i = 0; i < kMembers; ++i) {
          const auto member = static_cast<std::int64_t>(i);
          if (const bool finite = i != 0 && i != 5 && i != 17; finite)
            EXPECT_EQ(all_bytes({mixed.value}, member), all_bytes({good.value}, member)) << m << "x" << n << " " << i;
          else
            EXPECT_EQ(mixed.diagnosis[member].status, Status::nonfinite_input) << m << "x" << n << " " << i;
        }
      };
      check([](const Tensor& x, const Tensor& y) { return linalg::diagnosed::lstsq(x, y); });
      if (m == n) check([](const Tensor& x, const Tensor& y) { return linalg::diagnosed::solve(x, y); });
    }
}

// First columns so long that 1- and ∞-norms tell different things: what a singular neighbour needs to be told must
// not change what is said of them.
TEST_P(EachIsa, WhetherAMemberIsInDoubtDependsOnItsOwnValuesOnly) {
  if (!there()) return;
  std::mt19937_64 g(11);
  std::uniform_real_distribution<double> size(0.5, 1), small(-0.01, 0.01);
  constexpr std::int64_t members = 64;
  for (const std::int64_t n : {2, 3, 4, 5, 6, 7, 8, 12, 16}) {
    std::vector<double> a(static_cast<std::size_t>(members * n * n)), b(static_cast<std::size_t>(members * n), 1.0);
    for (std::size_t e = 0; e < a.size(); ++e) {
      const auto i = static_cast<std::int64_t>(e) / n % n, j = static_cast<std::int64_t>(e) % n;
      a[e] = (i == j) + (j == 0 ? 0x1p13 * size(g) : small(g));
    }
    const auto judged = [&](const std::vector<double>& with) {
      std::vector<std::uint8_t> redo(members);
      std::vector<double> rcond(members), x(b.size());
      kernels::batched::solve<double>(n, 1, {with.data(), n * n, n, 1}, {b.data(), n, 1, 1}, {0, members}, x.data(),
                                      true, {redo.data(), rcond.data()});
      return std::pair{redo, rcond};
    };
    auto with_singular = a;
    for (std::int64_t i = 0; i < members; i += 2) std::fill_n(with_singular.begin() + i * n * n, n * n, 1.0);
    const auto [redo, rcond] = judged(a);
    const auto [other_redo, other_rcond] = judged(with_singular);
    for (std::size_t i = 1; i < members; i += 2) {
      EXPECT_EQ(redo[i], other_redo[i]) << n << " member " << i;
      EXPECT_EQ(rcond[i], other_rcond[i]) << n << " member " << i;
    }
  }
}

// Stacks of several pieces, which threads share.
TEST_P(EachIsa, AMembersBitsDoNotDependOnTheNumberOfThreads) {
  if (!there()) return;
  std::mt19937_64 g(11);
  const int before = threads();
  for (const Function& f : functions())
    for (const std::int64_t n : {4, 8, 13, 32}) {
      // Two pieces and a rest (linalg/small.hpp: run_lanes; twice the size for expm).
      const std::size_t pieces = n == 4    ? 2 * 4736 + 37
                                 : n == 8  ? 2 * 704 + 37
                                 : n == 13 ? 2 * 128 + 37
                                           : 2 * 64 + 37;
      const Members few = difficult(n, n, f.want, f64, g);
      std::vector<std::size_t> order;
      for (std::size_t i = 0; i < pieces; ++i) order.push_back(g() % few.size());
      const Tensor a = stack_of(n, n, chosen(few, order), f64);
      const Tensors alone = f.call(stack_of(n, n, few, f64));
      for (const int count : {1, 2}) {
        set_threads(count);
        const Tensors got = f.call(a);
        for (std::size_t i = 0; i < pieces; ++i)
          ASSERT_EQ(all_bytes(got, static_cast<std::int64_t>(i)),
                    all_bytes(alone, static_cast<std::int64_t>(order[i])))
              << f.name << " " << n << " on " << count << " threads, member " << i;
      }
      set_threads(before);
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
    const Tensor turned =
        permute_dims(packed(permute_dims(reshape(a, {3, 4, 5, 5}), {1, 0, 2, 3}), f64), {1, 0, 2, 3});
    same(f.call(turned), {3, 4}, "axes in another order");
    const Tensor wide = concat({a, a}, {.axis = 2});
    same(f.call(wide[{ellipsis, slice(0, 5)}]), {12}, "rows with gaps");
  }
}

// More right-hand sides than lanes take at a time, and vectors beside those of the thin forms, change no bit.
TEST(SmallStacks, OfManyColumnsAndWithAllVectorsGiveTheBitsOfFewer) {
  std::mt19937_64 g(12);
  const auto same = [](const Tensor& got, const Tensor& want) { EXPECT_EQ(bytes_of(got), bytes_of(want)); };
  for (const auto& [m, n] : kShapes) {
    Members members;
    for (int i = 0; i < 70; ++i) members.push_back(draw(m, n, Want::any, g));
    const Tensor a = stack_of(m, n, members, f64), lower = tril(a) + eye(m, {.n_cols = n});
    const Tensor many = right_side(m, 70, f64) + 1.0 / right_side(m, 70, f64);
    const Index first{ellipsis, slice(0, 20)};
    same(linalg::lstsq(a, many)[first], linalg::lstsq(a, many[first]));
    if (m == n) same(linalg::solve(a, many)[first], linalg::solve(a, many[first]));
    if (m == n)
      same(linalg::solve_triangular(lower, many, {.lower = true})[first],
           linalg::solve_triangular(lower, many[first], {.lower = true}));
    const std::int64_t k = std::min(m, n);
    const auto thin = linalg::svd(a, {.full_matrices = false}), full = linalg::svd(a);
    same(full.S, thin.S);
    same(full.U[{ellipsis, slice(0, k)}], thin.U);
    same(full.Vh[{ellipsis, slice(0, k), slice()}], thin.Vh);
    const auto reduced = linalg::qr(a), complete = linalg::qr(a, {.mode = "complete"});
    same(complete.Q[{ellipsis, slice(0, k)}], reduced.Q);
    same(complete.R[{ellipsis, slice(0, k), slice()}], reduced.R);
    EXPECT_EQ(complete.R.shape(-2), m);
    EXPECT_EQ(max(abs(tril(complete.R, {.k = -1}))).item<double>(), 0);
    for (const Tensor& q : {full.U, matrix_transpose(full.Vh), complete.Q})
      EXPECT_LE(max(abs(matmul(matrix_transpose(q), q) - eye(q.shape(-1)))).item<double>(), 1.4e-14) << m << "x" << n;
  }
}

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
  const Tensor a =
      Tensor::from(std::vector<double>{4, 1, 1, 3, 2, 0, 0, 8, 1, 2, 3, 4, 1, 1, 1, 1 + 1e-13}, {4, 2, 2});
  for (const bool solve : {false, true}) {
    const linalg::Diagnosis d =
        solve ? linalg::diagnosed::solve(a, Tensor{1.0, 2.0}).diagnosis : linalg::diagnosed::inv(a).diagnosis;
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

}  // namespace
