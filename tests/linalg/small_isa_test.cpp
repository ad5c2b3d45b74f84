// What each instruction set makes of stacks of small matrices: one matrix per lane. What is true of each of them must
// not depend on the others.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <random>
#include <string_view>

#include "kernels/batched/lanes.hpp"
#include "simd/isa.hpp"
#include "small_functions.hpp"
#include "wellposed/threads.hpp"
#include "wellposed/wellposed.hpp"

namespace {

using namespace wp;
using namespace small_functions;
using linalg::Status;

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
        // Blocks of good ones after blocks of bad ones of one sort, whose room they take over.
        std::vector<std::size_t> blocks;
        for (std::size_t bad = kGood; bad < kAll; ++bad) {
          blocks.insert(blocks.end(), 8, bad);
          for (std::size_t i = 0; i < 8; ++i) blocks.push_back((bad + i) % kGood);
        }
        same(blocks, "in blocks");
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
      {"solve", Want::any, [](const Tensor& a) { return solve(a, right_side(a.shape(-1), 1, a.dtype())).diagnosis; }},
      {"lu", Want::any, [](const Tensor& a) { return lu(a).diagnosis; }},
      {"qr", Want::any, [](const Tensor& a) { return qr(a).diagnosis; }},
      {"eigvalsh", Want::symmetric, [](const Tensor& a) { return eigvalsh(a).diagnosis; }},
      {"svdvals", Want::any, [](const Tensor& a) { return svdvals(a).diagnosis; }},
      {"det", Want::any, [](const Tensor& a) { return det(a).diagnosis; }},
      {"slogdet", Want::any, [](const Tensor& a) { return slogdet(a).diagnosis; }},
      {"cholesky", Want::definite, [](const Tensor& a) { return cholesky(a).diagnosis; }},
      {"eigh", Want::symmetric, [](const Tensor& a) { return eigh(a).diagnosis; }},
      {"svd", Want::any, [](const Tensor& a) { return svd(a).diagnosis; }},
      {"lstsq", Want::any, [](const Tensor& a) { return lstsq(a, right_side(a.shape(-2), 1, a.dtype())).diagnosis; }},
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
    for (const DType dtype : {f64, f32})
      for (const std::int64_t n : {2, 4, 7, 13}) {
        const Members members = difficult(n, n, f.want, dtype, g);
        const linalg::Diagnosis together = f.by(stack_of(n, n, members, dtype));
        for (std::size_t i = 0; i < kAll; ++i)
          same(together[static_cast<std::int64_t>(i)], f.by(stack_of(n, n, {members[i]}, dtype))[0],
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

// Beside those of the widest registers there are: the same bits where the operations are the same, which is so from
// AVX2 on but for roots; else as much as the condition of a random matrix leaves.
TEST_P(EachIsa, AnswersAreThoseOfTheOtherInstructionSets) {
  if (!there()) return;
  std::mt19937_64 g(21);
  const auto by = [](simd::Isa isa, const Function& f, const Tensor& a) {
    simd::set_isa(isa);
    return f.call(a);
  };
  const simd::Isa widest = simd::supported(simd::Isa::avx512) ? simd::Isa::avx512 : GetParam();
  constexpr std::string_view kWithRoots[] = {"cholesky", "eigh", "eigvalsh", "svd", "svd with all vectors",
                                             "svdvals",  "expm"};
  for (const Function& f : functions())
    for (const DType dtype : {f64, f32})
      for (const auto& [m, n] : kShapes) {
        if (f.square && m != n) continue;
        const bool exact = GetParam() != simd::Isa::baseline &&
                           std::find(std::begin(kWithRoots), std::end(kWithRoots), f.name) == std::end(kWithRoots);
        const bool vectors =
            std::string_view(f.name).starts_with("eigh") || std::string_view(f.name).starts_with("svd");
        Members members;
        for (std::size_t i = 0; i < kGood; ++i) members.push_back(draw(m, n, f.want, g));
        const Tensor a = stack_of(m, n, members, dtype);
        const Tensors here = by(GetParam(), f, a), there = by(widest, f, a);
        for (std::size_t k = 0; k < here.size(); ++k) {
          Tensor x = astype(here[k], f64), y = astype(there[k], f64);
          if (vectors) x = abs(x), y = abs(y);  // the last digit decides their signs
          const double allowed = exact ? 0 : (dtype == f32 ? 1e-6 : 1e-9) * max(abs(y)).item<double>();
          EXPECT_LE(max(abs(x - y)).item<double>(), allowed) << f.name << " " << m << "x" << n << " " << name(dtype);
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

}  // namespace
