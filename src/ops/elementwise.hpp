// Element-wise ops: rooms give loops; shape rule, promotion, walking and flow are common.
#pragma once
#include "ops/op.hpp"
#include "ops/shapes.hpp"

namespace wp {

void infer_elementwise(Call& c);
void forward_elementwise(Call& c);
// For ops whose attributes choose between loops of the same dtypes.
void forward_elementwise(Call& c, const simd::Loops& loops);
void flow_elementwise(const FlowQuery& q, Visit visit);

// Completes a record: infer, forward and flow of the family.
Op elementwise(Op op);

// Samples for every dtype kind that the parameters take, from values each of which is named after what it covers.
struct Point {
  std::vector<double> args;
  std::string_view covers = {};
};
std::vector<Sample> elementwise_samples(const Op& op, const std::vector<Point>& real_points,
                                        const std::vector<std::vector<complex128>>& complex_points = {});

}  // namespace wp
