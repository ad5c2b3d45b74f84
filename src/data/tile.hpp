// Pieces of a field: what checks look at.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "base/text.hpp"
#include "kernels/types.hpp"
#include "wellposed/schema.hpp"

namespace wp::data {

// Holds every i64, u64 and f64, and compares them, exactly: 64 bits of mantissa or more.
using Exact = long double;
static_assert(std::numeric_limits<Exact>::digits >= 64);
inline constexpr Exact kInfinity = std::numeric_limits<Exact>::infinity();

// Fields are cut into tiles at fixed places, by their shape only: what is computed per tile and joined in order does
// not depend on how the data came.
inline constexpr std::int64_t kTile = 1 << 15;  // elements: they stay in the second cache

inline constexpr std::int64_t kMostKept = 1 << 22;  // elements of an entry of the first axis that `monotone` keeps

struct Census {
  std::int64_t values = 0, nans = 0, infs = 0;
  Exact low = kInfinity, high = -kInfinity;  // of what is not NaN; of complex numbers: not used
  void join(const Census& c) {
    values += c.values;
    nans += c.nans;
    infs += c.infs;
    low = c.low < low ? c.low : low;
    high = c.high > high ? c.high : high;
  }
};

// Elements that follow each other in the field, side by side in memory.
struct Tile {
  const void* x = nullptr;
  DType dtype = f64;  // integers, f32, f64, c64, c128: bools come as u8, f16 and bf16 as f32
  std::int64_t start = 0, n = 0;
  Census census;
};
Census take_census(DType dtype, const void* x, std::int64_t n);
// The dtype in which elements of this dtype come in tiles.
DType tile_dtype(DType d) noexcept;

// f(i, v) for every element; real numbers only.
template <class F>
void each(const Tile& t, F&& f) {
  kernels::with_type(t.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
      const T* const x = static_cast<const T*>(t.x);
      for (std::int64_t i = 0; i < t.n; ++i) f(i, x[i]);
    }
  });
}
// The same for the parts of complex numbers: f(i, re, im).
template <class F>
void each_complex(const Tile& t, F&& f) {
  kernels::with_type(t.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, complex64> || std::is_same_v<T, complex128>) {
      const T* const x = static_cast<const T*>(t.x);
      for (std::int64_t i = 0; i < t.n; ++i) f(i, x[i].real(), x[i].imag());
    }
  });
}

template <class T>
bool is_nan(T v) {
  if constexpr (std::is_floating_point_v<T>)
    return v != v;
  else
    return false;
}
// A number as text: integers without a point.
inline std::string number_text(Exact v) {
  if (v == std::trunc(v) && std::fabs(v) < 0x1p64L && std::fabs(v) >= 0x1p53L)
    return v < 0 ? say(static_cast<std::int64_t>(v)) : say(static_cast<std::uint64_t>(v));
  return say(static_cast<double>(v));
}
inline std::string few_digits(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", v);
  return text;
}

// What checks know of the field: a tensor, or one column of it (an entry of the last axis).
struct Subject {
  std::string tensor, column;
  std::int64_t column_number = -1;
  DType dtype = f64;                  // as stored
  Dims shape;                         // of the tensor; the first length is −1 until the end where it is not known
  std::vector<std::string> columns;   // names, where there are some
  std::int64_t width = 1;             // elements of the field in one entry of the first axis
  bool missing = false;               // non_null = false: NaN stands for a missing value, and is not judged
  std::vector<bool> missing_columns;  // the same of columns, for predicates
  int keep = 5;
  const SchemaField* rules = nullptr;

  std::int64_t line() const noexcept {  // elements along the last axis
    return column_number >= 0 || shape.empty() ? 1 : shape.back();
  }
  std::string label() const { return column.empty() ? tensor : tensor.empty() ? column : tensor + "." + column; }
  Dims index(std::int64_t position) const;  // of an element of the field, in the tensor
};

}  // namespace wp::data
