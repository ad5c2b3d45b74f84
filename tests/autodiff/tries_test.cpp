// Losses of singular vectors and eigenvectors that have no derivative at ties: refused (GaugeError), or given with a
// finding where there is a subgradient, in every one of a thousand random tries.
#include <gtest/gtest.h>

#include <array>

#include "spectra.hpp"

namespace {
using namespace wp;

Tensor squares(const Tensor& x) {
  return real(conj(x) * x);
}
Tensor unit(std::int64_t n, std::int64_t at) {
  return astype(equal(arange(n), at), f64);
}
// size values that are all 2 or all 0, the others apart.
std::vector<double> tied(std::int64_t n, std::int64_t size, bool zero) {
  std::vector<double> s(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i)
    s[static_cast<std::size_t>(i)] = zero       ? (i < n - size ? 3 - static_cast<double>(i) / 2 : 0)
                                     : i < size ? 2
                                                : 1.5 / static_cast<double>(i + 1);
  return s;
}
// Zeros of a matrix that was rounded to f32 are apart by more than their errors: losses of values have a derivative.
unsigned kind_of(unsigned seed, DType dtype, bool zero) {
  return seed % (zero && finfo(real_of(dtype)).eps > 1e-10 ? 3 : 5);
}

// Is the way back silent? Numbers the tries that are.
class Tries {
 public:
  Tries() : before_(on_finding([](const Finding&) {})) {}
  ~Tries() { on_finding(before_); }
  Tries(const Tries&) = delete;
  Tries& operator=(const Tries&) = delete;
  void operator()(const std::function<Tensor(const Tensor&)>& loss, const Tensor& A, const std::string& what) {
    GradientTape tape;
    tape.watch(A);
    const Tensor y = loss(A);
    try {
      (void)tape.gradient(y, A);
      EXPECT_FALSE(tape.findings().empty()) << what << "\n" << A;
      for (const Finding& f : tape.findings()) EXPECT_EQ(f.code, "WP-GRD-009") << what;
      ++flagged_;
    } catch (const GaugeError&) {
      ++refused_;
    }
  }
  void expect_both() const {
    EXPECT_EQ(flagged_ + refused_, 1000);
    EXPECT_GT(flagged_, 100);
    EXPECT_GT(refused_, 100);
  }

