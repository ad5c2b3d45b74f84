// What solve and inv share: every member through its own system, then the policy for the bad ones.
#pragma once
#include "linalg/options.hpp"
#include "linalg/stack.hpp"
#include "linalg/verdict.hpp"

namespace wp::linalg {

// X[b] = A[b]⁻¹ B[b] into c.out[0], [batch…, n, k]; without b: the inverse. Leaves the diagnosis and settles.
struct Problem {
  Tensor a;    // [..., n, n]
  Tensor b;    // [..., n, k], or undefined
  Dims batch;  // of the result
  std::int64_t n, k;
};
void run_systems(Call& c, const Problem& problem, const Options& options);

// The dtype of results: floats as they are, integers as f64.
DType float_result(DType dtype);
// The member of a stack with leading axes `own` that stands for member `i` of the batch they broadcast to.
std::int64_t own_member(std::int64_t i, const Dims& batch, const Dims& own);
// Every element of the same member.
void flow_members(const FlowQuery& q, std::int64_t in_each, std::int64_t out_each, Visit visit);

}  // namespace wp::linalg
