// Element-wise ops: rooms give loops; shape rule, promotion, walking and flow are common.
#pragma once
#include "ops/op.hpp"
#include "ops/shapes.hpp"

namespace wp {

void infer_elementwise(Call& c);
void forward_elementwise(Call& c);
// Runs a loop over the operands that were given, broadcast to the shape of output 0, whatever the op's table says.
void walk_elementwise(Call& c, const simd::Loop& loop);
// For ops whose attributes choose between loops of the same dtypes.
void forward_elementwise(Call& c, const simd::Loops& loops);
void flow_elementwise(const FlowQuery& q, Visit visit);
// Integers written in the program that would wrap in the dtype c.key are refused.
void check_weak_integers(const Call& c);

// The loop on whole contiguous operands of one dtype and shape; undefined when they are not, or when a result is not
// finite.
Tensor run_fused(const simd::Loops& loops, const Tensor& a, const Tensor& b);

// Completes a record: infer, and forward, flow and derivatives of the family where the room has none.
Op elementwise(Op op);

// Samples for every dtype kind that the parameters take, from values each of which is named after what it covers.
struct Point {
  std::vector<double> args;
  std::string_view covers = {};
};
std::vector<Sample> elementwise_samples(const Op& op, const std::vector<Point>& real_points,
                                        const std::vector<std::vector<complex128>>& complex_points = {});

}  // namespace wp
