#include "linalg/member.hpp"

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "kernels/modular.hpp"
#include "kernels/numbers.hpp"
#include "linalg/condition_number.hpp"
#include "linalg/explain.hpp"
#include "linalg/judgement.hpp"
#include "linalg/spectral.hpp"
#include "linalg/stack.hpp"
#include "ops/lines.hpp"
#include "ops/moves.hpp"

namespace wp::linalg {
namespace {

constexpr std::int64_t kExamined = 512;  // larger matrices are not decomposed for the sake of a message
constexpr double kOneDigit = 0.1;        // of a condition that is only told

// The member as a row-major matrix of T.
template <class T>
Tensor matrix_of(const Diagnosis::State& s, std::int64_t member) {
  const Dims &shape = s.matrix.shape(), &strides = s.matrix.strides();
  std::int64_t offset = 0, rest = member;
  for (std::size_t k = shape.size() - 2; k-- > 0;) {
    offset += rest % shape[k] * strides[k];
    rest /= shape[k];
  }
  const Dims last(shape.end() - 2, shape.end()), last_strides(strides.end() - 2, strides.end());
  return packed(view_of(s.matrix, last, last_strides, offset), dtype_v<T>);
}

bool by_rank(const Member& m) {
  return m.method == name(Method::svd) || m.method == name(Method::pinv) || m.method == name(Method::ridge);
}

// Singular values, and for a singular matrix the last right vector and the dependent rows. The rank is the one that
// the answer rests on, where it rests on one: another decomposition may see a value on the other side of the
// threshold.
template <class T>
void decompose(const Diagnosis::State& s, std::int64_t member, std::int64_t kept, Member& m) {
  const Tensor a = matrix_of<T>(s, member);
  const auto* const data = reinterpret_cast<const T*>(a.node()->data);
  const std::int64_t rows = a.shape()[0], columns = a.shape()[1], k = std::min(rows, columns);
  if (k == 0) {
    m.rank = 0;
    return;
  }
  const bool vectors = m.status == Status::singular && rows == columns;
  const Spectral<T> svd(rows, columns, {data, columns, 1}, vectors ? Parts::full : Parts::values);
  if (svd.status() != Status::ok) return;
  const std::vector<double>& sigma = svd.sigma();
  const double usual = 2 * round_off(s.matrix.dtype()) * static_cast<double>(std::max(rows, columns));
  m.rank_threshold = std::max((s.cutoff.rtol < 0 ? usual : s.cutoff.rtol) * svd.largest(), s.cutoff.atol);
  const bool proved = m.method == name(Method::qr) || m.method == name(Method::lu);  // that kept is the rank
  m.rank =
      kept >= 0 && (by_rank(m) || proved) && m.status <= Status::ill_conditioned ? kept : svd.rank(m.rank_threshold);
  if (m.exactly_singular && m.rank == k) m.rank = k - 1;
  bool sure = m.exactly_singular;  // of the rank
  if (const double least = sigma[0] == 0 ? 0 : svd.scaled_sigma().back() / svd.scaled_sigma()[0];
      !knows_singularity(s.verdicts[static_cast<std::size_t>(member)]) &&
      suspect<T>(std::max(rows, columns), least)) {
    const std::int64_t exact = kernels::exact_rank<T>(rows, columns, {data, columns, 1});
    m.exactly_singular = exact < k;
    sure = exact < k && exact == m.rank;
  }
  m.cond = m.exactly_singular || sigma[0] == 0
               ? std::numeric_limits<double>::infinity()
               : condition_number<T>(rows, columns, {data, columns, 1}, svd.scaled_sigma(), kOneDigit).value();
  const auto r = static_cast<std::size_t>(m.rank);
  if (m.rank > 0 && m.rank < k) m.rank_gap = sigma[r - 1] / sigma[r];
  if (!sure) m.rank_doubt = rank_doubt(sigma, r, m.rank_threshold);
  if (!vectors) return;
  m.null_vector = Tensor::adopt(detail::make_node(dtype_v<T>, {columns}));
  const T* const last = svd.vh().data + (columns - 1) * columns;
  T* const to = reinterpret_cast<T*>(m.null_vector.node()->data);
  for (std::int64_t j = 0; j < columns; ++j) to[j] = conjugate(last[j]);
}

template <class T>
void explain(const Diagnosis::State& s, std::int64_t member, Member& m) {
  const Tensor a = matrix_of<T>(s, member);
  const std::int64_t rows = a.shape()[0], columns = a.shape()[1];
  const kernels::View<T> view{reinterpret_cast<const T*>(a.node()->data), columns, 1};
  bool hermitian = rows == columns;
  for (std::int64_t i = 0; i < rows && hermitian; ++i)
    for (std::int64_t j = 0; j <= i && hermitian; ++j)
      hermitian = view.data[i * columns + j] == conjugate(view.data[j * columns + i]);
  const double tolerance =
      std::max(1e-13, 8 * round_off(s.matrix.dtype()) * static_cast<double>(std::max(rows, columns)));
  const auto relation = [&](kernels::View<T> lines, std::string_view kind, const std::vector<std::string>& names) {
    std::string exact;
    const bool turned = lines.rows != columns;
    const std::int64_t count = turned ? columns : rows, each = turned ? rows : columns;
    if (m.exactly_singular || by_rank(m)) exact = exactly_dependent_rows<T>(count, each, lines, kind, names);
    return exact.empty() ? nearly_dependent_rows<T>(count, each, lines, tolerance, kind, names) : exact;
  };
  if (rows <= columns) m.dependent = relation(view, "row", hermitian ? s.names : std::vector<std::string>());
  if (!hermitian && columns <= rows) m.dependent_columns = relation(view.transposed(), "column", s.names);
}

// Each on a line of its own.
std::string dependencies(const Member& m) {
  std::string out;
  for (const std::string* told : {&m.dependent, &m.dependent_columns}) {
    if (told->empty()) continue;
    std::string text = *told;
    for (const std::string_view kind : {"row ", "column "})  // a label keeps its case
      if (text.starts_with(kind)) text[0] = static_cast<char>(text[0] - 'a' + 'A');
    out += "\n  " + text + ".";
  }
  return out;
}

// The rank where it was decided on, and where it is not full or another one is as plausible.
std::string rank_words(const Diagnosis::State& s, const Member& m) {
  const bool decided = by_rank(m) || s.cutoff.rtol >= 0;
  if (!decided || m.rank < 0 || (std::isnan(m.rank_gap) && m.rank_doubt.empty())) return {};
  std::string out =
      say(" rank ", m.rank, " (singular values up to ", few_digits(m.rank_threshold), " count as zero)");
  if (!std::isnan(m.rank_gap))
    out += say(", the next singular value is ",
               std::isinf(m.rank_gap) ? std::string("0") : few_digits(m.rank_gap) + " times smaller");
  out += ".";
  if (!m.rank_doubt.empty()) out += " But " + m.rank_doubt + ".";
  return out;
}

std::string sentence(const Diagnosis::State& s, const Member& m) {
  if (m.status != Status::ok)
    return m.status == Status::ill_conditioned ? complaint(s, m) + rank_words(s, m) : complaint(s, m);
  std::string out = "ok.";
  if (!std::isnan(m.digits)) out += say(" ", std::lround(std::floor(m.digits)), " digits.");
  if (!std::isnan(m.rcond)) out += say(" rcond ", few_digits(m.rcond), ".");
  if (!m.method.empty() && m.method != "none") out += say(" ", m.structure, ", by ", m.method, ".");
  out += rank_words(s, m);
  if (!std::isnan(m.ridge))
    out += say(" λ = ", few_digits(m.ridge), "; effective degrees of freedom: ", few_digits(m.freedom), ".");
  if (m.certified) out += say(" Error proved below ", few_digits(m.forward_error), ".");
  return out + dependencies(m);
}

}  // namespace

std::string rank_doubt(const std::vector<double>& sigma, std::size_t r, double threshold) {
  constexpr double kClear = 100, kNear = 10, kNearBelow = 2;
  const double above = r > 0 ? sigma[r - 1] : 0, below = r < sigma.size() ? sigma[r] : 0;
  if (above > 0 && below > 0 && above < kClear * below)
    return say("rank ", r + 1, " is as plausible: the next singular value is only ", few_digits(above / below),
               " times smaller");
  if (above > 0 && above <= kNear * threshold)
    return say("rank ", r - 1, " is as plausible: the last singular value that counts is only ",
               few_digits(above / threshold), " times what counts as zero");
  if (below * kNearBelow >= threshold && threshold > 0)
    return say("rank ", r + 1, " is as plausible: the next singular value is ", few_digits(below / threshold),
               " times what counts as zero");
  return {};
}

Member examine(const Diagnosis::State& state, std::int64_t member, bool deep) {
  const Verdict& v = state.verdicts[static_cast<std::size_t>(member)];
  Member m;
  m.status = v.status;
  m.exactly_singular = v.exactly_singular;
  m.rcond = v.rcond;
  m.structure = name(v.structure);
  m.method = name(v.method);
  m.digits = v.digits;
  m.forward_error = v.forward_error;
  m.backward_error = v.backward_error;
  m.certified = v.certified;
  m.ridge = v.ridge;
  m.freedom = v.freedom;
  m.growth = v.growth;
  m.message = v.reason;
  if (v.status == Status::nonfinite_input && m.message.empty() && state.nonfinite)
    m.message = "is not finite: " + state.nonfinite(member);
  if (state.matrix.defined() && v.status != Status::nonfinite_input) {
    const bool complex = is_complex(state.matrix.dtype());
    if (deep || state.matrix.shape().back() <= kExamined)
      complex ? decompose<complex128>(state, member, v.kept, m) : decompose<double>(state, member, v.kept, m);
    if (v.status == Status::singular || (by_rank(m) && !std::isnan(m.rank_gap)))
      complex ? explain<complex128>(state, member, m) : explain<double>(state, member, m);
  }
  if (state.spectrum) state.spectrum(member, m);
  m.message = sentence(state, m);
  return m;
}

std::string complaint(const Diagnosis::State& s, const Member& m) {
  std::string out;
  if (!m.message.empty()) return m.message;
  switch (m.status) {
    case Status::ok: return "is well posed.";
    case Status::nonfinite_input: return "is not finite.";
    case Status::not_spd: return "is not positive definite.";
    case Status::not_converged: return "did not converge.";
    case Status::undefined: return "has no such function.";
    case Status::overflow: return "has an answer beyond the range of its dtype.";
    case Status::ill_conditioned:
      return say("is ill-conditioned: rcond ", few_digits(m.rcond), "; about ", std::lround(std::floor(m.digits)),
                 " digits of the answer can be vouched for.");
    case Status::singular: break;
  }
  if (m.rcond >= s.threshold && !m.exactly_singular)
    return say("is too ill-conditioned: rcond ", few_digits(m.rcond),
               " after scaling, and the corrections of the answer do not shrink. No digit of it can be vouched for.");
  out = say("is singular to working precision: rcond ", few_digits(m.rcond), " < ", few_digits(s.threshold));
  out += m.exactly_singular ? " (exactly singular)." : ".";
  return out + dependencies(m) + " No digit of an answer would be right.";
}

}  // namespace wp::linalg
