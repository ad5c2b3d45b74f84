#include "wellposed/blame.hpp"

#include <numeric>

#include "base/text.hpp"
#include "ops/moves.hpp"
#include "tensor/label.hpp"
#include "tensor/note.hpp"
#include "trace/walk.hpp"

namespace wp {
namespace {

Tensor labelled(const Tensor& x, Label label) {
  if (!x.defined()) raise<ArgumentError>("WP-ARG-002", "named", "the tensor is undefined.");
  Tensor same = view_of(x, x.shape(), x.strides());
  same.node()->note = x.node()->note;  // a name changes nothing: who made what is not finite,
  same.node()->id = x.node()->id;      // and what tapes know of it
  set_label(same, std::move(label));
  return same;
}

}  // namespace

Tensor named(const Tensor& x, std::string name) {
  return labelled(x, {.name = std::move(name), .rows = {}});
}
Tensor with_rows(const Tensor& x, std::string name) {
  std::vector<std::int64_t> rows(x.defined() && x.ndim() ? static_cast<std::size_t>(x.shape()[0]) : 0);
  std::iota(rows.begin(), rows.end(), 0);
  return with_rows(x, std::move(name), rows);
}
Tensor with_rows(const Tensor& x, std::string name, std::span<const std::int64_t> rows) {
  if (x.defined() && (x.ndim() == 0 || static_cast<std::size_t>(x.shape()[0]) != rows.size()))
    raise<ShapeError>("WP-SHP-001", "with_rows",
                      say("one number per row; got ", rows.size(), " for a tensor ", x.shape(), "."));
  return labelled(x, {.name = std::move(name), .rows = {rows.begin(), rows.end()}});
}
std::vector<std::int64_t> rows_of(const Tensor& x) {
  const std::shared_ptr<const Label> label = label_of(x);
  return label ? label->rows : std::vector<std::int64_t>();
}

Blame blame(const Tensor& x, std::source_location where) {
  if (const std::int64_t e = x.defined() ? next_nonfinite(x, 0) : -1; e >= 0)
    return blame(x, unravel(e, x.shape()), where);
  raise_at<ArgumentError>(where, "WP-ARG-001", "blame", "every element of the tensor is finite.",
                          "Name the element that is wrong: blame(x, element).");
}

Blame blame(const Tensor& x, const Dims& element, std::source_location where) {
  bool inside = x.defined() && element.size() == x.shape().size();
  std::int64_t e = 0;
  for (std::size_t k = 0; inside && k < element.size(); ++k) {
    inside = element[k] >= 0 && element[k] < x.shape()[k];
    e = e * x.shape()[k] + element[k];
  }
  if (!inside)
    raise_at<IndexError>(where, "WP-IDX-001", "blame",
                         x.defined() ? say("no element ", element, " in a tensor ", x.shape(), ".")
                                     : std::string("the tensor is undefined."));
  return trace::Walk(trace::Window::innermost()).from(x, e);
}

Blame blame(const Error& error) {
  if (const Subject* const s = error.subject().get())
    return trace::Walk(trace::Window::innermost()).from(s->tensor, s->element);
  // The error itself names the call.
  const Finding& f = error.finding();
  Blame b;
  b.source = Blame::Source::op;
  b.asked = {f.op, f.element, f.dtype, f.shape, "", f.scope, f.place, f.step};
  b.chain = {b.asked};
  b.operands = f.operands;
  b.advice = f.advice.empty() ? f.message : f.message + " " + f.advice;
  return b;
}

}  // namespace wp
