// A million rigid bodies in f32: inverses of their poses, and the nearest rotation to each of a million matrices that
// were rotations before they were rounded, interpolated or measured (polar projection, by singular values).
// Tested with arguments: 2000
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "wellposed/wellposed.hpp"

namespace {

using wp::slice;
using wp::Tensor;

double largest(const Tensor& t) {
  return wp::max(wp::abs(t)).item<double>();
}
template <class F>
Tensor timed(const char* what, std::int64_t bodies, const F& f) {
  const auto start = std::chrono::steady_clock::now();
  Tensor out = f();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("%s: %.0f ms, %.0f ns each\n", what, 1e3 * seconds, 1e9 * seconds / static_cast<double>(bodies));
  return out;
}

// The rotations of unit quaternions (w, x, y, z): [bodies, 3, 3].
Tensor rotations(const Tensor& q) {
  const auto part = [&](std::int64_t k) { return q[{slice(), k}]; };
  const Tensor w = part(0), x = part(1), y = part(2), z = part(3);
  const auto row = [](const Tensor& a, const Tensor& b, const Tensor& c) {
    return wp::stack({a, b, c}, {.axis = 1});
  };
  return wp::stack({row(1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)),
                    row(2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)),
                    row(2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y))},
                   {.axis = 1});
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t bodies = argc > 1 ? std::atoll(argv[1]) : 1000000;
  wp::random::Generator g(5);
  const Tensor q = g.normal({bodies, 4});
  const Tensor exact = rotations(q / wp::sqrt(wp::sum(q * q, {.axis = {1}, .keepdims = true})));
  const Tensor shift = g.normal({bodies, 3, 1}, {.std = 10.0});
  const Tensor bottom = wp::broadcast_to(Tensor{{0.0, 0.0, 0.0, 1.0}}, {bodies, 1, 4});
  const auto pose = [&](const Tensor& turn, const Tensor& by) {
    return wp::concat({wp::concat({turn, by}, {.axis = 2}), bottom}, {.axis = 1});
  };

  // 1. Inverses. Of [R t; 0 1] it is [Rᵀ −Rᵀt; 0 1], here in f64.
  const Tensor poses = wp::astype(pose(exact, shift), wp::f32);
  const Tensor inverses = timed("inverses of poses", bodies, [&] { return wp::linalg::inv(poses); });
  const Tensor back = wp::matrix_transpose(exact);
  const double inverse_error = largest(wp::astype(inverses, wp::f64) - pose(back, -wp::matmul(back, shift)));
  std::printf("largest error %.1e in numbers up to %.0f\n", inverse_error, largest(shift));

  // 2. Projections: U Vᵀ of a noisy rotation, with det = +1.
  const Tensor measured = wp::astype(exact + g.normal({bodies, 3, 3}, {.std = 0.01}), wp::f32);
  const Tensor projected = timed("nearest rotations", bodies, [&] {
    const auto [u, s, vh] = wp::linalg::svd(measured);
    const Tensor turned = wp::linalg::det(wp::matmul(u, vh));  // ±1
    const Tensor ones = wp::ones({bodies}, {.dtype = wp::f32});
    const Tensor signs = wp::stack({ones, ones, turned}, {.axis = 1});
    return wp::matmul(u * wp::expand_dims(signs, {.axis = 1}), vh);
  });
  const Tensor wide = wp::astype(projected, wp::f64);
  const double angle_error = largest(wp::matmul(wp::matrix_transpose(wide), wide) - wp::eye(3));
  const double apart = largest(wide - exact);
  std::printf("largest |RᵀR − I| %.1e; farthest from the rotation before the noise %.2f\n", angle_error, apart);
  return inverse_error < 2e-5 && angle_error < 2e-6 && apart < 0.1 ? 0 : 1;
}
