// Generated from the op table by tools/generate.py; edit the room, not this file.
#include "ops/dispatch.hpp"
#include "wellposed/ops/sorting.hpp"

namespace wp {

extern const Op op_argsort;
extern const Op op_sort;

Tensor argsort(const In& x, const ArgsortOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.axis), Attr(options.descending), Attr(options.stable)};
  return call1(op_argsort, Inputs(in), attrs, Place(where));
}

Tensor sort(const In& x, const SortOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.axis), Attr(options.descending), Attr(options.stable)};
  return call1(op_sort, Inputs(in), attrs, Place(where));
}

}  // namespace wp
