// Gradients through QR: tall, wide, square, complete, pivoted, and where the matrix has no full rank.
#include <gtest/gtest.h>

#include "draws.hpp"
#include "wellposed/wellposed.hpp"

namespace {
using namespace wp;

TEST(QrGradient, AgreesWithDifferences) {
  for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{3, 3}, {4, 2}, {2, 4}, {1, 3}, {3, 1}}) {
    const Tensor A = normal({m, n}, static_cast<unsigned>(m * 10 + n));
    const auto f = [](const std::vector<Tensor>& x) {
      const auto r = linalg::qr(x[0]);
      return std::vector<Tensor>{r.Q, r.R};
    };
    EXPECT_TRUE(gradcheck(f, {A}, 2)) << m << "x" << n << "\n" << gradcheck(f, {A}, 2);
    const auto p = [](const std::vector<Tensor>& x) {
      const auto r = linalg::qr_pivoted(x[0]);
      return std::vector<Tensor>{r.Q, r.R};
    };
    EXPECT_TRUE(gradcheck(p, {A}, 2)) << "pivoted " << m << "x" << n << "\n" << gradcheck(p, {A}, 2);
  }
}
TEST(QrGradient, OfSmoothLossesIsRightWithoutFullRank) {
  for (const Tensor& A : {Tensor{{1.0, 2.0, 3.0}, {2.0, 4.0, 6.0}, {1.0, 0.0, 1.0}}, Tensor{{0.0, 0.0}, {0.0, 0.0}},
                          Tensor{{1.0, 1.0}, {1.0, 1.0}, {1.0, 1.0}}, Tensor{{1.0, 1.0, 2.0}, {2.0, 2.0, 4.0}}}) {
    for (const bool complete : {false, true}) {
      GradientTape tape({.persistent = true});
      tape.watch(A);
      const auto f = linalg::qr(A, {.mode = complete ? "complete" : "reduced"});
      const Tensor W = normal(A.shape(), 5), y = sum(f.R * f.R), z = sum(W * matmul(f.Q, f.R));
      EXPECT_LT(wp::max(wp::abs(tape.gradient(y, A) - 2 * A)).item<double>(), 1e-13) << A;
      EXPECT_LT(relative(tape.gradient(z, A), W), 1e-13) << A;
    }
  }
}
// No pivot, a pivot behind a vanishing one, vanishing pivots that depend on each other, wide, tall, zero, one member
// of a batch; real and complex.
std::vector<Tensor> without_full_rank() {
  const std::vector<Tensor> real{
      Tensor{{1.0, 2.0, 3.0}, {2.0, 4.0, 6.0}, {1.0, 0.0, 1.0}},
      Tensor{{0.0, 0.0}, {0.0, 0.0}},
      Tensor{{0.0, 1.0}, {0.0, 0.0}},
      Tensor{{0.0, 1.0}, {0.0, 1.0}},
      Tensor{{0.0, 1.0, 2.0}, {0.0, 0.0, 3.0}, {0.0, 0.0, 0.0}},
      Tensor{{1.0, 1.0}, {1.0, 1.0}, {1.0, 1.0}},
      Tensor{{1.0, 1.0, 2.0}, {2.0, 2.0, 4.0}},
      Tensor{{1.0, 1.0, 2.0}, {2.0, 2.0, 5.0}},
      Tensor{{{1.0, 2.0}, {3.0, 4.0}}, {{1.0, 2.0}, {2.0, 4.0}}, {{0.0, 1.0}, {0.0, 0.0}}},
  };
  std::vector<Tensor> all = real;
  for (const Tensor& a : real) all.push_back(astype(a, c128) * complex128(0.6, 0.8));
  return all;
}
struct QrLoss {
  const char* name;
  std::function<Tensor(const Tensor&)> of, exact;
  std::function<Tensor(const Tensor&, const Tensor&)> directed;
};
// ⟨K, A⟩ + ‖A‖², ⟨K, A Aᴴ A⟩, and one in which A is used again, through Q and R.
std::vector<QrLoss> smooth_losses(const Tensor& like, bool pivoted) {
  const Tensor K = Draw(4).normal(like.shape(), like.dtype());
  const auto factors = [pivoted](const Tensor& x) {
    if (!pivoted) {
      const auto f = linalg::qr(x);
      return std::vector<Tensor>{f.Q, f.R, x};
    }
    const auto f = linalg::qr_pivoted(x);
    const Tensor back = broadcast_to(expand_dims(argsort(f.P), {.axis = -2}), f.R.shape());
    return std::vector<Tensor>{f.Q, take_along_axis(f.R, back, {.axis = -1}), x};
  };
  const auto third = [](const Tensor& a, const Tensor& b, const Tensor& c) { return times(a, adjoint(b), c); };
  return {{"<K, A>",
           [=](const Tensor& x) {
             const auto f = factors(x);
             return against(K, matmul(f[0], f[1]));
           },
           [=](const Tensor&) { return K; }, [=](const Tensor& a, const Tensor&) { return zeros_like(a); }},
          {"|A|^2 by abs",
           [=](const Tensor& x) { return sum(square(wp::abs(factors(x)[1]))); },
           [=](const Tensor& a) { return 2 * a; },
           {}},
          {"<K, A> + |A|^2",
           [=](const Tensor& x) {
             const auto f = factors(x);
             return against(K, matmul(f[0], f[1])) + sum(real(conj(f[1]) * f[1]));
           },
           [=](const Tensor& a) { return K + 2 * a; }, [=](const Tensor&, const Tensor& b) { return 2 * b; }},
          {"<K, AA'A>",
           [=](const Tensor& x) {
             const auto f = factors(x);
             return against(K, matmul(f[0], times(f[1], adjoint(f[1]), f[1])));
           },
           [=](const Tensor& a) { return third(K, a, a) + third(a, K, a) + third(a, a, K); },
           [=](const Tensor& a, const Tensor& b) {
             return third(K, a, b) + third(K, b, a) + third(a, K, b) + third(b, K, a) + third(a, b, K) +
                    third(b, a, K);
           }},
          {"<A, QR> <K, A>",
           [=](const Tensor& x) {
             const auto f = factors(x);
             return against(f[2], matmul(f[0], f[1])) * against(K, matmul(f[0], f[1]));
           },
           [=](const Tensor& a) { return 2 * a * against(K, a) + K * against(a, a); },
           [=](const Tensor& a, const Tensor& b) {
             return 2 * b * against(K, a) + 2 * a * against(K, b) + 2 * K * against(a, b);
           }}};
}
TEST(QrGradient, OfSmoothLossesIsRightToSecondOrderWithoutFullRank) {
  Draw d(8);
  for (const Tensor& A : without_full_rank())
    for (const bool pivoted : {false, true})
      for (const QrLoss& loss : smooth_losses(A, pivoted)) {
        const Tensor B = d.normal(A.shape(), A.dtype());
        const auto close = [&](const Tensor& a, const Tensor& b, double tolerance, const char* what) {
          EXPECT_LT(wp::max(wp::abs(a - b)).item<double>(), tolerance)
              << what << " of " << loss.name << (pivoted ? " pivoted " : " ") << A << a << b;
        };
        close(gradient_by(loss.of, A), loss.exact(A), 1e-11, "gradient");
        if (!loss.directed) continue;
        if (A.shape(-1) == 3 && A.ndim() == 2 && wp::max(wp::abs(A[{slice(), 0}])).item<double>() == 0 && !pivoted)
          EXPECT_THROW((void)hessian_product(loss.of, A, B),
                       GradientError);  // three pivots that depend on each other
        else
          close(hessian_product(loss.of, A, B), loss.directed(A, B), 1e-9, "product");
      }
}
// Of full rank and with one, two and three pivots that vanish, side by side.
TEST(QrGradient, OfAMemberHasTheBitsThatItHasAlone) {
  for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{4, 4}, {6, 4}, {4, 6}}) {
    const Tensor full = normal({m, n}, 3), other = normal({m, n}, 4), left = normal({m, 3}, 5),
                 right = normal({3, n}, 6);
    const auto of_rank = [&](std::int64_t r) {
      return matmul(left[{slice(), slice(0, r)}], right[{slice(0, r), slice()}]);
    };
    const Tensors members{full, of_rank(3), of_rank(1), other, of_rank(2)};
    const Tensor K = normal({m, n}, 7);
    const auto by_r = [](const Tensor& x) { return sum(square(linalg::qr(x).R)); };
    const auto by_both = [&](const Tensor& x) {
      const auto f = linalg::qr(x);
      return sum(K * matmul(f.Q, f.R));
    };
    for (const std::function<Tensor(const Tensor&)>& loss :
         {std::function<Tensor(const Tensor&)>(by_r), std::function<Tensor(const Tensor&)>(by_both)}) {
      const Tensor together = gradient_by(loss, stack(members));
      for (std::size_t i = 0; i < members.size(); ++i) {
        const Tensor beside = together[{static_cast<std::int64_t>(i)}], alone = gradient_by(loss, members[i]);
        EXPECT_TRUE(bool(all(equal(beside, alone)))) << m << "x" << n << " member " << i << beside << alone;
      }
    }
  }
}
TEST(QrGradient, OfALossThatDependsOnColumnsWithoutAPivotIsRefused) {
  const Tensor A{{1.0, 2.0, 3.0}, {2.0, 4.0, 6.0}, {1.0, 2.0, 3.0}}, W = normal({3, 3}, 1);
  GradientTape tape;
  tape.watch(A);
  const Tensor y = sum(W * linalg::qr(A).Q);
  EXPECT_THROW((void)tape.gradient(y, A), GaugeError);
}
}  // namespace
