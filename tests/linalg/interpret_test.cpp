// LAPACK's info: nothing of it goes out without words.
#include <gtest/gtest.h>

#include "kernels/lapack.hpp"
#include "linalg/interpret.hpp"
#include "tensors.hpp"

namespace {

using namespace wp;
namespace la = wp::linalg;
using la::Routine;
using la::Status;

std::string raised(const std::function<void()>& f) {
  try {
    f();
  } catch (const ShapeError& e) {
    return e.finding().text();
  }
  return "nothing";
}
bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(Info, SaysHowFarAnIterationCame) {
  const la::Reached svd = la::reached(Routine::svd, 2, 9, 6);
  EXPECT_EQ(svd.found, 3);
  EXPECT_EQ(svd.wanted, 5);
  EXPECT_TRUE(has(svd.words, "of its bidiagonal form 3 of 5 elements beside the diagonal became 0")) << svd.words;
  const la::Reached eigh = la::reached(Routine::eigh, 1, 4, 4);
  EXPECT_EQ(eigh.found, 2);
  EXPECT_EQ(eigh.wanted, 3);
  EXPECT_TRUE(has(eigh.words, "of its tridiagonal form 2 of 3 elements beside the diagonal became 0")) << eigh.words;
  for (const Routine r : {Routine::eig, Routine::schur}) {
    const la::Reached eig = la::reached(r, 3, 5, 5);
    EXPECT_EQ(eig.found, 2);
    EXPECT_EQ(eig.wanted, 5);
    EXPECT_TRUE(has(eig.words, "found 2 of 5 eigenvalues")) << eig.words;
  }
  const la::Reached jacobi = la::reached(Routine::jacobi_svd, 1, 4, 4);
  EXPECT_EQ(jacobi.found, -1);
  EXPECT_TRUE(has(jacobi.words, "after 30 sweeps")) << jacobi.words;
}

TEST(Info, BecomesAVerdictWithWhatWasReached) {
  la::Verdict v;
  la::interpret(Routine::svd, 0, 3, 3, v);
  EXPECT_EQ(v.status, Status::ok);
  EXPECT_TRUE(v.reason.empty());
  la::interpret(Routine::svd, 1, 3, 3, v);
  EXPECT_EQ(v.status, Status::not_converged);
  EXPECT_EQ(v.found, 1);
  EXPECT_EQ(v.wanted, 2);
  EXPECT_TRUE(has(v.reason, "did not converge")) << v.reason;
  la::Verdict n;
  la::interpret(Routine::eig, lapack::kNotFinite, 3, 3, n);
  EXPECT_EQ(n.status, Status::nonfinite_input);
  la::Verdict a;
  la::interpret(Routine::eig, -4, 3, 3, a);
  EXPECT_EQ(a.status, Status::not_converged);
  EXPECT_TRUE(has(a.reason, "argument 4")) << a.reason;
}

TEST(Info, OfASizeBeyondLapacksIntegersIsAShapeError) {
  la::Verdict v;
  const std::string rows = raised([&] { la::interpret(Routine::svd, lapack::kTooLarge, 3'000'000'000, 2, v); });
  EXPECT_TRUE(has(rows, "WP-SHP-019") && has(rows, "2147483647") && has(rows, "3000000000 × 2")) << rows;
  const std::string work = raised([&] { la::interpret(Routine::eig, lapack::kTooLarge, 70'000, 70'000, v); });
  EXPECT_TRUE(has(work, "WP-SHP-019") && has(work, "70000 × 70000") && has(work, "randomized_svd")) << work;
  EXPECT_EQ(v.status, Status::ok);
}

TEST(Info, OfASizeBeyondLapacksIntegersIsKnownBeforeAnythingIsAllocated) {
  const std::int64_t huge = 3'000'000'000;
  const Tensor one = zeros({1, 1}), tall = broadcast_to(one, {huge, 1}), wide = broadcast_to(one, {1, huge});
  const std::function<void()> calls[] = {
      [&] { la::svdvals(tall); },
      [&] { la::svd(wide); },
      [&] { la::qr(tall); },
      [&] { la::qr_pivoted(wide); },
      [&] { la::diagnosed::svdvals(wide); },
      [&] { la::lstsq(tall, broadcast_to(zeros({1}), {huge})); },
      [&] { la::matrix_rank(tall); },
      [&] { la::cond(tall); },
  };
  for (const auto& call : calls) {
    const std::string text = raised(call);
    EXPECT_TRUE(has(text, "WP-SHP-019") && has(text, "up to 2147483647") && has(text, "3000000000")) << text;
  }
  const Tensor fits = broadcast_to(one, {2'000'000'000, 0});
  EXPECT_EQ(la::svdvals(fits).size(), 0);
}

}  // namespace
