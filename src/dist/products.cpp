#include "dist/products.hpp"

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "dist/calling.hpp"
#include "dist/noting.hpp"
#include "dist/scalapack.hpp"
#include "dist/spectral.hpp"
#include "dist/stage.hpp"
#include "dist/team.hpp"
#include "kernels/numbers.hpp"
#include "linalg/stack.hpp"
#include "wellposed/ops.hpp"

namespace wp::dist {

// C = f op(A) op(B): Ā = f ḡ op(B)ᴴ, or its adjoint where op turned A; B̄ alike.
Matrix product(double factor, const Matrix& a, bool ta, const Matrix& b, bool tb, const Place& place) {
  return taped(
      "dist.matmul", {a, b},
      [=](const Many& in) {
        const std::int64_t m = ta ? in[0].columns() : in[0].rows(), n = tb ? in[1].rows() : in[1].columns();
        Matrix c = make_matrix(m, n, in[0].dtype(), in[0].layout(), in[1].is_vector() && !tb);
        linalg::with_float(c.dtype(), [&]<class T>(T) {
          using R = typename kernels::RealOf<T>::type;
          const Local<T> to = local<T>(c);
          std::fill_n(to.data, to.rows() * to.columns(), T(0));
          const std::int64_t inner = ta ? in[0].rows() : in[0].columns();
          if (m > 0 && n > 0 && inner > 0)
            scalapack::gemm<T>(ta, tb, T(static_cast<R>(factor)), local<T>(in[0]), local<T>(in[1]), T(0), to);
        });
        return c;
      },
      [=](const Many& in, const Matrix&, const Matrix& g) -> Many {
        return {ta ? product(factor, in[1], tb, g, true, place) : product(factor, g, false, in[1], !tb, place),
                tb ? product(factor, g, true, in[0], ta, place) : product(factor, in[0], !ta, g, false, place)};
      },
      place);
}

Matrix combined(double alpha, const Matrix& a, double beta, const Matrix& b, const Place& place) {
  return taped(
      "dist.combine", {a, b},
      [=](const Many& in) {
        Matrix c = make_like(in[0]);
        linalg::with_float(c.dtype(), [&]<class T>(T) {
          using R = typename kernels::RealOf<T>::type;
          const Local<T> x = local<T>(in[0]), y = local<T>(in[1]), to = local<T>(c);
          for (std::int64_t e = 0; e < to.rows() * to.columns(); ++e)
            to.data[e] = static_cast<R>(alpha) * x.data[e] + static_cast<R>(beta) * y.data[e];
        });
        return c;
      },
      [=](const Many&, const Matrix&, const Matrix& g) -> Many {
        return {combined(alpha, g, 0, g, place), combined(beta, g, 0, g, place)};
      },
      place);
}

Matrix matmul(const Matrix& a, const Matrix& b, const MatmulOptions& o, Where where) {
  const Stage stage("dist.matmul", where);
  meet(say("dist.matmul A ", facts(a), ", B ", facts(b), ", adjoint ", o.adjoint_a, ", ", o.adjoint_b));
  need_defined(a, "A");
  need_defined(b, "B");
  const std::int64_t left = o.adjoint_a ? a.rows() : a.columns(), right = o.adjoint_b ? b.columns() : b.rows();
  if (left != right)
    refuse<ShapeError>("WP-SHP-014", say("columns of A must be as many as rows of B; got A ", shape_of(a), ", B ",
                                         shape_of(b), ", adjoint ", o.adjoint_a, ", ", o.adjoint_b, "."));
  const auto [first, second] = alike(a, b, where);
  return product(1, first, o.adjoint_a, second, o.adjoint_b, where);
}

namespace {

enum class Norm : std::uint8_t {
  frobenius,
  largest,
  one,
  infinity,
  least_one,
  least_infinity,
  two,
  least_two,
  nuclear
};

Norm norm_of(const Setting& ord) {
  constexpr std::pair<std::string_view, Norm> words[] = {{"fro", Norm::frobenius},
                                                         {"max", Norm::largest},
                                                         {"inf", Norm::infinity},
                                                         {"-inf", Norm::least_infinity},
                                                         {"nuc", Norm::nuclear}};
  constexpr std::pair<double, Norm> numbers[] = {
      {1, Norm::one},        {-1, Norm::least_one},      {2, Norm::two},
      {-2, Norm::least_two}, {HUGE_VAL, Norm::infinity}, {-HUGE_VAL, Norm::least_infinity}};
  for (const auto& [word, norm] : words)
    if (!ord.is_number() && ord.rule() == word) return norm;
  for (const auto& [number, norm] : numbers)
    if (ord.is_number() && ord.number() == number) return norm;
  refuse<ArgumentError>("WP-ARG-001", "ord must be 1, -1, 2, -2, inf, -inf, 'fro', 'nuc' or 'max'.");
}

// By singular values; NaN where there are none.
template <class T>
double spectral_norm(const Matrix& a, Norm norm) {
  const Spectral<T> svd(a, false);
  const std::vector<double>& s = svd.sigma();
  if (svd.status() != linalg::Status::ok) return std::numeric_limits<double>::quiet_NaN();
  if (s.empty()) return 0;
  if (norm == Norm::two) return s.front();
  if (norm == Norm::least_two) return s.back();
  double sum = 0;
  for (std::size_t i = s.size(); i-- > 0;) sum += s[i];
  return sum;
}

// By sums of |element|, of what is near 1: they do not overflow.
template <class T>
double sum_norm(const Matrix& a, Norm norm) {
  const Local<T> l = local<T>(a);
  double top = 0, nan = 0;
  for (std::int64_t e = 0; e < l.rows() * l.columns(); ++e) {
    const double size = size_of_number(l.data[e]);
    if (std::isnan(size)) nan = 1;
    top = std::max(top, size);
  }
  top = reduced(top, MPI_MAX);
  if (reduced(nan, MPI_MAX) > 0) return std::numeric_limits<double>::quiet_NaN();
  const bool columns = norm == Norm::one || norm == Norm::least_one,
             rows = norm == Norm::infinity || norm == Norm::least_infinity,
             least = norm == Norm::least_one || norm == Norm::least_infinity;
  if (top == 0 || (std::isinf(top) && !least)) return top;
  const int e = std::isinf(top) ? std::numeric_limits<double>::max_exponent : std::ilogb(top);
  std::vector<double> sums(static_cast<std::size_t>(columns ? a.columns() : rows ? a.rows() : 1), 0);
  l.each([&](std::int64_t i, std::int64_t j, const T& v) {
    const double size = std::abs(std::complex<double>(times_power(complex128(v), -e)));
    double& sum = sums[static_cast<std::size_t>(columns ? j : rows ? i : 0)];
    sum = norm == Norm::largest ? std::max(sum, size) : sum + (norm == Norm::frobenius ? size * size : size);
  });
  norm == Norm::largest ? all_reduce(sums.data(), 1, MPI_MAX)
                        : all_sum(sums.data(), static_cast<std::int64_t>(sums.size()));
  const double most =
      least ? *std::min_element(sums.begin(), sums.end()) : *std::max_element(sums.begin(), sums.end());
  return std::ldexp(norm == Norm::frobenius ? std::sqrt(most) : most, e);
}

}  // namespace

double matrix_norm(const Matrix& a, const Setting& ord, Where where) {
  const Stage stage("dist.matrix_norm", where);
  meet(say("dist.matrix_norm ", facts(a), ", ord ", ord.is_number() ? say(ord.number()) : std::string(ord.rule())));
  need_defined(a, "A");
  const Norm norm = norm_of(ord);
  if ((norm == Norm::least_one || norm == Norm::least_infinity || norm == Norm::least_two) &&
      std::min(a.rows(), a.columns()) == 0)
    refuse<ShapeError>("WP-SHP-006",
                       say("has no value over an empty axis; A is [", a.rows(), ", ", a.columns(), "]."));
  const DType work = linalg::working_dtype(a.dtype(), std::max(a.rows(), a.columns()));
  const double found =
      norm < Norm::two
          ? linalg::with_float(a.dtype(), [&]<class T>(T) { return sum_norm<T>(a, norm); })
          : linalg::with_float(work, [&]<class T>(T) { return spectral_norm<T>(converted(a, work), norm); });
  if (!std::isfinite(found)) escape(a, "matrix_norm", Counts::made, where);
  return found;
}

}  // namespace wp::dist
