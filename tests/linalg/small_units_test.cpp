// Small matrices in mixed units stay in lanes, and stacks of them take little memory beside their answers.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <random>
#include <string>

#include "kernels/batched/lanes.hpp"
#include "small_stacks.hpp"
#include "wellposed/wellposed.hpp"

namespace {

using namespace wp;
using namespace small_stacks;

// Covariances D C D in mixed units stay in lanes, which scale them, with the errors of C; unless what is asked for is
// said of the matrix as it is.
TEST(SmallStacks, OfMatricesInMixedUnitsStayInLanesWithTheirDigits) {
  std::mt19937_64 g(13);
  constexpr std::int64_t members = 200;
  for (const int n : {2, 3, 4, 6, 8, 12, 32}) {
    std::vector<double> a, b(static_cast<std::size_t>(members * n), 1.0);
    for (std::int64_t i = 0; i < members; ++i) {
      std::vector<double> c = draw(n, n, Want::definite, g);
      for (std::size_t e = 0; e < c.size(); ++e) {
        const int row = static_cast<int>(e) / n, column = static_cast<int>(e) % n;
        c[e] *= (row < n / 2 ? 1 : 1e-6) * (column < n / 2 ? 1 : 1e-6);
      }
      a.insert(a.end(), c.begin(), c.end());
    }
    std::vector<std::uint8_t> of_inverse(members), of_solve(members), as_given(members);
    std::vector<double> x(a.size()), y(b.size()), rcond(members);
    const kernels::batched::Source<double> from{a.data(), n * n, n, 1};
    const kernels::batched::Range all{0, members};
    kernels::batched::inverse<double>(n, from, all, x.data(), {.redo = as_given.data(), .as_given = true});
    kernels::batched::inverse<double>(n, from, all, x.data(), {of_inverse.data(), rcond.data()});
    kernels::batched::solve<double>(n, 1, from, {b.data(), n, 1, 1}, all, y.data(), true, {of_solve.data()});
    const auto doubted = [&](const std::vector<std::uint8_t>& marks) {
      return std::count(marks.begin(), marks.end(), 1);
    };
    EXPECT_LE(doubted(of_inverse), members / 5) << n;
    EXPECT_LE(doubted(of_solve), members / 5) << n;
    EXPECT_EQ(doubted(as_given), members) << n;
    for (std::int64_t i = 0; i < members; ++i) {
      const auto first = a.begin() + i * n * n;
      const std::vector<Quad> exact = exact_inverse(n, {first, first + n * n});
      if (!of_inverse[static_cast<std::size_t>(i)]) {
        EXPECT_LE(error_of(exact, x.data() + i * n * n), 16 * 0x1p-53 * n / rcond[static_cast<std::size_t>(i)]) << n;
        for (int r = 0; r < n; ++r)
          for (int c = 0; c < r; ++c)
            EXPECT_EQ(x[static_cast<std::size_t>(i * n * n + r * n + c)],
                      x[static_cast<std::size_t>(i * n * n + c * n + r)]);
      }
      if (of_solve[static_cast<std::size_t>(i)]) continue;
      std::vector<Quad> sums(static_cast<std::size_t>(n));
      for (std::size_t e = 0; e < exact.size(); ++e) sums[e / static_cast<std::size_t>(n)] += exact[e];
      EXPECT_LE(error_of(sums, y.data() + i * n), 2.3e-16) << n;
    }
    const Tensor stack = Tensor::from(a, {members, n, n});
    const auto d = linalg::diagnosed::inv(stack).diagnosis;
    EXPECT_TRUE(d.ok());
    EXPECT_DOUBLE_EQ(d[0].rcond, rcond[0]);
    if (n > 4) continue;
    EXPECT_EQ(linalg::diagnosed::lstsq(stack, ones({members, n, 1})).diagnosis[0].method, "QR") << n;
  }
}

// Covariances D C D in mixed units have eigenvalues with digits of their own, and stay in lanes.
TEST(SmallStacks, OfGradedPositiveDefiniteMatricesHaveTheirEigenvaluesInLanes) {
  std::mt19937_64 g(17);
  constexpr std::int64_t members = 100;
  for (const int n : {3, 4, 8, 12}) {
    std::vector<double> a;
    for (std::int64_t i = 0; i < members; ++i) {
      std::vector<double> c = draw(n, n, Want::definite, g);
      for (std::size_t e = 0; e < c.size(); ++e)
        c[e] *= std::pow(10.0, -3 * static_cast<double>(static_cast<int>(e) / n + static_cast<int>(e) % n) / n);
      a.insert(a.end(), c.begin(), c.end());
    }
    std::vector<std::uint8_t> redo(members);
    std::vector<double> relative(members), values(static_cast<std::size_t>(members * n));
    kernels::batched::eigh<double>(n, {a.data(), n * n, n, 1}, kernels::batched::Reads::both, {0, members},
                                   values.data(), nullptr, {redo.data(), relative.data()});
    EXPECT_EQ(std::count(redo.begin(), redo.end(), 1), 0) << n;
    const auto d = linalg::diagnosed::eigvalsh(Tensor::from(a, {members, n, n})).diagnosis;
    for (std::int64_t i = 0; i < members; ++i)  // no more than is said of each value
      EXPECT_LE(d[i].value_error.at(0).item<double>(),
                1.001 * relative[static_cast<std::size_t>(i)] * values[static_cast<std::size_t>(i * n)]);
  }
}

#ifdef __SANITIZE_THREAD__
constexpr double kShadows = 5;  // four bytes of ThreadSanitizer's beside each
#else
constexpr double kShadows = 1;
#endif
constexpr double kMiB = 1 << 20;

double status(const char* what) {  // of the process, in bytes
  std::ifstream in("/proc/self/status");
  for (std::string word; in >> word;)
    if (std::int64_t kilobytes; word == what && in >> kilobytes) return 1024.0 * static_cast<double>(kilobytes);
  return 0;
}
bool peaks_are_told() {
  return status("VmHWM:") > 0 && std::ofstream("/proc/self/clear_refs").is_open();
}
// By how many bytes the process grows at most while f runs.
template <class F>
double grown(F&& f) {
  malloc_trim(0);                               // what earlier calls left would be used again
  std::ofstream("/proc/self/clear_refs") << 5;  // the peak is what is used now
  const double before = status("VmRSS:");
  f();
  return (status("VmHWM:") - before) / kShadows;
}
struct OneThread {
  int before = threads();
  OneThread() { set_threads(1); }
  ~OneThread() { set_threads(before); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;
};

// Neither copies of all members that do not stand at equal distances, nor all members in doubt at once.
TEST(SmallStacks, TakeLittleMemoryBesideTheirAnswers) {
  if (!peaks_are_told()) GTEST_SKIP() << "no peaks are told";
  const OneThread alone;
  constexpr std::int64_t members = 100'000;
  std::mt19937_64 g(14);
  const Tensor plain = Tensor::from(draw(members * 4, 4, Want::any, g), {100, members / 100, 4, 4});
  const Tensor a = permute_dims(plain, {1, 0, 2, 3}), b = ones({4, 1});
  Tensor x = zeros(a.shape()), y = zeros({members / 100, 100, 4, 1});
  linalg::inv(a[{slice(0, 5)}]);
  const double number = 8 * members;  // rcond of each, which is kept; a copy of all members would take 12 MiB
  EXPECT_LE(grown([&] { linalg::inv(a, {.out = &x}); }), kMiB + number);
  EXPECT_LE(grown([&] { linalg::solve(a, b, {.out = &y}); }), kMiB + number);
  const Tensor singular =
      reshape(concat({plain[{ellipsis, slice(0, 3), slice()}], plain[{ellipsis, slice(0, 1), slice()}]}, {.axis = 2}),
              {members, 4, 4});
  const double each = grown([&] { EXPECT_FALSE(linalg::diagnosed::inv(singular).diagnosis.ok()); }) / members;
  RecordProperty("bytes_per_singular_member", std::to_string(each));
  EXPECT_LE(each, 350);  // the answer, and what is said of it
}

// A thread takes at most 1 MiB, whatever the size and however many members are in doubt; beside it stands what is
// kept for the diagnosis: a number of each member, or a verdict.
TEST(SmallStacks, TakeAtMostOneMebibytePerThread) {
  if (!peaks_are_told()) GTEST_SKIP() << "no peaks are told";
  const OneThread alone;
  std::mt19937_64 g(15);
  for (const std::int64_t n : {4, 32})
    for (const bool doubtful : {false, true})
      for (const DType dtype : {f64, f32}) {
        const std::int64_t members = n == 4 ? 10'000 : 400;
        std::vector<double> numbers = draw(members * n, n, Want::any, g);
        for (std::int64_t i = 0; doubtful && i < members; ++i)  // the last row is the first
          std::copy_n(numbers.begin() + i * n * n, n, numbers.begin() + (i + 1) * n * n - n);
        const Tensor a = astype(Tensor::from(numbers, {members, n, n}), dtype),
                     b = ones({members, n, 1}, {.dtype = dtype});
        const double kept = static_cast<double>(members) * (doubtful ? 208 : 16);
        Tensor square = zeros(a.shape(), {.dtype = dtype}), column = zeros(b.shape(), {.dtype = dtype}),
               one = zeros({members}, {.dtype = dtype});
        namespace d = linalg::diagnosed;
        const Tensor few = a[{slice(0, 5)}], sides = b[{slice(0, 5)}];
        const auto check = [&](const char* what, Tensor& to, auto&& f) {
          f(few, sides, nullptr);  // code is read in
          const double bytes = grown([&] { f(a, b, &to); }) - kept;
          EXPECT_LE(bytes, kMiB) << what << " of " << n << " rows in " << wp::name(dtype)
                                 << (doubtful ? ", in doubt" : "");
        };
        using T = const Tensor&;
        check("inv", square, [](T m, T, Tensor* to) { d::inv(m, {.if_ill = "ignore", .out = to}); });
        check("solve", column, [](T m, T y, Tensor* to) { d::solve(m, y, {.if_ill = "ignore", .out = to}); });
        check("lstsq", column, [](T m, T y, Tensor* to) { d::lstsq(m, y, {.if_ill = "ignore", .out = to}); });
        check("lstsq of many columns", square,
              [](T m, T, Tensor* to) { d::lstsq(m, m, {.if_ill = "ignore", .out = to}); });
        check("pinv", square, [](T m, T, Tensor* to) { d::pinv(m, {.if_ill = "ignore", .out = to}); });
        check("det", one, [](T m, T, Tensor* to) { d::det(m, {.out = to}); });
      }
}

TEST(SmallStacks, OfMatricesInOtherUnitsAreNotRefused) {
  std::mt19937_64 g(6);
  std::vector<std::vector<double>> members;
  for (int i = 0; i < 200; ++i) {
    members.push_back(draw(4, 4, Want::any, g));
    for (int r = 0; r < 4; ++r)
      for (int c = 0; c < 4; ++c)
        members.back()[static_cast<std::size_t>(4 * r + c)] *= std::pow(10.0, 30 * r - 20 * c);
  }
  const auto d = linalg::diagnosed::inv(stack_of(4, 4, members, f64)).diagnosis;
  EXPECT_TRUE(d.ok());
}

}  // namespace
