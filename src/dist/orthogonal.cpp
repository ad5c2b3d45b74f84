#include "dist/orthogonal.hpp"

#include "dist/scalapack.hpp"
#include "kernels/each_float.hpp"

namespace wp::dist {

template <class T>
Matrix corner(const Matrix& a, std::int64_t m, std::int64_t n, bool taken) {
  if (a.rows() == m && a.columns() == n) return taken ? a : copy_of(a);
  Matrix b = make_matrix(m, n, a.dtype(), a.layout());
  scalapack::redistribute<T>(m, n, local<T>(a), {}, local<T>(b), {}, a.state().grid.state().context);
  return b;
}

template <class T>
Matrix columns_of_q(const Matrix& f, const std::vector<T>& tau, std::int64_t columns, bool taken) {
  const std::int64_t m = f.rows(), k = std::min(m, f.columns()), kept = std::min(k, columns);
  Matrix q = columns == kept ? corner<T>(f, m, columns, taken) : make_matrix(m, columns, f.dtype(), f.layout());
  if (columns != kept) {
    const Local<T> l = local<T>(q);
    std::fill_n(l.data, l.rows() * l.columns(), T(0));
    scalapack::redistribute<T>(m, kept, local<T>(f), {}, l, {}, f.state().grid.state().context);
    if (kept == 0) l.each([](std::int64_t i, std::int64_t j, T& v) { v = T(i == j ? 1 : 0); });
  }
  if (kept > 0) scalapack::make_q<T>(kept, local<T>(q), tau);
  return q;
}

template <class T>
Matrix completed(const Matrix& u) {
  const std::int64_t m = u.rows(), k = u.columns();
  if (m == k) return u;
  Matrix f = copy_of(u);
  std::vector<T> tau;
  if (k > 0) scalapack::geqrf<T>(local<T>(f), tau);
  Matrix q = columns_of_q<T>(f, tau, m);
  scalapack::redistribute<T>(m, k, local<T>(u), {}, local<T>(q), {}, u.state().grid.state().context);
  return q;
}

#define WP_INSTANTIATE(T)                                                                    \
  template Matrix corner<T>(const Matrix&, std::int64_t, std::int64_t, bool);                \
  template Matrix columns_of_q<T>(const Matrix&, const std::vector<T>&, std::int64_t, bool); \
  template Matrix completed<T>(const Matrix&);
WP_FOR_FLOATS(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::dist
