// Results in memory that the caller gives.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "linalg/tensors.hpp"
#include "ops/dispatch.hpp"

namespace wp {
namespace {

namespace la = linalg;
using matrices::same_bits;

const Tensor a = {{4.0, 1.0}, {1.0, 3.0}}, b = {1.0, 2.0};

TEST(Out, TheResultStandsInTheGivenMemoryWithTheSameBits) {
  Tensor x = empty({2, 2}), y = empty({2});
  const detail::Node *const square = x.node(), *const line = y.node();
  EXPECT_EQ(la::inv(a, {.out = &x}).node(), square);
  EXPECT_TRUE(same_bits(x, la::inv(a)));
  EXPECT_EQ(la::cholesky(a, {.out = &x}).node(), square);
  EXPECT_TRUE(same_bits(x, la::cholesky(a)));
  EXPECT_EQ(la::pinv(a, {.out = &x}).node(), square);
  EXPECT_TRUE(same_bits(x, la::pinv(a)));
  EXPECT_EQ(la::solve(a, b, {.out = &y}).node(), line);
  EXPECT_TRUE(same_bits(y, la::solve(a, b)));
  EXPECT_EQ(la::lstsq(a, b, {.out = &y}).node(), line);
  EXPECT_TRUE(same_bits(y, la::lstsq(a, b)));
  EXPECT_EQ(la::diagnosed::inv(a, {.out = &x}).value.node(), square);
  EXPECT_TRUE(same_bits(x, la::inv(a)));
}

// Lanes and the kernels of small products write where the caller says: nothing is copied behind them.
TEST(Out, StacksOfSmallMatricesAreWrittenInPlace) {
  using Call = std::function<Tensor(const Tensor&, Tensor*)>;
  const std::vector<std::pair<const char*, Call>> calls = {
      {"inv", [](const Tensor& m, Tensor* o) { return la::inv(m, {.out = o}); }},
      {"solve", [](const Tensor& m, Tensor* o) { return la::solve(m, m * 2.0, {.out = o}); }},
      {"cholesky", [](const Tensor& m, Tensor* o) { return la::cholesky(m, {.out = o}); }},
      {"pinv", [](const Tensor& m, Tensor* o) { return la::pinv(m, {.out = o}); }},
      {"lstsq", [](const Tensor& m, Tensor* o) { return la::lstsq(m, m * 2.0, {.out = o}); }},
      {"expm", [](const Tensor& m, Tensor* o) { return la::expm(m, {.out = o}); }},
      {"matmul", [](const Tensor& m, Tensor* o) { return matmul(m, m, {.out = o}); }},
      {"det", [](const Tensor& m, Tensor* o) { return la::det(m, {.out = o}); }},
      {"svdvals", [](const Tensor& m, Tensor* o) { return la::svdvals(m, {.out = o}); }},
      {"eigvalsh", [](const Tensor& m, Tensor* o) { return la::eigvalsh(m, {.out = o}); }}};
  for (const DType d : {f32, f64})
    for (const std::int64_t n : {2, 4, 8, 20}) {
      const Tensor x = random::normal({40, n, n}, 3, 1000 * n);
      const Tensor m = astype(matmul(x, matrix_transpose(x)) * 0.1 + eye(n), d);
      for (const auto& [what, call] : calls) {
        const Tensor fresh = call(m, nullptr);
        Tensor given = zeros(fresh.shape(), {.dtype = d});
        const char* const memory = given.node()->data;
        EXPECT_EQ(call(m, &given).node(), given.node()) << what;
        EXPECT_EQ(given.node()->data, memory) << what;
        EXPECT_TRUE(same_bits(given, fresh)) << what << " " << n;
        Tensor narrow = zeros({3}, {.dtype = d}), other = zeros(fresh.shape(), {.dtype = d == f32 ? f64 : f32});
        EXPECT_THROW(call(m, &narrow), ShapeError) << what;
        EXPECT_THROW(call(m, &other), DtypeError) << what;
      }
      Tensor own = astype(m, d) + 0.0;
      EXPECT_THROW(matmul(own, m, {.out = &own}), ArgumentError);
      EXPECT_THROW(matmul(m, own, {.out = &own}), ArgumentError);
    }
}

// f(matrices, out) of a function with several outputs: all of them are written where the caller says, with the bits
// of a fresh result, and nothing is written if one of them does not fit.
template <class R, class F>
void expect_all_in_place(const char* what, const Tensor& m, const std::vector<Tensor R::*>& fields, F f) {
  const R fresh = f(m, nullptr);
  R given;
  std::vector<const char*> memory;
  for (const auto field : fields) {
    given.*field = zeros((fresh.*field).shape(), {.dtype = (fresh.*field).dtype()});
    memory.push_back((given.*field).node()->data);
  }
  for (int again = 0; again < 2; ++again) (void)f(m, &given);  // what was returned is gone: the memory is free again
  for (std::size_t i = 0; i < fields.size(); ++i) {
    EXPECT_EQ((given.*fields[i]).node()->data, memory[i]) << what;
    EXPECT_TRUE(same_bits(given.*fields[i], fresh.*fields[i])) << what << " output " << i;
  }
  EXPECT_EQ((f(m, &given).*fields[0]).node(), (given.*fields[0]).node()) << what;
  for (const auto field : fields) {
    R bad = f(m, nullptr);
    bad.*field = zeros({3}, {.dtype = (fresh.*field).dtype()});
    EXPECT_THROW(f(m, &bad), ShapeError) << what;
    bad.*field = Tensor();
    EXPECT_THROW(f(m, &bad), ArgumentError) << what;
    bad = f(m, nullptr);
    for (const auto other : fields)
      if (other != field) bad.*other = zeros((fresh.*other).shape(), {.dtype = (fresh.*other).dtype()});
    const Tensor seen = bad.*field;
    EXPECT_THROW(f(m, &bad), ArgumentError) << what;  // others see it
    for (const auto other : fields)
      if (other != field) {
        EXPECT_TRUE(static_cast<bool>(all(bad.*other == 0.0))) << what;
      }
  }
}
TEST(Out, SeveralResultsStandInTheGivenMemoryWithTheSameBits) {
  for (const DType d : {f16, f32, f64, c128})
    for (const Dims& shape : {Dims{40, 4, 4}, Dims{8, 20, 20}, Dims{40, 40}, Dims{0, 0}}) {
      const Tensor x = random::normal(shape, 3, 5);
      const Tensor m = astype(matmul(x, matrix_transpose(x)) * 0.1, d);
      expect_all_in_place<la::SvdResult>("svd", m, {&la::SvdResult::U, &la::SvdResult::S, &la::SvdResult::Vh},
                                         [](const Tensor& a, la::SvdResult* o) { return la::svd(a, {.out = o}); });
      expect_all_in_place<la::QrResult>("qr", m, {&la::QrResult::Q, &la::QrResult::R},
                                        [](const Tensor& a, la::QrResult* o) { return la::qr(a, {.out = o}); });
      expect_all_in_place<la::EighResult>(
          "eigh", m, {&la::EighResult::eigenvalues, &la::EighResult::eigenvectors},
          [](const Tensor& a, la::EighResult* o) { return la::diagnosed::eigh(a, {.out = o}).value; });
      expect_all_in_place<la::LuResult>("lu", m, {&la::LuResult::P, &la::LuResult::L, &la::LuResult::U},
                                        [](const Tensor& a, la::LuResult* o) { return la::lu(a, {.out = o}); });
      expect_all_in_place<la::SlogdetResult>(
          "slogdet", m, {&la::SlogdetResult::sign, &la::SlogdetResult::logabsdet},
          [](const Tensor& a, la::SlogdetResult* o) { return la::diagnosed::slogdet(a, {.out = o}).value; });
    }
}

// What a tape keeps is never written over; a fresh tensor may take a result that is recorded.
TEST(Out, WhatATapeKeepsIsRefused) {
  Tensor x = empty({2, 2}), y = empty({2, 2});
  GradientTape tape;
  tape.watch(a);
  const Tensor sum = wp::sum(la::inv(a, {.out = &x}));
  const Tensor kept = x + 0.0;
  try {
    matmul(a, a, {.out = &x});
    FAIL();
  } catch (const ArgumentError& e) {
    EXPECT_NE(std::string(e.what()).find("out shares its memory with a tape"), std::string::npos) << e.what();
  }
  EXPECT_TRUE(same_bits(x, kept));
  const Tensor inverse = la::inv(a), g = tape.gradient(sum, a);
  EXPECT_TRUE(same_bits(g, -matmul(matmul(inverse, ones({2, 2})), inverse)));
}

TEST(Out, ADtypeThatIsComputedInAWiderOneIsWrittenToo) {
  for (const DType d : {f16, bf16, f32, c64, c128}) {
    const Tensor m = astype(a, d);
    Tensor x = empty({2, 2}, {.dtype = d});
    const detail::Node* const node = x.node();
    EXPECT_EQ(la::inv(m, {.out = &x}).node(), node);
    EXPECT_TRUE(same_bits(x, la::inv(m))) << name(d);
  }
  Tensor none = empty({0, 0}), stack = empty({3, 2, 2});
  la::inv(empty({0, 0}), {.out = &none});
  la::inv(broadcast_to(a, {3, 2, 2}), {.out = &stack});
  EXPECT_TRUE(same_bits(stack[{2}], la::inv(a)));
}

TEST(Out, WhatDoesNotFitIsRefusedAndUntouched) {
  Tensor x = ones({3, 2}), narrow = ones({2, 2}, {.dtype = f32}), nothing;
  EXPECT_THROW(la::inv(a, {.out = &x}), ShapeError);
  EXPECT_THROW(la::inv(a, {.out = &narrow}), DtypeError);
  EXPECT_THROW(la::inv(a, {.out = &nothing}), ArgumentError);
  EXPECT_TRUE(same_bits(x, ones({3, 2})));
  EXPECT_TRUE(same_bits(narrow, ones({2, 2}, {.dtype = f32})));
}

TEST(Out, MemoryThatOthersSeeIsRefused) {
  Tensor x = ones({2, 2});
  const Tensor copy = x;
  EXPECT_THROW(la::inv(a, {.out = &x}), ArgumentError);
  EXPECT_TRUE(same_bits(copy, ones({2, 2})));
  const Tensor whole = ones({4, 2});
  Tensor view = whole[{slice(0, 2)}];
  EXPECT_THROW(la::inv(a, {.out = &view}), ArgumentError);
  std::vector<double> memory(4, 1.0);
  Tensor lent = Tensor::borrow(memory.data(), f64, {2, 2});
  EXPECT_THROW(la::inv(a, {.out = &lent}), ArgumentError);
  Tensor own = la::inv(a);
  EXPECT_THROW(la::inv(own, {.out = &own}), ArgumentError);
  EXPECT_TRUE(same_bits(own, la::inv(a)));
}

TEST(Out, ABadMemberRaisesWithTheGoodOnesWritten) {
  Tensor x = ones({2, 2, 2});
  const Tensor stack = wp::stack({a, ones({2, 2})});
  EXPECT_THROW(la::inv(stack, {.out = &x}), SingularMatrix);
  EXPECT_TRUE(same_bits(x[{0}], la::inv(a)));
  EXPECT_TRUE(static_cast<bool>(all(isnan(x[{1}]))));
  la::inv(wp::stack({a, a}), {.out = &x});
  EXPECT_TRUE(static_cast<bool>(all(isfinite(x))));
}

TEST(Out, ANoteOfTheOldValueIsGone) {
  Tensor x = log(Tensor{{-1.0, 1.0}, {1.0, 1.0}});
  ASSERT_NE(x.node()->note, nullptr);
  la::inv(a, {.out = &x});
  EXPECT_EQ(x.node()->note, nullptr);
  EXPECT_EQ(x.to_vector<double>().size(), 4U);
}

}  // namespace
}  // namespace wp
