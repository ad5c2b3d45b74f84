// cholesky, lu, qr, logdet.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/text.hpp"
#include "dist/calling.hpp"
#include "dist/hermitian.hpp"
#include "dist/kept.hpp"
#include "dist/products.hpp"
#include "dist/scalapack.hpp"
#include "dist/spectral.hpp"
#include "dist/stage.hpp"
#include "dist/team.hpp"
#include "kernels/modular.hpp"
#include "kernels/numbers.hpp"
#include "linalg/stack.hpp"
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

// The first k columns, or rows, of a factored matrix, of a layout of their own size.
template <class T>
Matrix corner(const Matrix& a, std::int64_t m, std::int64_t n, bool last = false) {
  if (a.rows() == m && a.columns() == n) return last ? a : copy_of(a);  // the last one takes the memory
  Matrix b = make_matrix(m, n, a.dtype(), a.layout());
  scalapack::redistribute<T>(m, n, local<T>(a), {}, local<T>(b), {}, a.state().grid.state().context);
  return b;
}

void raise_nonfinite(const std::string& text, Policy policy, std::string_view op) {
  Verdict v;
  v.status = Status::nonfinite_input;
  auto state = new_state(op, v);
  state->nonfinite = [text](std::int64_t) { return text; };
  act(linalg::Diagnosis(state), policy, {});
}

// Positive definite, and by how much: the least of what elimination left of the diagonal.
template <class T>
Verdict cholesky_in_place(const Matrix& a) {
  Verdict v;
  v.structure = Structure::symmetric;
  v.method = Method::cholesky;
  const std::int64_t n = a.rows();
  std::vector<double> whole(static_cast<std::size_t>(n), 0), left = whole;
  const auto diagonal = [&](std::vector<double>& to) {
    local<T>(a).each([&](std::int64_t i, std::int64_t j, const T& e) {
      if (i == j) to[static_cast<std::size_t>(i)] = static_cast<double>(std::real(e));
    });
    all_sum(to.data(), n);
  };
  diagonal(whole);
  const int info = scalapack::potrf<T>(local<T>(a));
  if (info != 0) {
    v.status = Status::not_spd;
    v.reason = say("is not positive definite: the leading ", info, " × ", info, " part is not.");
    return v;
  }
  diagonal(left);
  double least = HUGE_VAL, most = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const double share = left[i] * left[i] / whole[i];
    least = std::min(least, share);
    most = std::max(most, share);
  }
  v.rcond = n ? least / most : 1;
  if (v.rcond < linalg::kUnit<T>) {
    v.status = Status::not_spd;
    v.reason = say("is positive definite by rounding only: ", v.rcond, " is left of a diagonal element.");
  }
  return v;
}

// Φ(M): the lower triangle with half the (real) diagonal. Its own adjoint.
Matrix halved(const Matrix& m, const Place& place) {
  return taped(
      "dist.halve", {m},
      [](const Many& in) {
        Matrix out = copy_of(in[0]);
        linalg::with_float(out.dtype(), [&]<class T>(T) {
          local<T>(out).each([](std::int64_t i, std::int64_t j, T& v) {
            if (i < j) v = T(0);
            if (i == j)
              v = T(static_cast<typename kernels::RealOf<T>::type>(0.5 * static_cast<double>(std::real(v))));
          });
        });
        return out;
      },
      [place](const Many&, const Matrix&, const Matrix& g) -> Many { return {halved(g, place)}; }, place);
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

// Ā = L⁻ᴴ Φ(Lᴴ L̄) L⁻¹, its Hermitian part (Murray 2016, §3).
Matrix cholesky_cotangent(const Matrix& l, const Matrix& g, const Place& place) {
  auto kept = std::make_shared<KeptTriangle>();
  kept->l = l;
  const Matrix p = solve_with(kept, l, halved(product(1, l, true, g, false, place), place), true, place);
  const Matrix s = solve_with(kept, l, p.adjoint(), true, place);
  return combined(0.5, s, 0.5, s.adjoint(), place);
}

}  // namespace

