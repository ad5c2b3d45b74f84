// Stacks of small matrices, whatever runs them: layouts, columns, and what is said of members.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "small_functions.hpp"
#include "tensors.hpp"
#include "wellposed/wellposed.hpp"

namespace {

using namespace wp;
using namespace small_functions;
using linalg::Status;

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
