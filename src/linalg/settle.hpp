// What becomes of the verdicts of a call: diagnosis, findings, exceptions.
#pragma once
#include <functional>

#include "linalg/options.hpp"
#include "linalg/verdict.hpp"

namespace wp::linalg {

// What is judged for itself where answers are so small that they lose digits: columns of the first result, or (rows =
// 0) each member of each result as a whole.
struct Columns {
  std::int64_t rows = 0;  // of a member's answer, row-major
  // Whether a column of nothing but zeros is the exact answer; empty: unless the verdict says that it is not 0.
  std::function<bool(std::int64_t member, std::int64_t column)> zero = {};
};

// Leaves the diagnosis beside the call and does what the policy says about bad members: raises with the diagnosis and
// the values, warns, or records. `advice` is what to do about a singular matrix. With finite_answers, an infinite
// result of a good member is a finding: it is beyond the range of the dtype; and so is one below it, where denormal
// numbers or 0 leave fewer digits than a good answer has.
void settle(Call& c, std::shared_ptr<Diagnosis::State> state, Policy policy, std::string_view advice,
            bool finite_answers = true, const Columns& columns = {});
// The first element of t from `from` on, of `count`, that is not finite, how many there are, and where an op made it:
// "x[1, 1] is nan (2 of 9 elements are not finite)."; empty: all are finite. columns: labels.
std::string nonfinite_elements(std::string_view name, const Tensor& t, std::int64_t from, std::int64_t count,
                               const std::vector<std::string>& columns = {});
// Members whose error bound was asked for and could not be proved (WP-LIN-009).
void report_uncertified(const Call& c, const Diagnosis::State& state,
                        std::string_view why = "for no approximate inverse R could ‖I − R A‖ < 1 be shown");

}  // namespace wp::linalg
