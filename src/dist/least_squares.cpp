// lstsq: by QR where the matrix is far from a lower rank, else by its singular values.
#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "dist/calling.hpp"
#include "dist/errors.hpp"
#include "dist/one_place.hpp"
#include "dist/residual.hpp"
#include "dist/scalapack.hpp"
#include "dist/spectral.hpp"
#include "dist/stage.hpp"
#include "dist/team.hpp"
#include "kernels/condition.hpp"
#include "kernels/numbers.hpp"
#include "linalg/cutoff.hpp"
#include "linalg/filters.hpp"
#include "linalg/refine.hpp"
#include "linalg/scaled_condition.hpp"
#include "linalg/stack.hpp"
#include "linalg/tikhonov.hpp"
#include "ops/lines.hpp"

namespace wp::dist {
namespace {

constexpr std::int64_t kNumbers = 1 << 22;  // of vectors that are on every rank at a time

// [1 M; Mᴴ 0] [p; q] = [c; d] with M = Q R tall, of full rank (linalg/augmented.hpp): with d = 0 the q that minimises
// |M q − c|, with c = 0 the shortest p with Mᴴ p = d. Improved as one system (Björck 1967). M = A, or Aᴴ of a wide A.
template <class T>
class Augmented {
 public:
  using R = typename kernels::RealOf<T>::type;
  // rcond decides something where it is about `decides`; 0: everywhere. It is estimated no further than that.
  Augmented(const Matrix& a, double decides)
      : a_(a),
        wide_(a.rows() < a.columns()),
        rows_(std::max(a.rows(), a.columns())),
        n_(std::min(a.rows(), a.columns())),
        factors_(wide_ ? make_matrix(rows_, n_, a.dtype(), a.layout()) : copy_of(a)) {
    if (wide_) scalapack::transpose<T>(true, local<T>(a_), local<T>(factors_));
    scalapack::geqrf<T>(local<T>(factors_), tau_);
    double norm = 0;
    std::vector<double> sums(static_cast<std::size_t>(n_), 0);
    int zero = 0;
    local<T>(factors_).each([&](std::int64_t i, std::int64_t j, const T& v) {
      if (i <= j) sums[static_cast<std::size_t>(j)] += static_cast<double>(std::abs(v));
      zero |= i == j && v == T(0);
    });
    all_sum(sums.data(), n_);
    for (const double s : sums) norm = std::max(norm, s);
    if (reduced(zero, MPI_MAX) || !(norm > 0)) return;
    std::vector<T> starts(static_cast<std::size_t>(2 * n_));
    kernels::inverse_norm_starts<T>(n_, starts.data(), starts.data() + 1, 2);
    triangle(2, starts.data(), false);
    const auto found = kernels::inverse_norm<T>(
        n_, [&](T* x) { triangle(1, x, false); }, [&](T* x) { triangle(1, x, true); },
        {starts.data(), starts.data() + 1, 2},
        decides > 0 && 10 * decides < kSurelyWell<T> ? 1 / (kSurelyWell<T> * norm) : 0);
    const auto inverse = static_cast<double>(found.estimate);
    rcond_ = inverse > 0 && std::isfinite(inverse) ? 1 / norm / inverse : 0;
  }
  double rcond() const noexcept { return rcond_; }  // of R, 1-norm

  // z = [p; q] from right = [c; d], (rows + n) × k row-major; the error of p or q.
  linalg::Refined solve(std::int64_t k, const T* right, T* z, bool want_p) {
    std::copy_n(right, (rows_ + n_) * k, z);
    together([&] { kept_.resize(static_cast<std::size_t>(rows_ * k)); });
    apply(k, z);
    std::vector<int> weights(static_cast<std::size_t>(rows_ + n_), 0);
    constexpr int kLight = -4000;  // what is not asked for does not count
    std::fill(weights.begin() + (want_p ? rows_ : 0), want_p ? weights.end() : weights.begin() + rows_, kLight);
    return linalg::refine<T>(
        rows_ + n_, k, {z, k, 1}, weights, {}, 0,
        [&](T* r, R* sizes) {
          const T *p = z, *q = z + rows_ * k;
          residual<T>(a_, {none_, none_}, k, wide_, right, p, q, r, sizes);
          residual<T>(a_, {none_, none_}, k, !wide_, right + rows_ * k, nullptr, p, r + rows_ * k,
                      sizes ? sizes + rows_ * k : nullptr);
        },
        [&](kernels::MutableView<T> r) { apply(k, r.data); });
  }

