// Cotangents as −A⁻ᴴ g xᴴ have two factors that change by about κ u, relative to their size, when A changes in its
// last digit (Higham 2002, theorem 7.2): κ is the condition after equilibration, which units do not change.
#include "linalg/lost_digits.hpp"

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "linalg/cancelled.hpp"
#include "linalg/clusters.hpp"
#include "linalg/quotients.hpp"
#include "linalg/rule_kit.hpp"
#include "linalg/stack.hpp"
#include "linalg/verdict.hpp"
#include "wellposed/ops.hpp"

namespace wp::linalg {
namespace {

bool ill(const Verdict& v, double u) {
  const bool regularised = v.method == Method::pinv || v.method == Method::ridge;
  return v.status <= Status::singular && !regularised && v.rcond < std::sqrt(u);
}

}  // namespace

void keep_conditions(const Call& c) {
  Call::Aside& aside = c.beside();
  const Diagnosis::State* const s = aside.diagnosis.state();
  if (!s || aside.keepsake || !is_floating(c.out[0].dtype())) return;
  const double u = round_off(c.out[0].dtype());
  // Members that share a verdict have nine digits in f64; of narrower dtypes that may be too few.
  const bool all_good = !s->verdicts.shared() || u < 1e-15;
  if (!all_good || s->verdicts.any_own([u](const Verdict& v) { return ill(v, u); }))
    aside.keepsake = std::shared_ptr<const Diagnosis::State>(std::make_shared<Diagnosis>(aside.diagnosis), s);
}

void find_lost_digits(const Backward& b) {
  if (b.keepsake) find_lost_digits(b, static_cast<const Diagnosis::State*>(b.keepsake)->verdicts);
}

void find_lost_digits(const Backward& b, const Verdicts& all) {
  const double u = round_off(b.output(0).dtype);
  Finding f;
  f.code = "WP-GRD-012";
  f.op = b.op.name;
  f.place = b.place;
  f.threshold = 1 / std::sqrt(u);
  double least = HUGE_VAL;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Verdict v = all[i];
    if (!ill(v, u)) continue;
    if (f.members.size() < 10) f.members.push_back(static_cast<std::int64_t>(i));
    ++f.count;
    if (f.worst_member >= 0 && !(v.rcond < least)) continue;
    f.worst_member = static_cast<std::int64_t>(i);
    least = v.rcond;
  }
  if (f.count == 0) return;
  f.measured = 1 / least;
  const double left = -std::log10(2 * u * f.measured), most = std::floor(-std::log10(u));
  std::string whose = "the matrix";
  if (all.size() > 1) {
    whose = say("matrix ", f.worst_member, " of ", all.size());
    if (f.count > 1) whose += say(" (the worst of ", f.count, ")");
  }
  char condition[32];
  std::snprintf(condition, sizeof condition, "%.2g", f.measured);
  f.message = say(whose, " has condition ", condition, " after scaling: if it is known to the last digit only, ",
                  left >= 1 ? say("about ", std::lround(std::floor(left)), " of ", std::lround(most)) : "none",
                  " of the gradient's digits are determined.");
  f.advice =
      "Add a ridge, drop small singular values (pinv with rtol), or change the parameters to ones of better "
      "condition; in float32: compute in float64.";
  b.find(std::move(f));
}

double most_moved(const Tensor& g, const std::function<Tensor(std::uint64_t seed)>& otherwise) {
  const Tensor size = size_of(g);
  double most = 0;
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Tensor off = size_of(subtract(otherwise(seed), g));
    for (const double x : doubles_of(where(equal(off, 0), 0, divide(off, size))))
      most = std::max(most, std::isnan(x) ? HUGE_VAL : x);
  }
  return most;
}

void find_moved(const Backward& b, double moved, DType dtype, const char* with) {
  const double allowed = round_off(dtype) < 1e-15 ? 1e-4 : 3e-3;
  if (moved <= allowed) return;
  find_loss(b, "WP-GRD-012", moved, allowed,
            say(with, digits_left(moved, dtype), " of the gradient's digits are determined."),
            "Add a multiple of the identity, drop small values, or use a wider dtype.");
}

void find_unsteady(const Backward& b, const Tensor& part, int power, const std::function<Tensor()>& matrix,
                   const Tensor& y, const Tensor& y_bar, const Tensor& g,
                   const std::function<Tensor(const Tensor&)>& at) {
  const Unrecorded here;
  if (!b.verify().value_or(true) || y.size() == 0) return;
  const double eps = finfo(real_of(y.dtype())).eps;
  const Tensor found = size_of(g), steep = multiply(multiply(size_of(y), size_of(y_bar)), std::pow(eps, -1.0 / 3));
  const Tensor own = size_of(part), far = greater(multiply(found, power == 2 ? square(own) : own), steep);
  if (!any_true(far)) return;
  const Tensor a = matrix();
  const auto otherwise = [&](std::uint64_t seed) {
    const Tensor noise = real(noise_like(a, seed));  // a Hermitian matrix stays so
    const Tensor even = a.shape(-2) == a.shape(-1) ? multiply(add(noise, matrix_transpose(noise)), 0.5) : noise;
    return at(multiply(a, add(multiply(even, eps), 1)));
  };
  double moved = HUGE_VAL;  // beside a matrix without a derivative
  try {
    moved = most_moved(where(far, g, 0), [&](std::uint64_t seed) { return where(far, otherwise(seed), 0); });
  } catch (const GradientError&) {
  }
  find_moved(b, moved, a.dtype(), "if the matrix is known to the last digit only, ");
}

}  // namespace wp::linalg
