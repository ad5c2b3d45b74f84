// Generated from the op table by tools/generate.py; edit the room, not this file.
#include "ops/dispatch.hpp"
#include "wellposed/ops/data_type.hpp"

namespace wp {

extern const Op op_astype;

Tensor astype(const In& x, DType dtype, const AstypeOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(dtype), Attr(options.copy)};
  return call1(op_astype, Inputs(in), attrs, Place(where));
}

}  // namespace wp
