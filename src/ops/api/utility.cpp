// Generated from the op table by tools/generate.py; edit the room, not this file.
#include "ops/dispatch.hpp"
#include "wellposed/ops/utility.hpp"

namespace wp {

extern const Op op_all;
extern const Op op_any;

Tensor all(const In& x, const AllOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {(options.axis ? Attr(*options.axis) : Attr()), Attr(options.keepdims)};
  return call1(op_all, Inputs(in), attrs, Place(where));
}

Tensor any(const In& x, const AnyOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {(options.axis ? Attr(*options.axis) : Attr()), Attr(options.keepdims)};
  return call1(op_any, Inputs(in), attrs, Place(where));
}

}  // namespace wp
