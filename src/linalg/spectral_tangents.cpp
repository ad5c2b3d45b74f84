// Let P = Uᴴ dA V. Then dS = Re diag P, and U and V turn by X ± Y with X = (P + Pᴴ)/2 over s_j − s_i and
// Y = (P − Pᴴ)/2 over s_i + s_j. A direction that splits a tie in another basis has no tangent in this one, and
// beside a tie one that has lost its digits.
#include "linalg/quotients.hpp"
#include "linalg/spectral_rules.hpp"
#include "wellposed/creation.hpp"
#include "wellposed/ops.hpp"

namespace wp::linalg {
Tensors jvp_svd(const Forward& f) {
  const Tensor &u = f.out[0], &s = f.out[1], &da = f.tangents[0];
  if (s.size() == 0) return {zeros_for(f.output(0)), zeros_for(f.output(1)), zeros_for(f.output(2))};
  const Tensor v = adjoint(f.out[2]);
  const std::int64_t k = s.shape().back(), m = u.shape(-2), n = v.shape(-2);
  const Clusters c = tangent_clusters(s, f.residuals[0], true);
  if (c.any || is_complex(u.dtype()) || u.shape(-1) > k || v.shape(-1) > k) f.choose();
  const Tensor u1 = leading(u, k), v1 = leading(v, k), same = astype(eye(k), DType::boolean);
  const Tensor p = product(adjoint(u1), da, v1);
  const Tensor apart = subtract(row(s), column(s)), joint = add(row(s), column(s));
  Tensor tied, zero, vanishing;
  {
    const Unrecorded here;
    tied = logical_and(less_equal(wp::abs(apart), c.near), logical_not(same));
    zero = less_equal(joint, c.near);
    vanishing = less_equal(row(s), c.near);
  }
  const Tensor even = where(same, 0, hermitian(p));
  const Tensor x = turning_tangent(even, where(same, 1, apart), tied), y = turning_tangent(skew(p), joint, zero);
  const auto moved = [&](const Tensor& whole, const Tensor& one, const Tensor& turn, const Tensor& image,
                         std::int64_t rows, const Tensor& inner) {
    Tensor d = matmul(one, turn);
    if (rows > k) {
      const Tensor rest = subtract(image, matmul(one, inner));
      d = add(d, turning_tangent(rest, broadcast_to(row(s), rest.shape()), broadcast_to(vanishing, rest.shape())));
    }
    const Tensor two = trailing(whole, k);
    return two.defined() ? concat({d, negative(matmul(one, matmul(adjoint(d), two)))}, {.axis = -1}) : d;
  };
  return {moved(u, u1, add(x, y), matmul(da, v1), m, p), real(linalg::diagonal(p)),
          adjoint(moved(v, v1, subtract(x, y), matmul(adjoint(da), u1), n, adjoint(p)))};
}

Tensors jvp_eigh(const Forward& f) {
  const Tensor &values = f.out[0], &v = f.out[1];
  if (values.size() == 0) return {zeros_for(f.output(0)), zeros_for(f.output(1))};
  const Clusters c = tangent_clusters(values, f.residuals[0], false);
  if (c.any || is_complex(v.dtype())) f.choose();
  const Tensor p = product(adjoint(v), meant_hermitian(f.tangents[0], f.attr(0)), v);
  const Tensor apart = subtract(row(values), column(values)), same = astype(eye(v.shape().back()), DType::boolean);
  Tensor tied;
  {
    const Unrecorded here;
    tied = logical_and(less_equal(wp::abs(apart), c.near), logical_not(same));
  }
  return {real(linalg::diagonal(p)), matmul(v, turning_tangent(where(same, 0, p), where(same, 1, apart), tied))};
}

namespace {
Forward with_outputs(const Forward& f, const Tensors& out) {
  Forward other = f;
  other.out = {out.begin(), out.size()};
  return other;
}
}  // namespace

// The values alone: their vectors are computed now, and must be those that the direction leaves together.
Tensors jvp_svdvals(const Forward& f) {
  if (f.out[0].size() == 0) return {zeros_for(f.output(0))};
  const SvdResult d = svd(f.in[0], {.full_matrices = false});
  const Tensors all{d.U, d.S, d.Vh};
  return {jvp_svd(with_outputs(f, all))[1]};
}
Tensors jvp_eigvalsh(const Forward& f) {
  if (f.out[0].size() == 0) return {zeros_for(f.output(0))};
  const Attr& uplo = f.attr(0);
  const EighResult d = eigh(f.in[0], {.uplo = uplo ? std::optional(uplo.text()) : std::nullopt});
  const Tensors all{d.eigenvalues, d.eigenvectors};
  return {jvp_eigh(with_outputs(f, all))[0]};
}

}  // namespace wp::linalg
