// Ops along one axis: each line (1-d slice along the axis) reaches the room's function as contiguous memory of the
// loop dtype, whatever the layout and dtype of the tensors.
#pragma once
#include "ops/op.hpp"
#include "ops/shapes.hpp"

namespace wp {

// `count` lines, one after the other: n elements each come in, m go out.
struct LineBlock {
  const void* in;
  void* out;
  std::int64_t count, n, m;
  const void* context;  // what run_lines was given
};
using LineFunction = void (*)(const LineBlock& lines);

// Runs fn over the lines of x along `axis` into y, which has the same shape but for that axis. Lines are read as
// dtype `in` and written as dtype `out`. Non-finite results set the bit in c.status.
void run_lines(Call& c, const Tensor& x, DType in, Tensor& y, DType out, std::int64_t axis, LineFunction fn,
               const void* context = nullptr);

// All elements in row-major order as dtype `d`: x itself if it is that already.
Tensor packed(const Tensor& x, DType d);

// f16 and bf16 are computed in f32.
DType line_dtype(DType d) noexcept;
// The attribute `axis` of one axis, and its value for x. Without a fallback it may be left out (none).
AttrSpec axis_attr(Attr fallback = -1, std::string_view doc = "The axis; negative ones count from the end.");
std::int64_t axis_of(const Call& c, std::size_t attr = 0);

// How result elements depend on x along the axis of attribute 0: on the whole line; or on elements up to their own
// (cumulative ops; `initial` results stand before the first). The line of a 1-d tensor when the attribute is none.
void flow_line(const FlowQuery& q, Visit visit);
void flow_prefix(const FlowQuery& q, std::int64_t initial, Visit visit);
// For Op::flow_base: the first result of the line; the one before; the first of all. With prefixes, flow_rest is
// flow_last: the newest element.
std::int64_t base_line(const FlowQuery& q);
std::int64_t base_prefix(const FlowQuery& q);
std::int64_t base_everything(const FlowQuery& q);
void flow_last(const FlowQuery& q, std::int64_t initial, Visit visit);

// Samples for each dtype that the parameter takes: {2, 3} along the last axis, and for f64 and i64 {3, 2, 2} along
// axes 1 and 0. `attrs(axis)` gives the attributes.
std::vector<Sample> line_samples(const Op& op, const std::vector<double>& values,
                                 const std::function<std::vector<Attr>(std::int64_t)>& attrs);

}  // namespace wp
