#include "linalg/quotients.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.hpp"
#include "linalg/cancelled.hpp"
#include "linalg/stack.hpp"
#include "ops/follower.hpp"
#include "ops/moves.hpp"
#include "wellposed/creation.hpp"
#include "wellposed/index.hpp"
#include "wellposed/ops.hpp"

namespace wp::linalg {
namespace {

Tensor power(const Tensor& r, std::size_t n) {
  Tensor p = r;
  for (std::size_t i = 1; i < n; ++i) p = multiply(p, r);
  return p;
}

}  // namespace

void find_kink(const Backward& b, double measured, double threshold, std::string message) {
  Finding f;
  f.code = "WP-GRD-009";
  f.op = b.op.name;
  f.place = b.place;
  f.measured = measured;
  f.threshold = threshold;
  f.message = std::move(message);
  f.advice = "Move the matrix, or use a smooth loss.";
  b.find(std::move(f));
}

Finding loss_of_digits(const char* code, double measured, double threshold, std::string message, const char* advice) {
  Finding f;
  f.code = code;
  f.measured = measured;
  f.threshold = threshold;
  f.message = std::move(message);
  f.advice = advice;
  return f;
}
void find_underflow(const Backward& b, const Tensor& cotangents, const Tensor& divisor, const Tensor& size,
                    std::int64_t terms) {
  if (!b.verify().value_or(true)) return;
  const Unrecorded here;
  const auto f = finfo(real_of(size.dtype()));
  const double allowed = f.eps < 1e-15 ? 1e-6 : 1e-3, least = f.smallest_normal * f.eps * static_cast<double>(terms);
  const Tensor error = divide(divide(least, divisor), where(equal(size, 0), 1, size));
  const Tensor bad = logical_and(greater(size, 0), greater(error, allowed));
  if (!any_true(bad)) return;
  const double worst = std::min(largest(where(bad, error, 0)), 1.0);
  find_loss(b, "WP-GRD-012", worst, allowed,
            say("what the loss makes of the vectors is too small for its dtype (cotangents of ",
                largest(where(bad, cotangents, 0)), ", divided by ", largest(where(bad, divisor, 0)),
                "): ", digits_left(worst, size.dtype()), " of the derivative's digits are right."),
            "Scale the matrix or the loss by a power of two.");
}
void find_loss(const Backward& b, const char* code, double measured, double threshold, std::string message,
               const char* advice) {
  b.find(loss_of_digits(code, measured, threshold, std::move(message), advice));
}

double near_enough(const Backward& b, const Tensor& a) {
  return std::pow(round_off(working_dtype(a.dtype(), std::max(a.shape(-2), a.shape(-1)))),
                  b.recorded() ? 0.47 : 0.56);
}

void find_near(const Backward& b, const Tensor& gap, const Tensor& largest, double allowed) {
  const Unrecorded here;
  const Tensor near = logical_and(less(gap, multiply(largest, allowed)), greater(largest, 0));
  if (!bool(wp::any(near))) return;
  const double least = astype(wp::min(where(near, gap, HUGE_VAL)), f64).item<double>();
  find_loss(b, "WP-GRD-008", least, allowed,
            say("singular values between which the function decides differ by ", least,
                " only: the derivative is large, about 1/gap, and its digits are lost accordingly."),
            "Choose a place where the singular values fall (svdvals), or a wider dtype.");
}

void find_close(const Backward& b, const Tensor& a, const Tensor& kept, bool least) {
  const double allowed = near_enough(b, a);
  const Unrecorded here;
  const std::int64_t k = std::min(a.shape(-2), a.shape(-1));
  if (k < 2) return;
  const Tensor sigma = diagnosed::svdvals(a).value, first = sigma[{ellipsis, 0}];
  const Tensor gap = subtract(sigma[{ellipsis, least ? k - 2 : 0}], sigma[{ellipsis, least ? k - 1 : 1}]);
  find_near(b, where(equal(kept[{ellipsis, 1}], 1), gap, first), first, allowed);
}

void find_uneven(const Backward& b, const Tensor& kept, std::int64_t smooth, std::string_view why) {
  const Unrecorded here;
  const auto members = wp::sum(astype(not_equal(kept[{ellipsis, 1}], smooth), i64)).item<std::int64_t>();
  if (members > 0)
    find_kink(
        b, static_cast<double>(members), 0,
        say("the function has a kink here: ", why, members > 1 ? say(" in ", members, " matrices") : std::string(),
            ". The gradient is a subgradient: the mean over the tie, 0 at zero."));
}

Tensor measured_noise(const Backward& b, const Tensors& vectors, const Tensors& cotangents, int draws) {
  const Unrecorded here;
  Tensor worst;
  for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(draws); ++seed) {
    Tensors other(vectors.size());
    for (std::size_t i = 0; i < vectors.size(); ++i)
      if (vectors[i].defined())
        other[i] = multiply(vectors[i],
                            add(multiply(real(noise_like(vectors[i], seed)), 2 * eps_of(b, vectors[i].dtype())), 1));
    const Tensors again = b.taylor({other, {}}, {}, 0)[0];
    for (std::size_t i = 0; i < vectors.size(); ++i) {
      if (!vectors[i].defined() || !cotangents[i].defined()) continue;
      const Tensor off = size_of(subtract(again[i], cotangents[i]));
      worst = worst.defined() ? maximum(worst, off) : off;
    }
  }
  return worst;
}

