#include <cstring>

#include "base/text.hpp"
#include "ops/derivative.hpp"
#include "ops/moves.hpp"
#include "ops/selection.hpp"
#include "tensor/note.hpp"
#include "wellposed/index.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_index_set;
namespace {

using kernels::Combine;

Combine mode_of(const Call& c) {
  const bool adds = c.attr(1).text() == "add";
  if (adds && c.in[0].dtype() == DType::boolean)
    refuse<DtypeError>("WP-DTY-003", "add needs numbers; x is bool.", "Use set.");
  return adds ? Combine::add : Combine::set;
}

// Nobody but the caller, who gives it up, sees x's memory.
bool exclusive(const Call& c) {
  const detail::Node& x = *c.in[0].node();
  bool own = c.consumes_first && x.refs.load(std::memory_order_acquire) == 1 && !x.owner && !x.borrowed && !x.note &&
             x.id == 0 && x.contiguous;
  for (std::size_t i = 1; i < c.in.size(); ++i) own = own && c.in[i].node() != &x;
  return own;
}

void need_fit(const Tensor& value, const Dims& shape) {
  bool good = value.shape().size() <= shape.size();
  for (std::size_t k = 0; good && k < value.shape().size(); ++k) {
    const std::int64_t n = value.shape()[k];
    good = n == 1 || n == shape[shape.size() - value.shape().size() + k];
  }
  if (!good)
    refuse<ShapeError>("WP-SHP-001",
                       say("value ", value.shape(), " does not broadcast to ", shape, ", the shape of the part."));
}

// Writes into x itself. What addition would make non-finite is put back: then the result needs memory of its own, for
// the checks to compare with.
bool write_in_place(const Tensor& x, const Selection& s, const Tensor& value, Combine mode) {
  if (mode == Combine::set || !is_floating(x.dtype())) {
    write_selected(x, s, value, mode);
    return true;
  }
  const Tensor part = selected(x, s);
  const Tensor before = s.listed ? part : Tensor::adopt(detail::make_node(x.dtype(), s.shape));
  if (!s.listed) scatter_into(before, before.strides(), 0, part);
  if (!write_selected(x, s, value, mode)) return true;
  write_selected(x, s, before, Combine::set);
  return false;
}

void forward(Call& c) {
  const Tensor& x = c.in[0];
  const Combine mode = mode_of(c);
  const Tensor value = value_for(c.in[1], x.dtype(), "value", c.status);
  if (exclusive(c) && c.status.bits == 0) {
    const Selection s = select(x, c.attr(0).ints(), c, 2);
    need_fit(value, s.shape);
    if (write_in_place(x, s, value, mode)) {
      c.out.push_back(x);
      x.node()->weak = false;
      return;
    }
  }
  const Tensor& y = c.output(x.dtype(), x.shape());
  const Selection s = select(y, c.attr(0).ints(), c, 2);
  need_fit(value, s.shape);
  scatter_into(y, y.strides(), 0, x);
  if (write_selected(y, s, value, mode)) c.status.bits |= simd::Status::nonfinite;
}

// The elements of y that the part names, in the part's order.
const Tensor& named_elements(const Call& c) {
  std::vector<Tensor>& memo = c.beside().flow_memo;
  if (memo.empty()) {
    const Tensor numbers = element_numbers(c.out[0].shape());
    memo.push_back(contiguous(selected(numbers, select(numbers, c.attr(0).ints(), c, 2))));
  }
  return memo[0];
}

// An index entry may point anywhere: every element that some entry could name rests on it.
void flow(const FlowQuery& q, Visit visit) {
  const Call& c = q.call;
  const Tensor& named = named_elements(c);
  const auto* const at = reinterpret_cast<const std::int64_t*>(named.node()->data);
  const auto* const end = at + named.size();
  const bool adds = c.attr(1).text() == "add";
  if (q.input == 0) {
    if (adds || std::find(at, end, q.element) == end) visit(q.element);
  } else if (q.input == 1) {
    for (std::int64_t p = named.size(); p-- > 0;) {
      if (at[p] != q.element) continue;
      visit(broadcast_element(unravel(p, named.shape()), c.in[1].shape()));
      if (!adds) return;
    }
  } else {
    for (std::int64_t e = 0; e < c.in[q.input].size(); ++e) visit(e);
  }
}

// x keeps what was not written; of entries that name one element, the last was.
Tensors vjp(const Backward& b) {
  const Tensors lists(b.in.begin() + 2, b.in.end());
  const Dims& items = b.attr(0).ints();
  const bool adds = b.attr(1).text() == "add";
  Tensors all(b.in.size());
  if (b.wants(0)) all[0] = adds ? b.g() : index_set(b.g(), 0, lists, items);
  if (!b.wants(1)) return all;
  all[1] = index(b.g(), lists, items);
  if (adds || lists.empty()) return all;
  const Tensor numbers = element_numbers(all[1].shape());
  const Tensor last = index_set(zeros_for({b.shape(0), i64}), numbers, lists, items);
  all[1] = where(equal(index(last, lists, items), numbers), all[1], 0);
  return all;
}

std::vector<Sample> samples() {
  std::vector<Sample> all;
  const auto add = [&](const Tensor& x, const Tensor& v, const Index& i, const char* mode,
                       std::string_view covers = {}) {
    Sample s{{x, v}, {i.items(), mode}, covers};
    for (const Tensor& l : i.lists()) s.in.push_back(l);
    all.push_back(std::move(s));
  };
  for (int k = 0; k < kDTypes; ++k) {
    const auto d = static_cast<DType>(k);
    add(counting(d, {3, 4}), counting(d, {2}), {1, slice(0, 3, 2)}, "set", "set a view");
    add(counting(d, {3, 4}), counting(d, {3, 1}), {Tensor{2, -1, 0}}, "set", "set, the last of equal entries stays");
    if (d == DType::boolean) continue;
    add(counting(d, {3, 4}), counting(d, {2, 1}), {slice(0, 2)}, "add", "add to a view");
    add(counting(d, {3, 4}), counting(d, {4}), {Tensor{1, 1, 0}}, "add", "add, entries repeat");
  }
  const Tensor x = counting(f64, {3, 4});
  add(x, counting(f64, {4}), {slice(none, none, -1)}, "set");
  add(x, counting(i32, {}), {Tensor{true, false, true}}, "set", "a mask");
  add(x, Tensor(0.5), {}, "add");
  add(counting(f32, {3}), Tensor(0.1), {1}, "set", "a wider value is rounded");
  add(counting(f64, {2, 3, 4}), counting(f64, {2, 2, 1}), {slice(), Tensor{1, 2}, slice(0, 3)}, "add");
  add(counting(f64, {2, 3, 4}), counting(f64, {2, 1}), {Tensor{{0}, {1}}, slice(), Tensor{1, 1}}, "add");
  add(x, counting(f64, {0, 4}), {slice(2, 1)}, "set", "empty");
  return all;
}

}  // namespace

