// What the public functions share: options as those of linalg, diagnoses that are the same on every rank, and tapes.
#pragma once
#include <initializer_list>
#include <string>
#include <vector>

#include "dist/matrix.hpp"
#include "dist/system.hpp"
#include "ops/attr.hpp"
#include "ops/op.hpp"

namespace wp::dist {

// The options of solve and inv, read and checked as their ops do.
Options system_options(const SolveOptions& o);
SolveOptions as_solve_options(const InvOptions& o);
InvOptions as_inv_options(const SolveOptions& o);
std::string options_text(const SolveOptions& o);
// raise, warn, nan or ignore.
Policy policy_of(std::string_view if_ill);

// A diagnosis of one matrix.
std::shared_ptr<linalg::Diagnosis::State> new_state(std::string_view op, const Verdict& v);
// At most the digits of the dtype; an answer that is not finite though its problem is good is an overflow.
void consider_dtype(Verdict& v, const Matrix& x, DType dtype);
void fill_nan(const Matrix& x);
// What the policy says, and a finding where the answer is beyond the range of its dtype (WP-LIN-007).
void act(const linalg::Diagnosis& d, Policy policy, std::string_view advice);

// Verdicts as bytes, for the other ranks.
std::string packed_verdict(const Verdict& v);
Verdict unpacked_verdict(const std::string& bytes);

// Runs forward(matrices) → matrix, and on a tape as one op, with vjp(in, out, cotangent) → cotangents; cotangents
// that are not defined are zero.
using Many = std::vector<Matrix>;
Matrix taped(std::string_view name, const Many& in, const std::function<Matrix(const Many&)>& forward,
             const std::function<Many(const Many& in, const Matrix& out, const Matrix& g)>& vjp, const Place& place);
// The same for a real number that is the same on every rank.
Tensor taped_number(std::string_view name, const Many& in, const std::function<Tensor(const Many&)>& forward,
                    const std::function<Many(const Many& in, const Tensor& out, const Tensor& g)>& vjp,
                    const Place& place);

// The same for a tensor that is the same on every rank, of one matrix.
Tensor taped_tensor(std::string_view name, const Matrix& in, const std::function<Tensor(const Matrix&)>& forward,
                    const std::function<Matrix(const Matrix& in, const Tensor& g)>& vjp, const Place& place);
// Results (matrices' storages, tensors) whose derivative is not there: a tape that is asked for it says so.
void without_rule(std::string_view name, const Many& in, const std::vector<Tensor*>& tensors,
                  const std::vector<Matrix*>& matrices);

}  // namespace wp::dist