 private:
  // X ← R⁻¹X, R⁻ᴴX.
  void triangle(std::int64_t k, T* x, bool adjoint) {
    Matrix v = make_matrix(n_, k, a_.dtype(), a_.layout());
    scatter_columns<T>(x, 0, k, local<T>(v));
    scalapack::trtrs<T>(true, adjoint, false, local<T>(factors_), local<T>(v), n_);
    gather_columns<T>(local<T>(v), 0, k, x);
  }
  void turn(std::int64_t k, T* x, bool adjoint) {  // Qᴴ x, Q x
    Matrix v = make_matrix(rows_, k, a_.dtype(), a_.layout());
    scatter_columns<T>(x, 0, k, local<T>(v));
    scalapack::apply_q<T>(adjoint, n_, local<T>(factors_), tau_, local<T>(v));
    gather_columns<T>(local<T>(v), 0, k, x);
  }
  // h = R⁻ᴴ d, e = Qᴴ c; q = R⁻¹(e₁ − h), p = Q [h; e₂] = c − M q. The latter takes a third of the time, and loses
  // what cancels: no matter where q is asked for.
  void apply(std::int64_t k, T* z) {
    T *const c = z, *const d = z + rows_ * k;
    if (!all_zero(d, n_ * k)) triangle(k, d, true);
    if (!wide_) std::copy_n(c, rows_ * k, kept_.data());
    if (!all_zero(c, rows_ * k)) turn(k, c, true);
    for (std::int64_t i = 0; i < n_ * k; ++i) {
      const T h = d[i];
      d[i] = c[i] - h;
      c[i] = h;
    }
    triangle(k, d, false);
    if (wide_)
      turn(k, c, false);
    else
      residual<T>(a_, {none_, none_}, k, false, kept_.data(), nullptr, d, c, nullptr);
  }
  static bool all_zero(const T* x, std::int64_t count) {
    return std::all_of(x, x + count, [](const T& v) { return v == T(0); });
  }

