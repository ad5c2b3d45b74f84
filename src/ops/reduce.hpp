// Reductions over axes: rooms give the accumulators; axes, dtypes and flow are common.
#pragma once
#include "kernels/reduce.hpp"
#include "ops/op.hpp"
#include "ops/shapes.hpp"

namespace wp {

// Attributes of every reduction: axis and keepdims first, then the room's own.
std::vector<AttrSpec> reduction_attrs(std::vector<AttrSpec> more = {});
// The dtype attribute of sums and products, and the dtype it leads to: the one asked for; else i64 or u64 for bool
// and integers, and the input's for floats. Refuses one of a lesser kind: nothing is rounded or cut off in silence.
AttrSpec total_attr();
DType total_dtype(const Call& c, const Attr& asked);
// The dtype that totals of `dtype` are computed in: the same for floats, else i64 or u64.
DType total_loop(DType dtype);

// Reduces c.in[0], taken as dtype `as`, over the axes of attribute 0 into c.out[output] (which infer made).
// Results of `table` that are not finite, or nearer to zero than `small`, are computed again by the `careful` table,
// one by one: it knows how to keep clear of overflow and underflow on the way.
struct Careful {
  const kernels::Reductions* table = nullptr;
  double small = 0;
};
void run_reduction(Call& c, const kernels::Reductions& table, DType as, std::size_t output = 0, double param = 0,
                   Careful careful = {});
// The output shape by attributes 0 and 1.
Dims reduced_output(const Call& c);
// Every element of the reduced run.
void flow_reduction(const FlowQuery& q, Visit visit);
// Refuses an empty run: max of nothing has no value.
void need_nonempty(const Call& c);

// For derivatives: a value per run, in the shape of the result, with the reduced axes kept as 1; and given to every
// element of its run.
Tensor with_axes(const Saved& s, const Tensor& reduced);
Tensor spread(const Saved& s, const Tensor& reduced);
// The sum over each run of something that has the shape of x, in the shape of the result.
Tensor summed(const Saved& s, const Tensor& whole);
// x, or what has its shape, with the runs along one last axis; and back.
Tensor runs_of(const Saved& s, const Tensor& whole);
Tensor from_runs(const Saved& s, const Tensor& runs);
std::int64_t run_length(const Saved& s);

// Standard samples: matrices and a 3-d tensor over various axes, for each dtype kind the parameter takes.
std::vector<Sample> reduction_samples(const Op& op, const std::vector<double>& values, std::vector<Attr> more = {});
// A tensor of these values.
Tensor sample_tensor(DType dtype, const Dims& shape, const std::vector<complex128>& values);

}  // namespace wp
