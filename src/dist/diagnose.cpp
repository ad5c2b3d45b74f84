// All that is to be known of a distributed matrix.
#include <algorithm>

#include "base/text.hpp"
#include "dist/calling.hpp"
#include "dist/one_place.hpp"
#include "dist/spectral.hpp"
#include "dist/stage.hpp"
#include "dist/team.hpp"
#include "linalg/stack.hpp"
#include "wellposed/ops.hpp"

namespace wp::dist {

Diagnosed<Tensor> diagnose(const Matrix& a, const InvOptions& options, Where where) {
  const Stage stage("dist.diagnose", where);
  const SolveOptions given = as_solve_options(options);
  meet(say("dist.diagnose ", facts(a), ", ", options_text(given)));
  need_matrix(a);
  need_no_out(options.out);
  const bool square = a.rows() == a.columns();
  if (const std::vector<std::string> told = told_options(given); !square && !told.empty())
    refuse<ArgumentError>("WP-ARG-001",
                          say(told[0], " is for square matrices; got [", a.rows(), ", ", a.columns(), "]."));
  const linalg::Diagnosis d =
      square ? diagnosed::inv(a, options, where).diagnosis
             : diagnosed::pinv(a, {.if_ill = options.if_ill, .names = options.names}, where).diagnosis;
  const Verdict v = std::as_const(*d.state()).verdicts[0];
  Tensor sigma;
  if (v.status == Status::nonfinite_input) return {sigma, d};
  sigma = svdvals(a, {.if_ill = "nan"}, where);
  if (fits_one_place(a)) return {sigma, d};  // it has the matrix, and answers as on one machine
  const std::vector<double> s = wp::astype(sigma, f64).to_vector<double>();
  const auto state = new_state(d.state()->op, v);
  state->names = d.state()->names;
  state->threshold = d.state()->threshold;
  const double most =
      s.empty() ? 0
                : static_cast<double>(std::max(a.rows(), a.columns())) * 2 * linalg::round_off(a.dtype()) * s.front();
  state->spectrum = [d, s, most](std::int64_t, linalg::Member& m) {
    const linalg::Member known = d[0];
    m.null_vector = known.null_vector;
    m.dependent = known.dependent;
    m.dependent_columns = known.dependent_columns;
    tell_values(s, most, std::count_if(s.begin(), s.end(), [&](double e) { return e > most; }), m);
  };
  return {sigma, linalg::Diagnosis(state)};
}

}  // namespace wp::dist
