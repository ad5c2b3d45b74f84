#include "linalg/solving.hpp"

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "kernels/condition.hpp"
#include "kernels/modular.hpp"
#include "kernels/numbers.hpp"
#include "linalg/augmented.hpp"
#include "linalg/certified.hpp"
#include "linalg/choice.hpp"
#include "linalg/kept.hpp"
#include "linalg/rules.hpp"
#include "linalg/small.hpp"
#include "linalg/tikhonov.hpp"

namespace wp::linalg {
namespace {

// One member, from the matrix and the right-hand side in X (an identity for an inverse) to X and the verdict.
template <class T>
class Solver {
 public:
  Solver(const Problem& p, const Options& o, const Factors* factors)
      : p_(p), o_(o), a_(p.a, p.batch), kept_(factors, p.batch) {}

  Verdict run(std::int64_t member, T* x) const {
    const kernels::MutableView<T> to{x, p_.k, 1};
    if (o_.ridge.rule != RidgeRule::none && o_.if_ill != Policy::ridge)
      return regularised(member, to, Method::ridge, {});
    if (p_.b.defined() && !kernels::all_finite<T>(p_.n, p_.k, to)) {
      std::fill_n(x, p_.n * p_.k, not_a_number());
      Verdict v;
      v.status = Status::nonfinite_input;
      return v;
    }
    if (kept_) {
      const System<T>& system = kept_.system(member);
      return finish(system.matrix(), member, to,
                    p_.b.defined() ? system.solve(p_.k, to, kept_.adjoint()) : system.inverse(x, p_.k));
    }
    using Estimate = typename System<T>::Estimate;
    System<T> system(p_.n, a_[member], o_, p_.b.defined() ? Estimate::with_solve : Estimate::now);
    return finish(system.matrix(), member, to,
                  p_.b.defined() ? system.first_solve(p_.k, to) : system.inverse(x, p_.k));
  }

  // From the answer of a system with this matrix to what the options ask for.
  Verdict finish(kernels::View<T> matrix, std::int64_t member, kernels::MutableView<T> x, Verdict v) const {
    Dense<T> turned;                                 // Aᴴ, where that is asked about
    const bool due = System<T>::u < 1e-3 * v.rcond;  // an answer, whatever the scales
    const bool surprising =
        v.status != Status::ok && v.status <= Status::singular && p_.n <= kQuadLargest && !v.exactly_singular && due;
    if (kept_.adjoint() && (o_.high || o_.certify || surprising))
      turned = Dense<T>(p_.n, p_.n, matrix.transposed().conjugated());
    const kernels::View<T> a = turned.data.empty() ? matrix : std::as_const(turned).view();
    // A good condition after scaling, but scales that make errors count: 113 bits decide.
    if (o_.high || surprising) finish_in_quad(a, member, x, v);
    if (v.status < Status::singular) {
      if (o_.certify) certify(a, member, x, v);
      return v;
    }
    if (v.status == Status::singular && (o_.if_ill == Policy::pinv || o_.if_ill == Policy::ridge)) {
      restore(member, x.data);
      return regularised(member, x, o_.if_ill == Policy::pinv ? Method::pinv : Method::ridge, v);
    }
    if (o_.if_ill != Policy::ignore || v.status == Status::nonfinite_input || v.status == Status::not_spd)
      std::fill_n(x.data, p_.n * p_.k, not_a_number());
    return v;
  }

