#include <algorithm>

#include "base/text.hpp"
#include "nn/numbers.hpp"
#include "ops/dispatch.hpp"
#include "ops/indices.hpp"
#include "tensor/note.hpp"
#include "wellposed/ops.hpp"

namespace wp::nn {
namespace {

// [n, 1] and [n] would broadcast to [n, n], and train a model towards the mean.
void need_same_shape(const Tensor& y, const Tensor& target, std::string_view loss, Where where) {
  if (y.shape() != target.shape())
    raise_at<ShapeError>(
        where, "WP-NNM-006", loss,
        say("outputs and targets must have one shape; got ", y.shape(), " and ", target.shape(), "."),
        "reshape one of them.");
  if (y.size() == 0)
    raise_at<ShapeError>(where, "WP-NNM-006", loss, say("nothing has no mean; got ", y.shape(), "."));
}

}  // namespace

void need_numbers(const Tensor& numbers, std::int64_t count, std::string_view function, std::string_view what,
                  Where where) {
  if (!is(numbers.dtype(), kinds::integer)) return;
  const Unseen unseen;
  const Tensor wide = converted(numbers, i64);
  const std::span all(reinterpret_cast<const std::int64_t*>(wide.node()->data),
                      static_cast<std::size_t>(wide.size()));
  const auto bad = std::find_if(all.begin(), all.end(), [&](std::int64_t v) { return v < 0 || v >= count; });
  if (bad == all.end()) return;
  const std::int64_t element = bad - all.begin();
  Finding f =
      misuse("WP-IDX-002", function, say(entry_text(what, numbers, element), " is outside of 0 … ", count - 1, "."),
             "Leave such rows out before, or give the missing a number of its own.");
  f.element = unravel(element, numbers.shape());
  f.place = where;
  throw IndexError(std::move(f), std::make_shared<const Subject>(Subject{numbers, element}));
}

Tensor mse(const Tensor& y, const Tensor& target, Where where) {
  need_same_shape(y, target, "mse", where);
  return mean(square(subtract(y, target, where), where), {}, where);
}

// With c = d cut to ±δ both branches are c·(d − c/2): nothing is squared that is large.
Tensor huber(const Tensor& y, const Tensor& target, double delta, Where where) {
  need_same_shape(y, target, "huber", where);
  if (!(delta > 0))
    raise_at<ArgumentError>(where, "WP-ARG-001", "huber", say("delta must be above 0; got ", delta, "."));
  const Tensor d = subtract(y, target, where), c = clip(d, -delta, delta, where);
  return mean(multiply(c, subtract(d, multiply(c, 0.5, where), where), where), {}, where);
}

Tensor softmax_cross_entropy(const Tensor& logits, const Tensor& labels, Where where) {
  if (logits.ndim() == 0)
    raise_at<ShapeError>(where, "WP-NNM-006", "softmax_cross_entropy", "logits need an axis of classes.");
  const Tensor logs = log_softmax(logits, {}, where);
  if (is(labels.dtype(), kinds::integer)) {
    Dims rows = logits.shape();
    rows.pop_back();
    if (labels.shape() != rows || labels.size() == 0)
      raise_at<ShapeError>(where, "WP-NNM-006", "softmax_cross_entropy",
                           say("one class per row: ", rows, " were expected; got ", labels.shape(), "."));
    need_numbers(labels, logits.shape(-1), "softmax_cross_entropy", "labels", where);
    const Tensor chosen = take_along_axis(logs, expand_dims(labels, {.axis = -1}, where), {.axis = -1}, where);
    return negative(mean(chosen, {}, where), where);
  }
  need_same_shape(logits, labels, "softmax_cross_entropy", where);
  const Tensor parts = wp::where(equal(labels, 0, where), 0, multiply(labels, logs, where), where);
  return negative(mean(sum(parts, {.axis = -1}, where), {}, where), where);
}

}  // namespace wp::nn
