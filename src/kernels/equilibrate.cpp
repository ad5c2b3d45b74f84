#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <limits>

#include "base/pool.hpp"
#include "kernels/condition.hpp"
#include "kernels/each_float.hpp"
#include "kernels/exponents.hpp"

namespace wp::kernels {
namespace {

constexpr int kNone = kNoExponent;
constexpr int kSpread = 3;  // lines may differ by 2³
// Largest elements within 2^±kSafe are far from overflow and underflow.
template <class T>
inline constexpr int kSafe = std::is_same_v<typename RealOf<T>::type, float> ? 32 : 256;

// e with |v| in [2^(e−1), 2^e); kNone for 0.
[[gnu::always_inline]] inline int exponent_of(double v) {
  const auto bits = std::bit_cast<std::uint64_t>(v);
  const int field = static_cast<int>(bits >> 52) & 0x7ff;
  if (field) [[likely]]
    return field - 1022;
  return bits << 1 ? std::ilogb(v) + 1 : kNone;
}
template <class T>
[[gnu::always_inline]] inline int exponent_of(std::complex<T> v) {
  return std::max(exponent_of(static_cast<double>(v.real())), exponent_of(static_cast<double>(v.imag())));
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

// The same of A itself, from the largest elements.
template <class T>
Exponents exponents(std::int64_t m, std::int64_t n, const Survey<T>& survey) {
  Exponents top;
  for (std::int64_t i = 0; i < m; ++i) top.rows.push_back(exponent_of(static_cast<double>(survey.rows()[i])));
  for (std::int64_t j = 0; j < n; ++j) top.columns.push_back(exponent_of(static_cast<double>(survey.columns()[j])));
  return top;
}

}  // namespace

int exponent_of_size(double size) {
  return exponent_of(size);
}

template <class T>
Exponents largest_exponents(std::int64_t m, std::int64_t n, View<T> a, const std::vector<int>& row,
                            const std::vector<int>& column) {
  if (std::abs(a.rows) < std::abs(a.columns)) {
    Exponents turned = largest_exponents(n, m, View<T>{a.data, a.columns, a.rows}, column, row);
    std::swap(turned.rows, turned.columns);
    return turned;
  }
  Exponents top{std::vector<int>(row.size(), kNone), std::vector<int>(column.size(), kNone)};
  for (std::int64_t i = 0; i < m; ++i) {
    const T* const line = a.data + i * a.rows;
    const int shift = row[static_cast<std::size_t>(i)];
    int* const across = top.columns.data();
    int most = kNone;
    for (std::int64_t j = 0; j < n; ++j) {
      const int e = exponent_of(line[j * a.columns]) + (shift + column[static_cast<std::size_t>(j)]);
      most = std::max(most, e);
      across[j] = std::max(across[j], e);
    }
    top.rows[static_cast<std::size_t>(i)] = most;
  }
  for (std::vector<int>* lines : {&top.rows, &top.columns})
    for (int& e : *lines)
      if (e < kNone / 2) e = kNone;
  return top;
}

template <class T>
Equilibration equilibrate(Exponents top, const ExponentsAfter& after) {
  Equilibration q;
  q.rows.assign(top.rows.size(), 0);
  q.columns.assign(top.columns.size(), 0);
  count_zeros(top.rows, q.zero_rows, q.first_zero_row);
  count_zeros(top.columns, q.zero_columns, q.first_zero_column);
  const bool rows_needed = uneven<T>(top.rows);
  if (rows_needed) {
    q.rows = negated(top.rows);
    top = after(q.rows, q.columns);
  }
  const bool columns_needed = uneven<T>(top.columns);
  if (columns_needed) q.columns = negated(top.columns);
  q.needed = rows_needed || columns_needed;
  return q;
}

template <class T>
Equilibration equilibrate_symmetric(std::vector<int> top, const ExponentsAfter& after) {
  Equilibration q;
  q.rows.assign(top.size(), 0);
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
    top = after(q.rows, q.rows).rows;
  }
  q.columns = q.rows;
  return q;
}

namespace {

template <class T>
ExponentsAfter scaled_exponents(std::int64_t m, std::int64_t n, View<T> a) {
  return [=](const std::vector<int>& rows, const std::vector<int>& columns) {
    return largest_exponents(m, n, a, rows, columns);
  };
}

}  // namespace

template <class T>
Equilibration equilibrate(std::int64_t m, std::int64_t n, View<T> a) {
  const std::vector<int> rows(static_cast<std::size_t>(m)), columns(static_cast<std::size_t>(n));
  return equilibrate<T>(largest_exponents(m, n, a, rows, columns), scaled_exponents(m, n, a));
}
template <class T>
Equilibration equilibrate(std::int64_t m, std::int64_t n, View<T> a, const Survey<T>& survey) {
  return equilibrate<T>(exponents(m, n, survey), scaled_exponents(m, n, a));
}

template <class T>
Equilibration equilibrate_symmetric(std::int64_t n, View<T> a) {
  const std::vector<int> none(static_cast<std::size_t>(n));
  return equilibrate_symmetric<T>(largest_exponents(n, n, a, none, none).rows, scaled_exponents(n, n, a));
}
template <class T>
Equilibration equilibrate_symmetric(std::int64_t n, View<T> a, const Survey<T>& survey) {
  return equilibrate_symmetric<T>(exponents(n, n, survey).rows, scaled_exponents(n, n, a));
}

template <class T>
bool needs_scaling(std::int64_t m, std::int64_t n, const Survey<T>& survey) {
  using R = typename RealOf<T>::type;
  const auto uneven_lines = [](std::int64_t count, const R* top) {
    R least = std::numeric_limits<R>::infinity(), most = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      most = top[i] > most ? top[i] : most;
      least = (top[i] < least) & (top[i] > 0) ? top[i] : least;
    }
    return most > 0 && uneven<T>({exponent_of(static_cast<double>(least)), exponent_of(static_cast<double>(most))});
  };
  return uneven_lines(m, survey.rows()) || uneven_lines(n, survey.columns());
}

