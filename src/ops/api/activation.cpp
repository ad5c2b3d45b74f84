// Generated from the op table by tools/generate.py; edit the room, not this file.
#include "ops/dispatch.hpp"
#include "wellposed/ops/activation.hpp"

namespace wp {

extern const Op op_gelu;
extern const Op op_log_softmax;
extern const Op op_relu;
extern const Op op_sigmoid;
extern const Op op_silu;
extern const Op op_softmax;
extern const Op op_softplus;

Tensor gelu(const In& x, const GeluOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.approximate)};
  return call1(op_gelu, Inputs(in), attrs, Place(where));
}

Tensor log_softmax(const In& x, const LogSoftmaxOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.axis)};
  return call1(op_log_softmax, Inputs(in), attrs, Place(where));
}

Tensor relu(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_relu, Inputs(in), Attrs(), Place(where));
}

Tensor sigmoid(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_sigmoid, Inputs(in), Attrs(), Place(where));
}

Tensor silu(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_silu, Inputs(in), Attrs(), Place(where));
}

Tensor softmax(const In& x, const SoftmaxOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.axis)};
  return call1(op_softmax, Inputs(in), attrs, Place(where));
}

Tensor softplus(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_softplus, Inputs(in), Attrs(), Place(where));
}

}  // namespace wp
