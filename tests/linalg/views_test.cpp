// Transposed, reversed and sliced matrices are read where they lie.
#include <gtest/gtest.h>

#include "base/watcher.hpp"
#include "linalg/tensors.hpp"
#include "wellposed/wellposed.hpp"

namespace wp {
namespace {
namespace la = linalg;

// The most bytes in blocks above memory::kSmall that a call has at a time.
class Most final : public memory::Watcher {
 public:
  void taken(const void*, std::size_t, const memory::Stats& now) noexcept override {
    most_ = std::max(most_, now.live);
  }
  void released(const void*, std::size_t, const memory::Stats&) noexcept override {}
  void looked(std::size_t) noexcept override {}
  void refused(std::size_t, std::size_t) noexcept override {}
  template <class F>
  std::size_t during(F&& run) {
    const std::size_t before = most_ = memory::stats().live;
    memory::Watcher* const other = memory::watcher.exchange(this);
    run();
    memory::watcher = other;
    return most_ - before;
  }

 private:
  std::size_t most_ = 0;
};
Most most;

struct Function {
  const char* name;
  std::function<Tensor(const Tensor&)> run;
};
std::vector<Function> functions(const Tensor& b) {
  return {{"matmul", [b](const Tensor& a) { return matmul(a, b); }},
          {"inv", [](const Tensor& a) { return la::inv(a); }},
          {"solve", [b](const Tensor& a) { return la::solve(a, b); }},
          {"slogdet", [](const Tensor& a) { return la::slogdet(a).logabsdet; }},
          {"cholesky", [](const Tensor& a) { return la::cholesky(a); }},
          {"lu", [](const Tensor& a) { return la::lu(a).U; }},
          {"qr", [](const Tensor& a) { return la::qr(a).R; }},
          {"svd", [](const Tensor& a) { return la::svd(a).S; }},
          {"eigh", [](const Tensor& a) { return la::eigh(a).eigenvalues; }},
          {"lstsq", [b](const Tensor& a) { return la::lstsq(a, b); }}};
}

TEST(Views, AreDecomposedWithoutACopyMoreThanThatOfAContiguousMatrix) {
  constexpr std::int64_t n = 200;
  const Tensor half = random::normal({n, n}, 3, 0);
  const Tensor a = add(matmul(half, matrix_transpose(half)), multiply(eye(n), 1.0 * n));
  const Tensor b = random::normal({n, 3}, 4, 0);
  Tensor wide = zeros({2 * n, 2 * n});
  wide = wide.at({slice(0, 2 * n, 2), slice(1, 2 * n, 2)}).set(a);
  const std::vector<std::pair<const char*, Tensor>> views{
      {"transposed", matrix_transpose(contiguous(matrix_transpose(a)))},
      {"every second", wide[{slice(0, 2 * n, 2), slice(1, 2 * n, 2)}]},
      {"reversed", flip(contiguous(flip(a)))}};
  const std::size_t panels = static_cast<std::size_t>(a.size()) * 4;  // half the matrix: products pack panels
  for (const Function& f : functions(b)) {
    const Tensor plain = f.run(a);
    const std::size_t bytes = most.during([&] { f.run(a); });
    for (const auto& [name, view] : views) {
      Tensor got;
      EXPECT_LT(most.during([&] { got = f.run(view); }), bytes + panels) << f.name << ", " << name;
      EXPECT_TRUE(all(equal(got, plain)).item<bool>()) << f.name << ", " << name << ": other bits than of the copy";
    }
  }
}

}  // namespace
}  // namespace wp