Quotients::Quotients(const Backward& b, const Clusters& c, std::int64_t n, const Tensor& own, const Tensor& size,
                     std::function<Tensor()> noise)
    : b_(b), c_(c), terms_(n), noise_(std::move(noise)) {
  const Unrecorded here;
  if (size.defined()) {
    const double eps = eps_of(b, size.dtype()), rounding = gauge_rounding(eps, n);
    allowed_ = multiply(size, rounding);
    // Of few digits that would be some per cent: what exceeds the least rounding is compared with what is measured.
    tolerance_ = eps < 1e-10 ? allowed_ : multiply(size, std::ldexp(rounding, -10));
    least_rounding_ = multiply(own, std::ldexp(rounding, -10));
  }
  size_ = size;
}

void Quotients::find_cancelled(const Tensor& size) const {
  if (size_.defined() && least_.defined()) {
    const Unrecorded here;
    find_underflow(b_, size_, least_step_.defined() ? minimum(least_, least_step_) : least_, size, terms_);
  }
  if (b_.of_derivative() && size_.defined() && least_.defined()) linalg::find_cancelled(b_, size_, least_, size);
}

// Two thirds of the digits are to be left, also of the next derivative, which divides by the differences once more.
Tensor Quotients::lost(const Tensor& size) const {
  if (c_.wide || !size_.defined() || !least_.defined()) return {};
  const Unrecorded here;
  const double eps = eps_of(b_, size.dtype());
  const Tensor grown = pow(divide(size_, multiply(least_, size)), b_.recorded() ? 2 : 1);
  const Tensor all = greater(multiply(grown, eps), std::pow(eps, 0.64));
  return any_true(all) ? all : Tensor();
}

Tensor Quotients::of(const Terms& k, const Tensor& d, const Tensor& dw, const Tensor& except) {
  if (k.empty() || !k[0].defined()) return {};
  Tensor small;
  {
    const Unrecorded here;
    small = c_.any ? less_equal(wp::abs(d), c_.near) : zeros_like(d, {.dtype = DType::boolean});
    if (except.defined()) small = logical_and(small, logical_not(except));
    if (size_.defined()) {
      const Tensor out = except.defined() ? logical_or(small, except) : small;
      const Tensor least = wp::min(where(out, HUGE_VAL, wp::abs(d)), {.axis = {-2, -1}, .keepdims = true});
      least_ = least_.defined() ? minimum(least_, least) : least;
    }
  }
  const auto direct = [&](const Tensor& series) {
    const Tensor safe = where(except.defined() ? logical_or(series, except) : series, 1, d);
    return divide(k[0], safe);
  };
  if (k.size() == 1 || (!c_.wide && !bool(wp::any(small)))) return direct(small);
  const Tensor whole = !c_.wide ? small : except.defined() ? logical_not(except) : ones_like(small);
  const Tensor step = where(whole, dw, 1), r = divide(where(whole, d, 0), step);
  Tensor series = k[1], last = k[1];
  double factor = 1;
  for (std::size_t t = 2; t < k.size(); ++t) {
    factor /= -static_cast<double>(t);
    last = multiply(k[t], multiply(t == 2 ? r : power(r, t - 1), factor));
    series = add(series, last);
  }
  const Tensor limit = divide(series, step);
  {
    const Unrecorded here;
    const Tensor least = wp::min(where(small, wp::abs(dw), HUGE_VAL), {.axis = {-2, -1}, .keepdims = true});
    least_step_ = least_step_.defined() ? minimum(least_step_, least) : least;
  }
  judge(k[0], multiply(d, limit), d, small);
  if (c_.wide) small = logical_or(small, logical_and(whole, settled(k[0], limit, divide(last, step), d)));
  return where(small, limit, direct(small));
}

Tensor Quotients::settled(const Tensor& k, const Tensor& limit, const Tensor& last, const Tensor& d) const {
  const Unrecorded here;
  const Tensor far = wp::abs(d), off = wp::abs(subtract(k, multiply(d, limit)));
  const Tensor by = logical_and(greater(far, c_.near), less_equal(off, least_rounding_));
  return logical_and(by, less_equal(multiply(wp::abs(last), far), multiply(least_rounding_, 0x1p-4)));
}

