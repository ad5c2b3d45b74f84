// Rules about matrices: the last two axes. What is not finite has no such property.
#include <cmath>

#include "data/rule.hpp"
#include "tensor/note.hpp"
#include "trace/window.hpp"
#include "wellposed/linalg.hpp"
#include "wellposed/ops.hpp"

namespace wp::data {
namespace {

constexpr std::string_view kCode = "WP-VAL-010";

double eps_of(DType d) {
  return is_floating(d) ? finfo(d).eps : 0;
}

// The verdict on one matrix: empty words if it is good.
struct Verdict {
  double excess = 0;
  std::string words;
};
using Judge = Verdict (*)(const Tensor& a, double parameter);

// |a_ij − conj(a_ji)| ≤ 8 n eps max(|a_ij|, √(|a_ii| |a_jj|)), as assert_spd has it.
Verdict judge_symmetric(const Tensor& a, double) {
  const std::int64_t n = a.shape()[0];
  if (n != a.shape()[1]) return {HUGE_VAL, say("is not square but ", a.shape())};
  const double rounding = 8 * static_cast<double>(n) * eps_of(a.dtype());
  Verdict worst;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < i; ++j) {
      const complex128 x = value_at(a, i * n + j), y = std::conj(value_at(a, j * n + i));
      const double scale = std::sqrt(std::abs(value_at(a, i * n + i)) * std::abs(value_at(a, j * n + j)));
      const double off = std::abs(x - y);
      if (off <= rounding * std::fmax(scale, std::abs(x)) || off <= worst.excess) continue;
      worst = {off, say("is not symmetric: [", i, ", ", j, "] = ", text_at(a, i * n + j), ", [", j, ", ", i,
                        "] = ", text_at(a, j * n + i))};
    }
  return worst;
}

Verdict judge_spd(const Tensor& a, double) {
  Verdict v = judge_symmetric(a, 0);
  if (!v.words.empty()) return v;
  const auto tried = linalg::diagnosed::cholesky(is_floating(a.dtype()) ? a : astype(a, f64));
  if (tried.diagnosis.size() == 0) return {};
  const linalg::Member& m = tried.diagnosis[0];
  if (m.status == linalg::Status::ok || m.status == linalg::Status::ill_conditioned) return {};
  std::string words = m.message;  // "is not positive definite.", or more
  while (words.ends_with('.')) words.pop_back();
  if (!words.starts_with("is not positive definite")) words = say("is not positive definite: ", words);
  return {HUGE_VAL, words};
}

// ‖Qᴴ Q − I‖ (of a wide matrix: Q Qᴴ), largest entry, ≤ 8 max(m, n) eps.
Verdict judge_orthogonal(const Tensor& x, double) {
  const Tensor a = is_floating(x.dtype()) ? x : astype(x, f64);
  const std::int64_t m = a.shape()[0], n = a.shape()[1];
  const Tensor adjoint = matrix_transpose(is_complex(a.dtype()) ? conj(a) : a);
  const Tensor product = m >= n ? matmul(adjoint, a) : matmul(a, adjoint);
  const Tensor off = max(abs(product - eye(std::min(m, n), {.dtype = a.dtype()})));
  const double most = value_at(off, 0).real();
  if (most <= 8 * static_cast<double>(std::max(m, n)) * eps_of(a.dtype())) return {};
  return {most, say("is not orthogonal: ", m >= n ? "columns" : "rows", " are off by ", few_digits(most))};
}

Verdict judge_full_rank(const Tensor& x, double) {
  const Tensor a = is_floating(x.dtype()) ? x : astype(x, f64);
  const auto found = linalg::diagnosed::matrix_rank(a);
  const auto rank = static_cast<std::int64_t>(value_at(found.value, 0).real());
  const std::int64_t full = std::min(a.shape()[0], a.shape()[1]);
  if (rank == full) return {};
  std::string words = say("has the rank ", rank, " of ", full);
  const linalg::Member& m = found.diagnosis[0];
  if (!m.dependent.empty()) words += say(": ", m.dependent);
  return {static_cast<double>(full - rank), words};
}

Verdict judge_condition(const Tensor& x, double most) {
  const Tensor a = is_floating(x.dtype()) ? x : astype(x, f64);
  const double cond = value_at(linalg::diagnosed::cond(a).value, 0).real();
  if (cond < most) return {};
  return {std::isfinite(cond) ? cond : HUGE_VAL,
          say("has the condition ", few_digits(cond), ", not below ", few_digits(most))};
}

class Matrices final : public Check {
 public:
  Matrices(Judge judge, double parameter, int keep) : judge_(judge), parameter_(parameter), all_(keep) {}
  void matrices(const Subject&, const Tensor& stack, std::int64_t first) override {
    const trace::Aside aside;
    const std::int64_t count = stack.shape()[0], m = stack.shape()[1], n = stack.shape()[2];
    for (std::int64_t k = 0; k < count; ++k) {
      const Tensor a = Tensor::adopt(wp::detail::make_view(*stack.node(), {m, n}, {n, 1}, k * m * n));
      ++seen_;
      if (a.size() == 0) continue;
      const std::int64_t bad = next_nonfinite(a, 0);
      const Verdict v =
          bad >= 0 ? Verdict{HUGE_VAL, say("is not finite: ", entry_text("", a, bad))} : judge_(a, parameter_);
      if (!v.words.empty()) all_.add(first + k, v.excess, [&] { return std::pair(std::string(), v.words); });
    }
  }
  void finish(const Subject& s, const Facts& f, RuleReport& r) override {
    tell(s, all_, Unit::matrix, seen_, r);
    if (s.shape.size() < 2) {
      r.holds = false;
      r.message = say("matrices have two axes or more; the shape is ", s.shape);
    } else if (seen_ == 0 && f.census.values > 0) {
      r.holds = false;
      r.code = "WP-VAL-015";
      r.message = say("a matrix of the shape ", s.shape, " is larger than what is held in memory to judge it");
    }
  }

 private:
  Judge judge_;
  double parameter_;
  std::int64_t seen_ = 0;
  Offences all_;
};

template <Judge judge>
std::unique_ptr<Check> check_flag(const SchemaValue& v, const Subject& s) {
  return v.boolean() ? std::make_unique<Matrices>(judge, 0, s.keep) : nullptr;
}
std::unique_ptr<Check> check_condition(const SchemaValue& v, const Subject& s) {
  return std::make_unique<Matrices>(judge_condition, v.real(), s.keep);
}

constexpr Rule table[] = {
    {"symmetric", &forms::flag, kCode, kinds::numeric, false, whole_matrices, "true",
     "Matrices (the last two axes) are symmetric, complex ones Hermitian, up to rounding.",
     check_flag<judge_symmetric>},
    {"spd", &forms::flag, kCode, kinds::numeric, false, whole_matrices, "true",
     "They are symmetric and positive definite: Cholesky succeeds.", check_flag<judge_spd>},
    {"orthogonal", &forms::flag, kCode, kinds::numeric, false, whole_matrices, "true",
     "Their columns (of wide ones: rows) are orthonormal, up to 8 n eps.", check_flag<judge_orthogonal>},
    {"full_rank", &forms::flag, kCode, kinds::numeric, false, whole_matrices, "true",
     "Their rank is the smaller of their lengths (singular values above max(m, n) eps σ₁).",
     check_flag<judge_full_rank>},
    {"cond_below", &forms::threshold, kCode, kinds::numeric, false, whole_matrices, "1e8",
     "Their condition σ₁/σₙ is below this.", check_condition},
};

}  // namespace

std::span<const Rule> matrix_rules() {
  return table;
}

}  // namespace wp::data
