// Gradients through svd and eigh: in f32, of scaled matrices, and of batches in which members with and without
// repeated values stand side by side.
#include <gtest/gtest.h>

#include <map>

#include "ops/witness.hpp"
#include "spectra.hpp"

namespace {
using namespace wp;

constexpr std::pair<std::int64_t, std::int64_t> kShapes[] = {{4, 4}, {6, 4}, {4, 6}};

// What svd and eigh have in common: losses, and matrices with given values.
struct Kind {
  std::string name;
  std::vector<Loss> losses;
  std::function<Tensor(const std::vector<double>&)> matrix;
  std::function<Tensor()> direction;
};
std::vector<Kind> kinds(Draw& d, DType dtype) {
  std::vector<Kind> all;
  for (const auto& [m, n] : kShapes)
    all.push_back({"svd " + std::to_string(m) + "x" + std::to_string(n), svd_losses(d, m, n, dtype),
                   [=, &d](const std::vector<double>& s) { return d.with_values(m, n, s, dtype); },
                   [=, &d] {
                     return d.normal({m, n}, dtype);
                   }});
  all.push_back({"eigh", eigh_losses(d, 4, dtype),
                 [=, &d](const std::vector<double>& l) { return d.with_eigenvalues(l, dtype); },
                 [=, &d] {
                   return hermitian(d.normal({4, 4}, dtype));
                 }});
  return all;
}
const std::vector<std::vector<double>>& mixed() {
  static const std::vector<std::vector<double>> all{{3, 3, 1, 0.5},      {4, 3, 2, 1}, {2, 0, 0, 0},
                                                    {3, 2, 2 - 1e-9, 1}, {2, 2, 2, 2}, {5, 3, 1, 0.25}};
  return all;
}
bool same_bits(const Tensor& a, const Tensor& b) {
  return static_cast<bool>(all(equal(a, b)));
}

// Two terms of the series are used where gaps are below ∛u of the largest value: there the quotient K/gap has lost
// u/∛u, the third term that is left out is of the size ∛u², so that u^(2/3) is kept of first derivatives; with three
// terms below ∜u, √u of second ones. In f32 that is 1.5e-5 and 2.4e-4, times what n = 6 and losses of degree 3 add:
// 10 and 40 times are allowed.
TEST(SpectralGradient, OfFloatsKeepsTwoThirdsOfTheirDigitsAndHalfOfThemToSecondOrder) {
  for (const DType dtype : {f32, c64}) {
    Draw d(31);
    double worst = 0, worst_bent = 0;
    int tries = 0;
    const auto judge = [&](const std::string& what, const Loss& loss, const Tensor& A, const Tensor& B) {
      const double e = relative(widened(gradient_by(loss.of, A)), loss.exact(widened(A)));
      EXPECT_LT(e, 1.5e-4) << what << loss.name;
      worst = std::max(worst, e);
      if (tries++ % 4) return;
      const double bent = relative(widened(hessian_product(loss.of, A, B)), loss.directed(widened(A), widened(B)));
      EXPECT_LT(bent, 1e-2) << what << loss.name;
      worst_bent = std::max(worst_bent, bent);
    };
    for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{6, 6}, {8, 5}, {5, 8}})
      for (const Loss& loss : svd_losses(d, m, n, dtype))
        for (const std::vector<double>& s : spectra())
          judge(std::string("svd ") + Tensor::from(s, {6}).to_string(), loss, d.with_values(m, n, s, dtype),
                d.normal({m, n}, dtype));
    for (const Loss& loss : eigh_losses(d, 6, dtype))
      for (const std::vector<double>& l : spectra(true))
        judge(std::string("eigh ") + Tensor::from(l, {6}).to_string(), loss, d.with_eigenvalues(l, dtype),
              hermitian(d.normal({6, 6}, dtype)));
    std::printf("worst relative error of %s %.1e, of second derivatives %.1e\n", name(dtype).data(), worst,
                worst_bent);
  }
}
TEST(SpectralGradient, OfHomogeneousLossesScalesExactlyWithTheMatrix) {
  for (const auto& [dtype, power] : {std::pair{f32, 30}, {f64, 300}, {c64, 30}, {c128, 300}}) {
    Draw d(5);
    const auto degree_one = [K = d.normal({4, 4}, dtype)](const Tensor& A) {
      const auto f = linalg::svd(A);
      return against(K, matmul(f.U * row(f.S), f.Vh));
    };
    const auto nuclear = [](const Tensor& A) { return sum(linalg::svd(A).S); };
    for (const Kind& kind : kinds(d, dtype))
      for (const std::vector<double>& s : mixed()) {
        const Tensor A = kind.matrix(s);
        const Loss& square = kind.losses[0];
        const Tensor plain = gradient_by(square.of, A);
        for (const int e : {-power, power}) {
          const double scale = std::ldexp(1.0, e);
          EXPECT_TRUE(same_bits(gradient_by(square.of, A * scale), plain * scale))
              << kind.name << " " << name(dtype) << " " << e << " " << Tensor::from(s, {4});
          if (kind.name != "svd 4x4") continue;
          EXPECT_TRUE(same_bits(gradient_by(degree_one, A * scale), gradient_by(degree_one, A)))
              << name(dtype) << " " << e;
          EXPECT_TRUE(same_bits(gradient_by(nuclear, A * scale), gradient_by(nuclear, A))) << name(dtype) << " " << e;
        }
      }
  }
}
TEST(SpectralGradient, OfABatchOfMixedMembersIsThatOfItsMembersToSecondOrder) {
  for (const DType dtype : {f64, c128}) {
    Draw d(7);
    for (const Kind& kind : kinds(d, dtype)) {
      std::vector<Tensor> members, along;
      for (const std::vector<double>& s : mixed()) {
        members.push_back(kind.matrix(s));
        along.push_back(kind.direction());
      }
      const Dims matrix = members[0].shape();
      const auto batch = [&](const std::vector<Tensor>& all) {
        return reshape(stack(Tensors(all.begin(), all.end())), {2, 3, matrix[0], matrix[1]});
      };
      const Tensor A = batch(members), B = batch(along);
      for (const Loss& loss : kind.losses) {  // <K, A>² couples the members
        GradientTape tape;
        tape.watch(A);
        const Tensor g = tape.gradient(loss.of(A), A), exact = loss.exact(A);
        EXPECT_EQ(tape.findings().size(), 0U) << kind.name << loss.name;
        const Tensor bent = hessian_product(loss.of, A, B), directed = loss.directed(A, B);
        for (std::int64_t k = 0; k < 6; ++k) {
          EXPECT_LT(relative(g[{k / 3, k % 3}], exact[{k / 3, k % 3}]), 3e-10) << kind.name << loss.name << k;
          EXPECT_LT(relative(bent[{k / 3, k % 3}], directed[{k / 3, k % 3}]), 1e-6) << kind.name << loss.name << k;
        }
      }
    }
  }
}
// Each member by its own rule: a neighbour with repeated values does not move one bit of those that have none. Second
// derivatives of the two ways back add the same terms in another order.
TEST(SpectralGradient, OfAMemberWithoutTiesDoesNotSeeATieBesideIt) {
  for (const DType dtype : {f32, f64, c128}) {
    Draw d(8);
    for (const Kind& kind : kinds(d, dtype)) {
      const Tensor free = kind.matrix({4, 3, 2, 1}), other = kind.matrix({5, 3, 1, 0.25}), B = kind.direction();
      const Loss& loss = kind.losses[0];
      const Tensor alone = gradient_by(loss.of, free), bent = hessian_product(loss.of, free, B);
      for (const Tensor& beside : {other, kind.matrix({3, 3, 1, 0.5}), kind.matrix({2, 0, 0, 0})}) {
        const Tensor pair = stack({beside, free});
        EXPECT_TRUE(same_bits(gradient_by(loss.of, pair)[{1}], alone)) << kind.name << name(dtype);
        EXPECT_LT(relative(hessian_product(loss.of, pair, stack({B, B}))[{1}], bent), 256 * finfo(dtype).eps)
            << kind.name << name(dtype);
      }
    }
  }
}

