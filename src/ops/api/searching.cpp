// Generated from the op table by tools/generate.py; edit the room, not this file.
#include "ops/dispatch.hpp"
#include "wellposed/ops/searching.hpp"

namespace wp {

extern const Op op_argmax;
extern const Op op_argmin;
extern const Op op_count_nonzero;
extern const Op op_nonzero;
extern const Op op_searchsorted;
extern const Op op_where;

Tensor argmax(const In& x, const ArgmaxOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.axis), Attr(options.keepdims)};
  return call1(op_argmax, Inputs(in), attrs, Place(where));
}

Tensor argmin(const In& x, const ArgminOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.axis), Attr(options.keepdims)};
  return call1(op_argmin, Inputs(in), attrs, Place(where));
}

Tensor count_nonzero(const In& x, const CountNonzeroOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {(options.axis ? Attr(*options.axis) : Attr()), Attr(options.keepdims)};
  return call1(op_count_nonzero, Inputs(in), attrs, Place(where));
}

Tensors nonzero(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call(op_nonzero, Inputs(in), Attrs(), Place(where));
}

Tensor searchsorted(const In& x1, const In& x2, const In& sorter, const SearchsortedOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor(), &sorter.tensor()};
  const Attr attrs[] = {Attr(options.side)};
  return call1(op_searchsorted, Inputs(in), attrs, Place(where));
}

Tensor where(const In& condition, const In& x1, const In& x2, std::source_location where) {
  const Tensor* const in[] = {&condition.tensor(), &x1.tensor(), &x2.tensor()};
  return call1(op_where, Inputs(in), Attrs(), Place(where));
}

}  // namespace wp