HermitianPart hermitian_part(const Matrix& a, const std::optional<std::string_view>& uplo) {
  HermitianPart out;
  out.matrix = copy_of(a);
  if (uplo && *uplo != "lower" && *uplo != "upper")
    refuse<ArgumentError>("WP-ARG-001", say("attribute uplo must be one of 'lower', 'upper'; got '", *uplo, "'."));
  linalg::with_float(a.dtype(), [&]<class T>(T) {
    using R = typename kernels::RealOf<T>::type;
    Matrix turned = make_like(a);
    scalapack::transpose<T>(true, local<T>(a), local<T>(turned));
    const Local<T> t = local<T>(turned), m = local<T>(out.matrix);
    double apart = 0, largest = 0;
    m.each([&](std::int64_t i, std::int64_t j, T& v) {
      const T other = t.at(m.row.local(i), m.column.local(j));
      largest = std::max(largest, size_of_number(v));
      if (i == j)
        v = T(std::real(v));
      else if (uplo)
        v = (*uplo == "lower") == (i > j) ? v : other;
      else if (v != other) {
        apart = std::max(apart, size_of_number(v - other) / 2);
        v = v * R(0.5) + other * R(0.5);
      }
    });
    apart = reduced(apart, MPI_MAX);
    largest = reduced(largest, MPI_MAX);
    if (largest > 0 && std::isfinite(largest)) out.asymmetry = apart / largest;
  });
  return out;
}

void report_asymmetry(double asymmetry, DType dtype) {
  const double threshold = 64 * linalg::round_off(dtype);
  if (!(asymmetry > threshold)) return;
  Finding f = misuse("WP-LIN-006", {}, {}, {});
  f.severity = Severity::warning;
  f.measured = asymmetry;
  f.threshold = threshold;
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", asymmetry);
  f.message = say("the matrix is not symmetric: elements differ from their mirror images by up to ", text,
                  " of the largest. The answer is that of (x + conj(x)ᵀ)/2.");
  f.advice = "Make it symmetric before, or say which triangle is meant: uplo = \"lower\".";
  report(f);
}

Matrix cholesky(const Matrix& a, const CholeskyOptions& o, Where where) {
  const Stage stage("dist.cholesky", where);
  meet(say("dist.cholesky ", facts(a), ", upper ", o.upper, ", if_ill ", o.if_ill, ", uplo ", o.uplo.value_or("")));
  need_defined(a, "A");
  need_square(a);
  const Policy policy = policy_of(o.if_ill);
  const Place place(where);
  const bool upper = o.upper;
  const std::optional<std::string_view> uplo = o.uplo;
  const auto lower = [=](const Many& in) {
    const HermitianPart h = hermitian_part(in[0], uplo);
    const std::string bad = nonfinite_element(h.matrix, "A");
    return linalg::with_float(a.dtype(), [&]<class T>(T) {
      if (!bad.empty()) {
        raise_nonfinite(bad, policy, "cholesky");
        fill_nan(h.matrix);
        return h.matrix;
      }
      report_asymmetry(h.asymmetry, a.dtype());
      const Verdict v = cholesky_in_place<T>(h.matrix);
      act(linalg::Diagnosis(new_state("cholesky", v)), policy, "Add a small multiple of the identity.");
      v.status == Status::ok ? keep_triangle<T>(h.matrix, false) : fill_nan(h.matrix);
      return h.matrix;
    });
  };
  const Matrix l = taped(
      "dist.cholesky", {a}, lower,
      [=](const Many&, const Matrix& y, const Matrix& g) -> Many { return {cholesky_cotangent(y, g, place)}; },
      place);
  return upper ? l.adjoint(where) : l;
}