// What rounding leaves, as measured, or, in forward mode, where nothing follows that could be asked, as allowed.
Tensor Quotients::rounding() {
  if (!rounding_.defined() && noise_) {
    Tensor noise;
    if (answered([&] { noise = noise_(); }))
      rounding_ = maximum(multiply(noise, 16.0 * static_cast<double>(c_.w.shape().back())), least_rounding_);
    noise_ = {};
  }
  return rounding_.defined() ? rounding_ : allowed_;
}

Tensor Quotients::beyond(const Tensor& off, const Tensor& where_asked) {
  const Tensor bad = logical_and(where_asked, greater(off, tolerance_));
  if (!any_true(bad)) return bad;
  return logical_and(where_asked, greater(off, maximum(tolerance_, rounding())));
}

void Quotients::must_vanish(const Tensor& k, std::string_view what) {
  b_.choose();
  const Unrecorded here;
  const Tensor off = wp::abs(k);
  if (any_true(beyond(off, greater(off, 0)))) refuse_gauge(what, largest(k), largest(tolerance_));
}

// Where K does not vanish with d, the loss depends on the basis: at a tie there is no derivative; beside it there
// is one, and it is large.
void Quotients::judge(const Tensor& k, const Tensor& expected, const Tensor& d, Tensor& small) {
  const Unrecorded here;
  const Tensor off = wp::abs(subtract(k, expected));
  Tensor bad = beyond(off, small);
  // Beside a tie what rounding may leave of K is no small part of it. Where the series does not explain K, as where
  // the cotangents are given and nothing follows that could be asked, rounding is measured.
  const Tensor open =
      logical_and(logical_and(small, greater(wp::abs(d), c_.tie)), greater(off, divide(wp::abs(expected), 64)));
  if (any_true(logical_and(open, logical_not(bad))))
    bad = logical_or(bad, logical_and(open, greater(off, rounding())));
  if (!bool(wp::any(bad))) return;
  const Tensor tied = logical_and(bad, less_equal(wp::abs(d), c_.tie));
  if (bool(wp::any(tied))) refuse_gauge(tied_values(tied), largest(where(tied, off, 0)), largest(tolerance_));
  small = logical_and(small, logical_not(bad));
  // K is of the size of d where the series has not settled only: the quotient is no larger than other derivatives.
  const Tensor large = logical_and(bad, greater(off, multiply(wp::abs(expected), 64)));
  if (!bool(wp::any(large))) return;
  const double least = astype(wp::min(where(large, wp::abs(d), HUGE_VAL)), f64).item<double>();
  find_loss(b_, "WP-GRD-008", least, largest(c_.near),
            say("the loss depends on the vectors of values that differ by ", least,
                " only: the derivative is large, about 1/gap, and its digits are lost accordingly."),
            "Use what does not depend on the basis: projector, polar, low_rank, eigh_apply, svd_apply.");
}

// "the basis of the repeated values 2 and 2 (numbers 0 and 1)"
std::string Quotients::tied_values(const Tensor& tied) const {
  const std::vector<bool> all = tied.to_vector<bool>();
  const auto first = static_cast<std::size_t>(std::find(all.begin(), all.end(), true) - all.begin());
  const auto columns = static_cast<std::size_t>(tied.shape().back()), rows = static_cast<std::size_t>(tied.shape(-2));
  const std::size_t member = first / (rows * columns), j = first % columns, i = first / columns % rows;
  const auto k = static_cast<std::size_t>(c_.w.shape().back());
  const auto value = [&](std::size_t number) {
    const std::size_t at = member * k + number;
    return c_.z.empty() ? say(c_.s[at]) : say(c_.z[at]);
  };
  const std::string whose = c_.s.size() > k ? say(" of matrix ", member) : std::string();
  if (rows != columns || i == j || c_.at_zero[member * k + j])
    return say("the vectors of the vanishing value ", value(j), " (number ", j, ")", whose);
  return say("the basis of the repeated values ", value(std::min(i, j)), " and ", value(std::max(i, j)), " (numbers ",
             std::min(i, j), " and ", std::max(i, j), ")", whose);
}

