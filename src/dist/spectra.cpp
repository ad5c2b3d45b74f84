// svd, eigh, and what is asked of singular values: cond, rank, pinv.
#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "dist/calling.hpp"
#include "dist/hermitian.hpp"
#include "dist/scalapack.hpp"
#include "dist/spectral.hpp"
#include "dist/stage.hpp"
#include "dist/team.hpp"
#include "kernels/numbers.hpp"
#include "linalg/bounds.hpp"
#include "linalg/filters.hpp"
#include "linalg/stack.hpp"
#include "ops/dispatch.hpp"
#include "ops/lines.hpp"
#include "tensor/note.hpp"
#include "wellposed/ops.hpp"

namespace wp::dist {
namespace {

constexpr int kGraded = 20;  // powers of two
constexpr std::string_view kSpectrum = "Look at the matrix: its singular values could not be found.";

Tensor values_tensor(const std::vector<double>& v, DType dtype) {
  const Tensor t = Tensor::from(v, {static_cast<std::int64_t>(v.size())});
  return dtype == f32 || dtype == c64 ? wp::astype(t, f32) : t;
}

template <class T>
std::shared_ptr<linalg::Diagnosis::State> spectrum_state(std::string_view op, const Matrix& a, const Spectral<T>& svd,
                                                         const Tensor& values) {
  Verdict v;
  v.method = Method::svd;
  v.status = svd.status();
  auto state = new_state(op, v);
  if (const std::string text = svd.nonfinite(); !text.empty())
    state->nonfinite = [text](std::int64_t) { return text; };
  const double error = linalg::growth_of_errors(std::max(a.rows(), a.columns())) * linalg::kUnit<T>;
  if (v.status == Status::ok && !svd.sigma().empty())
    linalg::bound_spectra(*state, values, {{linalg::Bounds{.absolute = error * svd.largest()}}});
  return state;
}

template <class F>
auto by_svd(const Matrix& a, bool vectors, F&& f) {
  return linalg::with_float(a.dtype(), [&]<class T>(T) {
    const Spectral<T> svd(a, vectors);
    return f(svd);
  });
}

// By how many powers of two the largest elements of rows differ: tridiagonalising destroys eigenvalues that are small
// beside the largest by as much.
template <class T>
int grading(const Matrix& a) {
  std::vector<int> top(static_cast<std::size_t>(a.rows()), std::numeric_limits<int>::min());
  local<T>(a).each([&](std::int64_t i, std::int64_t, const T& v) {
    if (v != T(0))
      top[static_cast<std::size_t>(i)] = std::max(top[static_cast<std::size_t>(i)], std::ilogb(size_of_number(v)));
  });
  all_reduce(top.data(), a.rows(), MPI_MAX);
  int least = std::numeric_limits<int>::max(), most = std::numeric_limits<int>::min();
  for (const int e : top)
    if (e != std::numeric_limits<int>::min()) least = std::min(least, e), most = std::max(most, e);
  return most >= least ? most - least : 0;
}

// The eigenvalues and vectors that linalg finds of a small matrix: rank 0 computes, all take them.
template <class T>
bool eigh_in_one_place(const Matrix& a, std::vector<double>& w, const Matrix& vectors) {
  const std::int64_t n = a.rows();
  Tensor whole = Tensor::adopt(detail::make_node(a.dtype(), {n, n})),
         z = Tensor::adopt(detail::make_node(a.dtype(), {n, n}));
  gather_columns<T>(local<T>(a), 0, n, reinterpret_cast<T*>(whole.node()->data));
  int good = 0;
  if (rank() == 0) {
    const Unseen unseen;
    const auto found = linalg::diagnosed::eigh(whole);
    good = found.diagnosis.ok();
    const Tensor values = wp::astype(found.value.eigenvalues, f64);
    for (std::int64_t i = 0; i < n; ++i) w[static_cast<std::size_t>(i)] = value_at(values, i).real();
    const Tensor packed_vectors = packed(found.value.eigenvectors, a.dtype());
    std::copy_n(packed_vectors.node()->data, packed_vectors.nbytes(), z.node()->data);
  }
  broadcast(&good, sizeof good);
  broadcast(w.data(), w.size() * sizeof(double));
  broadcast(z.node()->data, z.nbytes());
  scatter_columns<T>(reinterpret_cast<const T*>(z.node()->data), 0, n, local<T>(vectors));
  return good != 0;
}

double cutoff(const std::optional<double>& rtol, double atol, const Matrix& a, double largest) {
  if (rtol && !(*rtol >= 0)) refuse<ArgumentError>("WP-ARG-001", say("rtol must not be negative; got ", *rtol, "."));
  const double longest = static_cast<double>(std::max(a.rows(), a.columns()));
  return std::max(rtol.value_or(2 * linalg::round_off(a.dtype()) * longest) * largest, atol);
}

}  // namespace

namespace diagnosed {

Diagnosed<Tensor> svdvals(const Matrix& a, const DecomposeOptions&, Where where) {
  const Stage stage("dist.svdvals", where);
  meet(say("dist.svdvals ", facts(a)));
  need_defined(a, "A");
  return by_svd(a, false, [&](const auto& svd) -> Diagnosed<Tensor> {
    const std::vector<double> none(static_cast<std::size_t>(std::min(a.rows(), a.columns())), NAN);
    Tensor s = values_tensor(svd.status() == Status::ok ? svd.sigma() : none, a.dtype());
    without_rule("dist.svdvals", {a}, {&s}, {});
    return {s, linalg::Diagnosis(spectrum_state("svdvals", a, svd, s))};
  });
}

Diagnosed<SvdResult> svd(const Matrix& a, const DecomposeOptions&, Where where) {
  const Stage stage("dist.svd", where);
  meet(say("dist.svd ", facts(a)));
  need_defined(a, "A");
  return by_svd(a, true, [&](const auto& found) -> Diagnosed<SvdResult> {
    const std::int64_t k = std::min(a.rows(), a.columns());
    SvdResult r{found.u(), {}, found.vh()};
    const bool good = found.status() == Status::ok;
    if (!good) {
      r.U = make_matrix(a.rows(), k, a.dtype(), a.layout());
      r.Vh = make_matrix(k, a.columns(), a.dtype(), a.layout());
      fill_nan(r.U);
      fill_nan(r.Vh);
    }
    r.S = values_tensor(good ? found.sigma() : std::vector<double>(static_cast<std::size_t>(k), NAN), a.dtype());
    const Tensor s = r.S;
    without_rule("dist.svd", {a}, {&r.S}, {&r.U, &r.Vh});
    return {r, linalg::Diagnosis(spectrum_state("svd", a, found, s))};
  });
}

Diagnosed<EighResult> eigh(const Matrix& a, const EighOptions& o, Where where) {
  const Stage stage("dist.eigh", where);
  meet(say("dist.eigh ", facts(a), ", uplo ", o.uplo.value_or(""), ", accuracy ", o.accuracy));
  need_defined(a, "A");
  need_square(a);
  if (o.accuracy != "normal")
    refuse<ArgumentError>("WP-MPI-007", "accuracy = \"high\" is not there for distributed eigenvalues.",
                          "Bring the matrix to one machine (gather).");
  const HermitianPart h = hermitian_part(a, o.uplo);
  const std::string bad = nonfinite_element(a, "A");
  Verdict v;
  v.structure = Structure::symmetric;
  v.method = Method::eigen;
  EighResult r{{}, make_like(a)};
  std::vector<double> w(static_cast<std::size_t>(a.rows()), NAN);
  linalg::Bounds bounds;
  linalg::with_float(a.dtype(), [&]<class T>(T) {
    std::vector<scalapack::Real<T>> values;
    if (!bad.empty()) {
      v.status = Status::nonfinite_input;
    } else if (const int graded = a.rows() > 0 ? grading<T>(h.matrix) : 0;
               graded > kGraded && a.rows() <= kOnePlace) {
      if (!eigh_in_one_place<T>(h.matrix, w, r.eigenvectors)) v.status = Status::not_converged;
      bounds.relative = linalg::growth_of_errors(a.rows()) * linalg::kUnit<T>;
    } else if (a.rows() > 0) {
      if (graded > kGraded) {
        v.status = Status::ill_conditioned;
        v.reason = say("has rows whose sizes differ by 2^", graded,
                       ": eigenvalues that are small beside the largest have no digits that can be vouched for.");
      }
      const int e = prescale_exponent<T>(h.matrix);
      const Local<T> m = local<T>(h.matrix);
      for (std::int64_t i = 0; i < m.rows() * m.columns(); ++i) m.data[i] = times_power(m.data[i], e);
      Local<T> z = local<T>(r.eigenvectors);
      const int info = scalapack::eigh<T>(m, values, z);
      if (reduced(info != 0 ? 1 : 0, MPI_MAX)) v.status = Status::not_converged;
      for (std::size_t i = 0; i < values.size() && v.status <= Status::ill_conditioned; ++i)
        w[i] = std::ldexp(static_cast<double>(values[i]), -e);
      broadcast(w.data(), w.size() * sizeof(double));
      const double largest = std::max(std::fabs(w.front()), std::fabs(w.back()));
      bounds.absolute = linalg::growth_of_errors(a.rows()) * linalg::kUnit<T> * largest;
    }
  });
  if (v.status > Status::ill_conditioned) fill_nan(r.eigenvectors);
  r.eigenvalues = values_tensor(w, a.dtype());
  auto state = new_state("eigh", v);
  if (!bad.empty()) state->nonfinite = [bad](std::int64_t) { return bad; };
  if (v.status <= Status::ill_conditioned && !w.empty()) linalg::bound_spectra(*state, r.eigenvalues, {{bounds}});
  report_asymmetry(h.asymmetry, a.dtype());
  without_rule("dist.eigh", {a}, {&r.eigenvalues}, {&r.eigenvectors});
  return {r, linalg::Diagnosis(state)};
}

Diagnosed<Matrix> pinv(const Matrix& a, const PinvOptions& o, Where where) {
  const Stage stage("dist.pinv", where);
  meet(say("dist.pinv ", facts(a), ", rtol ", o.rtol.value_or(-1), ", atol ", o.atol));
  need_defined(a, "A");
  return by_svd(a, true, [&]<class T>(const Spectral<T>& svd) -> Diagnosed<Matrix> {
    Verdict v;
    v.method = Method::svd;
    v.status = svd.status();
    Matrix x;
    double least = 0;
    if (v.status == Status::ok) {
      least = cutoff(o.rtol, o.atol, a, svd.largest());
      v.kept = svd.rank(least);
      x = svd.apply(linalg::truncated(svd.sigma(), least), nullptr);
      v.rcond = v.kept > 0 ? svd.sigma()[static_cast<std::size_t>(v.kept - 1)] / svd.largest() : 1;
      const double error = linalg::growth_of_errors(std::max(a.rows(), a.columns())) * linalg::kUnit<T>;
      linalg::conclude_least_squares<T>(v, std::min(1.0, 2 * error / v.rcond));
    } else {
      x = make_matrix(a.columns(), a.rows(), a.dtype(), a.layout());
      fill_nan(x);
    }
    auto state = new_state("pinv", v);
    if (const std::string text = svd.nonfinite(); !text.empty())
      state->nonfinite = [text](std::int64_t) { return text; };
    const std::vector<double> sigma = svd.sigma();
    const std::int64_t rank = v.kept;
    state->spectrum = [sigma, rank](std::int64_t, linalg::Member& m) {
      if (rank < 0 || sigma.empty()) return;
      m.rank = rank;
      m.cond = sigma.back() > 0 ? sigma.front() / sigma.back() : std::numeric_limits<double>::infinity();
      const auto r = static_cast<std::size_t>(rank);
      if (rank > 0 && r < sigma.size()) m.rank_gap = sigma[r - 1] / sigma[r];
    };
    without_rule("dist.pinv", {a}, {}, {&x});
    return {x, linalg::Diagnosis(state)};
  });
}

}  // namespace diagnosed

namespace {

template <class R>
R raised(Diagnosed<R> found, std::string_view if_ill, std::string_view name, Where where) {
  const Stage stage(name, where);
  act(found.diagnosis, policy_of(if_ill), kSpectrum);
  return std::move(found.value);
}

}  // namespace

Tensor svdvals(const Matrix& a, const DecomposeOptions& o, Where where) {
  return raised(diagnosed::svdvals(a, o, where), o.if_ill, "dist.svdvals", where);
}
SvdResult svd(const Matrix& a, const DecomposeOptions& o, Where where) {
  return raised(diagnosed::svd(a, o, where), o.if_ill, "dist.svd", where);
}
EighResult eigh(const Matrix& a, const EighOptions& o, Where where) {
  return raised(diagnosed::eigh(a, o, where), o.if_ill, "dist.eigh", where);
}
Matrix pinv(const Matrix& a, const PinvOptions& o, Where where) {
  return raised(diagnosed::pinv(a, o, where), o.if_ill, "dist.pinv", where);
}

double cond(const Matrix& a, const DecomposeOptions& o, Where where) {
  const Tensor s = svdvals(a, o, where);
  const std::vector<double> v = wp::astype(s, f64).to_vector<double>();
  if (v.empty()) return 0;
  return v.back() > 0 ? v.front() / v.back() : std::isnan(v.back()) ? NAN : std::numeric_limits<double>::infinity();
}

std::int64_t matrix_rank(const Matrix& a, std::optional<double> rtol, Where where) {
  const Tensor s = svdvals(a, {}, where);
  const std::vector<double> v = wp::astype(s, f64).to_vector<double>();
  const double least = v.empty() ? 0 : cutoff(rtol, 0, a, v.front());
  return std::count_if(v.begin(), v.end(), [&](double e) { return e > least; });
}

}  // namespace wp::dist
