// Jacobians and Hessians of a tape, and what they refuse.
#include <gtest/gtest.h>

#include "said.hpp"

namespace {
using namespace wp;
using said::message;
using said::values;

TEST(Jacobians, AndHessiansHaveTheShapesOfBoth) {
  const Tensor x{1.0, 2.0};
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = matmul(Tensor{{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}}, x), z = sum(x * x * x);
  EXPECT_EQ(values(tape.jacobian(y, x)), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(values(tape.hessian(z, x)), (std::vector<double>{6, 0, 0, 12}));
}
TEST(Jacobians, OfRealXHaveNoPlaceForAComplexTarget) {
  const Tensor x{1.0, 2.0}, w{complex128(1, 2), complex128(3, 4)}, i{complex128(0, 1)};
  GradientTape tape({.persistent = true});
  tape.watch({x, w});
  const Tensor y = x * i, loss = sum(square(abs(w)));
  EXPECT_THROW((void)tape.jacobian(y, x), DtypeError);
  EXPECT_THROW((void)tape.batch_jacobian(y, x), DtypeError);
  EXPECT_EQ(values(tape.jacobian(imag(y), x)), (std::vector<double>{1, 0, 0, 1}));
  const std::string said = message([&] { (void)tape.hessian(loss, w); });
  EXPECT_NE(said.find("Use hvp"), std::string::npos) << said;
}
TEST(BatchJacobians, RefuseMembersThatDependOnEachOther) {
  const Tensor x{{1.0, 2.0}, {3.0, 4.0}};
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = x * x, mixed = x - sum(x, {.axis = 0, .keepdims = true});
  EXPECT_EQ(values(tape.batch_jacobian(y, x)), (std::vector<double>{2, 0, 0, 4, 6, 0, 0, 8}));
  EXPECT_THROW((void)tape.batch_jacobian(mixed, x), GradientError);
}
TEST(BatchJacobians, SeeAnyTwoMembersThatDependOnEachOther) {
  for (const std::int64_t batch : {2, 6, 70}) {
    const Tensor x = arange(1.0, {.stop = static_cast<double>(batch) + 0.5});
    GradientTape tape({.persistent = true});
    tape.watch(x);
    for (std::int64_t shift = 1; shift < batch; ++shift) {
      const Tensor y = x * x + 5 * roll(x, {shift});
      EXPECT_THROW((void)tape.batch_jacobian(y, x), GradientError) << shift << " of " << batch;
    }
    EXPECT_EQ(values(tape.batch_jacobian(x * x, x)), values(2 * x));
  }
  // What one element of y gets from another member, the next one gives back.
  const Tensor x{{1.0}, {2.0}};
  GradientTape tape;
  tape.watch(x);
  EXPECT_THROW((void)tape.batch_jacobian(concat({x + roll(x, {1}), x - roll(x, {1})}, {.axis = 1}), x),
               GradientError);
}
TEST(BatchJacobians, JudgeEachMemberByItsOwnSize) {
  const Tensor x{{1.0}, {2.0}, {3.0}};
  const auto rows = [&](std::int64_t a, std::int64_t b) { return x[{wp::slice(a, b)}]; };
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor mixed = concat({1e14 * rows(0, 1), rows(1, 2) + rows(2, 3), rows(2, 3)}),
               alone = concat({1e14 * rows(0, 1), rows(1, 2), 3.0 * rows(2, 3) * 1e14 - rows(2, 3) * 2.9e14});
  const std::string said = message([&] { (void)tape.batch_jacobian(mixed, x); });
  EXPECT_NE(said.find("at member 2 of x"), std::string::npos) << said;
  EXPECT_EQ(values(tape.batch_jacobian(alone, x))[1], 1);
}
}  // namespace