 private:
  FindingHandler before_;
  int flagged_ = 0, refused_ = 0;
};

// Square, tall and wide; real and complex; ties of 2 … k values, at 2 and at 0.
TEST(SvdGradient, OfLossesThatHaveNoneIsRefusedOrFlaggedInAThousandTries) {
  Tries tries;
  for (unsigned seed = 0; seed < 1000; ++seed) {
    Draw d(5000 + seed);
    const std::int64_t k = 3 + seed % 4, more = 1 + seed % 3;
    const std::int64_t m = k + (seed / 5 % 3 == 1 ? more : 0), n = k + (seed / 5 % 3 == 2 ? more : 0);
    const DType dtype = std::array{f64, c128, f32, c64}[seed / 15 % 4];
    const bool zero = seed / 60 % 2;
    const std::int64_t size = 2 + seed / 120 % static_cast<unsigned>(k - 1);
    const unsigned kind = kind_of(seed, dtype, zero);
    const Tensor A = d.with_values(m, n, tied(k, size, zero), dtype);
    const Tensor W = d.normal({m, k}), X = d.normal({k, n}), K = d.normal({m, n}, dtype);
    const Tensor one = unit(k, zero ? k - 1 : 0);
    const auto loss = [&](const Tensor& x) {
      const auto f = linalg::svd(x, {.full_matrices = false});
      const auto whole = [&] { return against(K, matmul(f.U * row(f.S), f.Vh)); };
      switch (kind) {
        case 0: return sum(W * real(f.U));
        case 1: return sum(X * squares(f.Vh)) + whole();
        case 2: return sum(W * squares(f.U));
        case 3: return sum(f.S * one);
        default: return sum(f.S * one) + whole();
      }
    };
    tries(loss, A, "svd, try " + std::to_string(seed));
  }
  tries.expect_both();
}
TEST(EighGradient, OfLossesThatHaveNoneIsRefusedOrFlaggedInAThousandTries) {
  Tries tries;
  for (unsigned seed = 0; seed < 1000; ++seed) {
    Draw d(8000 + seed);
    const std::int64_t n = 3 + seed % 4;
    const DType dtype = std::array{f64, c128, f32, c64}[seed / 5 % 4];
    const bool zero = seed / 20 % 2;
    const std::int64_t size = 2 + seed / 40 % static_cast<unsigned>(n - 1);
    const unsigned kind = kind_of(seed, dtype, zero);
    std::vector<double> l = tied(n, size, zero);
    if (seed / 80 % 2)
      for (double& v : l) v = -v;
    const Tensor A = d.with_eigenvalues(l, dtype), W = d.normal({n, n}), K = d.normal({n, n}, dtype);
    // Eigenvalues ascend: the ties at 2 are the last or (at −2) the first, those at 0 the other way round.
    const Tensor one = unit(n, (l[0] < 0) == zero ? n - 1 : 0);
    const auto loss = [&](const Tensor& x) {
      const auto e = linalg::eigh(x);
      const Tensor& V = e.eigenvectors;
      const auto whole = [&] { return against(K, matmul(V * row(e.eigenvalues), adjoint(V))); };
      switch (kind) {
        case 0: return sum(W * real(V));
        case 1: return sum(W * squares(V)) + whole();
        case 2: return sum(W * squares(V));
        case 3: return sum(e.eigenvalues * one);
        default: return sum(e.eigenvalues * one) + whole();
      }
    };
    tries(loss, A, "eigh, try " + std::to_string(seed));
  }
  tries.expect_both();
}

// f64 factors that go on in f32 have cotangents of seven digits: quotients of those beside ties would be rounding.
TEST(SpectralGradient, OfFactorsThatGoOnInF32IsRightToItsDigits) {
  for (unsigned seed = 0; seed < 240; ++seed) {
    Draw d(100 + seed);
    const double gap = seed % 6 == 0 ? 0 : std::pow(10.0, -2.2 * (seed % 6));
    const Tensor A = d.with_eigenvalues({2, 2 + gap, 1, 0.5}), M = d.normal({4, 4}), H = hermitian(M);
    GradientTape tape;
    tape.watch(A);
    const auto loss = [&](const Tensor& values, const Tensor& vectors) {
      const Tensor v = astype(vectors, f32);
      return against(astype(M, f32), matmul(v * row(square(astype(values, f32))), adjoint(v)));
    };
    if (seed / 6 % 2) {
      const auto e = linalg::eigh(A);
      const Tensor g = tape.gradient(loss(e.eigenvalues, e.eigenvectors), A);
      EXPECT_LT(relative(g, matmul(H, A) + matmul(A, H)), 1e-5) << gap;
    } else {
      const auto t = linalg::svd(A);
      EXPECT_LT(relative(tape.gradient(loss(t.S, adjoint(t.Vh)), A), 2 * matmul(A, H)), 1e-5) << gap;
    }
  }
}

// A member of a batch is judged by its own size: a neighbour with large gradients hides nothing.
TEST(SpectralGradient, AKinkIsFlaggedBesideAMemberWithLargeGradients) {
  const Tensor A = stack({Tensor{{3.0, 1.0}, {0.0, 1.0}}, Tensor{{2.0, 0.0}, {0.0, 2.0}}});
  const Tensor weight{{1e14, 1e14}, {1.0, 0.0}}, K{{{1e14, 0.0}, {0.0, 2e14}}, {{1.0, 2.0}, {3.0, 4.0}}};
  const auto findings = [&](const std::function<Tensor(const Tensor&)>& loss) {
    GradientTape tape;
    tape.watch(A);
    (void)tape.gradient(loss(A), A);
    return tape.findings().size();
  };
  EXPECT_EQ(findings([&](const Tensor& x) { return sum(weight * linalg::svd(x).S); }), 1U);
  EXPECT_EQ(findings([&](const Tensor& x) { return sum(weight * linalg::svdvals(x)); }), 1U);
  EXPECT_EQ(findings([&](const Tensor& x) {
              const auto f = linalg::svd(x);
              return sum(weight * f.S) + sum(K * matmul(f.U * row(f.S), f.Vh));
            }),
            1U);
}
// Where the gradient of a smooth loss vanishes only rounding is left of it, and rounding is no kink.
TEST(SpectralGradient, OfASmoothLossAtItsMinimumHasNoKink) {
  for (const DType dtype : {f32, f64, c128}) {
    Draw d(3);
    for (const std::vector<double>& s : {std::vector<double>{3, 3, 1}, {2, 2, 2}, {2, 0, 0}}) {
      const Tensor A = d.with_values(3, 3, s, dtype), H = d.with_eigenvalues(s, dtype);
      GradientTape tape({.persistent = true});
      tape.watch({A, H});
      const auto f = linalg::svd(A);
      const auto e = linalg::eigh(H);
      const Tensor off = matmul(f.U * row(f.S), f.Vh) - stop_gradient(A),
                   bent = matmul(e.eigenvectors * row(e.eigenvalues), adjoint(e.eigenvectors)) - stop_gradient(H);
      (void)tape.gradient(sum(squares(off)), A);
      (void)tape.gradient(sum(squares(bent)), H);
      const Tensor target = astype(Tensor::from(s, {3}), real_of(dtype));
      (void)tape.gradient(sum(square(f.S - target)), A);
      (void)tape.gradient(sum(square(e.eigenvalues - flip(target))), H);
      (void)tape.gradient(sum(square(linalg::svdvals(A) - target)), A);
      (void)tape.gradient(sum(square(linalg::eigvalsh(H) - flip(target))), H);
      EXPECT_EQ(tape.findings().size(), 0U) << name(dtype) << Tensor::from(s, {3});
    }
  }
}
}  // namespace
