#include <cstring>

#include "base/pool.hpp"
#include "base/text.hpp"
#include "kernels/convert.hpp"
#include "kernels/copy.hpp"
#include "kernels/walk.hpp"
#include "ops/indices.hpp"
#include "tensor/note.hpp"

namespace wp {
extern const Op op_one_hot;
namespace {

// Labels from 0 on: a negative one is a mistake, not a count from the end.
Tensor labels(const Call& c) {
  const std::int64_t depth = c.attr(0).integer();
  const Tensor at = converted(c.in[0], i64);
  const auto* const v = reinterpret_cast<const std::int64_t*>(at.node()->data);
  for (std::int64_t e = 0; e < at.size(); ++e)
    if (v[e] < 0 || v[e] >= depth)
      refuse_index(c.in[0], e, "indices",
                   say("is not a label; depth ", depth, " needs labels from 0 to ", depth - 1, "."));
  return at;
}

void forward(Call& c) {
  const std::int64_t depth = c.attr(0).integer();
  if (depth < 0) refuse<ArgumentError>("WP-ARG-001", say("depth must not be negative; got ", depth, "."));
  const Tensor at = labels(c);
  Dims shape = at.shape();
  shape.push_back(depth);
  const DType d = c.attr(1) ? c.attr(1).dtype() : f64;
  const Tensor& y = c.output(d, shape);
  const complex128 numbers[] = {0.0, 1.0};
  complex128 stored[2];
  for (int i = 0; i < 2; ++i) kernels::convert(&stored[i], d, &numbers[i], c128, 1, 1);
  const auto item = static_cast<std::int64_t>(size_of(d));
  kernels::fill(y.node()->data, &stored[0], size_of(d), y.size());
  const auto* const v = reinterpret_cast<const std::int64_t*>(at.node()->data);
  for (std::int64_t e = 0; e < at.size(); ++e)
    std::memcpy(y.node()->data + (e * depth + v[e]) * item, &stored[1], size_of(d));
}

std::vector<Sample> samples() {
  std::vector<Sample> all;
  for (int k = 0; k < kDTypes; ++k) all.push_back({{Tensor{2, 0, 1}}, {3, static_cast<DType>(k)}});
  for (const DType d : {i8, i16, i32, u8, u16, u32, u64})
    all.push_back({{converted(Tensor{{1, 0}}, d)}, {2, Attr()}});
  all.push_back({{Tensor(3)}, {4, Attr()}, "one label"});
  return all;
}

}  // namespace

const Op op_one_hot = {
    .name = "one_hot",
    .group = "indexing",
    .doc = "For each label a vector of zeros with a one at the label's place, along a new last axis.",
    .params = {{.name = "indices", .kinds = kinds::integer, .doc = "Labels from 0 to depth - 1.", .separate = true}},
    .attrs = {{.name = "depth", .type = AttrType::integer, .doc = "The length of the vectors.", .required = true},
              {"dtype", AttrType::dtype, {}, "The dtype; none: f64."}},
    .infer = no_outputs,
    .forward = forward,
    .notes = Notes::moves,
    .flow = [](const FlowQuery& q, Visit visit) { visit(q.element / q.call.attr(0).integer()); },
    .no_derivative = "labels are integers: they do not vary.",
    .branches = {"one label"},
    .samples = samples,
};

}  // namespace wp
