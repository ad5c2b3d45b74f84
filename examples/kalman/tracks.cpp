// A hundred thousand tracks, each with a square-root Kalman filter of its own: position and velocity in the plane
// from noisy positions. The filter keeps U with P = UᵀU and never forms P: it cannot become indefinite by rounding.
// Tested with arguments: 500 12
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "wellposed/wellposed.hpp"

namespace {

using wp::slice;
using wp::Tensor;
constexpr double kStep = 0.1, kNoise = 0.05, kPush = 0.3;

const Tensor F = {{1.0, 0.0, kStep, 0.0}, {0.0, 1.0, 0.0, kStep}, {0.0, 0.0, 1.0, 0.0}, {0.0, 0.0, 0.0, 1.0}};
const Tensor H = {{1.0, 0.0, 0.0, 0.0}, {0.0, 1.0, 0.0, 0.0}};
const Tensor G = {{kStep * kStep / 2, 0.0}, {0.0, kStep* kStep / 2}, {kStep, 0.0}, {0.0, kStep}};  // of accelerations
const Tensor Ft = wp::matrix_transpose(F), Ht = wp::matrix_transpose(H), Gt = wp::matrix_transpose(G);

// One filter for every track: states x [tracks, 4, 1], factors U [tracks, 4, 4].
struct Filter {
  Tensor x, U;

  void step(const Tensor& z) {
    const std::int64_t tracks = x.shape(0);
    const auto of_all = [&](const Tensor& t) { return wp::broadcast_to(t, {tracks, t.shape(0), t.shape(1)}); };
    // P ← F P Fᵀ + σ² G Gᵀ: the triangular factor of [U Fᵀ; σ Gᵀ].
    x = wp::matmul(F, x);
    U = wp::linalg::qr(wp::concat({wp::matmul(U, Ft), of_all(kPush * Gt)}, {.axis = 1})).R;
    // [r 0; U Hᵀ U] = Q [Eᵀ Kᵀ; 0 U⁺]: E Eᵀ is the covariance of z − H x, and x ← x + K E⁻¹ (z − H x).
    const Tensor noise = of_all(wp::concat({kNoise * wp::eye(2), wp::zeros({2, 4})}, {.axis = 1}));
    const Tensor seen = wp::concat({wp::matmul(U, Ht), U}, {.axis = 2});
    const Tensor R = wp::linalg::qr(wp::concat({noise, seen}, {.axis = 1})).R;
    const Tensor E = wp::matrix_transpose(R[{slice(), slice(0, 2), slice(0, 2)}]);
    const Tensor K = wp::matrix_transpose(R[{slice(), slice(0, 2), slice(2, 6)}]);
    x = x + wp::matmul(K, wp::linalg::solve(E, z - wp::matmul(H, x)));
    U = R[{slice(), slice(2, 6), slice(2, 6)}];
  }
  Tensor covariance() const { return wp::matmul(wp::matrix_transpose(U), U); }
};

// The same by the book, with P itself.
struct CovarianceFilter {
  Tensor x, P;

  void step(const Tensor& z) {
    x = wp::matmul(F, x);
    P = wp::matmul(wp::matmul(F, P), Ft) + kPush * kPush * wp::matmul(G, Gt);
    const Tensor S = wp::matmul(wp::matmul(H, P), Ht) + kNoise * kNoise * wp::eye(2);
    const Tensor K = wp::matmul(wp::matmul(P, Ht), wp::linalg::inv(S));
    x = x + wp::matmul(K, z - wp::matmul(H, x));
    P = P - wp::matmul(wp::matmul(K, S), wp::matrix_transpose(K));
  }
};

double largest(const Tensor& t) {
  return wp::max(wp::abs(t)).item<double>();
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t tracks = argc > 1 ? std::atoll(argv[1]) : 100000, steps = argc > 2 ? std::atoll(argv[2]) : 100;
  wp::random::Generator g(3);
  Tensor truth = g.normal({tracks, 4, 1});
  Filter filter{wp::zeros({tracks, 4, 1}), wp::broadcast_to(10.0 * wp::eye(4), {tracks, 4, 4})};
  CovarianceFilter plain{filter.x, 100.0 * wp::broadcast_to(wp::eye(4), {tracks, 4, 4})};

  std::vector<double> milliseconds;
  double states = 0, covariances = 0;
  for (std::int64_t k = 0; k < steps; ++k) {
    truth = wp::matmul(F, truth) + kPush * wp::matmul(G, g.normal({tracks, 2, 1}));
    const Tensor z = wp::matmul(H, truth) + g.normal({tracks, 2, 1}, {.std = kNoise});
    const auto start = std::chrono::steady_clock::now();
    filter.step(z);
    milliseconds.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    if (k >= 10) continue;  // the first steps change P most
    plain.step(z);
    states = std::max(states, largest(filter.x - plain.x));
    covariances = std::max(covariances, largest(filter.covariance() - plain.P));
  }

  std::sort(milliseconds.begin(), milliseconds.end());
  const auto percentile = [&](double p) {
    return milliseconds[static_cast<std::size_t>(p / 100 * static_cast<double>(milliseconds.size() - 1) + 0.5)];
  };
  const Tensor off = filter.x - truth;
  const double position = std::sqrt(wp::mean(wp::square(off[{slice(), slice(0, 2)}])).item<double>());
  std::printf("%lld tracks, %lld steps\n", static_cast<long long>(tracks), static_cast<long long>(steps));
  std::printf("a step takes %.1f ms (p50), %.1f ms (p95), %.1f ms (p99): %.2f µs per track\n", percentile(50),
              percentile(95), percentile(99), 1e3 * percentile(50) / static_cast<double>(tracks));
  std::printf("positions are off by %.3f (root of the mean square); a measurement by %.3f\n", position, kNoise);
  const bool same = states < 1e-9 && covariances < 1e-9;
  std::printf("the filter by the book %s (states %.0e, covariances %.0e)\n", same ? "agrees" : "DIFFERS", states,
              covariances);
  return same && position < kNoise ? 0 : 1;
}
