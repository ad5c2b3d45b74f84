#include <array>

#include "base/text.hpp"
#include "nn/numbers.hpp"
#include "ops/dispatch.hpp"
#include "wellposed/context.hpp"
#include "wellposed/nn.hpp"
#include "wellposed/ops.hpp"

namespace wp::nn {
namespace {

const Initializer& or_else(const Initializer& given, const Initializer& usual) {
  return given ? given : usual;
}

void need_axis(const Tensor& x, std::string_view layer, Where where) {
  if (x.ndim() == 0)
    raise_at<ShapeError>(where, "WP-SHP-008", layer, "the input has no axis; [.., features] was expected.",
                         "Give it one: reshape(x, {1, -1}).");
}

// (x − mean) / √(variance + ε) · scale + offset.
Tensor normalised(Pass& pass, const Tensor& deviation, const Tensor& variance, double epsilon, Where where) {
  static const Initializer one = constant(1), zero = constant(0);
  const std::int64_t width = deviation.shape(-1);
  const Tensor scale = pass.parameter("scale", {width}, one), offset = pass.parameter("offset", {width}, zero);
  const Tensor unit = divide(deviation, sqrt(add(variance, epsilon, where), where), where);
  const Tensor y = add(multiply(unit, scale, where), offset, where);
  pass.see("output", y);
  return y;
}

}  // namespace

Tensor activation(std::string_view name, const Tensor& x, Where where) {
  if (name == "none") return x;
  if (name == "relu") return relu(x, where);
  if (name == "gelu") return gelu(x, {}, where);
  if (name == "sigmoid") return sigmoid(x, where);
  if (name == "silu") return silu(x, where);
  if (name == "softplus") return softplus(x, where);
  if (name == "tanh") return tanh(x, where);
  if (name == "softmax") return softmax(x, {}, where);
  raise_at<ArgumentError>(
      where, "WP-ARG-001", "activation",
      say("one of none, relu, gelu, sigmoid, silu, softplus, tanh, softmax was expected; got '", name, "'."));
}

Tensor dense(Pass& pass, const Tensor& x, std::int64_t units, const DenseOptions& options, Where where) {
  static const Initializer glorot = glorot_uniform(), zero = constant(0);
  need_axis(x, "dense", where);
  if (units < 1)
    raise_at<ArgumentError>(where, "WP-ARG-001", "dense", say("units must be at least 1; got ", units, "."));
  const scope here(options.name);
  Tensor y = matmul(x, pass.parameter("weights", {x.shape(-1), units}, or_else(options.weights, glorot)), {}, where);
  if (options.bias) y = add(y, pass.parameter("bias", {units}, or_else(options.offsets, zero)), where);
  y = activation(options.activation, y, where);
  pass.see("output", y);
  return y;
}

Tensor embedding(Pass& pass, const Tensor& numbers, std::int64_t count, std::int64_t width,
                 const EmbeddingOptions& options, Where where) {
  static const Initializer small = normal(0.05);
  if (count < 1 || width < 1)
    raise_at<ArgumentError>(where, "WP-ARG-001", "embedding",
                            say("a table has at least one row and column; got ", count, " × ", width, "."));
  need_numbers(numbers, count, "embedding", "numbers", where);
  const scope here(options.name);
  const Tensor table = pass.parameter("weights", {count, width}, or_else(options.weights, small));
  Dims shape = numbers.shape();
  shape.push_back(width);
  const Tensor y = reshape(take(table, reshape(numbers, {-1}, {}, where), {.axis = 0}, where), shape, {}, where);
  pass.see("output", y);
  return y;
}

Tensor layer_norm(Pass& pass, const Tensor& x, const LayerNormOptions& options, Where where) {
  need_axis(x, "layer_norm", where);
  const scope here(options.name);
  const Tensor d = subtract(x, mean(x, {.axis = -1, .keepdims = true}, where), where);
  return normalised(pass, d, mean(square(d, where), {.axis = -1, .keepdims = true}, where), options.epsilon, where);
}

Tensor batch_norm(Pass& pass, const Tensor& x, const BatchNormOptions& options, Where where) {
  static const Initializer one = constant(1), zero = constant(0);
  need_axis(x, "batch_norm", where);
  const scope here(options.name);
  const std::int64_t width = x.shape(-1), rows = width > 0 ? x.size() / width : 0;
  const Tensor running_mean = pass.state("mean", {width}, zero);
  const Tensor running_variance = pass.state("variance", {width}, one);
  if (!pass.training())
    return normalised(pass, subtract(x, running_mean, where), running_variance, options.epsilon, where);
  if (rows < 2)
    raise_at<ShapeError>(where, "WP-NNM-005", "batch_norm",
                         say("training needs two rows at least: one has no variance; got ", x.shape(), "."),
                         "Use larger batches (Dataset: drop_last), or layer_norm.");
  Ints axes;
  for (std::int64_t k = 0; k + 1 < x.ndim(); ++k) axes.push_back(k);
  const Tensor m = mean(x, {.axis = axes}, where), d = subtract(x, m, where);
  const Tensor v = mean(square(d, where), {.axis = axes}, where);
  {
    const Unseen constant;  // the running statistics are no part of the loss
    const auto count_in = [&](const Tensor& old, const Tensor& batch, double factor) {
      return astype(old * options.momentum + batch * ((1 - options.momentum) * factor), old.dtype());
    };
    pass.set_state("mean", count_in(running_mean, m, 1));
    pass.set_state("variance",
                   count_in(running_variance, v, static_cast<double>(rows) / static_cast<double>(rows - 1)));
  }
  return normalised(pass, d, v, options.epsilon, where);
}

Tensor dropout(Pass& pass, const Tensor& x, double rate, Where where) {
  if (!(rate >= 0 && rate < 1))
    raise_at<ArgumentError>(where, "WP-ARG-001", "dropout", say("rate must be from 0 to below 1; got ", rate, "."));
  if (!pass.training() || rate == 0) return x;
  const scope here("dropout");
  const Tensor kept = pass.random().bernoulli(x.shape(), 1 - rate, where);
  return wp::where(kept, divide(x, 1 - rate, where), 0, where);
}

}  // namespace wp::nn
