#include "wellposed/index.hpp"
#include "ops/derivative.hpp"
#include "ops/selection.hpp"
#include "tensor/note.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_index;
namespace {

void forward(Call& c) {
  c.out.push_back(selected(c.in[0], select(c.in[0], c.attr(0).ints(), c, 1)));
}

// An element rests on the entry of each index tensor that chose it. A mask decides the shape: everything rests on it.
void flow(const FlowQuery& q, Visit visit) {
  if (q.input == 0) return flow_moves(q, visit);
  const Selection s = select(q.call.in[0], q.call.attr(0).ints(), q.call, 1);
  const Dims at = unravel(q.element, s.shape);
  const std::size_t first = s.outer.size();
  const Dims entry(at.begin() + first, at.begin() + first + s.list_shape.size());
  const Tensor& list = q.call.in[q.input];
  if (list.dtype() != DType::boolean) return visit(broadcast_element(entry, list.shape()));
  for (std::int64_t e = 0; e < list.size(); ++e) visit(e);
}

Tensors vjp(const Backward& b) {
  const Tensors lists(b.in.begin() + 1, b.in.end());
  const Tensor none = zeros_for({b.shape(0), b.g().dtype()});
  return {index_set(none, b.g(), lists, b.attr(0).ints(), {.mode = lists.empty() ? "set" : "add"})};
}

std::vector<Sample> samples() {
  std::vector<Sample> all;
  const Tensor x = counting(f64, {3, 4}), deep = counting(f64, {2, 3, 4});
  const auto add = [&](const Tensor& t, const Index& i, std::string_view covers) {
    Sample s{{t}, {i.items()}, covers};
    for (const Tensor& l : i.lists()) s.in.push_back(l);
    all.push_back(std::move(s));
  };
  const Tensor mask{{true, false, false, true}, {false, false, false, false}, {false, true, false, false}};
  for (int k = 0; k < kDTypes; ++k) {
    add(counting(static_cast<DType>(k), {3, 4}), {1, slice(0, 3, 2)}, "integers and slices: a view");
    add(counting(static_cast<DType>(k), {3, 4}), {Tensor{2, -1, 0}}, "an index tensor");
  }
  for (const DType d : {i8, i16, i32, u8, u16, u32, u64}) add(x, {slice(), converted(Tensor{3, 0}, d)}, {});
  add(x, {slice(none, none, -1), newaxis, slice(-3, none)}, "a slice backwards");
  add(x, {ellipsis, -1}, "ellipsis");
  add(x, {slice(5, 9)}, "empty");
  add(x, {}, {});
  add(x, {mask}, "a mask");
  add(x, {Tensor{true, false, true}, slice(1, 3)}, "a mask");
  add(deep, {Tensor{1, 0}, slice(), Tensor{{3}, {0}}}, "index tensors apart: their axes go in front");
  add(deep, {slice(), Tensor{1, 0}, Tensor{{3}, {0}}}, "index tensors side by side");
  add(deep, {0, slice(), Tensor{1, 2}}, "index tensors apart: their axes go in front");
  add(deep, {slice(), newaxis, Tensor{2, 0}, 1}, {});
  add(deep, {slice(0, 1), ellipsis, Tensor{true, false, true, false}}, {});
  return all;
}

}  // namespace

const Op op_index = {
    .name = "index",
    .group = "indexing",
    .doc =
        "The part of x that an index names; in C++ x[{…}]. A view for integers, slices, newaxis and ellipsis; a copy "
        "when there are index tensors or masks.",
    .params = {{"x"},
               {.name = "indices",
                .kinds = kinds::integer | kinds::boolean,
                .doc = "Index tensors and masks, in the order of the index.",
                .variadic = true,
                .separate = true}},
    .attrs = {{.name = "items",
               .type = AttrType::ints,
               .doc =
                   "The index, written out: 0 i an integer, 1 start stop step a slice, 2 newaxis, 3 ellipsis, 4 the "
                   "next of indices.",
               .required = true}},
    .infer = no_outputs,
    .forward = forward,
    .notes = Notes::moves,
    .flow = flow,
    .vjp = vjp,
    .jvp = jvp_linear,
    .saves_inputs = ~1U,
    .branches = {"integers and slices: a view", "an index tensor", "a slice backwards", "ellipsis", "empty", "a mask",
                 "index tensors apart: their axes go in front", "index tensors side by side"},
    .samples = samples,
};

}  // namespace wp
