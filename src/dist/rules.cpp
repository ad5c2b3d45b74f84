#include "dist/rules.hpp"

#include "dist/calling.hpp"
#include "dist/products.hpp"
#include "dist/team.hpp"
#include "linalg/stack.hpp"

namespace wp::dist {
namespace {

constexpr Factors3 kLower{1, 1, 0}, kUpper{0, 1, 1}, kDiagonal{0, 1, 0};

bool is_lower(const Matrix& a) {
  int above = 0;
  linalg::with_float(a.dtype(), [&]<class T>(T) {
    local<T>(a).each([&](std::int64_t i, std::int64_t j, const T& v) { above |= i < j && v != T(0); });
  });
  return reduced(above, MPI_MAX) == 0;
}

}  // namespace

Matrix weighted(const Matrix& a, const Factors3& by, const Place& place) {
  return taped(
      "dist.weigh", {a},
      [by](const Many& in) {
        Matrix out = copy_of(in[0]);
        linalg::with_float(out.dtype(), [&]<class T>(T) {
          using R = typename kernels::RealOf<T>::type;
          local<T>(out).each([&](std::int64_t i, std::int64_t j, T& v) {
            const double factor = i > j ? by.below : i == j ? by.diagonal : by.above;
            v = factor == 0 ? T(0) : v * static_cast<R>(factor);
          });
        });
        return out;
      },
      [=](const Many&, const Matrix&, const Matrix& g) -> Many { return {weighted(g, by, place)}; }, place);
}

Matrix meant_hermitian(const Matrix& a, const Uplo& uplo, const Place& place) {
  const Matrix part = !uplo ? a : weighted(a, *uplo == "lower" ? Factors3{1, 0.5, 0} : Factors3{0, 0.5, 1}, place);
  const double share = uplo ? 1 : 0.5;
  return combined(share, part, share, part.adjoint(), place);
}

Matrix hermitian_cotangent(const Matrix& g, const Uplo& uplo, const Place& place) {
  const Matrix s = combined(0.5, g, 0.5, g.adjoint(), place);
  if (!uplo) return s;
  return weighted(s, *uplo == "lower" ? Factors3{2, 1, 0} : Factors3{0, 1, 2}, place);
}

Matrix assumed_cotangent(const Matrix& a, const Matrix& g, linalg::Assume assume, const Place& place) {
  using linalg::Assume;
  switch (assume) {
    case Assume::lower: return weighted(g, kLower, place);
    case Assume::upper: return weighted(g, kUpper, place);
    case Assume::diagonal: return weighted(g, kDiagonal, place);
    case Assume::triangular: return weighted(g, is_lower(a) ? kLower : kUpper, place);
    case Assume::symmetric:
    case Assume::spd: return hermitian_cotangent(g, {}, place);
    default: return g;
  }
}

}  // namespace wp::dist
