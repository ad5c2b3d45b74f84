// cholesky, lu, qr, logdet.
#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "dist/calling.hpp"
#include "dist/hermitian.hpp"
#include "dist/kept.hpp"
#include "dist/one_place.hpp"
#include "dist/orthogonal.hpp"
#include "dist/products.hpp"
#include "dist/rules.hpp"
#include "dist/scalapack.hpp"
#include "dist/scalapack_calls.hpp"
#include "dist/spectral.hpp"
#include "dist/stage.hpp"
#include "dist/team.hpp"
#include "kernels/numbers.hpp"
#include "linalg/choice.hpp"
#include "linalg/hermitian.hpp"
#include "linalg/stack.hpp"
#include "ops/follower.hpp"
#include "wellposed/ops.hpp"

namespace wp::dist {
namespace {

template <class T>
void keep_triangle(const Matrix& a, bool upper, bool unit = false) {
  local<T>(a).each([&](std::int64_t i, std::int64_t j, T& v) {
    if (upper ? i > j : i < j) v = T(0);
    if (unit && i == j) v = T(1);
  });
}

std::shared_ptr<linalg::Diagnosis::State> nonfinite_state(std::string_view op, Method method,
                                                          const std::string& text) {
  Verdict v;
  v.method = method;
  v.status = Status::nonfinite_input;
  auto state = new_state(op, v);
  state->nonfinite = [text](std::int64_t) { return text; };
  return state;
}

// Up to which row, or column, it is, as linalg::cholesky says it.
std::string not_definite(std::int64_t row, const std::vector<std::string>& names) {
  const auto k = static_cast<std::size_t>(row);
  return say("is not positive definite: elimination leaves no positive number in row ", row,
             k < names.size() ? " (" + names[k] + ")" : "", ".");
}

// Positive definite, and by how much: the least of what elimination left of the diagonal.
template <class T>
Verdict cholesky_in_place(const Matrix& a, const std::vector<std::string>& names) {
  Verdict v;
  v.structure = Structure::symmetric;
  v.method = Method::cholesky;
  const std::int64_t n = a.rows();
  std::vector<double> whole(static_cast<std::size_t>(n), 0), left = whole;
  const auto diagonal = [&](std::vector<double>& to) {
    local<T>(a).each_diagonal(
        [&](std::int64_t i, const T& e) { to[static_cast<std::size_t>(i)] = static_cast<double>(std::real(e)); });
    all_sum(to.data(), n);
  };
  diagonal(whole);
  const int info = scalapack::potrf<T>(local<T>(a));
  if (info != 0) {
    v.status = Status::not_spd;
    v.reason = not_definite(info - 1, names);
    return v;
  }
  diagonal(left);
  v.rcond = linalg::least_share(whole, left);
  return v;
}

Uplo copied(const std::optional<std::string_view>& uplo) {
  return uplo ? Uplo(*uplo) : Uplo();
}
std::optional<std::string_view> viewed(const Uplo& uplo) {
  return uplo ? std::optional<std::string_view>(*uplo) : std::nullopt;
}

// L of (A + Aᴴ)/2 or of a triangle, in the dtype that is computed in, and what is known of it.
struct Lower {
  HermitianPart part;  // becomes L, with zeros above the diagonal
  Verdict verdict;
  std::string nonfinite;
  bool doubtful = false;  // positive by rounding only, or not at all
};
Lower lower_of(const Matrix& a, const Uplo& uplo, const std::vector<std::string>& names) {
  const DType work = linalg::working_dtype(a.dtype(), a.rows());
  const Matrix wide = converted(a, work);
  Lower out;
  if (!uplo || *uplo == "lower") out.part.matrix = lower_triangle(wide, !uplo);
  if (!out.part.matrix.defined()) {
    out.part = hermitian_part(wide, uplo);
    out.nonfinite = nonfinite_element(out.part.matrix, "A", names);
    linalg::with_float(work, [&]<class T>(T) { keep_triangle<T>(out.part.matrix, false); });
  }
  out.verdict.method = Method::cholesky;
  out.verdict.status = Status::nonfinite_input;
  if (!out.nonfinite.empty()) return out;
  linalg::with_float(work, [&]<class T>(T) {
    out.verdict = cholesky_in_place<T>(out.part.matrix, names);
    out.doubtful = out.verdict.status != Status::ok || linalg::in_doubt<T>(2 * a.rows(), out.verdict.rcond);
  });
  return out;
}

// 2 Σ log Lᵢᵢ.
double log_of_squares(const Matrix& l) {
  double sum = 0;
  linalg::with_float(l.dtype(), [&]<class T>(T) {
    local<T>(l).each_diagonal(
        [&](std::int64_t, const T& e) { sum += 2 * std::log(static_cast<double>(std::real(e))); });
  });
  all_sum(&sum, 1);
  return sum;
}

struct KeptTriangle final : Kept {
  Matrix l;
  Matrix solve(const Matrix& b, bool adjoint) override {
    Matrix x = copy_of(b);
    linalg::with_float(l.dtype(), [&]<class T>(T) {
      scalapack::trtrs<T>(false, adjoint, false, local<T>(l), local<T>(x), l.rows());
    });
    return x;
  }
};

// Ā = L⁻ᴴ Φ(Lᴴ L̄) L⁻¹, its Hermitian part, where Φ takes the lower triangle with half the diagonal (Murray 2016, §3).
Matrix cholesky_cotangent(const Matrix& l, const Matrix& g, const Uplo& uplo, const Place& place) {
  auto kept = std::make_shared<KeptTriangle>();
  kept->l = l;
  const Matrix p =
      solve_with(kept, l, weighted(product(1, l, true, g, false, place), {1, 0.5, 0}, place), true, place);
  const Matrix s = solve_with(kept, l, p.adjoint(), true, place);
  return hermitian_cotangent(s, uplo, place);
}

struct Choleskied {
  Diagnosed<Matrix> found;
  double asymmetry = 0;
};
Choleskied choleskied(const Matrix& a, const CholeskyOptions& o, Where where) {
  meet(say("dist.cholesky ", facts(a), ", upper ", o.upper, ", if_ill ", o.if_ill, ", uplo ", o.uplo.value_or(""),
           names_text(o.names)));
  need_square(a);
  policy_of(o.if_ill);
  need_no_out(o.out);
  const Place place(where);
  const Uplo uplo = copied(o.uplo);
  const std::vector<std::string> names = labels_of(o.names, a);
  auto asymmetry = std::make_shared<double>(0);
  auto state = std::make_shared<std::shared_ptr<linalg::Diagnosis::State>>();
  const auto lower = [=](const Many& in) {
    Lower l = lower_of(in[0], uplo, names);
    *asymmetry = l.part.asymmetry;
    if (!l.nonfinite.empty()) {
      *state = nonfinite_state("cholesky", Method::cholesky, l.nonfinite);
    } else if (l.doubtful && l.verdict.status == Status::ok && fits_one_place(in[0])) {
      const Tensor whole = brought_together(in[0]);
      const Found one = in_one_place([&] {
        const auto found = linalg::diagnosed::cholesky(whole, {.uplo = viewed(uplo), .names = names});
        return std::pair{std::vector<Tensor>{found.value}, found.diagnosis};
      });
      *state = new_state("cholesky", one.verdict);
      return spread(one.values[0], in[0].layout());
    } else {
      *state = new_state("cholesky", l.verdict);
    }
    if (l.verdict.status != Status::ok) fill_nan(l.part.matrix);
    return converted(l.part.matrix, in[0].dtype());
  };
  const Matrix l = taped(
      "dist.cholesky", {a}, lower,
      [=](const Many&, const Matrix& y, const Matrix& g) -> Many { return {cholesky_cotangent(y, g, uplo, place)}; },
      place, {Notes::gives});
  return {{o.upper ? l.adjoint(where) : l, linalg::Diagnosis(*state)}, *asymmetry};
}

// A⁻¹ of a Hermitian A = L Lᴴ, from L, as an op of A that differentiates: Ā = −X X̄ X.
Matrix inverse_with(const Matrix& l, const Matrix& a, const Place& place) {
  return taped(
      "dist.inv", {a},
      [=](const Many& in) {
        Matrix x = copy_of(l);
        linalg::with_float(x.dtype(), [&]<class T>(T) {
          scalapack::potri<T>(local<T>(x));
          keep_triangle<T>(x, false);
        });
        return converted(hermitian_part(x, "lower").matrix, in[0].dtype());
      },
      [=](const Many&, const Matrix& x, const Matrix& g) -> Many {
        return {hermitian_cotangent(product(-1, x, false, product(1, g, false, x, false, place), false, place), {},
                                    place)};
      },
      place, {Notes::gives});
}

struct Logdetted {
  Diagnosed<Tensor> found;
  double asymmetry = 0;
};
Logdetted logdetted(const Matrix& a, const LogdetOptions& o, Where where) {
  meet(say("dist.logdet ", facts(a), ", if_ill ", o.if_ill, ", uplo ", o.uplo.value_or(""), names_text(o.names)));
  need_square(a);
  policy_of(o.if_ill);
  const Place place(where);
  const Uplo uplo = copied(o.uplo);
  const std::vector<std::string> names = labels_of(o.names, a);
  auto asymmetry = std::make_shared<double>(0);
  auto factor = std::make_shared<Matrix>();  // where there is one to be trusted
  auto state = std::make_shared<std::shared_ptr<linalg::Diagnosis::State>>();
  const Tensor y = taped_number(
      "dist.logdet", {a},
      [=](const Many& in) {
        const Lower l = lower_of(in[0], uplo, names);
        *asymmetry = l.part.asymmetry;
        double sum = std::numeric_limits<double>::quiet_NaN();
        if (!l.nonfinite.empty()) {
          *state = nonfinite_state("logdet", Method::cholesky, l.nonfinite);
        } else if (l.doubtful && fits_one_place(in[0])) {
          const Tensor whole = brought_together(in[0]);
          const Found one = in_one_place([&] {
            const auto found = linalg::diagnosed::logdet(whole, {.uplo = viewed(uplo), .names = names});
            return std::pair{std::vector<Tensor>{found.value}, found.diagnosis};
          });
          *state = new_state("logdet", one.verdict);
          return one.values[0];
        } else {
          *state = new_state("logdet", l.verdict);
          if (l.verdict.status == Status::ok) {
            sum = log_of_squares(l.part.matrix);
            if (!l.doubtful) *factor = l.part.matrix;
          }
        }
        const Tensor value = Tensor(Scalar(sum));
        return real_of(a.dtype()) == f32 ? wp::astype(value, f32) : value;
      },
      // Ā = ḡ A⁻¹ (A Hermitian), from the factor
      [=](const Many& in, const Tensor&, const Tensor& g) -> Many {
        const bool again = followed(in[0].state().storage);
        const Matrix meant = again || !factor->defined() ? meant_hermitian(in[0], uplo, place) : in[0];
        const Matrix inverse =
            factor->defined() ? inverse_with(*factor, meant, place) : inv(meant, {.assume = "spd"});
        return {hermitian_cotangent(scaled_by(g, inverse, place), uplo, place)};
      },
      place, {Notes::gives, state});
  return {{y, linalg::Diagnosis(*state)}, *asymmetry};
}

}  // namespace

namespace diagnosed {

Diagnosed<Matrix> cholesky(const Matrix& a, const CholeskyOptions& o, Where where) {
  const Stage stage("dist.cholesky", where);
  return choleskied(a, o, where).found;
}

Diagnosed<Tensor> logdet(const Matrix& a, const LogdetOptions& o, Where where) {
  const Stage stage("dist.logdet", where);
  return logdetted(a, o, where).found;
}

Diagnosed<LuResult> lu(const Matrix& a, const LuOptions& o, Where where) {
  const Stage stage("dist.lu", where);
  meet(say("dist.lu ", facts(a), ", if_ill ", o.if_ill));
  need_matrix(a);
  policy_of(o.if_ill);
  need_no_out(o.out);
  LuResult out;
  const std::int64_t m = a.rows(), n = a.columns(), k = std::min(m, n);
  const std::string bad = nonfinite_element(a, "A");
  Verdict v;
  v.method = Method::lu;
  auto state = bad.empty() ? new_state("lu", v) : nonfinite_state("lu", Method::lu, bad);
  linalg::with_float(a.dtype(), [&]<class T>(T) {
    if (!bad.empty()) {
      out.L = make_matrix(m, k, a.dtype(), a.layout());
      out.U = make_matrix(k, n, a.dtype(), a.layout());
      fill_nan(out.L);
      fill_nan(out.U);
      out.order.assign(static_cast<std::size_t>(m), -1);
      return;
    }
    const Matrix f = copy_of(a);
    std::vector<int> pivots;
    scalapack::getrf<T>(local<T>(f), pivots);
    PB_freebuf_();  // what PBLAS keeps for later would stand beside A, L and U
    out.L = corner<T>(f, m, k);
    out.U = corner<T>(f, k, n, true);
    keep_triangle<T>(out.L, false, true);
    keep_triangle<T>(out.U, true);
    // Pivots are with the ranks that have the rows: global numbers, from 1.
    std::vector<int> swaps(static_cast<std::size_t>(m), 0);
    const Axis rows = local<T>(f).row;
    for (std::int64_t i = 0; i < rows.count(); ++i)
      swaps[static_cast<std::size_t>(rows.global(i))] = pivots[static_cast<std::size_t>(i)];
    all_reduce(swaps.data(), m, MPI_MAX);
    for (std::int64_t i = 0; i < m; ++i) out.order.push_back(i);
    for (std::int64_t i = 0; i < k; ++i)
      std::swap(out.order[static_cast<std::size_t>(i)],
                out.order[static_cast<std::size_t>(swaps[static_cast<std::size_t>(i)] - 1)]);
  });
  without_rule("dist.lu", {a}, {}, {&out.L, &out.U});
  return {out, linalg::Diagnosis(state)};
}

Diagnosed<QrResult> qr(const Matrix& a, const QrOptions& o, Where where) {
  const Stage stage("dist.qr", where);
  meet(say("dist.qr ", facts(a), ", mode ", o.mode, ", if_ill ", o.if_ill));
  need_matrix(a);
  policy_of(o.if_ill);
  need_no_out(o.out);
  if (o.mode != "reduced" && o.mode != "complete")
    refuse<ArgumentError>("WP-ARG-001",
                          say("attribute mode must be one of 'reduced', 'complete'; got '", o.mode, "'."));
  QrResult out;
  const std::int64_t k = o.mode == "complete" ? a.rows() : std::min(a.rows(), a.columns());
  const std::string bad = nonfinite_element(a, "A");
  Verdict v;
  v.method = Method::qr;
  auto state = bad.empty() ? new_state("qr", v) : nonfinite_state("qr", Method::qr, bad);
  linalg::with_float(a.dtype(), [&]<class T>(T) {
    if (!bad.empty()) {
      out.Q = make_matrix(a.rows(), k, a.dtype(), a.layout());
      out.R = make_matrix(k, a.columns(), a.dtype(), a.layout());
      fill_nan(out.Q);
      fill_nan(out.R);
      return;
    }
    Matrix f = copy_of(a);
    std::vector<T> tau;
    if (std::min(a.rows(), a.columns()) > 0) scalapack::geqrf<T>(local<T>(f), tau);
    PB_freebuf_();
    out.R = corner<T>(f, k, a.columns());
    keep_triangle<T>(out.R, true);
    out.Q = columns_of_q<T>(f, tau, k, true);
  });
  without_rule("dist.qr", {a}, {}, {&out.Q, &out.R});
  return {out, linalg::Diagnosis(state)};
}

}  // namespace diagnosed

namespace {

// The value of an answer that was judged, if its policy lets it pass.
template <class Answer>
auto passed(const Answer& r, const Matrix& a, std::string_view if_ill, std::string_view advice) {
  linalg::report_asymmetry(r.asymmetry, a.dtype());
  act(r.found.diagnosis, policy_of(if_ill), advice);
  return r.found.value;
}

}  // namespace

Matrix cholesky(const Matrix& a, const CholeskyOptions& o, Where where) {
  const Stage stage("dist.cholesky", where);
  return passed(choleskied(a, o, where), a, o.if_ill, "Add a small multiple of the identity.");
}

Tensor logdet(const Matrix& a, const LogdetOptions& o, Where where) {
  const Stage stage("dist.logdet", where);
  return passed(logdetted(a, o, where), a, o.if_ill, "Use slogdet, or add a small multiple of the identity.");
}

LuResult lu(const Matrix& a, const LuOptions& o, Where where) {
  return settled(diagnosed::lu(a, o, where), o.if_ill, {}, "dist.lu", where);
}
QrResult qr(const Matrix& a, const QrOptions& o, Where where) {
  return settled(diagnosed::qr(a, o, where), o.if_ill, {}, "dist.qr", where);
}

}  // namespace wp::dist
