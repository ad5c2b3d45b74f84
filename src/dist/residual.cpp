#include "dist/residual.hpp"

#include <cmath>
#include <optional>
#include <vector>

#include "dist/stage.hpp"
#include "dist/team.hpp"
#include "kernels/each_float.hpp"
#include "kernels/numbers.hpp"
#include "kernels/residual.hpp"

namespace wp::dist {
namespace {

// Sums of pairs: (a, b) stands for a + b. MPI's reduction with them keeps twice the precision (TwoSum: Knuth).
void add_pair(const double* a, double* b) {
  const double x = a[0], y = b[0], s = x + y, z = s - x;
  b[1] += a[1] + ((x - (s - z)) + (y - z));
  b[0] = s;
}
void add_pairs(void* from, void* to, int* count, MPI_Datatype*) {
  const auto* const a = static_cast<const double*>(from);
  auto* const b = static_cast<double*>(to);
  for (int k = 0; k < *count; ++k) add_pair(a + 2 * k, b + 2 * k);
}
void sum_pairs(double* pairs, std::int64_t count) {
  static const auto made = [] {
    std::pair<MPI_Op, MPI_Datatype> p;
    MPI_Op_create(add_pairs, 1, &p.first);
    MPI_Type_contiguous(2, MPI_DOUBLE, &p.second);
    MPI_Type_commit(&p.second);
    return p;
  }();
  constexpr std::int64_t kPiece = 1 << 22;
  for (std::int64_t at = 0; at < count; at += kPiece) {
    const int n = static_cast<int>(std::min(kPiece, count - at));
    double* const here = pairs + 2 * at;
    MPI_Reduce(rank() == 0 ? MPI_IN_PLACE : here, here, n, made.second, made.first, 0, world());
    MPI_Bcast(here, n, made.second, 0, world());
  }
}

template <class T>
double parts_of(T v) {
  return std::fabs(static_cast<double>(std::real(v))) + std::fabs(static_cast<double>(std::imag(v)));
}

// S X of the lines (rows; columns, adjoint) that this rank has, as sums of two numbers each, and |S||X|.
template <class T>
struct Part {
  using R = typename kernels::RealOf<T>::type;
  std::vector<T> own, zero, high, low, lines;
  std::vector<R> sizes;
  Part(std::int64_t m, std::int64_t n, std::int64_t columns, bool with_sizes, std::int64_t scaled)
      : own(static_cast<std::size_t>(n * columns)),
        zero(static_cast<std::size_t>(m * columns)),
        high(zero.size()),
        low(zero.size()),
        lines(static_cast<std::size_t>(scaled * n)),
        sizes(with_sizes ? zero.size() : 0) {}

  void multiply(const Local<T>& a, const Scales& scales, std::int64_t columns, bool adjoint) {
    const Axis &from = adjoint ? a.row : a.column, &to = adjoint ? a.column : a.row;
    const std::int64_t n = from.count(), m = to.count();
    const auto some = [&](std::int64_t first, std::int64_t count, kernels::View<T> view) {
      kernels::residual<T>(count, n, columns, view, {own.data(), columns, 1}, {}, {zero.data(), columns, 1},
                           high.data() + first * columns, sizes.empty() ? nullptr : sizes.data() + first * columns,
                           low.data() + first * columns);
    };
    if (scales.rows.empty())
      return some(0, m,
                  adjoint ? kernels::View<T>{a.data, a.leading(), 1} : kernels::View<T>{a.data, 1, a.leading()});
    const std::int64_t each = static_cast<std::int64_t>(lines.size()) / std::max<std::int64_t>(n, 1);
    const std::vector<int>&out = adjoint ? scales.columns : scales.rows, &in = adjoint ? scales.rows : scales.columns;
    for (std::int64_t first = 0; first < m && n > 0; first += each) {
      const std::int64_t count = std::min(each, m - first);
      for (std::int64_t j = 0; j < n; ++j) {
        const int e = in[static_cast<std::size_t>(from.global(j))];
        for (std::int64_t i = first; i < first + count; ++i)
          lines[static_cast<std::size_t>((i - first) * n + j)] =
              times_power(adjoint ? a.at(j, i) : a.at(i, j), e + out[static_cast<std::size_t>(to.global(i))]);
      }
      some(first, count, {lines.data(), n, 1});
    }
  }
};

}  // namespace

// Every rank multiplies what it has; products are sums of two numbers each, and are added as such.
template <class T>
void residual(const Matrix& s, const Scales& scales, std::int64_t columns, bool adjoint, const T* b, const T* l,
              const T* x, T* r, typename kernels::RealOf<T>::type* sizes) {
  using R = typename kernels::RealOf<T>::type;
  const Stage stage("residual");
  constexpr std::int64_t parts = kernels::RealOf<T>::parts, kLines = 64;
  const Local<T> a = local<T>(s);
  const Axis &from = adjoint ? a.row : a.column, &to = adjoint ? a.column : a.row;
  const std::int64_t n = from.count(), m = to.count();
  std::optional<Part<T>> part;
  std::vector<double> pairs, all;
  together([&] {
    part.emplace(m, n, columns, sizes != nullptr, scales.rows.empty() ? 0 : kLines);
    pairs.assign(static_cast<std::size_t>(2 * to.n * columns * parts), 0);
    if (sizes) all.assign(static_cast<std::size_t>(to.n * columns), 0);
  });
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t c = 0; c < columns; ++c) {
      const T v = x[from.global(i) * columns + c];
      part->own[static_cast<std::size_t>(i * columns + c)] = adjoint ? conjugate(v) : v;
    }
  part->multiply(a, scales, columns, adjoint);
  const std::int64_t numbers = to.n * columns * parts;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t c = 0; c < columns; ++c) {
      const auto e = static_cast<std::size_t>(i * columns + c);
      const T hi = adjoint ? conjugate(part->high[e]) : part->high[e],
              lo = adjoint ? conjugate(part->low[e]) : part->low[e];
      double* const at = pairs.data() + 2 * parts * (to.global(i) * columns + c);
      at[0] = static_cast<double>(std::real(hi));
      at[1] = static_cast<double>(std::real(lo));
      if constexpr (parts == 2) at[2] = static_cast<double>(hi.imag()), at[3] = static_cast<double>(lo.imag());
    }
  sum_pairs(pairs.data(), numbers);
  const auto* const given = reinterpret_cast<const R*>(b);
  const auto* const less = reinterpret_cast<const R*>(l);
  auto* const result = reinterpret_cast<R*>(r);
  for (std::int64_t e = 0; e < numbers; ++e) {
    double sum[2] = {static_cast<double>(given[e]), 0};
    const double other[2] = {less ? -static_cast<double>(less[e]) : 0, 0};
    add_pair(other, sum);
    add_pair(pairs.data() + 2 * e, sum);
    result[e] = static_cast<R>(sum[0] + sum[1]);
  }
  if (!sizes) return;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t c = 0; c < columns; ++c)
      all[static_cast<std::size_t>(to.global(i) * columns + c)] =
          static_cast<double>(part->sizes[static_cast<std::size_t>(i * columns + c)]);
  all_sum(all.data(), to.n * columns);
  for (std::size_t e = 0; e < all.size(); ++e)
    sizes[e] = static_cast<R>(all[e] + parts_of(b[e]) + (l ? parts_of(l[e]) : 0));
}

#define WP_INSTANTIATE(T)                                                                                    \
  template void residual(const Matrix&, const Scales&, std::int64_t, bool, const T*, const T*, const T*, T*, \
                         kernels::RealOf<T>::type*);
WP_FOR_FLOATS(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::dist
