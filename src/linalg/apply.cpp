#include "wellposed/linalg_apply.hpp"

#include "base/text.hpp"
#include "wellposed/ops.hpp"

namespace wp::linalg {
namespace {

Tensor checked(const ValueFunction& f, const Tensor& values, std::string_view name) {
  Tensor out = f(values);
  if (!out.defined() || out.shape() != values.shape())
    raise<ShapeError>("WP-SHP-001", std::string(name),
                      say("f must give one value for each it is given, ", values.shape(), "; it gave ",
                          out.defined() ? say(out.shape()) : std::string("nothing"), "."));
  return out;
}

Tensor adjoint(const Tensor& x) {
  const Tensor turned = matrix_transpose(x);
  return is_complex(x.dtype()) ? conj(turned) : turned;
}

}  // namespace

Tensor eigh_apply(const In& x, const ValueFunction& f, std::source_location where) {
  const EighResult e = eigh(x, {}, where);
  const Tensor values = checked(f, e.eigenvalues, "eigh_apply");
  const Tensor y = matmul(e.eigenvectors * expand_dims(values, {.axis = -2}), adjoint(e.eigenvectors));
  return is_complex(values.dtype()) ? y : (y + adjoint(y)) * 0.5;
}

Tensor svd_apply(const In& x, const ValueFunction& f, std::source_location where) {
  const SvdResult s = svd(x, {.full_matrices = false}, where);
  return matmul(s.U * expand_dims(checked(f, s.S, "svd_apply"), {.axis = -2}), s.Vh);
}

}  // namespace wp::linalg
