// Innermost loops of products. An element of a product is one chain of (fused) multiply-adds in the order of k,
// whatever tile it falls into: its bits depend on its row, its column and k only.
#pragma once
#include <cstdint>

#include "simd/isa.hpp"

namespace wp::simd {

inline constexpr int kTileRows = 8, kTileVectors = 3;  // at most

// What becomes of a product: C = A·B, C += A·B or C −= A·B.
enum class Into : std::uint8_t { set, add, subtract };

// One tile of a product into C. A[i, p] is a[i * a_row + p * a_k], B[p, j] is b[p * b_k + j], C[i, j] is
// c[i * c_row + j]. The number of rows and of vectors per row is the kernel's; only the first `columns` columns are
// written, but whole vectors of B are read.
template <class T>
using Tile = void (*)(std::int64_t k, const T* a, std::int64_t a_row, std::int64_t a_k, const T* b, std::int64_t b_k,
                      T* c, std::int64_t c_row, std::int64_t columns, Into into);

// T: float, double, std::uint32_t, std::uint64_t (which wrap around).
template <class T>
struct Products {
  int rows, vectors, width;                          // the best tile, in rows and vectors of `width` elements
  Tile<T> tile[2][kTileRows + 1][kTileVectors + 1];  // [a_row is 1][rows][vectors]
  // y[i] = Σ A[i, p] x[p] in 32 interleaved partial sums, joined pairwise. Rows of A are contiguous …
  void (*dot_rows)(std::int64_t m, std::int64_t k, const T* a, std::int64_t a_row, const T* x, T* y);
  // … or its columns: A[i, p] is a[i + p * a_k]. Same bits.
  void (*dot_columns)(std::int64_t m, std::int64_t k, const T* a, std::int64_t a_k, const T* x, T* y);
};
// Those of the active instruction set.
template <class T>
const Products<T>& products() noexcept;

}  // namespace wp::simd
