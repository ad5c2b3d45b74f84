#include "autodiff/jacobians.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "wellposed/creation.hpp"
#include "wellposed/ops.hpp"

namespace wp::autodiff {
namespace {

Dims joined(const Dims& a, const Dims& b, std::size_t from = 0) {
  Dims all = a;
  for (std::size_t k = from; k < b.size(); ++k) all.push_back(b[k]);
  return all;
}

// A tape that gives one gradient keeps what it has until the last row.
struct Rows {
  Tape& tape;
  Request request;
  Tensor row(const Tensor& seed) const {
    Request r = request;
    r.seeds = {&seed, 1};
    return tape.passes(r)[0];
  }
};

}  // namespace

Tensor unit(const Tensor& y, std::int64_t k) {
  const Tensor flat = astype(equal(arange(y.size()), k), y.dtype());
  return reshape(flat, y.shape());
}

Tensor jacobian(Tape& tape, const Request& r) {
  const Tensor &y = r.targets[0], &x = r.sources[0];
  const Rows rows{tape, r};
  Tensors all;
  const Tape::Passes passes(tape, r);
  for (std::int64_t k = 0; k < y.size(); ++k) {
    Tensor g = rows.row(unit(y, k));
    if (!g.defined()) return {};
    all.push_back(std::move(g));
  }
  const Dims shape = joined(y.shape(), x.shape());
  return all.empty() ? zeros(shape, {.dtype = x.dtype()}) : reshape(stack(all), shape);
}

Tensor batch_jacobian(Tape& tape, const Request& r) {
  const Tensor &y = r.targets[0], &x = r.sources[0];
  if (y.ndim() == 0 || x.ndim() == 0 || y.shape(0) != x.shape(0))
    raise<ShapeError>("WP-SHP-001", "batch_jacobian",
                      say("y ", y.shape(), " and x ", x.shape(), " must have the same first axis, the batch."));
  const std::int64_t batch = y.shape(0), each = batch == 0 ? 0 : y.size() / batch;
  const Rows rows{tape, r};
  const Tape::Passes passes(tape, r);
  Tensors all;
  for (std::int64_t k = 0; k < each; ++k) {
    const Tensor column = broadcast_to(astype(equal(arange(each), k), y.dtype()), {batch, each});
    Tensor g = rows.row(reshape(column, y.shape()));
    if (!g.defined()) return {};
    all.push_back(std::move(g));
  }
  const Dims shape = joined(y.shape(), x.shape(), 1);
  if (all.empty()) return zeros(shape, {.dtype = x.dtype()});
  // Members that do not depend on each other: weights of the members come out as they went in, but for rounding, of
  // which weights 1 tell.
  const Tensor member = subtract(2, astype(remainder(arange(batch), 3), real_of(y.dtype())));
  Dims of_y(y.shape().size(), 1), of_x(x.shape().size(), 1);
  of_y[0] = of_x[0] = batch;
  const Tensor weighted = rows.row(astype(multiply(ones_like(y), reshape(member, of_y)), y.dtype()));
  Tensor expected = zeros_like(x);
  for (const Tensor& g : all) expected = add(expected, g);
  const Tensor noise = wp::max(wp::abs(subtract(rows.row(ones_like(y)), expected)));
  expected = multiply(expected, reshape(astype(member, real_of(x.dtype())), of_x));
  const Tensor off = wp::max(wp::abs(subtract(weighted, expected))), size = wp::max(wp::abs(weighted));
  const double tolerance = 1e3 * finfo(real_of(x.dtype())).eps;
  if (x.size() > 0 && !(astype(off, f64).item<double>() <=
                        tolerance * std::max(astype(size, f64).item<double>(),
                                             astype(wp::max(wp::abs(expected)), f64).item<double>()) +
                            16 * astype(noise, f64).item<double>()))
    raise<GradientError>(
        "WP-GRD-006", "batch_jacobian",
        say("members of the batch depend on each other: weights of the members come back changed by ",
            astype(off, f64).item<double>(), "."),
        "Use jacobian, or take the mean over the batch (batch norm, softmax over axis 0) out of y.");
  return reshape(stack(all, {.axis = 1}), shape);
}

Tensor hessian(Tape& tape, const Request& r) {
  const Tensor& y = r.targets[0];
  if (y.size() != 1)
    raise<ShapeError>("WP-SHP-001", "hessian", say("the target must be a scalar; got ", y.shape(), "."));
  const Tape::Passes passes(tape, r);
  const bool listening = tape.listening();
  tape.start();  // it records its own way back
  Request first = r;
  first.zero_unconnected = true;
  const Tensor g = tape.passes(first)[0];
  if (!listening) tape.stop();
  Request second = first;
  second.targets = {&g, 1};
  second.seeds = {};
  return jacobian(tape, second);
}

}  // namespace wp::autodiff