Tensor turning_cotangent(const Backward& b, const Tensor& values, const Tensor& v, const Terms& t, const Clusters& c,
                         const Tensor& diagonal, Tensor* lost) {
  const std::int64_t n = v.shape().back();
  Terms terms;
  for (const Tensor& g : t) terms.push_back(skew(matmul(adjoint(v), g)));
  const Tensor own = unrecorded([&] { return size_of(matmul(adjoint(v), t[0])); });
  const Tensor size = unrecorded(  // a cotangent that vanishes is judged by its derivative
      [&] { return t.size() > 1 ? maximum(own, c.per_size(size_of(matmul(adjoint(v), t[1])))) : own; });
  Quotients quotients(b, c, n, own, size, [&] { return measured_noise(b, {{}, v}, {{}, t[0]}); });
  const Tensor same = astype(eye(n), DType::boolean);
  if (is_complex(v.dtype())) quotients.must_vanish(where(same, terms[0], 0), "the phases of eigenvectors");
  const Tensor pole =
      quotients.of(terms, subtract(row(values), column(values)), subtract(row(c.w), column(c.w)), same);
  const Tensor turn = where(same, 0, pole);
  const Tensor whole =
      unrecorded([&] { return diagonal.defined() ? maximum(size_of(turn), size_of(row(diagonal))) : size_of(turn); });
  quotients.find_cancelled(whole);
  if (lost) *lost = quotients.lost(whole);
  return turn;
}

namespace {

// […, 1, 1]
Tensor steady(const std::vector<Tensors>& t, std::initializer_list<std::size_t> vectors, const Tensor& parts) {
  const auto largest_of = [&](const Tensors& all) {
    Tensor most;
    for (const std::size_t i : vectors)
      if (all[i].defined()) most = most.defined() ? maximum(most, size_of(all[i])) : size_of(all[i]);
    return most;
  };
  const Tensor given = largest_of(t[0]), moved = largest_of(t[1]),
               own = parts.defined() ? maximum(given, parts) : given;
  return moved.defined() ? less_equal(moved, multiply(own, 1e-3)) : greater(own, 0);
}

}  // namespace

std::vector<Tensors> per_size(const Clusters& c, std::vector<Tensors> t) {
  const Unrecorded here;
  for (Tensor& along : t[1])
    if (along.defined() && along.ndim() >= c.near.ndim()) along = c.per_size(along);
  return t;
}

Tensor where_lost(const Backward& b, const Tensor& g, const Tensor& lost, std::initializer_list<std::size_t> vectors,
                  const std::function<std::vector<Tensors>()>& beside, const std::function<Tensor()>& again,
                  const Tensor& parts) {
  Tensor series = g;
  if (b.recorded() && b.sampled()) return series;
  answered([&] {
    const Tensor sure =
        b.recorded() ? unrecorded([&] { return logical_and(lost, steady(beside(), vectors, parts)); }) : lost;
    if (any_true(sure)) series = where(sure, again(), g);
  });
  return series;
}

namespace {

void refuse_splitting(const Tensor& p, const Tensor& small) {
  const Unrecorded here;
  const double allowed = gauge_rounding(p.dtype(), p.shape().back());
  if (any_true(logical_and(small, greater(wp::abs(p), multiply(size_of(p), allowed)))))
    no_derivative_here(
        "the direction splits repeated, nearly repeated or vanishing values in another basis than that "
        "of the vectors.",
        "Use reverse mode (GradientTape).");
}

// p with zeros where `small` is true, which p has there, and its derivatives too.
extern const Op op_vanishing;
Tensor vanishing(const Tensor& p, const Tensor& small) {
  if (followed(p, true))
    no_derivative_here("how vectors of repeated values turn in forward mode is not known to a way back.",
                       "Use GradientTape twice.");
  const Tensor* const in[] = {&p, &small};
  return call1(op_vanishing, in, {}, {});
}
const Op op_vanishing = {
    .name = "repeated_values",
    .group = "linear algebra",
    .doc = "x where it does not vanish.",
    .params = {{"x"}, {"small"}},
    .infer = no_outputs,
    .forward =
        [](Call& c) {
          const Unrecorded here;
          refuse_splitting(c.in[0], c.in[1]);
          c.out.push_back(where(c.in[1], 0, c.in[0]));
        },
    .notes = Notes::moves,
    .flow = flow_everything,
    .jvp =
        [](const Forward& f) {
          return Tensors{f.tangents[0].defined() ? vanishing(f.tangents[0], f.in[1]) : Tensor()};
        },
    .no_derivative = "how vectors of repeated values turn is known in forward mode only where they do not.",
};

}  // namespace

Clusters tangent_clusters(const Tensor& s, const Tensor& bounds, bool zero_counts) {
  int depth = 0;
  for (const Listener* l = context().listeners; l; l = l->outer) depth += l->observer != nullptr;
  return clusters_of(s, bounds, zero_counts, 2 + depth, finfo(s.dtype()).eps);
}

Tensor turning_tangent(const Tensor& p, const Tensor& d, const Tensor& small) {
  if (!unrecorded([&] { return any_true(small); })) return divide(p, d);
  return divide(vanishing(p, small), where(small, 1, d));
}

// Two terms of the series keep two thirds of the digits at every gap; each further differentiation needs one more.
int terms_for(const Backward& b) {
  return 2 + b.depth();
}

}  // namespace wp::linalg