  Matrix a_;
  bool wide_;
  std::int64_t rows_, n_;
  Matrix factors_;
  std::vector<T> tau_;
  const std::vector<int> none_;  // scales
  std::vector<T> kept_;
  double rcond_ = 0;
};

struct Settings {
  linalg::Cutoff cutoff;
  linalg::Ridge ridge;
};

template <class T>
bool by_qr(const Matrix& a, const Matrix& b, const Settings& o, bool told, Verdict& v, Matrix& x) {
  const std::int64_t m = a.rows(), n = a.columns(), longest = std::max(m, n), k = std::min(m, n);
  if (k == 0 || o.cutoff.atol > 0) return false;
  const bool tall = m >= n;
  const double least = 1e3 * std::max(o.cutoff.rtol, 2 * linalg::kUnit<T> * static_cast<double>(longest));
  Augmented<T> system(a, told ? 0 : least);
  if (!(system.rcond() > least)) return false;
  v.method = Method::qr;
  v.rcond = system.rcond();
  v.kept = k;
  x = make_matrix(n, b.columns(), a.dtype(), a.layout(), b.is_vector());
  const std::int64_t width = std::clamp<std::int64_t>(kNumbers / longest, 1, kPanel), total = longest + k;
  double error = linalg::kUnit<T>;
  for (std::int64_t first = 0; first < b.columns(); first += width) {
    const std::int64_t count = std::min(width, b.columns() - first);
    std::vector<T> right, z;
    together([&] {
      right.assign(static_cast<std::size_t>(total * count), T(0));
      z.resize(right.size());
    });
    gather_columns<T>(local<T>(b), first, count, right.data() + (tall ? 0 : longest * count));
    const linalg::Refined found = system.solve(count, right.data(), z.data(), !tall);
    error = std::max(error, found.error);
    scatter_columns<T>(z.data() + (tall ? longest * count : 0), first, count, local<T>(x));
  }
  linalg::conclude_least_squares<T>(v, error);
  return true;
}

template <class T>
void by_values(const Matrix& given, const Matrix& a, const Matrix& b, const Settings& o, Verdict& v, Matrix& x,
               linalg::Diagnosis::State& state) {
  Spectral<T> svd(a, true);
  v.status = svd.status();
  v.method = Method::svd;
  if (v.status != Status::ok) {
    x = make_matrix(a.columns(), b.columns(), a.dtype(), a.layout(), b.is_vector());
    fill_nan(x);
    return;
  }
  const std::vector<double>& sigma = svd.sigma();
  const double least = o.cutoff(svd.largest());
  const std::int64_t rank = svd.rank(least);
  if (!state.matrix.defined()) keep_spectrum<T>(state, given, svd, rank);
  if (o.ridge.rule != linalg::RidgeRule::none) {
    v.method = Method::ridge;
    v.ridge = svd.choose_ridge(o.ridge, &b);
    v.freedom = linalg::freedom(sigma, v.ridge);
    x = svd.apply(linalg::tikhonov(sigma, v.ridge, linalg::kUnit<T>), &b);
    linalg::conclude_ridge<T>(v, ridge_error<T>(a, svd, v.ridge, &b, x));
    return;
  }
  v.kept = rank;
  x = svd.apply(linalg::truncated(sigma, least), &b);
  v.rcond = v.kept > 0 ? sigma[static_cast<std::size_t>(v.kept - 1)] / svd.largest() : 1;
  linalg::conclude_least_squares<T>(v, truncated_error<T>(a, svd, v.kept, &b, x));
}

// By linalg itself.
void ask_one_place(const Matrix& a, const Matrix& b, const LstsqOptions& o, linalg::Diagnosis::State& state,
                   Verdict& v, Matrix& x) {
  if (!state.matrix.defined()) state.matrix = brought_together(a);
  const Tensor left = state.matrix, right = brought_together(b);
  const Found found = in_one_place([&] {
    const auto one = linalg::diagnosed::lstsq(left, right, o);
    return std::pair{std::vector<Tensor>{one.value}, one.diagnosis};
  });
  x = spread(found.values[0], a.layout(), b.is_vector());
  v = found.verdict;
}

// What linalg would tell of a matrix of full rank: rcond from the singular values, which it has, if somebody asks.
void keep_known(linalg::Diagnosis::State& state, std::int64_t rank) {
  state.spectrum = [whole = state.matrix, rank](std::int64_t, linalg::Member& m) {
    m.rank = rank;
    if (!whole.defined() || std::isnan(m.cond)) return;
    const DType work = is_complex(whole.dtype()) ? c128 : f64;
    linalg::with_float(work, [&]<class T>(T) {
      const Tensor a = packed(whole, work);
      const std::int64_t rows = a.shape()[0], columns = a.shape()[1];
      const kernels::View<T> view{reinterpret_cast<const T*>(a.node()->data), columns, 1};
      m.rcond = linalg::scaled_rcond_of<T>(rows, columns, view, rank,
                                           linalg::balanced_rcond<T>(rows, columns, view, 1 / m.cond));
    });
  };
}

Diagnosed<Matrix> minimised(const Matrix& left, const Matrix& right, const LstsqOptions& o, bool told, Where where) {
  const Stage stage("dist.lstsq", where);
  const SolveOptions as_solve{
      .if_ill = o.if_ill, .ridge = o.ridge, .noise = o.noise, .certify = o.certify, .names = o.names};
  meet(say("dist.lstsq A ", facts(left), ", b ", facts(right), ", rtol ", o.rtol.value_or(-1), ", atol ", o.atol,
           ", ", options_text(as_solve)));
  need_matrix(left);
  need_defined(right, "b");
  need_no_out(o.out);
  if (left.rows() != right.rows())
    refuse<ShapeError>("WP-SHP-017",
                       say("b must have as many rows as A; got A ", shape_of(left), ", b ", shape_of(right), "."));
  const auto [a, b] = alike(left, right, where);
  policy_of(o.if_ill);
  if (o.certify) need_one_place(a, "certify", "The diagnosis of the plain call has an estimate of the error.");
  // What counts as zero is decided by the dtype that was given, also where more digits are computed.
  const Settings settings{linalg::cutoff_of(o.rtol, o.atol, a.dtype(), std::max(a.rows(), a.columns())),
                          system_options({.ridge = o.ridge, .noise = o.noise}).ridge};
  Verdict v;
  Matrix x;
  auto state = new_state("lstsq", v);
  state->names = labels_of(o.names, a);
  state->cutoff = {settings.cutoff.rtol, settings.cutoff.atol};
  if (told && fits_one_place(a)) state->matrix = brought_together(a);
  std::string bad = nonfinite_element(a, "A", state->names);
  if (bad.empty()) bad = nonfinite_element(b, "b");
  const DType work = linalg::working_dtype(a.dtype(), std::max(a.rows(), a.columns()));
  linalg::with_float(work, [&]<class T>(T) {
    if (!bad.empty()) {
      v.status = Status::nonfinite_input;
      v.method = Method::svd;
      x = make_matrix(a.columns(), b.columns(), a.dtype(), a.layout(), b.is_vector());
      fill_nan(x);
      return;
    }
    const bool fits = fits_one_place(a), ridge = settings.ridge.rule != linalg::RidgeRule::none;
    const Matrix wide = converted(a, work), side = converted(b, work);
    if (o.certify || (!ridge && !by_qr<T>(wide, side, settings, told, v, x) && fits)) {
      ask_one_place(a, b, o, *state, v, x);
      return;
    }
    if (v.method == Method::none) by_values<T>(a, wide, side, settings, v, x, *state);
    if (fits && in_doubt<T>(v)) ask_one_place(a, b, o, *state, v, x);
    x = converted(x, a.dtype());
  });
  consider_dtype(v, x, a.dtype());
  state->verdicts[0] = v;
  if (!bad.empty()) state->nonfinite = [bad](std::int64_t) { return bad; };
  if (v.method == Method::qr) keep_known(*state, v.kept);
  without_rule("dist.lstsq", {a, b}, {}, {&x});
  return {x, linalg::Diagnosis(state)};
}

}  // namespace

Diagnosed<Matrix> diagnosed::lstsq(const Matrix& a, const Matrix& b, const LstsqOptions& o, Where where) {
  return minimised(a, b, o, true, where);
}

Matrix lstsq(const Matrix& a, const Matrix& b, const LstsqOptions& o, Where where) {
  return settled(minimised(a, b, o, false, where), o.if_ill, kNoValues, "dist.lstsq", where);
}

}  // namespace wp::dist
