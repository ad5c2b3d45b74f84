#include "dist/products.hpp"

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "dist/calling.hpp"
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
    refuse<ShapeError>(
        "WP-SHP-014", say("columns of A must be as many as rows of B; got A [", a.rows(), ", ", a.columns(), "], B [",
                          b.rows(), ", ", b.columns(), "], adjoint ", o.adjoint_a, ", ", o.adjoint_b, "."));
  need_same_layout(a, b);
  return product(1, a, o.adjoint_a, b, o.adjoint_b, where);
}

double matrix_norm(const Matrix& a, const Setting& ord, Where where) {
  const Stage stage("dist.matrix_norm", where);
  meet(say("dist.matrix_norm ", facts(a), ", ord ", ord.is_number() ? say(ord.number()) : std::string(ord.rule())));
  need_defined(a, "A");
  const bool one = ord.is_number() && ord.number() == 1, two = ord.is_number() && ord.number() == 2;
  const bool inf = (ord.is_number() && std::isinf(ord.number())) || (!ord.is_number() && ord.rule() == "inf");
  const bool fro = !ord.is_number() && ord.rule() == "fro", max = !ord.is_number() && ord.rule() == "max";
  if (!one && !two && !inf && !fro && !max)
    refuse<ArgumentError>("WP-ARG-001", "ord must be 'fro', 'max', 'inf', 1 or 2.");
  return linalg::with_float(a.dtype(), [&]<class T>(T) -> double {
    if (two) {
      const Spectral<T> svd(a, false);
      return svd.status() == linalg::Status::ok ? svd.largest() : std::numeric_limits<double>::quiet_NaN();
    }
    const Local<T> l = local<T>(a);
    double top = 0, nan = 0;
    for (std::int64_t e = 0; e < l.rows() * l.columns(); ++e) {
      const double size = size_of_number(l.data[e]);
      if (std::isnan(size)) nan = 1;
      top = std::max(top, size);
    }
    top = reduced(top, MPI_MAX);
    if (reduced(nan, MPI_MAX) > 0) return std::numeric_limits<double>::quiet_NaN();
    if (top == 0 || std::isinf(top)) return top;
    const int e = std::ilogb(top);  // sums of what is near 1 do not overflow
    std::vector<double> sums(static_cast<std::size_t>(one ? a.columns() : inf ? a.rows() : 1), 0);
    l.each([&](std::int64_t i, std::int64_t j, const T& v) {
      const double size = std::abs(std::complex<double>(times_power(complex128(v), -e)));
      if (max)
        sums[0] = std::max(sums[0], size);
      else
        sums[static_cast<std::size_t>(one ? j : inf ? i : 0)] += fro ? size * size : size;
    });
    max ? all_reduce(sums.data(), 1, MPI_MAX) : all_sum(sums.data(), static_cast<std::int64_t>(sums.size()));
    const double most = *std::max_element(sums.begin(), sums.end());
    return std::ldexp(fro ? std::sqrt(most) : most, e);
  });
}

}  // namespace wp::dist