template <class T>
Reach reach(std::int64_t m, std::int64_t n, View<T> a) {
  if (std::abs(a.rows) < std::abs(a.columns)) return reach<T>(n, m, {a.data, a.columns, a.rows});
  int most = kNone, least = std::numeric_limits<int>::max();
  const auto take = [&](double part) {
    const int e = exponent_of(part);
    most = std::max(most, e);
    least = std::min(least, e == kNone ? least : e);
  };
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      const T v = a.data[i * a.rows + j * a.columns];
      take(static_cast<double>(std::real(v)));
      if constexpr (RealOf<T>::parts == 2) take(static_cast<double>(v.imag()));
    }
  return most == kNone ? Reach{} : Reach{most, least};
}

template <class T>
int placing_exponent(std::int64_t m, std::int64_t n, View<T> a, int ceiling, int power) {
  const Reach r = reach<T>(m, n, a);
  if (r.most == kNone) return 0;
  return std::clamp(kRoom<typename RealOf<T>::type> - power * (r.least - r.most), 0, ceiling) - r.most;
}

template <class T>
int prescale_exponent(std::int64_t m, std::int64_t n, View<T> a) {
  const Survey<T> survey(m, n, a, nullptr);
  double most = 0;
  for (std::int64_t i = 0; i < m; ++i) most = std::max(most, static_cast<double>(survey.rows()[i]));
  return most == 0 ? 0 : -exponent_of(most);
}

