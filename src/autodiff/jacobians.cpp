#include "autodiff/jacobians.hpp"

#include "autodiff/forward.hpp"
#include "base/text.hpp"
#include "wellposed/creation.hpp"
#include "wellposed/index.hpp"
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

// A derivative holds one number for the two parts of a complex result: of real x they are not each other's.
void refuse_real_to_complex(const Request& r) {
  const Tensor &y = r.targets[0], &x = r.sources[0];
  if (is_complex(y.dtype()) && !is_complex(x.dtype()))
    raise_at<DtypeError>(
        r.place, "WP-DTY-003", r.function,
        say("the target is ", y.dtype(), " and x is ", x.dtype(), ": the derivative has two real parts."),
        "Differentiate real(y) and imag(y).");
}

// Of each member of the batch the largest |element|, in f64.
Tensor largest_of_members(const Tensor& t) {
  return astype(max(abs(reshape(t, {t.shape(0), t.size() / t.shape(0)})), {.axis = 1}), f64);
}

// Where members do not depend on each other, seeds that are the same for all members come back the same whatever a
// member's seeds are multiplied by, times that. Powers of two round nothing; the digits of the members' numbers tell
// any two of them apart. `all`: the ways back from unit seeds, of which rounding is seen.
void check_members(const Rows& rows, const Tensors& all, const Tensor& y, const Tensor& x) {
  constexpr std::int64_t kDigit = 8;
  const std::int64_t batch = y.shape(0);
  if (batch < 2 || x.size() == 0) return;
  const auto each = static_cast<std::int64_t>(all.size());
  const Tensor of_member = arbitrary(zeros({each}, {.dtype = real_of(y.dtype())}));
  const Tensor seed = reshape(astype(broadcast_to(of_member, {batch, each}), y.dtype()), y.shape());
  const Tensor same = rows.row(seed);
  Tensor sum_of = zeros_like(x), size = zeros({batch});
  for (std::int64_t k = 0; k < each; ++k) {
    const Tensor term = multiply(astype(of_member[{k}], real_of(x.dtype())), all[static_cast<std::size_t>(k)]);
    sum_of = add(sum_of, term);
    size = maximum(size, largest_of_members(term));
  }
  const Tensor noise = largest_of_members(subtract(same, sum_of));
  Dims of_y(y.shape().size(), 1), of_x(x.shape().size(), 1);
  of_y[0] = of_x[0] = batch;
  for (std::int64_t step = 1; step < batch; step *= kDigit) {
    const Tensor digit = remainder(floor_divide(arange(batch), step), kDigit), weight = pow(2.0, astype(digit, f64));
    const auto weighed = [&](const Tensor& t, const Dims& shape) {
      return multiply(t, astype(reshape(weight, shape), real_of(t.dtype())));
    };
    const Tensor found = rows.row(weighed(seed, of_y)), expected = weighed(same, of_x);
    const Tensor off = largest_of_members(subtract(found, expected));
    const Tensor scale = maximum(largest_of_members(found), multiply(weight, size));
    const Tensor allowed = 1e3 * finfo(real_of(x.dtype())).eps * scale + 16 * multiply(weight, noise);
    const Tensor wrong = logical_not(less_equal(off, allowed));
    if (!bool(any(wrong))) continue;
    const auto member = argmax(astype(wrong, i64)).item<std::int64_t>();
    raise<GradientError>(
        "WP-GRD-006", "batch_jacobian",
        say("members of the batch depend on each other: weights of the members come back changed at member ", member,
            " of x, by ", off[{member}].item<double>(), "."),
        "Use jacobian, or take the mean over the batch (batch norm, softmax over axis 0) out of y.");
  }
}

}  // namespace

Tensor unit(const Tensor& y, std::int64_t k) {
  const Tensor flat = astype(equal(arange(y.size()), k), y.dtype());
  return reshape(flat, y.shape());
}

Tensor jacobian(Tape& tape, const Request& r) {
  const Tensor &y = r.targets[0], &x = r.sources[0];
  refuse_real_to_complex(r);
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
  refuse_real_to_complex(r);
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
  check_members(rows, all, y, x);
  return reshape(stack(all, {.axis = 1}), shape);
}

Tensor hessian(Tape& tape, const Request& r) {
  const Tensor &y = r.targets[0], &x = r.sources[0];
  if (is_complex(x.dtype()))
    raise_at<DtypeError>(r.place, "WP-DTY-003", "hessian",
                         say("x must be real; got ", x.dtype(), " ", x.shape(),
                             ": one complex number for each pair of elements does not hold a second derivative."),
                         "Use hvp(f, x, v), or differentiate by the real and the imaginary part of x.");
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
