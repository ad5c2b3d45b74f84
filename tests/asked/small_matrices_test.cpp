// What stacks of small matrices take beside their results.
#include <gtest/gtest.h>

#include <functional>

#include "counted.hpp"
#include "wellposed/threads.hpp"
#include "wellposed/wellposed.hpp"

namespace {

using namespace wp;
namespace la = linalg;

template <class R>
std::function<void()> into(const R& fresh, const std::vector<Tensor R::*>& fields, std::function<void(R*)> call) {
  auto given = std::make_shared<R>();
  for (const auto field : fields) (*given).*field = empty((fresh.*field).shape(), {.dtype = (fresh.*field).dtype()});
  return [given, call] { call(given.get()); };
}
std::function<void()> into(const Tensor& fresh, const std::function<void(Tensor*)>& call) {
  auto given = std::make_shared<Tensor>(empty(fresh.shape(), {.dtype = fresh.dtype()}));
  return [given, call] { call(given.get()); };
}

// Beside 32 bytes per matrix (what is said of it) a thread has a MiB, whatever the size and the number of matrices.
TEST(AskedBySmallMatrices, IsAtMostAMebibytePerThread) {
  asked::fill_pools();
  const int before = threads();
  set_threads(1);
  for (const DType d : {f64, f32})
    for (const auto& [count, n] : {std::pair{40000, 2}, {20000, 4}, {5000, 8}, {2000, 16}, {1000, 32}}) {
      const Tensor x = random::normal({count, n, n}, 3, 1000 * n);
      const Tensor a = astype(matmul(x, matrix_transpose(x)) * 0.1 + eye(n), d);
      const Tensor b = astype(random::normal({count, n, 1}, 4, 1000 * n), d);
      const std::vector<std::pair<const char*, std::function<void()>>> calls = {
          {"inv", into(la::inv(a), [&](Tensor* o) { la::inv(a, {.out = o}); })},
          {"solve", into(la::solve(a, b), [&](Tensor* o) { la::solve(a, b, {.out = o}); })},
          {"det", into(la::det(a), [&](Tensor* o) { la::det(a, {.out = o}); })},
          {"cholesky", into(la::cholesky(a), [&](Tensor* o) { la::cholesky(a, {.out = o}); })},
          {"lstsq", into(la::lstsq(a, b), [&](Tensor* o) { la::lstsq(a, b, {.out = o}); })},
          {"pinv", into(la::pinv(a), [&](Tensor* o) { la::pinv(a, {.out = o}); })},
          {"svdvals", into(la::svdvals(a), [&](Tensor* o) { la::svdvals(a, {.out = o}); })},
          {"eigvalsh", into(la::eigvalsh(a), [&](Tensor* o) { la::eigvalsh(a, {.out = o}); })},
          {"expm", into(la::expm(a), [&](Tensor* o) { la::expm(a, {.out = o}); })},
          {"matmul", into(matmul(a, a), [&](Tensor* o) { matmul(a, a, {.out = o}); })},
          {"slogdet",
           into<la::SlogdetResult>(la::slogdet(a), {&la::SlogdetResult::sign, &la::SlogdetResult::logabsdet},
                                   [&](auto* o) { la::slogdet(a, {.out = o}); })},
          {"qr", into<la::QrResult>(la::qr(a), {&la::QrResult::Q, &la::QrResult::R},
                                    [&](auto* o) { la::qr(a, {.out = o}); })},
          {"lu", into<la::LuResult>(la::lu(a), {&la::LuResult::P, &la::LuResult::L, &la::LuResult::U},
                                    [&](auto* o) { la::lu(a, {.out = o}); })},
          {"eigh", into<la::EighResult>(la::eigh(a), {&la::EighResult::eigenvalues, &la::EighResult::eigenvectors},
                                        [&](auto* o) { la::eigh(a, {.out = o}); })},
          {"svd", into<la::SvdResult>(la::svd(a), {&la::SvdResult::U, &la::SvdResult::S, &la::SvdResult::Vh},
                                      [&](auto* o) { la::svd(a, {.out = o}); })}};
      for (const auto& [what, call] : calls)
        EXPECT_LE(asked::most_while(call), (1 << 20) + 32 * count) << what << " of " << count << " " << n << "x" << n;
    }
  set_threads(before);
}

}  // namespace