  // What double has not resolved.
  void finish_in_quad(kernels::View<T> a, std::int64_t member, kernels::MutableView<T> x, Verdict& v) const {
    if (p_.n > kQuadLargest || v.status == Status::nonfinite_input || v.exactly_singular) return;
    if (v.status != Status::singular && v.forward_error <= 2 * System<T>::u) return;
    if (kept_ && !kept_.adjoint()) return finish_by(kept_.quad(member), a, member, x, v);
    finish_by(QuadLu<T>(p_.n, a), a, member, x, v);
  }
  void finish_by(const QuadLu<T>& lu, kernels::View<T> a, std::int64_t member, kernels::MutableView<T> x,
                 Verdict& v) const {
    // Scaling by the answer eliminates anew for every column.
    constexpr double kWork = 2e7;
    const bool cheap = std::pow(static_cast<double>(p_.n), 3) * static_cast<double>(p_.k) <= kWork;
    kernels::Buffer<T> answer(std::max<std::int64_t>(p_.n * p_.k, 1));
    restore(member, answer.data());
    double error = 0;
    for (std::int64_t j = 0; j < p_.k && error < 1; ++j)
      error = std::max(error, quad_solve<T>(lu, a, answer.data() + j, p_.k, cheap ? 6 : 0,
                                            [&](std::int64_t i) { return is_zero(a, member, i, j); }));
    if (error >= 1) return;
    std::copy_n(answer.data(), p_.n * p_.k, x.data);
    v.method = Method::quad_lu;
    v.rcond = std::max(v.rcond, lu.rcond());
    conclude<T>(v, std::min(1.0, System<T>::u + error), o_.min_digits, 4 * kQuadRoundOff);
  }

  // Whether x_ij is exactly 0: by Cramer's rule, if A with b_j for its column i is singular.
  bool is_zero(kernels::View<T> a, std::int64_t member, std::int64_t i, std::int64_t j) const {
    constexpr std::int64_t kLargest = 32;
    if (p_.n > kLargest) return false;
    Dense<T> m(p_.n, p_.n, a);
    kernels::Buffer<T> b(p_.n * p_.k);
    restore(member, b.data());
    for (std::int64_t k = 0; k < p_.n; ++k) m(k, i) = b.data()[k * p_.k + j];
    return kernels::exactly_singular<T>(p_.n, std::as_const(m).view());
  }

  // A bound that is proved, in the place of the estimate.
  void certify(kernels::View<T> a, std::int64_t member, kernels::View<T> x, Verdict& v) const {
    kernels::Buffer<T> b(std::max<std::int64_t>(p_.n * p_.k, 1));
    restore(member, b.data());
    take_certified(certified_error<T>(p_.n, p_.k, a, {b.data(), p_.k, 1}, x), v);
  }
  void take_certified(const std::optional<double>& error, Verdict& v) const {
    if (!error || digits_of(*error, System<T>::u) < 1) return;
    v.certified = true;
    v.forward_error = *error;
    v.digits = digits_of(*error, System<T>::u);
    if (v.status <= Status::ill_conditioned) v.status = status_of(v.digits, o_.min_digits, System<T>::u);
  }

  // The right-hand side into X.
  void restore(std::int64_t member, T* x) const {
    if (!p_.b.defined()) {
      std::fill_n(x, p_.n * p_.n, T(0));
      for (std::int64_t i = 0; i < p_.n; ++i) x[i * p_.n + i] = T(1);
      return;
    }
    const kernels::View<T> b = Stack<T>(p_.b, p_.batch)[member];
    for (std::int64_t i = 0; i < p_.n; ++i)
      for (std::int64_t j = 0; j < p_.k; ++j) x[i * p_.k + j] = b.data[i * b.rows + j * b.columns];
  }

 private:
  static T not_a_number() { return T(std::numeric_limits<typename System<T>::Real>::quiet_NaN()); }

