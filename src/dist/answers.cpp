// Answers from the factors of a distributed system: solutions and inverses.
#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "dist/calling.hpp"
#include "dist/residual.hpp"
#include "dist/scalapack.hpp"
#include "dist/stage.hpp"
#include "dist/system.hpp"
#include "dist/team.hpp"
#include "kernels/condition.hpp"
#include "kernels/each_float.hpp"
#include "kernels/numbers.hpp"
#include "linalg/comparison.hpp"
#include "linalg/refine.hpp"

namespace wp::dist {

// Improves X, the solution of S X = B, and says how good it is.
template <class T>
void System<T>::improve(std::int64_t columns, bool cheap, bool adjoint, const T* b, T* x, Verdict& v) {
  const std::vector<int>& weights = adjoint ? rows_ : columns_;
  const double worse = linalg::amplification<T>(n_, columns, {x, columns, 1}, weights);
  if (!linalg::above_underflow<T>(n_, verdict_.rcond, worse)) return linalg::conclude<T>(v, 1, options_.min_digits);
  const bool pays = linalg::refinement_pays<T>(options_, cheap, verdict_, worse);
  if (!pays && worse > 1)
    linalg::conclude<T>(v, std::min(1.0, linalg::expected_error<T>(verdict_) * worse), options_.min_digits);
  const bool doubtful = verdict_.method == Method::substitution && verdict_.rcond < linalg::kSingular<T>;
  if (pays) {
    const linalg::Refined refined = linalg::refine<T>(
        n_, columns, {x, columns, 1}, weights, {}, linalg::expected_error<T>(verdict_),
        [&](T* r, R* sizes) {
          residual<T>(whole(), {rows_, columns_}, columns, adjoint, b, nullptr, x, r, sizes);
        },
        [&](kernels::MutableView<T> r) { substitute(columns, r.data, adjoint); });
    v.backward_error = refined.backward_error;
    linalg::conclude<T>(v, refined.error, options_.min_digits);
  }
  if (doubtful) linalg::take_proved_error<T>(v, proved_error(columns, adjoint, b, x), options_.min_digits);
}

// linalg::triangular_error of a triangle that is spread.
template <class T>
double System<T>::proved_error(std::int64_t columns, bool adjoint, const T* b, const T* x) {
  const bool upper = verdict_.structure == Structure::upper;
  return linalg::triangular_error<T>(
      n_, columns, {x, columns, 1}, adjoint ? rows_ : columns_,
      [&](T* r, R* sizes) {
        residual<T>(whole(), {rows_, columns_}, columns, adjoint, b, nullptr, x, r, sizes);
      },
      [&](double* bound) {
        Matrix comparison = make_like(given_, f64), v = make_matrix(n_, columns, f64, given_.layout());
        const Local<T> s = local<T>(factors_);
        const Local<double> c = local<double>(comparison);
        c.each([&](std::int64_t i, std::int64_t j, double& m) {
          m = std::abs(linalg::Sum<T>(s.at(s.row.local(i), s.column.local(j))));
          if (i != j) m = -m;
        });
        scatter_columns<double>(bound, 0, columns, local<double>(v));
        scalapack::trtrs<double>(upper, adjoint, false, c, local<double>(v), n_);
        gather_columns<double>(local<double>(v), 0, columns, bound);
      });
}

// Right-hand sides that every rank has, row-major n × columns, to solutions. The first panel brings the two vectors
// along that the estimate begins with.
template <class T>
Verdict System<T>::panel(std::int64_t columns, T* x, bool cheap, bool adjoint) {
  linalg::Frame<T> frame(n_, columns, adjoint ? columns_ : rows_, adjoint ? rows_ : columns_);
  const kernels::MutableView<T> view{x, columns, 1};
  frame.enter(view);
  const bool first = !judged_ && !adjoint && norm_ != 0;
  const std::int64_t wide = columns + 2;
  std::vector<T> b, all;
  together([&] {
    b.assign(x, x + n_ * columns);
    if (first) all.resize(static_cast<std::size_t>(n_ * wide));
  });
  if (first) {
    kernels::inverse_norm_starts<T>(n_, all.data() + columns, all.data() + columns + 1, wide);
    for (std::int64_t i = 0; i < n_; ++i) std::copy_n(x + i * columns, columns, all.data() + i * wide);
    substitute(wide, all.data(), false);
    for (std::int64_t i = 0; i < n_; ++i) std::copy_n(all.data() + i * wide, columns, x + i * columns);
    estimate(
        {all.data() + columns, all.data() + columns + 1, wide},
        !thorough_ && cheap && options_.refine != linalg::Options::Refine::never ? 1 / (kSurelyWell<T> * norm_) : 0);
    conclude_matrix();
  } else {
    judge();
    substitute(columns, x, adjoint);
  }
  Verdict v = verdict_;
  improve(columns, cheap, adjoint, b.data(), x, v);
  frame.leave(view);
  return v;
}

namespace {

// That of the worse answer.
void take_worse(Verdict& all, const Verdict& v) {
  if (v.forward_error > all.forward_error || v.status > all.status) {
    const double backward = std::max(all.backward_error, v.backward_error);
    all = v;
    all.backward_error = backward;
  } else if (v.backward_error > all.backward_error) {
    all.backward_error = v.backward_error;
  }
}

}  // namespace

// X for k right-hand sides; fill(first, count, to) writes some of them, row-major n × count.
template <class T>
template <class Fill>
Verdict System<T>::panels(std::int64_t k, Fill&& fill, Matrix& x, bool adjoint) {
  const bool cheap = linalg::few(n_, k);
  std::vector<T> vectors;
  together([&] { vectors.resize(static_cast<std::size_t>(n_ * std::min(k, kPanel))); });
  std::optional<Verdict> all;
  for (std::int64_t first = 0; first < k; first += kPanel) {
    const std::int64_t count = std::min(kPanel, k - first);
    fill(first, count, vectors.data());
    const Verdict v = panel(count, vectors.data(), cheap, adjoint);
    scatter_columns<T>(vectors.data(), first, count, local<T>(x));
    all ? take_worse(*all, v) : static_cast<void>(all = v);
  }
  return *all;
}

// Many right-hand sides, whose answers are not improved: all of them where they are. None: they must be looked at.
template <class T>
std::optional<Verdict> System<T>::at_once(const Matrix& b, Matrix& x, bool adjoint) {
  if (linalg::few(n_, b.columns())) return {};
  judge();
  const bool doubtful = verdict_.method == Method::substitution && verdict_.rcond < linalg::kSingular<T>;
  if (doubtful || linalg::refinement_pays<T>(options_, false, verdict_)) return {};
  const std::vector<int>&in = adjoint ? columns_ : rows_, &out = adjoint ? rows_ : columns_;
  x = copy_of(b);
  const Local<T> own = local<T>(x);
  std::vector<int> tops(static_cast<std::size_t>(b.columns()), linalg::Frame<T>::kNothing);
  own.each([&](std::int64_t i, std::int64_t c, const T& v) {
    int& top = tops[static_cast<std::size_t>(c)];
    top = std::max(top, linalg::Frame<T>::top(v, in, i));
  });
  all_reduce(tops.data(), b.columns(), MPI_MAX);
  for (int& e : tops) e = linalg::Frame<T>::exponent(e, in);
  const auto scale = [&](const std::vector<int>& by, int sign) {
    if (by.empty() && std::all_of(tops.begin(), tops.end(), [](int e) { return e == 0; })) return;
    own.each([&](std::int64_t i, std::int64_t c, T& v) {
      v = times_power(v, linalg::Frame<T>::at(by, i) + sign * tops[static_cast<std::size_t>(c)]);
    });
  };
  scale(in, -1);
  substitute(x, adjoint);
  const double worse = amplification(x, out);
  Verdict v = verdict_;
  if (!linalg::above_underflow<T>(n_, verdict_.rcond, worse))
    linalg::conclude<T>(v, 1, options_.min_digits);
  else if (linalg::refinement_pays<T>(options_, false, verdict_, worse))
    return {};
  else if (worse > 1)
    linalg::conclude<T>(v, std::min(1.0, linalg::expected_error<T>(verdict_) * worse), options_.min_digits);
  scale(out, 1);
  return v;
}

// A is empty, not finite, or has a zero pivot: there is no number that would be right.
template <class T>
Verdict System<T>::no_answer(const Matrix& like, Matrix& x) {
  judge();
  x = make_like(like, dtype_v<T>);
  fill_nan(x);
  return verdict_;
}

template <class T>
Verdict System<T>::solve(const Matrix& b, Matrix& x, bool adjoint) {
  if (!solvable() || b.columns() == 0) return no_answer(b, x);
  if (const std::optional<Verdict> v = at_once(b, x, adjoint)) return *v;
  x = make_like(b);
  const auto fill = [&](std::int64_t first, std::int64_t count, T* to) {
    gather_columns<T>(local<T>(b), first, count, to);
  };
  return panels(b.columns(), fill, x, adjoint);
}

// The factors of S become S⁻¹; false: they cannot.
template <class T>
bool System<T>::invert_factors() {
  const Local<T> f = local<T>(factors_);
  switch (verdict_.method) {
    case Method::lu: scalapack::getri<T>(f, pivots_); return true;
    case Method::substitution: scalapack::trtri<T>(verdict_.structure == Structure::upper, f); return true;
    case Method::cholesky: break;
    default: return false;
  }
  scalapack::potri<T>(f);
  f.each([](std::int64_t i, std::int64_t j, T& v) {
    if (i < j) v = T(0);
  });
  Matrix turned = make_like(factors_);
  scalapack::transpose<T>(true, f, local<T>(turned));
  const Local<T> t = local<T>(turned);
  f.each([&](std::int64_t i, std::int64_t j, T& v) {
    if (i < j) v = t.at(f.row.local(i), f.column.local(j));
  });
  return true;
}

// linalg::amplification of columns that are spread.
template <class T>
double System<T>::amplification(const Matrix& x, const std::vector<int>& weights) const {
  if (weights.empty()) return 1;
  const linalg::Weighed weighed(weights);
  std::vector<double> most(static_cast<std::size_t>(2 * x.columns()), 0);  // plain, weighed
  local<T>(x).each([&](std::int64_t i, std::int64_t j, const T& v) {
    const double size = v == v ? size_of_number(v) : std::numeric_limits<double>::infinity();
    double* const at = most.data() + 2 * j;
    at[0] = std::max(at[0], size);
    at[1] = std::max(at[1], weighed(size, i));
  });
  all_reduce(most.data(), 2 * x.columns(), MPI_MAX);
  double worst = 1;
  for (std::size_t j = 0; j < most.size(); j += 2)
    if (most[j] > 0) worst = std::max(worst, most[j + 1] > 0 ? most[j] / most[j + 1] : HUGE_VAL);
  return worst;
}

template <class T>
Verdict System<T>::inverse(Matrix& x) {
  judge();
  x = {};
  // No refinement makes a singular matrix good; of triangles, the error may be proved to be small.
  if (!solvable() || (verdict_.status == Status::singular && verdict_.method != Method::substitution &&
                      options_.if_ill != Policy::ignore))
    return no_answer(given_, x);
  // Improving n right-hand sides costs more than the inverse: only what would not be ok otherwise.
  constexpr double kPoor = 1e-7;
  const auto good = [&](const Verdict& v) {
    return options_.refine == Options::Refine::never ||
           (options_.refine != Options::Refine::always && v.forward_error <= kPoor);
  };
  if (good(verdict_) && invert_factors()) {
    Verdict v = verdict_;
    if (const double worse = amplification(factors_, columns_); worse > 1)
      linalg::conclude<T>(v,
                          linalg::above_underflow<T>(n_, v.rcond, worse)
                              ? std::min(1.0, linalg::expected_error<T>(verdict_) * worse)
                              : 1,
                          options_.min_digits);
    if (good(v)) {
      if (!rows_.empty())  // A⁻¹ = C S⁻¹ R
        local<T>(factors_).each([&](std::int64_t i, std::int64_t j, T& e) {
          e = times_power(e, columns_[static_cast<std::size_t>(i)] + rows_[static_cast<std::size_t>(j)]);
        });
      x = std::move(factors_);
      factors_ = {};
      return v;
    }
    factor();
  }
  x = make_like(given_, dtype_v<T>);
  const auto unit = [&](std::int64_t first, std::int64_t count, T* to) {
    std::fill_n(to, n_ * count, T(0));
    for (std::int64_t c = 0; c < count; ++c) to[(first + c) * count + c] = T(1);
  };
  return panels(n_, unit, x, false);
}

#define WP_INSTANTIATE(T)                                          \
  template Verdict System<T>::solve(const Matrix&, Matrix&, bool); \
  template Verdict System<T>::inverse(Matrix&);
WP_FOR_FLOATS(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::dist
