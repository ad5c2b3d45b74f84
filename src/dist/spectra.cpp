// svd, eigh, and what is asked of singular values: cond, rank.
#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "dist/calling.hpp"
#include "dist/hermitian.hpp"
#include "dist/one_place.hpp"
#include "dist/orthogonal.hpp"
#include "dist/scalapack.hpp"
#include "dist/spectral.hpp"
#include "dist/stage.hpp"
#include "dist/team.hpp"
#include "kernels/numbers.hpp"
#include "linalg/bounds.hpp"
#include "linalg/condition_number.hpp"
#include "linalg/cutoff.hpp"
#include "linalg/hermitian.hpp"
#include "linalg/member.hpp"
#include "linalg/stack.hpp"
#include "wellposed/ops.hpp"

namespace wp::dist {
namespace {

constexpr int kGraded = 20;  // powers of two

Tensor values_tensor(const std::vector<double>& v, DType dtype) {
  const Tensor t = Tensor::from(v, {static_cast<std::int64_t>(v.size())});
  return dtype == f32 || dtype == c64 ? wp::astype(t, f32) : t;
}

bool wants_high(std::string_view accuracy, const Matrix& a) {
  if (accuracy != "normal" && accuracy != "high")
    refuse<ArgumentError>("WP-ARG-001",
                          say("attribute accuracy must be one of 'normal', 'high'; got '", accuracy, "'."));
  if (accuracy == "high") need_one_place(a, "accuracy = \"high\"", "Bring the matrix to one machine (gather).");
  return accuracy == "high";
}

// Singular values, and vectors where asked for, in the dtype of the matrix.
struct Decomposed {
  std::vector<double> sigma;  // NaN where there are none
  Matrix u, vh;
  linalg::Bounds bounds;
  std::shared_ptr<linalg::Diagnosis::State> state;
  bool ok() const { return std::as_const(*state).verdicts.status(0) == Status::ok; }
};

// What is asked of singular values.
struct Asked {
  std::string_view op;
  Matrix a;
  bool vectors = false, high = false;
  bool told = false;  // somebody asks for the diagnosis
  std::vector<std::string> names;
  linalg::Cutoff cutoff;
};
Asked asked(std::string_view op, const Matrix& a, const Names& names, bool told) {
  return {.op = op,
          .a = a,
          .told = told,
          .names = labels_of(names, a),
          .cutoff = linalg::cutoff_of({}, 0, a.dtype(), std::max(a.rows(), a.columns()))};
}

// By linalg, with the digits of the small values.
void decompose_in_one_place(const Asked& p, Decomposed& d, Verdict& v) {
  const Tensor whole = brought_together(p.a);
  const Found found = in_one_place([&] {
    if (!p.vectors) {
      const auto one = linalg::diagnosed::svdvals(whole, {.accuracy = "high"});
      return std::pair{std::vector<Tensor>{one.value}, one.diagnosis};
    }
    const auto one = linalg::diagnosed::svd(whole, {.full_matrices = false, .accuracy = "high"});
    return std::pair{std::vector<Tensor>{one.value.S, one.value.U, one.value.Vh}, one.diagnosis};
  });
  v = found.verdict;
  d.sigma = wp::astype(found.values[0], f64).to_vector<double>();
  if (p.vectors) d.u = spread(found.values[1], p.a.layout()), d.vh = spread(found.values[2], p.a.layout());
}

Decomposed decomposed(const Asked& p) {
  const auto& [op, a, vectors, high, told, names, cutoff] = p;
  Decomposed d;
  const std::int64_t k = std::min(a.rows(), a.columns()), longest = std::max(a.rows(), a.columns());
  Verdict v;
  v.method = Method::svd;
  d.state = new_state(op, v);
  d.state->names = names;
  d.state->cutoff = {cutoff.rtol, cutoff.atol};
  std::string nonfinite = high ? nonfinite_element(a, "A", names) : "";
  const DType work = linalg::working_dtype(a.dtype(), longest);
  linalg::with_float(work, [&]<class T>(T) {
    const double error = linalg::growth_of_errors(longest) * linalg::kUnit<T>;
    if (high && nonfinite.empty()) {
      decompose_in_one_place(p, d, v);
      d.bounds.relative = 2 * error;
    } else {
      const Spectral<T> svd(converted(a, work), vectors, names);
      v.status = svd.status();
      nonfinite = svd.nonfinite();
      if (v.status == Status::ok && !fits_one_place(a))
        keep_spectrum<T>(*d.state, a, svd, svd.rank(cutoff(svd.largest())));
      d.sigma = svd.sigma();
      d.bounds.absolute = error * svd.largest();
      if (vectors && v.status == Status::ok)
        d.u = converted(svd.u(), a.dtype()), d.vh = converted(svd.vh(), a.dtype());
    }
    if (work != a.dtype()) d.bounds.rounding = linalg::round_off(a.dtype());
  });
  if (v.status != Status::ok) {
    d.sigma.assign(static_cast<std::size_t>(k), NAN);
    if (vectors) {
      d.u = make_matrix(a.rows(), k, a.dtype(), a.layout());
      d.vh = make_matrix(k, a.columns(), a.dtype(), a.layout());
      fill_nan(d.u);
      fill_nan(d.vh);
    }
  }
  if (told && v.status == Status::ok && fits_one_place(a)) d.state->matrix = brought_together(a);
  d.state->verdicts[0] = v;
  if (!nonfinite.empty()) d.state->nonfinite = [nonfinite](std::int64_t) { return nonfinite; };
  return d;
}

Diagnosed<Tensor> values_of(const Matrix& a, Decomposed& d) {
  const Tensor s = values_tensor(d.sigma, a.dtype());
  linalg::StackBounds bounds{{d.bounds}};
  bounds.beside_zero = a.rows() != a.columns();
  const auto known = d.state->spectrum;
  if (d.ok() && !d.sigma.empty()) linalg::bound_spectra(*d.state, s, std::move(bounds));
  if (known)
    d.state->spectrum = [known, own = d.state->spectrum](std::int64_t member, linalg::Member& m) {
      known(member, m);
      own(member, m);
    };
  return {s, linalg::Diagnosis(d.state)};
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

// The eigenvalues and vectors that linalg finds of a small matrix.
Verdict eigh_in_one_place(const Matrix& a, bool high, std::vector<double>& w, Matrix& vectors) {
  const Tensor whole = brought_together(a);
  const Found found = in_one_place([&] {
    const auto one = linalg::diagnosed::eigh(whole, {.accuracy = high ? "high" : "normal"});
    return std::pair{std::vector<Tensor>{one.value.eigenvalues, one.value.eigenvectors}, one.diagnosis};
  });
  w = wp::astype(found.values[0], f64).to_vector<double>();
  vectors = spread(found.values[1], a.layout());
  return found.verdict;
}

Diagnosed<EighResult> eigen_of(const Matrix& a, const EighOptions& o, Where where, double* asymmetry) {
  const Stage stage("dist.eigh", where);
  meet(say("dist.eigh ", facts(a), ", uplo ", o.uplo.value_or(""), ", if_ill ", o.if_ill, ", accuracy ", o.accuracy,
           names_text(o.names)));
  need_square(a);
  policy_of(o.if_ill);
  need_no_out(o.out);
  const std::vector<std::string> names = labels_of(o.names, a);
  const bool high = wants_high(o.accuracy, a);
  const DType work = linalg::working_dtype(a.dtype(), a.rows());
  const HermitianPart h =
      hermitian_part(converted(a, work), o.uplo ? std::optional<std::string>(*o.uplo) : std::nullopt);
  const std::string bad = nonfinite_element(h.matrix, "A", names);
  Verdict v;
  v.structure = Structure::symmetric;
  v.method = Method::eigen;
  EighResult r{{}, make_like(a, work)};
  std::vector<double> w(static_cast<std::size_t>(a.rows()), NAN);
  linalg::Bounds bounds;
  linalg::with_float(work, [&]<class T>(T) {
    std::vector<scalapack::Real<T>> values;
    if (!bad.empty()) {
      v.status = Status::nonfinite_input;
    } else if (const int graded = a.rows() > 0 ? grading<T>(h.matrix) : 0;
               high || (graded > kGraded && fits_one_place(a))) {
      v = eigh_in_one_place(h.matrix, high, w, r.eigenvectors);
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
  if (work != a.dtype()) bounds.rounding = linalg::round_off(a.dtype());
  r.eigenvectors = converted(r.eigenvectors, a.dtype());
  r.eigenvalues = values_tensor(w, a.dtype());
  auto state = new_state("eigh", v);
  if (!bad.empty()) state->nonfinite = [bad](std::int64_t) { return bad; };
  if (v.status <= Status::ill_conditioned && !w.empty()) linalg::bound_spectra(*state, r.eigenvalues, {{bounds}});
  *asymmetry = h.asymmetry;
  without_rule("dist.eigh", {a}, {&r.eigenvalues}, {&r.eigenvectors});
  return {r, linalg::Diagnosis(state)};
}

Diagnosed<Tensor> values_of(const Matrix& a, const SvdvalsOptions& o, bool told, Where where) {
  const Stage stage("dist.svdvals", where);
  meet(say("dist.svdvals ", facts(a), ", if_ill ", o.if_ill, ", accuracy ", o.accuracy, names_text(o.names)));
  need_matrix(a);
  policy_of(o.if_ill);
  need_no_out(o.out);
  Asked p = asked("svdvals", a, o.names, told);
  p.high = wants_high(o.accuracy, a);
  Decomposed d = decomposed(p);
  Diagnosed<Tensor> out = values_of(a, d);
  without_rule("dist.svdvals", {a}, {&out.value}, {});
  return out;
}

Diagnosed<SvdResult> factors_of(const Matrix& a, const SvdOptions& o, bool told, Where where) {
  const Stage stage("dist.svd", where);
  meet(say("dist.svd ", facts(a), ", full_matrices ", o.full_matrices, ", if_ill ", o.if_ill, ", accuracy ",
           o.accuracy, names_text(o.names)));
  need_matrix(a);
  policy_of(o.if_ill);
  Asked p = asked("svd", a, o.names, told);
  p.vectors = true;
  p.high = wants_high(o.accuracy, a);
  Decomposed d = decomposed(p);
  const Diagnosed<Tensor> values = values_of(a, d);
  SvdResult r{d.u, values.value, d.vh};
  if (o.full_matrices)
    linalg::with_float(a.dtype(), [&]<class T>(T) {
      r.U = completed<T>(r.U);
      if (r.Vh.rows() < r.Vh.columns()) r.Vh = completed<T>(r.Vh.adjoint()).adjoint();
      if (d.ok()) return;
      fill_nan(r.U);
      fill_nan(r.Vh);
    });
  without_rule("dist.svd", {a}, {&r.S}, {&r.U, &r.Vh});
  return {r, values.diagnosis};
}

// As linalg says it.
Diagnosed<double> condition_in_one_place(const Matrix& a, Decomposed& d) {
  const Tensor whole = brought_together(a);
  const Found one = in_one_place([&] {
    const auto found = linalg::diagnosed::cond(whole);
    return std::pair{std::vector<Tensor>{found.value}, found.diagnosis};
  });
  d.state->verdicts[0] = one.verdict;
  return {wp::astype(one.values[0], f64).item<double>(), linalg::Diagnosis(d.state)};
}

// In doubt where digits are lost that 113-bit arithmetic would have, or where it may be singular exactly.
Diagnosed<double> condition_of(const Matrix& a, const CondOptions& o, bool told, Where where) {
  const Stage stage("dist.cond", where);
  meet(say("dist.cond ", facts(a), ", if_ill ", o.if_ill, names_text(o.names)));
  need_matrix(a);
  policy_of(o.if_ill);
  Decomposed d = decomposed(asked("cond", a, o.names, told));
  if (d.sigma.empty()) return {0, linalg::Diagnosis(d.state)};
  const double first = d.sigma.front(), last = d.sigma.back();
  if (!d.ok()) return {first, linalg::Diagnosis(d.state)};  // NaN
  const std::int64_t longest = std::max(a.rows(), a.columns());
  linalg::ConditionNumber found{last == 0 ? HUGE_VAL : first / last, 0};
  return linalg::with_float(linalg::working_dtype(a.dtype(), longest), [&]<class T>(T) -> Diagnosed<double> {
    found.error = std::min(1.0, linalg::growth_of_errors(longest) * linalg::kUnit<T> * found.mantissa);
    if (found.error > linalg::kEnough && fits_one_place(a)) return condition_in_one_place(a, d);
    Verdict v = std::as_const(*d.state).verdicts[0];
    const double value = linalg::conclude_condition<T>(found, longest, real_of(a.dtype()), v);
    consider_dtype(v, {}, a.dtype());
    d.state->verdicts[0] = v;
    return {value, linalg::Diagnosis(d.state)};
  });
}

Diagnosed<std::int64_t> rank_of(const Matrix& a, const MatrixRankOptions& o, bool told, Where where) {
  const Stage stage("dist.matrix_rank", where);
  meet(say("dist.matrix_rank ", facts(a), ", rtol ", o.rtol.value_or(-1), ", atol ", o.atol, ", if_ill ", o.if_ill,
           names_text(o.names)));
  need_matrix(a);
  policy_of(o.if_ill);
  Asked p = asked("matrix_rank", a, o.names, told);
  p.cutoff = linalg::cutoff_of(o.rtol, o.atol, a.dtype(), std::max(a.rows(), a.columns()));
  const Decomposed d = decomposed(p);
  if (!d.ok()) return {-1, linalg::Diagnosis(d.state)};
  const double least = p.cutoff(d.sigma.empty() ? 0 : d.sigma.front());
  const auto rank = std::count_if(d.sigma.begin(), d.sigma.end(), [&](double s) { return s > least; });
  if (!fits_one_place(a) || linalg::rank_doubt(d.sigma, static_cast<std::size_t>(rank), least).empty())
    return {rank, linalg::Diagnosis(d.state)};
  const Tensor whole = brought_together(a);
  const Found one = in_one_place([&] {
    const auto found = linalg::diagnosed::matrix_rank(whole, o);
    return std::pair{std::vector<Tensor>{found.value}, found.diagnosis};
  });
  return {one.values[0].item<std::int64_t>(), linalg::Diagnosis(d.state)};
}

}  // namespace

namespace diagnosed {

Diagnosed<Tensor> svdvals(const Matrix& a, const SvdvalsOptions& o, Where where) {
  return values_of(a, o, true, where);
}
Diagnosed<SvdResult> svd(const Matrix& a, const SvdOptions& o, Where where) {
  return factors_of(a, o, true, where);
}
Diagnosed<double> cond(const Matrix& a, const CondOptions& o, Where where) {
  return condition_of(a, o, true, where);
}
Diagnosed<std::int64_t> matrix_rank(const Matrix& a, const MatrixRankOptions& o, Where where) {
  return rank_of(a, o, true, where);
}
Diagnosed<EighResult> eigh(const Matrix& a, const EighOptions& o, Where where) {
  double asymmetry = 0;
  return eigen_of(a, o, where, &asymmetry);
}

}  // namespace diagnosed

Tensor svdvals(const Matrix& a, const SvdvalsOptions& o, Where where) {
  return settled(values_of(a, o, false, where), o.if_ill, kNoValues, "dist.svdvals", where);
}
SvdResult svd(const Matrix& a, const SvdOptions& o, Where where) {
  return settled(factors_of(a, o, false, where), o.if_ill, kNoValues, "dist.svd", where);
}
EighResult eigh(const Matrix& a, const EighOptions& o, Where where) {
  double asymmetry = 0;
  const auto found = eigen_of(a, o, where, &asymmetry);
  const Stage stage("dist.eigh", where);
  linalg::report_asymmetry(asymmetry, a.dtype());
  act(found.diagnosis, policy_of(o.if_ill), kNoValues);
  return found.value;
}
double cond(const Matrix& a, const CondOptions& o, Where where) {
  return settled(condition_of(a, o, false, where), o.if_ill, kNoValues, "dist.cond", where);
}
std::int64_t matrix_rank(const Matrix& a, const MatrixRankOptions& o, Where where) {
  return settled(rank_of(a, o, false, where), o.if_ill, kNoValues, "dist.matrix_rank", where);
}

}  // namespace wp::dist