Tensor logdet(const Matrix& a, const LogdetOptions& o, Where where) {
  const Stage stage("dist.logdet", where);
  meet(say("dist.logdet ", facts(a), ", if_ill ", o.if_ill, ", uplo ", o.uplo.value_or("")));
  need_defined(a, "A");
  need_square(a);
  const Policy policy = policy_of(o.if_ill);
  const Place place(where);
  const std::optional<std::string_view> uplo = o.uplo;
  auto factor = std::make_shared<Matrix>();
  return taped_number(
      "dist.logdet", {a},
      [=](const Many& in) {
        const HermitianPart h = hermitian_part(in[0], uplo);
        const std::string bad = nonfinite_element(h.matrix, "A");
        double sum = std::numeric_limits<double>::quiet_NaN();
        if (!bad.empty()) {
          raise_nonfinite(bad, policy, "logdet");
        } else {
          report_asymmetry(h.asymmetry, a.dtype());
          linalg::with_float(a.dtype(), [&]<class T>(T) {
            const Verdict v = cholesky_in_place<T>(h.matrix);
            act(linalg::Diagnosis(new_state("logdet", v)), policy,
                "Use slogdet, or add a small multiple of the identity.");
            if (v.status != Status::ok) return;
            double own = 0;
            local<T>(h.matrix).each([&](std::int64_t i, std::int64_t j, const T& e) {
              if (i == j) own += 2 * std::log(static_cast<double>(std::real(e)));
            });
            all_sum(&own, 1);
            sum = own;
          });
        }
        *factor = h.matrix;
        const Tensor value = Tensor(Scalar(sum));
        return a.dtype() == f32 || a.dtype() == c64 ? wp::astype(value, f32) : value;
      },
      // Ā = ḡ A⁻¹ (A Hermitian), from the factor
      [=](const Many& in, const Tensor&, const Tensor& g) -> Many {
        if (context().listeners)  // differentiated again: by the inverse, which has a rule
          return {scaled_by(g, inv(in[0], {.assume = "spd"}), place)};
        Matrix x = copy_of(*factor);
        linalg::with_float(a.dtype(), [&]<class T>(T) {
          scalapack::potri<T>(local<T>(x));
          keep_triangle<T>(x, false);
        });
        return {scaled_by(g, hermitian_part(x, "lower").matrix, place)};
      },
      place);
}

LuResult lu(const Matrix& a, const DecomposeOptions& o, Where where) {
  const Stage stage("dist.lu", where);
  meet(say("dist.lu ", facts(a), ", if_ill ", o.if_ill));
  need_defined(a, "A");
  const Policy policy = policy_of(o.if_ill);
  LuResult out;
  const std::int64_t m = a.rows(), n = a.columns(), k = std::min(m, n);
  Matrix f = copy_of(a);
  if (const std::string bad = nonfinite_element(a, "A"); !bad.empty()) {
    raise_nonfinite(bad, policy, "lu");
    fill_nan(f);
  }
  linalg::with_float(a.dtype(), [&]<class T>(T) {
    std::vector<int> pivots;
    scalapack::getrf<T>(local<T>(f), pivots);
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
  return out;
}

QrResult qr(const Matrix& a, const DecomposeOptions& o, Where where) {
  const Stage stage("dist.qr", where);
  meet(say("dist.qr ", facts(a), ", if_ill ", o.if_ill));
  need_defined(a, "A");
  const Policy policy = policy_of(o.if_ill);
  QrResult out;
  const std::int64_t k = std::min(a.rows(), a.columns());
  Matrix f = copy_of(a);
  if (const std::string bad = nonfinite_element(a, "A"); !bad.empty()) {
    raise_nonfinite(bad, policy, "qr");
    fill_nan(f);
    return {make_matrix(a.rows(), k, a.dtype(), a.layout()), f};
  }
  linalg::with_float(a.dtype(), [&]<class T>(T) {
    std::vector<T> tau;
    if (k > 0) scalapack::geqrf<T>(local<T>(f), tau);
    out.R = corner<T>(f, k, a.columns());
    keep_triangle<T>(out.R, true);
    out.Q = corner<T>(f, a.rows(), k, true);
    if (k > 0) scalapack::make_q<T>(k, local<T>(out.Q), tau);
  });
  without_rule("dist.qr", {a}, {}, {&out.Q, &out.R});
  return out;
}

}  // namespace wp::dist
