// Reductions over axes: rooms give the accumulators; axes, dtypes and flow are common.
#pragma once
#include "kernels/reduce.hpp"
#include "ops/op.hpp"
#include "ops/shapes.hpp"

namespace wp {

// Attributes of every reduction: axis and keepdims first, then the room's own.
std::vector<AttrSpec> reduction_attrs(std::vector<AttrSpec> more = {});

// Reduces c.in[0], taken as dtype `as`, over the axes of attribute 0 into c.out[output] (which infer made).
void run_reduction(Call& c, const kernels::Reductions& table, DType as, std::size_t output = 0, double param = 0);
// The output shape by attributes 0 and 1.
Dims reduced_output(const Call& c);
// Every element of the reduced run.
void flow_reduction(const FlowQuery& q, Visit visit);
// Refuses an empty run: max of nothing has no value.
void need_nonempty(const Call& c);

// Standard samples: matrices and a 3-d tensor over various axes, for each dtype kind the parameter takes.
std::vector<Sample> reduction_samples(const Op& op, const std::vector<double>& values, std::vector<Attr> more = {});

}  // namespace wp
