// What derivative rules of linear algebra share. Rules are written in ops; two families of ops that only rules call
// stand for what no public op gives: derivatives of functions of singular values, and cofactors.
#pragma once
#include <cmath>
#include <functional>
#include <vector>

#include "ops/derivative.hpp"
#include "ops/dispatch.hpp"
#include "wellposed/context.hpp"

namespace wp::linalg {

struct Verdict;
class Verdicts;

Tensor adjoint(const Tensor& x);
Tensor product(const Tensor& a, const Tensor& b, const Tensor& c);
// (x + xᴴ)/2.
Tensor hermitian(const Tensor& x);
// [..., n, n] with ones on the diagonal, broadcast over leading axes by what it meets.
Tensor identity(std::int64_t n, DType dtype);
// x [..., n] on the diagonal of [..., n, n].
Tensor on_diagonal(const Tensor& x);
// A column [..., n, 1] for each vector; matrices as they are.
Tensor as_columns(const Tensor& x, bool vector);
Tensor from_columns(const Tensor& x, bool vector);
// A number of each member, [...], as [..., 1, 1].
Tensor each(const Tensor& x);
// The sum of those that are defined.
Tensor sum_of(const Tensor& a, const Tensor& b);

// The Hermitian matrix that a function of (A + Aᴴ)/2 or of one triangle acts on, and A's cotangent from that of it.
Tensor meant_hermitian(const Tensor& a, const Attr& uplo);
Tensor hermitian_cotangent(const Tensor& g, const Attr& uplo);
// A's cotangent from that of the matrix that `assume` makes of it.
Tensor assumed_cotangent(const Tensor& a, const Tensor& g, std::string_view assume);

// Refuses where there is no derivative (WP-GRD-011): a finding, never a number.
[[noreturn]] void no_derivative_here(std::string why, std::string_view advice);

// A⁻¹ for the derivative of log det A; members that are singular have none, and are refused where their cotangent g
// is not 0.
Tensor inverse_of_regular(const Backward& b, const Tensor& a, const Tensor& g, std::string_view assume);
// The cotangent of A = L Lᴴ: L⁻ᴴ K L⁻¹, K the Hermitian part of Φ(Lᴴ g), where Φ takes the lower triangle with half
// the diagonal (Murray 2016).
Tensor cholesky_cotangent(const Tensor& l, const Tensor& g);
// The matrix that takes rows to the order P: A[P] = it · A. −1 stands where there is no order.
Tensor rows_matrix(const Tensor& p, DType dtype);

// Decisions are made on values, outside of what is recorded: while it lives, or in f. Infinities that stand for
// bounds there are none of the rule's.
struct Unrecorded {
  Unseen unseen;
  checks off{CheckLevel::off};
  detail::Restore<&Context::saw_nonfinite> seen;
};
template <class F>
auto unrecorded(F&& f) {
  const Unrecorded here;
  return f();
}
bool any_true(const Tensor& mark);

// Singular values that count, of every member: [batch…, 2] of the first and how many.
Tensor kept_values(const Dims& batch, const Verdicts& verdicts);

// The same of the diagnosis that a call left, beside it.
void keep_counts(const Call& c);

// Functions of the singular values of A = U S Vᴴ, of those that are kept; 0 for the others.
enum class SpectralFunction : std::int64_t {
  values,       // U S Vᴴ
  reciprocals,  // U S⁻¹ Vᴴ
  signs,        // U Vᴴ
  projector,    // U Uᴴ
  positive      // of a Hermitian A: the eigenvalues themselves, those that are kept from the largest on
};
Tensor spectral_value(SpectralFunction f, const Tensor& kept, const Tensor& a);
// A's cotangent from that of the function's value, right also where values repeat.
Tensor spectral_cotangent(SpectralFunction f, const Tensor& kept, const Tensor& a, const Tensor& g);

// A's cotangent from that of the projector onto its range; `outside` projects onto what is orthogonal to that.
Tensor projector_cotangent(const Tensor& kept, const Tensor& a, const Tensor& outside, const Tensor& g);

// Which singular values of each member are the largest, or the least (none if that is 0), up to rounding; or which
// are not zero: [batch…, 2] as above.
enum class Which : std::uint8_t { largest, least, not_zero };
Tensor values_that_are(Which which, const Tensor& a);

// A power of two near the largest element of each member (1 if that is 0), as a constant.
Tensor scale_of(const Tensor& a);

// f′(A)[E] of a function of matrices that commutes with similarity, as the upper right part of f([A E; 0 A]) (Higham
// 2008, theorem 3.6). Then A's cotangent is block_derivative(f, A, gᴴ)ᴴ: tr(G f′(A)[E]) = tr(f′(A)[G] E).
// `most`: how large E is made at most; rounding counts by the size of both, so that it is made as large as A if that
// is less.
Tensor block_derivative(const std::function<Tensor(const Tensor&)>& f, const Tensor& a, const Tensor& e,
                        double most = HUGE_VAL);

// The cofactors of A: ∂det A/∂A without conjugation, also where A is singular.
Tensor cofactors(const Tensor& a);

}  // namespace wp::linalg
