// What solve and inv share: every member through its own system, then the policy for the bad ones.
#pragma once
#include "linalg/options.hpp"
#include "linalg/settle.hpp"
#include "linalg/stack.hpp"
#include "linalg/verdict.hpp"

namespace wp::linalg {

// X[b] = A[b]⁻¹ B[b] into c.out[0], [batch…, n, k]; without b: the inverse. Leaves the diagnosis and settles.
struct Problem {
  Tensor a;    // [..., n, n]
  Tensor b;    // [..., n, k], or undefined
  Dims batch;  // of the result
  std::int64_t n, k;
  std::string_view advice = "Use pinv(A), or a ridge (ridge = \"auto\"); or remove what depends on the rest.";
  Assume triangle = Assume::detect;  // lower, upper: all of a that is not 0
};
// Takes argument `right` as right-hand side for n rows, one vector if it is 1-d, else a stack of matrices: sets b, n,
// k and the batch, which `own`, the leading axes of argument `left`, broadcast to as well.
void take_right_side(Problem& p, const Call& c, std::int64_t n, const Dims& own, std::size_t left = 0,
                     std::size_t right = 1);
// The shape of the answer: [batch…, n, k], without k for a vector.
Dims answer_shape(const Problem& p, bool vector);
// An element of the answer rests on the same column of the same member of b.
void flow_right_side(const FlowQuery& q, const Problem& p, Visit visit);
// Columns of the answer of a regular system of n rows, for settle(): 0 only where those of b are, which is f32, f64,
// c64 or c128, or undefined: the identity.
Columns columns_of(const Tensor& b, const Dims& batch, std::int64_t n);
void run_systems(Call& c, const Problem& problem, const Options& options);

// The dtype of results: floats as they are, integers as f64.
DType float_result(DType dtype);
// The member of a stack with leading axes `own` that stands for member `i` of the batch they broadcast to.
std::int64_t own_member(std::int64_t i, const Dims& batch, const Dims& own);
// Every element of the same member.
void flow_members(const FlowQuery& q, std::int64_t in_each, std::int64_t out_each, Visit visit);

}  // namespace wp::linalg
