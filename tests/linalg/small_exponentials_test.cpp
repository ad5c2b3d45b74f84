// Exponentials of small matrices go through lanes.
#include <gtest/gtest.h>

#include <cmath>

#include "linalg/exponential.hpp"
#include "small_stacks.hpp"

namespace {

using namespace wp;
using namespace small_stacks;

TEST(SmallStacks, ExponentialsOfF32AreRightToF32) {
  std::mt19937_64 g(2);
  std::vector<std::vector<double>> members;
  for (int i = 0; i < 500; ++i) {
    members.push_back(draw(4, 4, Want::any, g));
    for (double& v : members.back()) v = static_cast<double>(static_cast<float>(3 * v));
  }
  const Tensor x = astype(linalg::expm(stack_of(4, 4, members, f32)), f64);
  for (int i = 0; i < 500; ++i)
    EXPECT_LT(error_of(double_double::exponential(4, widened(members[static_cast<std::size_t>(i)])),
                       reinterpret_cast<const double*>(x.node()->data) + 16 * i),
              6e-8);
}

// What is asked about a member is answered as for a matrix alone, whichever way it went.
TEST(SmallStacks, ExponentialsHaveTheDiagnosisOfTheCarefulWay) {
  const Tensor a = Tensor::from(
      std::vector<double>{0.1, 0.2, 0.2, 0.3, 1, 2, 3, 4, 800, 1, 1, 1, 1, 1e5, 1e-9, 1, std::nan(""), 0, 0, 1},
      {5, 2, 2});
  const auto [x, d] = linalg::diagnosed::expm(a);
  for (const std::int64_t i : {0, 1, 3}) {
    const Tensor one = a[{i}];
    const linalg::Dense<double> m(2, 2, {reinterpret_cast<const double*>(one.node()->data), 2, 1});
    EXPECT_DOUBLE_EQ(d[i].forward_error, std::max(linalg::exponential(m).error, 0.0)) << i;
    EXPECT_EQ(d[i].status, linalg::Status::ok);
  }
  EXPECT_EQ(d[0].structure, "symmetric");
  EXPECT_EQ(d[1].structure, "general");
  EXPECT_EQ(d[4].status, linalg::Status::nonfinite_input);
  EXPECT_TRUE(std::isnan(x[{4, 0, 0}].item<double>()));
  EXPECT_GT(d[1].digits, 14);
}

}  // namespace
