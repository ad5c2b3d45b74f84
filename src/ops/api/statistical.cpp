// Generated from the op table by tools/generate.py; edit the room, not this file.
#include "ops/dispatch.hpp"
#include "wellposed/ops/statistical.hpp"

namespace wp {

extern const Op op_cumulative_prod;
extern const Op op_cumulative_sum;
extern const Op op_logsumexp;
extern const Op op_max;
extern const Op op_mean;
extern const Op op_min;
extern const Op op_prod;
extern const Op op_std;
extern const Op op_sum;
extern const Op op_var;

Tensor cumulative_prod(const In& x, const CumulativeProdOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.axis), Attr(options.dtype), Attr(options.include_initial)};
  return call1(op_cumulative_prod, Inputs(in), attrs, Place(where));
}

Tensor cumulative_sum(const In& x, const CumulativeSumOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.axis), Attr(options.dtype), Attr(options.include_initial)};
  return call1(op_cumulative_sum, Inputs(in), attrs, Place(where));
}

Tensor logsumexp(const In& x, const LogsumexpOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {(options.axis ? Attr(*options.axis) : Attr()), Attr(options.keepdims)};
  return call1(op_logsumexp, Inputs(in), attrs, Place(where));
}

Tensor max(const In& x, const MaxOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {(options.axis ? Attr(*options.axis) : Attr()), Attr(options.keepdims)};
  return call1(op_max, Inputs(in), attrs, Place(where));
}

Tensor mean(const In& x, const MeanOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {(options.axis ? Attr(*options.axis) : Attr()), Attr(options.keepdims)};
  return call1(op_mean, Inputs(in), attrs, Place(where));
}

Tensor min(const In& x, const MinOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {(options.axis ? Attr(*options.axis) : Attr()), Attr(options.keepdims)};
  return call1(op_min, Inputs(in), attrs, Place(where));
}

Tensor prod(const In& x, const ProdOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {(options.axis ? Attr(*options.axis) : Attr()), Attr(options.keepdims), Attr(options.dtype)};
  return call1(op_prod, Inputs(in), attrs, Place(where));
}

Tensor std(const In& x, const StdOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {(options.axis ? Attr(*options.axis) : Attr()), Attr(options.keepdims), Attr(options.correction)};
  return call1(op_std, Inputs(in), attrs, Place(where));
}

Tensor sum(const In& x, const SumOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {(options.axis ? Attr(*options.axis) : Attr()), Attr(options.keepdims), Attr(options.dtype)};
  return call1(op_sum, Inputs(in), attrs, Place(where));
}

Tensor var(const In& x, const VarOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {(options.axis ? Attr(*options.axis) : Attr()), Attr(options.keepdims), Attr(options.correction)};
  return call1(op_var, Inputs(in), attrs, Place(where));
}

}  // namespace wp
