// What derivatives of distributed matrices share, as ops that differentiate again (linalg/rules.hpp for one machine).
#pragma once
#include <optional>
#include <string>

#include "dist/matrix.hpp"
#include "linalg/options.hpp"
#include "ops/op.hpp"

namespace wp::dist {

// Elements times a factor each: those below the diagonal, on it, and above.
struct Factors3 {
  double below, diagonal, above;
};
Matrix weighted(const Matrix& a, const Factors3& by, const Place& place);

// The Hermitian matrix that a function of (A + Aᴴ)/2 or of one triangle acts on, and A's cotangent from that of it.
using Uplo = std::optional<std::string>;  // a copy: derivatives outlive the options of the call
Matrix meant_hermitian(const Matrix& a, const Uplo& uplo, const Place& place);
Matrix hermitian_cotangent(const Matrix& g, const Uplo& uplo, const Place& place);
// A's cotangent from that of the matrix that `assume` makes of it.
Matrix assumed_cotangent(const Matrix& a, const Matrix& g, linalg::Assume assume, const Place& place);

}  // namespace wp::dist
