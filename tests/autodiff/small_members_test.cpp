// Gradients over stacks of small matrices: those of a member do not depend on its neighbours or its place.
#include <gtest/gtest.h>

#include "draws.hpp"

namespace {
using namespace wp;

struct Loss {
  const char* name;
  std::function<Tensor(const Tensor& A)> of;  // of symmetric positive definite members
};
const std::vector<Loss>& losses() {
  static const std::vector<Loss> all = {
      {"inv", [](const Tensor& A) { return sum(square(linalg::inv(A, {.if_ill = "nan"}))); }},
      {"solve",
       [](const Tensor& A) {
         return sum(square(linalg::solve(A, A[{ellipsis, slice(0, 1)}] + 1.0, {.if_ill = "nan"})));
       }},
      {"det", [](const Tensor& A) { return sum(linalg::det(A, {.if_ill = "nan"})); }},
      {"slogdet", [](const Tensor& A) { return sum(linalg::slogdet(A, {.if_ill = "nan"}).logabsdet); }},
      {"cholesky", [](const Tensor& A) { return sum(square(linalg::cholesky(A, {.if_ill = "nan"}))); }},
      {"lu", [](const Tensor& A) { return sum(square(linalg::lu(A, {.if_ill = "nan"}).U)); }},
      {"qr",
       [](const Tensor& A) {
         return sum(square(linalg::qr(A, {.if_ill = "nan"}).Q)[{ellipsis, slice(0, 1), slice()}]);
       }},
      {"svdvals", [](const Tensor& A) { return sum(square(linalg::svdvals(A, {.if_ill = "nan"}))); }},
      {"svd",
       [](const Tensor& A) {
         return sum(square(linalg::svd(A, {.if_ill = "nan"}).U)[{ellipsis, slice(0, 1), slice()}]);
       }},
      {"eigvalsh", [](const Tensor& A) { return sum(square(linalg::eigvalsh(A, {.if_ill = "nan"}))); }},
      {"eigh",
       [](const Tensor& A) {
         return sum(square(linalg::eigh(A, {.if_ill = "nan"}).eigenvectors)[{ellipsis, slice(0, 1), slice()}]);
       }},
      {"lstsq",
       [](const Tensor& A) {
         return sum(square(linalg::lstsq(A, A[{ellipsis, slice(0, 1)}] + 1.0, {.if_ill = "nan"})));
       }},
      {"pinv", [](const Tensor& A) { return sum(square(linalg::pinv(A, {.if_ill = "nan"}))); }},
      {"expm", [](const Tensor& A) { return sum(linalg::expm(A * 0.1, {.if_ill = "nan"})); }},
      {"matmul", [](const Tensor& A) { return sum(square(matmul(A, A))); }}};
  return all;
}
constexpr std::int64_t kMembers = 21;
Tensor definite(unsigned seed, std::int64_t n, DType dtype) {
  Draw d(seed);
  const Tensor b = d.normal({kMembers, n, n}, dtype);
  return matmul(b, matrix_transpose(b)) + eye(n, {.dtype = dtype});
}
bool same_bits(const Tensor& a, const Tensor& b) {
  return static_cast<bool>(all(equal(a, b)));
}

TEST(SmallGradient, OfAMemberIsTheSameInAShuffledASlicedAndAPaddedStack) {
  for (const DType dtype : {f64, f32})
    for (const std::int64_t n : {2, 3, 4, 8, 12})
      for (const Loss& loss : losses()) {
        const Tensor A = definite(41, n, dtype), g = gradient_by(loss.of, A);
        const auto told = [&] {
          return std::string(loss.name) + " " + std::to_string(n) + " " + std::string(name(dtype));
        };
        std::vector<std::int64_t> order;
        for (std::int64_t i = 0; i < kMembers; ++i) order.push_back(i * 8 % kMembers);
        const Tensor places = Tensor::from(order, {kMembers});
        EXPECT_TRUE(same_bits(gradient_by(loss.of, take(A, places, {.axis = 0})), take(g, places, {.axis = 0})))
            << told();
        const auto part = slice(5, 10);
        EXPECT_TRUE(same_bits(gradient_by(loss.of, A[{part}]), g[{part}])) << told();
        EXPECT_TRUE(same_bits(gradient_by(loss.of, A[{slice(3, 4)}]), g[{slice(3, 4)}])) << told();
        const Tensor more = concat({definite(42, n, dtype)[{slice(0, 3)}], A}, {.axis = 0});
        EXPECT_TRUE(same_bits(gradient_by(loss.of, more)[{slice(3, none)}], g)) << told();
      }
}

// With checks off, which is the only way to such a gradient.
TEST(SmallGradient, OfAMemberDoesNotSeeANaNBesideIt) {
  const checks quiet("off");
  for (const std::int64_t n : {2, 4, 8})
    for (const Loss& loss : losses()) {
      const Tensor A = definite(43, n, f64), g = gradient_by(loss.of, A);
      std::vector<double> mark(static_cast<std::size_t>(kMembers), 0.0);
      mark[6] = std::nan("");
      const Tensor spoilt = A + Tensor::from(mark, {kMembers, 1, 1});

      try {
        const Tensor got = gradient_by(loss.of, spoilt);
        EXPECT_TRUE(same_bits(got[{slice(0, 6)}], g[{slice(0, 6)}])) << loss.name << " " << n;
        EXPECT_TRUE(same_bits(got[{slice(7, none)}], g[{slice(7, none)}])) << loss.name << " " << n;
      } catch (const Error& e) {
        ADD_FAILURE() << loss.name << " " << n << ": " << e.what();
      }
    }
}

}  // namespace