  // With the matrix that is meant: shifted, or of one triangle.
  Verdict regularised(std::int64_t member, kernels::MutableView<T> x, Method method, const Verdict& v) const {
    const auto by = [&](kernels::View<T> a) {
      return [&, a](const Spectral<T>& svd) { return regularised_by(a, svd, x, method, v); };
    };
    const kernels::View<T> given = a_[member];
    if (as_given(o_) && !kept_.adjoint()) return kept_.spectral(member, p_.n, p_.n, given, false, by(given));
    Dense<T> meant(p_.n, p_.n);
    for (std::int64_t i = 0; i < p_.n; ++i)
      for (std::int64_t j = 0; j < p_.n; ++j) {
        const auto at = [&](std::int64_t r, std::int64_t s) {
          return given.data[r * given.rows + s * given.columns];
        };
        meant(i, j) = as_given(o_) ? at(i, j) : meant_element<T>(o_, i, j, at(i, j), conjugate(at(j, i)));
      }
    const kernels::View<T> a = std::as_const(meant).view();
    return by(a)(Spectral<T>(p_.n, p_.n, a));
  }
  Verdict regularised_by(kernels::View<T> a, const Spectral<T>& svd, kernels::MutableView<T> x, Method method,
                         Verdict v) const {
    v.method = method;
    if (const bool finite = kernels::all_finite<T>(p_.n, p_.k, x); !finite || svd.status() != Status::ok) {
      v.status = Status::nonfinite_input;
      if (finite) svd.judge(v);
      std::fill_n(x.data, p_.n * p_.k, not_a_number());
      return v;
    }
    kernels::Buffer<T> b(std::max<std::int64_t>(p_.n * p_.k, 1));
    std::copy_n(x.data, p_.n * p_.k, b.data());
    const kernels::View<T> data{b.data(), p_.k, 1};
    if (method == Method::pinv) {
      const double least = 2 * System<T>::u * static_cast<double>(p_.n) * svd.largest();
      const Minimised found = least_squares<T>(p_.n, p_.n, p_.k, a, svd, least, data, x);
      v.kept = found.kept;
      v.forward_error = found.error;
      v.digits = digits_of(found.error, System<T>::u);
    } else {
      const bool given = o_.ridge.rule == RidgeRule::given;
      const RidgeRule rule = o_.ridge.rule == RidgeRule::none ? RidgeRule::automatic : o_.ridge.rule;
      v.ridge = given ? o_.ridge.given : svd.choose_ridge(rule, o_.ridge.noise, p_.b.defined() ? p_.k : 0, data);
      v.freedom = svd.freedom(v.ridge);
      const double error = tikhonov_solution<T>(p_.n, p_.n, p_.k, a, svd, v.ridge, data, x);
      conclude_ridge<T>(v, error, o_.min_digits);
      if (o_.certify && v.ridge > 0)
        take_certified(certified_least_squares<T>(p_.n, p_.n, p_.k, a, data, x, v.ridge, svd.sigma().back()), v);
    }
    return v;
  }

