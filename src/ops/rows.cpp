// Rows of data sets keep their numbers when elements move: shuffling, batching, slicing.
#include <algorithm>

#include "ops/dispatch.hpp"
#include "ops/elementwise.hpp"
#include "ops/moves.hpp"
#include "tensor/label.hpp"
#include "tensor/note.hpp"

namespace wp {
namespace {

// What the call does to numbers of rows: every element of an input is replaced by the number of its row.
Tensors moved_rows(const Call& c, const std::string& name) {
  return moved_instead(c, [&](std::size_t i) {
    const Tensor& x = c.in[i];
    const std::shared_ptr<const Label> label = label_of(x);
    const bool known = label && !label->rows.empty() && label->name == name;
    const Tensor numbers =
        known ? Tensor::from(label->rows, {x.shape()[0]}) : Tensor::from(std::vector<std::int64_t>{-1}, {1});
    Dims strides(x.shape().size(), 0);
    if (known) strides[0] = 1;
    return view_of(numbers, x.shape(), strides);
  });
}

// One number per entry of the first axis; empty where an entry has several, or none has any.
std::vector<std::int64_t> numbers_of(const Tensor& t) {
  if (t.ndim() == 0 || t.size() == 0) return {};
  const std::int64_t n = t.shape()[0], each = t.size() / n;
  const auto at = [&](std::int64_t e) {
    return reinterpret_cast<const std::int64_t*>(t.node()->data)[offset_of(t, e)];
  };
  std::vector<std::int64_t> out;
  for (std::int64_t r = 0; r < n; ++r) {
    out.push_back(at(r * each));
    for (std::int64_t k = 1; k < each; ++k)
      if (at(r * each + k) != out.back()) return {};
  }
  const bool any = std::any_of(out.begin(), out.end(), [](std::int64_t r) { return r >= 0; });
  return any ? out : std::vector<std::int64_t>();
}

// Element-wise, every row of a result rests on the same row of an operand that has as many; several must agree.
std::vector<std::int64_t> rows_in_place(const Call& c, const std::string& name) {
  std::vector<std::int64_t> rows;
  for (std::size_t i = 0; i < c.in.size(); ++i) {
    const std::shared_ptr<const Label> label = label_of(c.in[i]);
    if (!label || label->rows.empty() || label->name != name || c.in[i].shape() != c.out[0].shape()) continue;
    if (!rows.empty() && rows != label->rows) return {};
    rows = label->rows;
  }
  return rows;
}

}  // namespace

void carry_rows(Call& c) {
  std::string name;
  for (std::size_t i = 0; i < c.in.size() && name.empty(); ++i)
    if (const std::shared_ptr<const Label> label = label_of(c.in[i]); label && !label->rows.empty())
      name = label->name;
  if (name.empty()) return;
  if (c.op.flow == flow_elementwise) {
    std::vector<std::int64_t> rows = rows_in_place(c, name);
    if (!rows.empty() && !c.out[0].node()->labelled) set_label(c.out[0], {.name = name, .rows = std::move(rows)});
    return;
  }
  const Tensors moved = moved_rows(c, name);
  for (std::size_t k = 0; k < c.out.size(); ++k) {
    if (c.out[k].node()->labelled) continue;  // the input itself
    std::vector<std::int64_t> rows = numbers_of(moved[k]);
    if (!rows.empty()) set_label(c.out[k], {.name = name, .rows = std::move(rows)});
  }
}

}  // namespace wp
