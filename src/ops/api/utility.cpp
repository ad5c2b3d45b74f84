// Generated from the op table by tools/generate.py; edit the room, not this file.
#include "ops/dispatch.hpp"
#include "wellposed/ops/utility.hpp"

namespace wp {

extern const Op op_all;
extern const Op op_any;
extern const Op op_diff;
extern const Op op_stop_gradient;

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

Tensor diff(const In& x, const In& prepend, const In& append, const DiffOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor(), &prepend.tensor(), &append.tensor()};
  const Attr attrs[] = {Attr(options.axis), Attr(options.n)};
  return call1(op_diff, Inputs(in), attrs, Place(where));
}

Tensor stop_gradient(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_stop_gradient, Inputs(in), Attrs(), Place(where));
}

}  // namespace wp
