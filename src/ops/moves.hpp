// Ops that only move elements: reshape, concat, take, … Their flow is found by moving element numbers instead of
// values.
#pragma once
#include "ops/op.hpp"
#include "ops/shapes.hpp"

namespace wp {

// Flow of any op that moves elements of its data inputs. Rooms with index inputs answer for those themselves.
void flow_moves(const FlowQuery& q, Visit visit);
// What the call does to other data: its outputs with data(i) in the place of input i. Indices and conditions stay.
Tensors moved_instead(const Call& c, const std::function<Tensor(std::size_t)>& data);
// Flow of ops whose values come from attributes only.
void flow_nothing(const FlowQuery& q, Visit visit);
// Flow of ops of which nothing finer is known: every element.
void flow_everything(const FlowQuery& q, Visit visit);

// A view of x: same memory, other shape and strides.
Tensor view_of(const Tensor& x, const Dims& shape, const Dims& strides, std::int64_t offset = 0);
// The same, added as an output.
void add_view(Call& c, const Tensor& x, const Dims& shape, const Dims& strides, std::int64_t offset = 0);
// Forward of ops that give their first argument again, as a tensor of its own.
void forward_same(Call& c);
// Row-major strides of a shape.
Dims row_major(const Dims& shape);
// The view of x with another shape of as many elements, if x's strides allow one; else undefined.
Tensor reshaped_view(const Tensor& x, const Dims& shape);
// x itself if it is row-major, else a row-major copy.
Tensor contiguous(const Tensor& x);
// Copies x into a strided part of y's memory (same dtype): y[offset + Σ i·strides] = x.
void scatter_into(const Tensor& y, const Dims& strides, std::int64_t offset, const Tensor& x);
// y = x with each axis moved by 0 ≤ by < its length; what leaves at the end enters at the front.
void rolled_into(const Tensor& y, const Tensor& x, const Dims& by);

// 0, 1, 2, … as i64 in row-major order.
Tensor element_numbers(const Dims& shape);
// 0, 1, 2, … as doubles in this dtype and shape (modulo 100 for small integers): data for samples.
Tensor counting(DType dtype, const Dims& shape);
// One sample per dtype with counting(dtype, shape), for ops that treat all dtypes alike.
std::vector<Sample> moving_samples(const Op& op, const Dims& shape, const std::vector<Attr>& attrs);

// a · b, or the largest integer: shapes with it are refused when memory is asked for.
std::int64_t bounded_product(std::int64_t a, std::int64_t b) noexcept;
std::int64_t bounded_sum(std::int64_t a, std::int64_t b) noexcept;

}  // namespace wp