TEST(ValuesGradient, OfAMemberDoesNotSeeAKinkBesideIt) {
  Draw d(10);
  const std::pair<const char*, Tensor (*)(const Tensor&)> values[] = {
      {"svdvals", [](const Tensor& x) { return linalg::svdvals(x); }},
      {"eigvalsh", [](const Tensor& x) { return linalg::eigvalsh(x); }},
      {"eigvals", [](const Tensor& x) { return real(linalg::eigvals(x)); }}};
  for (const DType dtype : {f32, f64})
    for (const auto& [name, f] : values) {
      const Tensor kinked = 2 * eye(3, {.dtype = dtype}), weights = astype(Tensor{1.0, 1.0, 5e-3}, dtype);
      const auto loss = [&, &f = f](const Tensor& x) { return sum(f(x) * weights); };
      for (const std::vector<double>& s : {std::vector<double>{3, 2, 1}, {3, 1, 1}, {3, 2, 0}, {2, 2, 2}}) {
        const Tensor one = astype(d.with_eigenvalues(s), dtype), alone = gradient_by(loss, one);
        for (const Tensor& beside : {kinked, one * 3})
          EXPECT_TRUE(same_bits(gradient_by(loss, stack({beside, one}))[{1}], alone)) << name << one;
      }
    }
}

// Counts the calls of each op.
class Count : public Witness {
 public:
  Count() { attend(*this); }
  ~Count() override { dismiss(*this); }
  void after(const Call& c) noexcept override { ++calls_[c.op.name]; }
  int of(std::string_view op) const {
    const auto at = calls_.find(op);
    return at == calls_.end() ? 0 : at->second;
  }
  int all() const {
    int total = 0;
    for (const auto& [op, n] : calls_) total += n;
    return total;
  }

 private:
  std::map<std::string_view, int> calls_;
};
TEST(SpectralGradient, CostsMoreOnlyWhereAClusterIsAndNeverASecondDecomposition) {
  Draw d(9);
  for (const Kind& kind : kinds(d, f64)) {
    const auto calls_back = [&](const Tensor& A) {
      GradientTape tape;
      tape.watch(A);
      const Tensor y = kind.losses[0].of(A);
      const Count count;
      (void)tape.gradient(y, A);
      EXPECT_EQ(count.of("svd") + count.of("eigh"), 0) << kind.name;
      return count.all();
    };
    const Tensor free = kind.matrix({4, 3, 2, 1}), tie = kind.matrix({3, 3, 2, 1});
    EXPECT_EQ(calls_back(stack({free, free, free})), calls_back(free)) << kind.name;
    EXPECT_GT(calls_back(tie), calls_back(free)) << kind.name;
    EXPECT_EQ(calls_back(stack({free, tie, free})), calls_back(tie)) << kind.name;
  }
}
}  // namespace
