// pinv, by singular values.
#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "dist/calling.hpp"
#include "dist/one_place.hpp"
#include "dist/spectral.hpp"
#include "dist/stage.hpp"
#include "dist/team.hpp"
#include "linalg/bounds.hpp"
#include "linalg/cutoff.hpp"
#include "linalg/filters.hpp"
#include "linalg/member.hpp"
#include "linalg/stack.hpp"

namespace wp::dist {
namespace {

// By linalg itself.
Verdict ask_one_place(const Matrix& a, const PinvOptions& o, const Tensor& whole, Matrix& x) {
  const Found found = in_one_place([&] {
    const auto one = linalg::diagnosed::pinv(whole, o);
    return std::pair{std::vector<Tensor>{one.value}, one.diagnosis};
  });
  x = spread(found.values[0], a.layout());
  return found.verdict;
}

Diagnosed<Matrix> pseudo_inverted(const Matrix& a, const PinvOptions& o, bool told, Where where) {
  const Stage stage("dist.pinv", where);
  meet(say("dist.pinv ", facts(a), ", rtol ", o.rtol.value_or(-1), ", atol ", o.atol, ", if_ill ", o.if_ill,
           names_text(o.names)));
  need_matrix(a);
  policy_of(o.if_ill);
  need_no_out(o.out);
  const std::int64_t longest = std::max(a.rows(), a.columns()), k = std::min(a.rows(), a.columns());
  const bool fits = fits_one_place(a);
  const linalg::Cutoff cutoff = linalg::cutoff_of(o.rtol, o.atol, a.dtype(), longest);
  const DType work = linalg::working_dtype(a.dtype(), longest);
  Verdict v;
  v.method = Method::svd;
  Matrix x;
  const auto state = new_state("pinv", v);
  state->names = labels_of(o.names, a);
  state->cutoff = {cutoff.rtol, cutoff.atol};
  linalg::with_float(work, [&]<class T>(T) {
    Spectral<T> svd(converted(a, work), true, state->names);
    v.status = svd.status();
    if (const std::string text = svd.nonfinite(); !text.empty())
      state->nonfinite = [text](std::int64_t) { return text; };
    if (v.status != Status::ok) {
      x = make_matrix(a.columns(), a.rows(), a.dtype(), a.layout());
      return fill_nan(x);
    }
    const double least = cutoff(svd.largest());
    v.kept = svd.rank(least);
    const double rcond = v.kept > 0 ? svd.sigma()[static_cast<std::size_t>(v.kept - 1)] / svd.largest() : 1;
    linalg::conclude_least_squares<T>(
        v, std::min(1.0, 2 * linalg::growth_of_errors(longest) * linalg::kUnit<T> / rcond));
    const bool near_lower_rank = rcond < std::sqrt(linalg::round_off(a.dtype()));  // linalg says so there, too
    if (near_lower_rank) v.rcond = rcond;
    const bool doubtful = v.kept < k || near_lower_rank || in_doubt<T>(v) ||
                          !linalg::rank_doubt(svd.sigma(), static_cast<std::size_t>(v.kept), least).empty();
    if (fits && (told || doubtful)) state->matrix = brought_together(a);
    if (fits && doubtful) {
      v = ask_one_place(a, o, state->matrix, x);
      return;
    }
    if (!fits) keep_spectrum<T>(*state, a, svd, v.kept);
    x = converted(svd.apply(linalg::truncated(svd.sigma(), least), nullptr), a.dtype());
  });
  if (v.status <= Status::ill_conditioned) consider_dtype(v, x, a.dtype());
  state->verdicts[0] = v;
  without_rule("dist.pinv", {a}, {}, {&x});
  return {x, linalg::Diagnosis(state)};
}

}  // namespace

Diagnosed<Matrix> diagnosed::pinv(const Matrix& a, const PinvOptions& o, Where where) {
  return pseudo_inverted(a, o, true, where);
}
Matrix pinv(const Matrix& a, const PinvOptions& o, Where where) {
  return settled(pseudo_inverted(a, o, false, where), o.if_ill, kNoValues, "dist.pinv", where);
}

}  // namespace wp::dist