  const Problem& p_;
  const Options& o_;
  const Stack<T> a_;
  const KeptFor<T> kept_;
};

// All members, or those of `which`, whose answers follow each other.
template <class T>
void run(const Problem& p, const Options& o, const Factors* factors, T* x, Verdicts& verdicts,
         const std::vector<std::int64_t>& which = {}) {
  const Solver<T> solver(p, o, factors);
  for_members(static_cast<std::int64_t>(verdicts.size()), p.n, [&](std::int64_t i) {
    T* const to = x + i * p.n * p.k;
    const std::int64_t member = which.empty() ? i : which[static_cast<std::size_t>(i)];
    solver.restore(member, to);
    verdicts[static_cast<std::size_t>(i)] = solver.run(member, to);
  });
}

// Rows and columns from the last to the first: what is a lower triangle is an upper one, whose pivots stand on its
// diagonal.
template <class T>
kernels::batched::Source<T> turned(kernels::batched::Source<T> a, std::int64_t m, std::int64_t n) {
  return {a.data + (m - 1) * a.rows + (n - 1) * a.columns, a.step, -a.rows, -a.columns, a.first};
}
template <class T>
void solve_lower(std::int64_t n, std::int64_t columns, const Sources<T>& from, Range range, T* y, bool refined,
                 Marks marks) {
  kernels::batched::Source<T> b = turned(from.b, n, 1);
  b.columns = from.b.columns;
  kernels::batched::solve<T>(n, columns, turned(from.a, n, n), b, range, y, refined, marks);
  for (std::int64_t i = range.begin; i < range.end; ++i)
    for (T *top = y + i * n * columns, *row = top + (n - 1) * columns; top < row; top += columns, row -= columns)
      std::swap_ranges(top, top + columns, row);
}

// Through lanes; members in doubt as a stack of their own, or by the factors that are kept.
void run_small(const Problem& p, const Options& o, const Factors* factors, const Tensor& y, Diagnosis::State& state) {
  const bool inverse = !p.b.defined(), refined = !inverse && few(p.n, p.k);
  Verdict common;
  common.method = p.triangle == Assume::detect ? Method::lu : Method::substitution;
  const Tensor rcond = inverse ? number_of_each(p.batch) : Tensor();
  through_lanes(
      {.a = p.a,
       .b = p.b,
       .batch = p.batch,
       .size = p.n,
       .outputs = {y},
       .common = common,
       .detail = system_detail(p.a, p.batch, rcond, refined ? refined_error : inverse_error),
       .numbers = rcond},
      state.verdicts,
      [&]<class T>(const Sources<T>& from, Range range, Marks marks) {
        if (inverse) return kernels::batched::inverse<T>(p.n, from.a, range, data_of<T>(y), marks);
        by_strips<T>(p.n, p.k, from, range, data_of<T>(y), marks,
                     [&](const Sources<T>& some, std::int64_t columns, Range here, T* x, Marks own) {
                       if (p.triangle == Assume::lower)
                         solve_lower<T>(p.n, columns, some, here, x, refined, own);
                       else
                         kernels::batched::solve<T>(p.n, columns, some.a, some.b, here, x, refined, own);
                     });
      },
      [&](const std::vector<std::int64_t>& doubtful, const Tensors& to, Verdicts& verdicts) {
        const auto stack = [&](const Tensor& t) {
          return factors ? brought(t, f64) : members_of(t, p.batch, doubtful, f64);
        };
        Problem rest = p;
        rest.a = stack(p.a);
        if (!inverse) rest.b = stack(p.b);
        if (!factors) rest.batch = {static_cast<std::int64_t>(doubtful.size())};
        run<double>(rest, o, factors, data_of<double>(to[0]), verdicts,
                    factors ? doubtful : std::vector<std::int64_t>());
      });
}

// For the derivative, where members were not solved as they are: how (0 plainly, 1 by a pseudo-inverse, 2 with a
// ridge), λ, and the singular values that counted.
void keep_methods(const Call& c, const Diagnosis::State& s) {
  const auto other = [](const Verdict& v) { return v.method == Method::pinv || v.method == Method::ridge; };
  if (!s.verdicts.any_own(other)) return;
  const Tensor methods = Tensor::adopt(detail::make_node(i64, s.batch)),
               ridges = Tensor::adopt(detail::make_node(f64, s.batch));
  for (std::size_t i = 0; i < s.verdicts.size(); ++i) {
    const Verdict v = s.verdicts[i];
    reinterpret_cast<std::int64_t*>(methods.node()->data)[i] = v.method == Method::pinv    ? 1
                                                               : v.method == Method::ridge ? 2
                                                                                           : 0;
    reinterpret_cast<double*>(ridges.node()->data)[i] = v.method == Method::ridge ? v.ridge : 0;
  }
  c.beside().residuals = {methods, ridges, kept_values(s.batch, s.verdicts)};
}

}  // namespace

DType float_result(DType dtype) {
  return is_floating(dtype) ? dtype : f64;
}

std::int64_t own_member(std::int64_t i, const Dims& batch, const Dims& own) {
  std::int64_t member = 0, scale = 1;
  for (std::size_t k = batch.size(), shift = k - own.size(); k-- > shift;) {
    if (own[k - shift] != 1) member += i % batch[k] * scale;
    scale *= own[k - shift];
    i /= batch[k];
  }
  return member;
}

void take_right_side(Problem& p, const Call& c, std::int64_t n, const Dims& own, std::size_t left,
                     std::size_t right) {
  const Tensor& b = c.in[right];
  const bool vector = b.ndim() == 1;
  const std::int64_t rows = b.ndim() == 0 ? -1 : b.shape()[b.shape().size() - (vector ? 1 : 2)];
  if (rows != n) {
    const std::string_view a_name = c.op.params[left].name, b_name = c.op.params[right].name;
    refuse<ShapeError>("WP-SHP-017",
                       say(b_name, " must have as many rows as ", a_name, "; got ", a_name, " ", c.in[left].shape(),
                           ", ", b_name, " ", b.shape(), "."),
                       "A vector is 1-d; stacks of vectors are [..., n, 1].");
  }
  p.n = n;
  p.k = vector ? 1 : b.shape().back();
  p.b = vector ? view_of(b, {n, 1}, {b.strides()[0], 1}) : b;
  p.batch = broadcast(own, batch_of(p.b));
}

Dims answer_shape(const Problem& p, bool vector) {
  Dims shape = p.batch;
  shape.push_back(p.n);
  if (!vector) shape.push_back(p.k);
  return shape;
}

void flow_right_side(const FlowQuery& q, const Problem& p, Visit visit) {
  const std::int64_t member = own_member(q.element / (p.n * p.k), p.batch, batch_of(p.b));
  for (std::int64_t i = 0; i < p.n; ++i) visit((member * p.n + i) * p.k + q.element % p.k);
}

void flow_members(const FlowQuery& q, std::int64_t in_each, std::int64_t out_each, Visit visit) {
  const std::int64_t members = q.call.in[q.input].size() / std::max<std::int64_t>(in_each, 1);
  const std::int64_t member = members == 1 ? 0 : q.element / out_each % members;
  for (std::int64_t e = 0; e < in_each; ++e) visit(member * in_each + e);
}

Columns columns_of(const Tensor& b, const Dims& batch, std::int64_t n) {
  return {.rows = n, .zero = [b, batch, n](std::int64_t member, std::int64_t column) {
            return b.defined() && with_float(b.dtype(), [&]<class T>(T) {
                     const kernels::View<T> right = Stack<T>(b, batch)[member];
                     std::int64_t i = 0;
                     while (i < n && right.data[i * right.rows + column * right.columns] == T(0)) ++i;
                     return i == n;
                   });
          }};
}

void run_systems(Call& c, const Problem& given, const Options& options) {
  Tensor& y = c.out[0];
  Options quiet = options;
  if (c.diagnosed && quiet.if_ill == Policy::raise) quiet.if_ill = Policy::nan;
  Options anyhow = options;
  if (given.triangle == options.assume) anyhow.assume = Assume::general;
  const bool small = fits_lanes(y.dtype(), count_of(given.batch), given.n, given.n) &&
                     columns_fit_lanes(given.n, given.k) && plain(anyhow, factors_of(c));
  auto state = new_state(c, given.batch, options.names, !small);
  state->matrix = given.a;
  // Inverting in twice the precision costs less than refining n right-hand sides.
  const DType work = small ? y.dtype() : working_dtype(y.dtype(), given.b.defined() ? given.n : 0);
  Problem p = given;
  p.a = brought(small && factors_of(c) ? factors_of(c)->kept->matrix() : given.a, work);
  if (given.b.defined()) p.b = brought(given.b, work);
  if (small) {
    state->threshold = System<double>::threshold;
    run_small(p, quiet, factors_of(c), y, *state);
  } else {
    Result x(y, work);
    with_float(work, [&]<class T>(T) {
      state->threshold = options.high && p.n <= kQuadLargest ? 4 * kQuadRoundOff : System<T>::threshold;
      run<T>(p, quiet, factors_of(c), x.data<T>(), state->verdicts);
    });
    x.finish();
  }
  state->verdicts.each_own([&](std::size_t, Verdict& v) {
    if (v.certified && work != y.dtype()) v.forward_error += round_off(y.dtype());
  });
  if (options.certify) report_uncertified(c, *state);
  keep_methods(c, *state);
  settle(c, std::move(state), options.if_ill, given.advice, true, columns_of(p.b, p.batch, p.n));
}

}  // namespace wp::linalg
