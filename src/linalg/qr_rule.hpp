// Derivatives of QR, plain and pivoted, tall and wide.
#pragma once
#include "ops/derivative.hpp"

namespace wp::linalg {

Tensors vjp_qr(const Backward& b);  // outputs Q, R; and P of qr_pivoted

}  // namespace wp::linalg
