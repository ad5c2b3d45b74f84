#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/condition.hpp"

namespace wp::kernels {
namespace {

constexpr int kNone = std::numeric_limits<int>::min() / 4;  // the exponent of 0
constexpr int kSpread = 3;                                  // lines may differ by 2³
// Largest elements within 2^±kSafe are far from overflow and underflow.
template <class T>
inline constexpr int kSafe = std::is_same_v<typename RealOf<T>::type, float> ? 32 : 256;

// e with max(|re|, |im|) in [2^(e−1), 2^e).
template <class T>
int exponent_of(T v) {
  double size = 0;
  if constexpr (RealOf<T>::parts == 2)
    size = std::max(std::fabs(static_cast<double>(v.real())), std::fabs(static_cast<double>(v.imag())));
  else
    size = std::fabs(static_cast<double>(v));
  return size == 0 ? kNone : std::ilogb(size) + 1;
}

// The largest exponent of each row of 2^rows · A · 2^columns.
template <class T>
std::vector<int> row_exponents(std::int64_t m, std::int64_t n, View<T> a, const std::vector<int>& columns) {
  std::vector<int> top(static_cast<std::size_t>(m), kNone);
  for (std::int64_t i = 0; i < m; ++i) {
    int& e = top[static_cast<std::size_t>(i)];
    for (std::int64_t j = 0; j < n; ++j) {
      const int v = exponent_of(a.data[i * a.rows + j * a.columns]);
      if (v != kNone) e = std::max(e, v + columns[static_cast<std::size_t>(j)]);
    }
  }
  return top;
}

// Whether lines are so different, or so far from 1, that they must be scaled.
template <class T>
bool uneven(const std::vector<int>& top) {
  int least = std::numeric_limits<int>::max(), most = kNone;
  for (const int e : top)
    if (e != kNone) least = std::min(least, e), most = std::max(most, e);
  return most != kNone && (most - least > kSpread || std::abs(most) > kSafe<T> || std::abs(least) > kSafe<T>);
}

void count_zeros(const std::vector<int>& top, std::int64_t& count, std::int64_t& first) {
  count = std::count(top.begin(), top.end(), kNone);
  first = count ? std::find(top.begin(), top.end(), kNone) - top.begin() : -1;
}

std::vector<int> negated(const std::vector<int>& top) {
  std::vector<int> scale;
  for (const int e : top) scale.push_back(e == kNone ? 0 : -e);
  return scale;
}

}  // namespace

template <class T>
Equilibration equilibrate(std::int64_t m, std::int64_t n, View<T> a) {
  Equilibration q;
  q.rows.assign(static_cast<std::size_t>(m), 0);
  q.columns.assign(static_cast<std::size_t>(n), 0);
  const std::vector<int> rows = row_exponents(m, n, a, q.columns);
  count_zeros(rows, q.zero_rows, q.first_zero_row);
  const bool rows_needed = uneven<T>(rows);
  if (rows_needed) q.rows = negated(rows);
  const std::vector<int> columns = row_exponents(n, m, View<T>{a.data, a.columns, a.rows}, q.rows);
  count_zeros(columns, q.zero_columns, q.first_zero_column);
  const bool columns_needed = uneven<T>(columns);
  if (columns_needed) q.columns = negated(columns);
  q.needed = rows_needed || columns_needed;
  return q;
}

template <class T>
Equilibration equilibrate_symmetric(std::int64_t n, View<T> a) {
  Equilibration q;
  q.rows.assign(static_cast<std::size_t>(n), 0);
  std::vector<int> top = row_exponents(n, n, a, q.rows);
  count_zeros(top, q.zero_rows, q.first_zero_row);
  q.zero_columns = q.zero_rows;
  q.first_zero_column = q.first_zero_row;
  q.needed = uneven<T>(top);
  constexpr int kSteps = 16;  // each halves the exponents, which are below 2¹²
  for (int step = 0; q.needed && step < kSteps; ++step) {
    bool moved = false;
    for (std::size_t i = 0; i < top.size(); ++i) {
      if (top[i] == kNone) continue;
      const int by = top[i] / 2;  // towards 0: exponents −1, 0 and 1 stay
      q.rows[i] -= by;
      moved |= by != 0;
    }
    if (!moved) break;
    top = row_exponents(n, n, a, q.rows);
    for (std::size_t i = 0; i < top.size(); ++i)
      if (top[i] != kNone) top[i] += q.rows[i];
  }
  q.columns = q.rows;
  return q;
}

template <class T>
int prescale_exponent(std::int64_t m, std::int64_t n, View<T> a) {
  int top = kNone;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) top = std::max(top, exponent_of(a.data[i * a.rows + j * a.columns]));
  return top == kNone ? 0 : -top;
}

template <class T, class To>
bool scale(std::int64_t m, std::int64_t n, View<T> a, const int* rows, const int* columns, To* to) {
  using R = typename RealOf<To>::type;
  bool exact = true;
  const auto scaled = [&exact](double v, int e) {
    const double wide = std::ldexp(v, e);
    const R r = static_cast<R>(wide);
    exact &= std::ldexp(static_cast<double>(r), -e) == v;
    return r;
  };
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      const T v = a.data[i * a.rows + j * a.columns];
      const int e = rows[i] + columns[j];
      if constexpr (RealOf<T>::parts == 2)
        to[i * n + j] = To(scaled(static_cast<double>(v.real()), e), scaled(static_cast<double>(v.imag()), e));
      else
        to[i * n + j] = scaled(static_cast<double>(v), e);
    }
  return exact;
}

#define WP_INSTANTIATE(T)                                                  \
  template Equilibration equilibrate(std::int64_t, std::int64_t, View<T>); \
  template Equilibration equilibrate_symmetric(std::int64_t, View<T>);     \
  template int prescale_exponent(std::int64_t, std::int64_t, View<T>);     \
  template bool scale(std::int64_t, std::int64_t, View<T>, const int*, const int*, T*);
WP_INSTANTIATE(float)
WP_INSTANTIATE(double)
WP_INSTANTIATE(std::complex<float>)
WP_INSTANTIATE(std::complex<double>)
#undef WP_INSTANTIATE
template bool scale(std::int64_t, std::int64_t, View<float>, const int*, const int*, double*);
template bool scale(std::int64_t, std::int64_t, View<std::complex<float>>, const int*, const int*,
                    std::complex<double>*);

}  // namespace wp::kernels
