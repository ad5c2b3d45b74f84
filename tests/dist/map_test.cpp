// What ranks run alone, and what one of them notes.
#include "base/text.hpp"
#include "matrices.hpp"

namespace wp::dist {
namespace {

TEST(Noting, WhatIsMadeOnOneRankIsMadeOnAll) {
  Tensor t = ones({8, 8});
  t[{5, 3}] = 1e200;
  t[{3, 5}] = 1e200;
  const Matrix a = Matrix::from(t, some_layout(2));
  const int line = __LINE__ + 1;
  const auto squared = [&] { return matmul(a, a); };
  for (const bool on_tape : {false, true}) {
    GradientTape tape;
    if (on_tape) watch(tape, a);
    {
      const checks level(CheckLevel::raise);
      EXPECT_EQ(raised(squared), "WP-NUM-001");
    }
    // Noted: it may not leave without a word.
    const Matrix product = squared();
    try {
      (void)product.adjoint().gather().to_vector<double>();
      ADD_FAILURE() << "it left";
    } catch (const NonFiniteError& e) {  // by the line that made it
      EXPECT_NE(std::string(e.what()).find("dist.matmul: made inf at element ["), std::string::npos) << e.what();
      EXPECT_NE(std::string(e.what()).find(say("(map_test.cpp:", line)), std::string::npos) << e.what();
    }
    EXPECT_EQ(raised([&] { product.save("/tmp/wp_dist_not_there/x.npy"); }), "WP-ESC-001");
    EXPECT_EQ(raised([&] {
                (void)sum(product.adjoint().redistributed({{}, 3}).gather()).item<double>();
              }),
              "WP-ESC-001");
    EXPECT_EQ(raised([&] { (void)sum(product).item<double>(); }), "WP-ESC-001");
    EXPECT_EQ(raised([&] { (void)matrix_norm(product); }), "WP-ESC-001");
    const checks off(CheckLevel::off);
    EXPECT_EQ(raised(squared), "");
  }
}

TEST(Noting, WhatWasGivenIsNotMade) {
  Tensor t = ones({8, 8});
  t[{5, 3}] = std::nan("");
  const checks level(CheckLevel::raise);
  for (const bool on_tape : {false, true}) {
    const Matrix a = Matrix::from(t, some_layout(2)), singular = Matrix::from(ones({8, 8}), some_layout(2));
    GradientTape tape;
    if (on_tape) watch(tape, a);
    if (on_tape) watch(tape, singular);
    EXPECT_EQ(raised([&] { matmul(a, a); }), "");
    EXPECT_EQ(raised([&] { (void)sum(a).item<double>(); }), "");
    EXPECT_EQ(raised([&] { matmul(inv(singular, {.if_ill = "nan"}), a); }), "");
    EXPECT_EQ(raised([&] { cholesky(a, {.if_ill = "nan"}); }), "");
    EXPECT_EQ(raised([&] { svd(a, {.if_ill = "nan"}); }), "");
  }
}

TEST(Map, SharesMembersOutAndKeepsTheirVerdicts) {
  for (const std::int64_t members : {1, 5, 13}) {
    Tensor stack = noise_matrix(members * 4, 4);
    stack = reshape(stack, {members, 4, 4});
    if (members > 3) stack[{3}] = matmul(ones({4, 1}), ones({1, 4}));
    std::int64_t computed = 0;
    const auto f = [&](const Tensor& share) {
      computed += share.shape()[0];
      return linalg::diagnosed::inv(share);
    };
    const auto many = map(stack, f);
    const auto one = linalg::diagnosed::inv(stack);
    EXPECT_LE(computed, (members + size() - 1) / size());
    EXPECT_EQ(many.diagnosis.statuses(), one.diagnosis.statuses());
    EXPECT_EQ(many.diagnosis.size(), members);
    for (std::int64_t e = 0; e < one.value.size(); ++e) {
      const double x = value_at(many.value, e).real(), y = value_at(one.value, e).real();
      EXPECT_TRUE(x == y || (std::isnan(x) && std::isnan(y)));
    }
    const std::int64_t last = std::min<std::int64_t>(members - 1, 3);
    EXPECT_EQ(many.diagnosis[last].dependent, one.diagnosis[last].dependent);
  }
}

TEST(Map, HasNoDerivativeAndSaysSo) {
  const Tensor stack = ones({8, 2, 2}), factor = ones({2, 2});
  GradientTape tape({.persistent = true});
  tape.watch({stack, factor});
  const Tensor y = map(stack, [&](const Tensor& share) -> Diagnosed<Tensor> { return {share * factor, {}}; }).value;
  EXPECT_THROW(tape.gradient(sum(y), stack), GradientError);
  EXPECT_THROW(tape.gradient(sum(y), factor), GradientError);
}

TEST(Map, AFunctionThatFailsOnOneRankFailsOnAll) {
  const Tensor stack = ones({8, 2, 2});
  EXPECT_THROW(map(stack,
                   [](const Tensor& share) -> Diagnosed<Tensor> {
                     if (rank() == size() - 1) raise<DomainError>("WP-DOM-001", "f", "no.");
                     return {share, {}};
                   }),
               DomainError);
  EXPECT_THROW(map(stack, [](const Tensor&) -> Diagnosed<Tensor> { return {ones({1}), {}}; }), ShapeError);
}

TEST(Map, AFunctionThatNeedsTheOtherRanksIsRefusedOnAll) {
  const auto f = [](const Tensor& share) -> Diagnosed<Tensor> {
    inv(Matrix::identity(4));
    return {share, {}};
  };
  for (const std::int64_t members : {1, 3, 8}) {
    EXPECT_EQ(raised([&] { map(ones({members, 2, 2}), f); }), "WP-MPI-002");
    EXPECT_EQ(raised([&] {
                Matrix::generate(members, members, f64, [](auto, auto) { return complex128(matrix_norm(Matrix())); });
              }),
              "WP-MPI-002");
  }
}

TEST(Map, SendsOneMessageForAllVerdictsOfARank) {
  const auto messages = [](std::int64_t members) {
    const Tensor stack = reshape(noise_matrix(members * 4, 4), {members, 4, 4});
    const std::int64_t before = traffic().messages;
    map(stack, [](const Tensor& share) { return linalg::diagnosed::inv(share); });
    return traffic().messages - before;
  };
  EXPECT_EQ(messages(2000), messages(20));
}

}  // namespace
}  // namespace wp::dist
