// What becomes of the verdicts of a call: diagnosis, findings, exceptions.
#pragma once
#include "linalg/options.hpp"
#include "linalg/verdict.hpp"

namespace wp::linalg {

// Leaves the diagnosis beside the call and does what the policy says about bad members: raises with the diagnosis and
// the values, warns, or records. `advice` is what to do about a singular matrix. With finite_answers, an infinite
// result of a good member is a finding: it is beyond the range of the dtype.
void settle(Call& c, std::shared_ptr<Diagnosis::State> state, Policy policy, std::string_view advice,
            bool finite_answers = true);
// Members whose error bound was asked for and could not be proved (WP-LIN-009).
void report_uncertified(const Call& c, const Diagnosis::State& state);

}  // namespace wp::linalg