namespace {

// One element, with scaled(v, i, j) for each of its parts.
template <class T, class To, class Scaled>
[[gnu::always_inline]] inline To scaled_number(T v, Scaled&& scaled) {
  if constexpr (RealOf<T>::parts == 2)
    return To(scaled(static_cast<double>(v.real())), scaled(static_cast<double>(v.imag())));
  else
    return scaled(static_cast<double>(v));
}

// Exponents whose powers, and their products, are normal numbers: multiplication rounds as ldexp does.
template <class T, class To>
bool scale_by_products(std::int64_t m, std::int64_t n, View<T> a, const int* rows, const int* columns, To* to) {
  using R = typename RealOf<To>::type;
  constexpr std::int64_t kTile = 16;        // rows that are written side by side where columns are contiguous
  constexpr std::int64_t kGrain = 1 << 16;  // elements that are worth a task
  Buffer<double> powers(std::max<std::int64_t>(1, 2 * n));
  double *const up = powers.data(), *const down = up + n;
  for (std::int64_t j = 0; j < n; ++j) up[j] = std::ldexp(1.0, columns[j]), down[j] = std::ldexp(1.0, -columns[j]);
  const auto tile = [&](std::int64_t first, std::int64_t end) {
    int inexact = 0;
    const auto put = [&](std::int64_t i, std::int64_t j, double row_up, double row_down)
        __attribute__((always_inline)) {
      const double by = row_up * up[j], back = row_down * down[j];
      to[i * n + j] = scaled_number<T, To>(a.data[i * a.rows + j * a.columns], [&](double v) {
        const R r = static_cast<R>(v * by);
        inexact |= static_cast<double>(r) * back != v;
        return r;
      });
    };
    double row_up[kTile], row_down[kTile];
    for (std::int64_t i = first; i < end; ++i)
      row_up[i - first] = std::ldexp(1.0, rows[i]), row_down[i - first] = std::ldexp(1.0, -rows[i]);
    if (std::abs(a.columns) <= std::abs(a.rows)) {
      for (std::int64_t i = first; i < end; ++i)
        for (std::int64_t j = 0; j < n; ++j) put(i, j, row_up[i - first], row_down[i - first]);
    } else {
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = first; i < end; ++i) put(i, j, row_up[i - first], row_down[i - first]);
    }
    return inexact == 0;
  };
  std::atomic<bool> exact = true;
  parallel_for((m + kTile - 1) / kTile, std::max<std::int64_t>(1, kGrain / (kTile * n + 1)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t t = begin; t < end; ++t)
                   if (!tile(t * kTile, std::min(m, (t + 1) * kTile))) exact.store(false, std::memory_order_relaxed);
               });
  return exact;
}

}  // namespace

template <class T, class To>
bool scale(std::int64_t m, std::int64_t n, View<T> a, const int* rows, const int* columns, To* to) {
  using R = typename RealOf<To>::type;
  constexpr int kNormal = 1000;
  int far_rows = 0, far_columns = 0;
  for (std::int64_t i = 0; i < m; ++i) far_rows = std::max(far_rows, std::abs(rows[i]));
  for (std::int64_t j = 0; j < n; ++j) far_columns = std::max(far_columns, std::abs(columns[j]));
  if (far_rows + far_columns <= kNormal) return scale_by_products(m, n, a, rows, columns, to);
  bool exact = true;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      to[i * n + j] = scaled_number<T, To>(a.data[i * a.rows + j * a.columns], [&](double v) {
        const int e = rows[i] + columns[j];
        const R r = static_cast<R>(std::ldexp(v, e));
        exact &= std::ldexp(static_cast<double>(r), -e) == v;
        return r;
      });
  return exact;
}

#define WP_INSTANTIATE(T)                                                                            \
  template Exponents largest_exponents(std::int64_t, std::int64_t, View<T>, const std::vector<int>&, \
                                       const std::vector<int>&);                                     \
  template Equilibration equilibrate<T>(Exponents, const ExponentsAfter&);                           \
  template Equilibration equilibrate_symmetric<T>(std::vector<int>, const ExponentsAfter&);          \
  template Equilibration equilibrate(std::int64_t, std::int64_t, View<T>);                           \
  template Equilibration equilibrate(std::int64_t, std::int64_t, View<T>, const Survey<T>&);         \
  template Equilibration equilibrate_symmetric(std::int64_t, View<T>);                               \
  template Equilibration equilibrate_symmetric(std::int64_t, View<T>, const Survey<T>&);             \
  template bool needs_scaling(std::int64_t, std::int64_t, const Survey<T>&);                         \
  template Reach reach(std::int64_t, std::int64_t, View<T>);                                         \
  template int placing_exponent(std::int64_t, std::int64_t, View<T>, int, int);                      \
  template int prescale_exponent(std::int64_t, std::int64_t, View<T>);                               \
  template bool scale(std::int64_t, std::int64_t, View<T>, const int*, const int*, T*);
WP_FOR_FLOATS(WP_INSTANTIATE)
#undef WP_INSTANTIATE
template bool scale(std::int64_t, std::int64_t, View<float>, const int*, const int*, double*);
template bool scale(std::int64_t, std::int64_t, View<std::complex<float>>, const int*, const int*,
                    std::complex<double>*);

}  // namespace wp::kernels
