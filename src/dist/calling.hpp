// What the public functions share: options as those of linalg, diagnoses that are the same on every rank, and tapes.
#pragma once
#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "dist/matrix.hpp"
#include "dist/stage.hpp"
#include "dist/system.hpp"
#include "ops/attr.hpp"
#include "ops/op.hpp"

namespace wp::dist {

// The options of solve and inv, read and checked as their ops do.
Options system_options(const SolveOptions& o);
SolveOptions as_solve_options(const InvOptions& o);
InvOptions as_inv_options(const SolveOptions& o);
std::string options_text(const SolveOptions& o);
// Options that differ from what they are by default, but for if_ill and names: "certify".
std::vector<std::string> told_options(const SolveOptions& o);
// Labels of columns: none, or one for each. What the ranks compare of them.
using Names = std::optional<std::vector<std::string>>;
std::vector<std::string> labels_of(const Names& names, const Matrix& a);
std::string names_text(const Names& names);
// raise, warn, nan or ignore.
Policy policy_of(std::string_view if_ill);
void need_no_out(const void* out);

// A diagnosis of one matrix.
std::shared_ptr<linalg::Diagnosis::State> new_state(std::string_view op, const Verdict& v);
// Whether linalg itself should judge an answer of a small matrix: it is not ok, or has lost so many digits that
// linalg would look closer.
template <class T>
bool in_doubt(const Verdict& v) {
  constexpr double kLost = std::max(linalg::kGoodEnough, 1e3 * linalg::kUnit<T>);
  return v.status != Status::ok || v.forward_error > kLost;
}
// At most the digits of the dtype; an answer that is not finite though its problem is good is an overflow.
void consider_dtype(Verdict& v, const Matrix& x, DType dtype);
void fill_nan(const Matrix& x);
// Advice where singular values or eigenvalues could not be found.
inline constexpr std::string_view kNoValues = "Look at the matrix: its singular values could not be found.";
// What the policy says, and a finding where the answer is beyond the range of its dtype (WP-LIN-007).
void act(const linalg::Diagnosis& d, Policy policy, std::string_view advice);

// The value, once the policy has been followed.
template <class R>
R settled(Diagnosed<R> found, std::string_view if_ill, std::string_view advice, std::string_view name, Where where) {
  const Stage stage(name, where);
  act(found.diagnosis, policy_of(if_ill), advice);
  return std::move(found.value);
}

// Verdicts as bytes, for the other ranks.
std::string packed_verdict(const Verdict& v);
Verdict unpacked_verdict(const std::string& bytes);

// How the result of an op stands to its operands: what becomes of Inf and NaN (noting.hpp), and what was found of the
// matrix that the result rests on, of which a gradient may say that it has lost digits (WP-GRD-012).
struct Kind {
  Notes notes = Notes::inherit;
  std::shared_ptr<std::shared_ptr<linalg::Diagnosis::State>> judged = {};
};
// Runs forward(matrices) → matrix, and on a tape as one op, with vjp(in, out, cotangent) → cotangents; cotangents
// that are not defined are zero.
using Many = std::vector<Matrix>;
Matrix taped(std::string_view name, const Many& in, const std::function<Matrix(const Many&)>& forward,
             const std::function<Many(const Many& in, const Matrix& out, const Matrix& g)>& vjp, const Place& place,
             const Kind& kind = {});
// The same for a real number that is the same on every rank.
Tensor taped_number(std::string_view name, const Many& in, const std::function<Tensor(const Many&)>& forward,
                    const std::function<Many(const Many& in, const Tensor& out, const Tensor& g)>& vjp,
                    const Place& place, const Kind& kind = {});
// The same for a tensor that is the same on every rank and has the elements of one matrix.
Tensor taped_tensor(std::string_view name, const Matrix& in, const std::function<Tensor(const Matrix&)>& forward,
                    const std::function<Matrix(const Matrix& in, const Tensor& g)>& vjp, const Place& place);
// The same for a matrix, of a tensor that every rank has.
Matrix taped_from(std::string_view name, const Tensor& in, const std::function<Matrix(const Tensor&)>& forward,
                  const std::function<Tensor(const Matrix& g)>& vjp, const Place& place);
// Results (matrices' storages, tensors) whose derivative is not there: a tape that is asked for it says so.
void without_rule(std::string_view name, const Many& in, const std::vector<Tensor*>& tensors,
                  const std::vector<Matrix*>& matrices);
void without_rule(std::string_view name, const std::vector<Tensor>& in, const std::vector<Tensor*>& results);

}  // namespace wp::dist
