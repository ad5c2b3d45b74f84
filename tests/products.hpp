// References for products, and arrays of every layout.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "ops/dispatch.hpp"
#include "wellposed/wellposed.hpp"

namespace products {

// A sum of products with twice the precision of double (Ogita, Rump, Oishi 2005: Dot2).
struct Exact {
  double sum = 0, rest = 0, size = 0;
  void add(double a, double b) {
    const double p = a * b, e = std::fma(a, b, -p);
    const double s = sum + p, t = s - sum;
    rest += (sum - (s - t)) + (p - t) + e;
    sum = s;
    size += std::abs(p);
  }
  double value() const { return sum + rest; }
};

inline std::int64_t count(const wp::Dims& shape) {
  std::int64_t n = 1;
  for (const std::int64_t d : shape) n *= d;
  return n;
}

template <class T>
std::vector<T> random_values(std::int64_t n, unsigned seed) {
  std::mt19937 g(seed);
  std::vector<T> v;
  for (std::int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_integral_v<T>)
      v.push_back(static_cast<T>(g() * 0x9e3779b97f4a7c15ULL >> 5));
    else if constexpr (std::is_floating_point_v<T>)
      v.push_back(static_cast<T>(std::normal_distribution<double>()(g)));
    else
      v.emplace_back(static_cast<typename T::value_type>(std::normal_distribution<double>()(g)),
                     static_cast<typename T::value_type>(std::normal_distribution<double>()(g)));
  }
  return v;
}
template <class T>
wp::Tensor random(const wp::Dims& shape, unsigned seed) {
  return wp::Tensor::from(random_values<T>(count(shape), seed), shape);
}

// The bytes of the elements in row-major order.
inline std::vector<char> bits(const wp::Tensor& t) {
  const std::size_t item = wp::size_of(t.dtype());
  std::vector<char> out(static_cast<std::size_t>(t.size()) * item);
  wp::Dims index(t.shape().size(), 0);
  for (std::int64_t e = 0; e < t.size(); ++e) {
    std::int64_t rest = e, at = 0;
    for (std::size_t k = index.size(); k-- > 0;) {
      at += rest % t.shape()[k] * t.strides()[k];
      rest /= t.shape()[k];
    }
    std::memcpy(out.data() + static_cast<std::size_t>(e) * item,
                t.node()->data + at * static_cast<std::int64_t>(item), item);
  }
  return out;
}

enum class Layout { plain, transposed, strided, reversed };
inline constexpr Layout layouts[] = {Layout::plain, Layout::transposed, Layout::strided, Layout::reversed};
inline wp::Tensor view(const wp::Tensor& t, const wp::Dims& shape, const wp::Dims& strides, std::int64_t offset = 0) {
  return wp::Tensor::adopt(wp::detail::make_view(*t.node(), shape, strides, offset));
}
// The same values with another layout of the last two axes.
inline wp::Tensor laid_out(const wp::Tensor& t, Layout layout) {
  const std::size_t r = t.shape().size() - 2, c = r + 1;
  const std::int64_t rows = t.shape()[r], columns = t.shape()[c],
                     members = t.size() / std::max<std::int64_t>(1, rows * columns);
  const std::int64_t spread = layout == Layout::strided ? 3 : 1,
                     item = static_cast<std::int64_t>(wp::size_of(t.dtype()));
  const std::int64_t row = layout == Layout::transposed ? 1
                           : layout == Layout::reversed ? -columns
                                                        : columns * spread;
  const std::int64_t column = layout == Layout::transposed ? rows : layout == Layout::reversed ? -1 : spread;
  const std::int64_t member = rows * columns * spread;
  const wp::Tensor store =
      wp::Tensor::adopt(wp::detail::make_node(t.dtype(), {std::max<std::int64_t>(1, members * member)}));
  const std::int64_t start = layout == Layout::reversed ? rows * columns - 1 : 0;
  const std::vector<char> values = bits(t);
  for (std::int64_t b = 0, e = 0; b < members; ++b)
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j, ++e)
        std::memcpy(store.node()->data + (b * member + start + i * row + j * column) * item, values.data() + e * item,
                    static_cast<std::size_t>(item));
  wp::Dims strides(t.shape().size(), 0);
  strides[c] = column;
  strides[r] = row;
  std::int64_t step = member;
  for (std::size_t k = r; k-- > 0;) {
    strides[k] = step;
    step *= t.shape()[k];
  }
  return view(store, t.shape(), strides, start);
}

}  // namespace products