const Op op_index_set = {
    .name = "index_set",
    .group = "indexing",
    .doc =
        "x with another value in the part that an index names; in C++ x.at(i).set(v), x.at(i).add(v) and x[i] = v. "
        "Entries of index tensors are written in order: the last of equal ones stays, or all are added.",
    .params = {{"x"},
               {.name = "value",
                .doc = "Broadcasts to the part; takes x's dtype, whose kind must not be below its own."},
               {.name = "indices",
                .kinds = kinds::integer | kinds::boolean,
                .doc = "Index tensors and masks, in the order of the index.",
                .variadic = true,
                .separate = true}},
    .attrs = {{.name = "items", .type = AttrType::ints, .doc = "The index, written as for index.", .required = true},
              {.name = "mode",
               .type = AttrType::text,
               .fallback = "set",
               .doc = "Whether value replaces or is added.",
               .choices = {"set", "add"}}},
    .infer = no_outputs,
    .forward = forward,
    .flow = flow,
    .vjp = vjp,
    .jvp = jvp_linear,
    .selects = true,
    .saves_inputs = ~3U,
    .branches = {"set a view", "set, the last of equal entries stays", "add to a view", "add, entries repeat",
                 "a mask", "a wider value is rounded", "empty"},
    .samples = samples,
};

}  // namespace wp
