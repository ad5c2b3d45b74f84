// Inside a distributed matrix: where its elements are.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "kernels/gemm.hpp"
#include "wellposed/dist.hpp"

namespace wp::dist {

struct Grid::State {
  int rows = 1, columns = 1, row = 0, column = 0;
  int context = -1;  // of BLACS
};

// One axis of a block-cyclic matrix: n indices in blocks, dealt out to `ranks`; this rank is number `own`.
struct Axis {
  std::int64_t n = 0, block = 1;
  int ranks = 1, own = 0;

  // How many indices a rank has (ScaLAPACK's numroc).
  std::int64_t count(int rank) const noexcept {
    const std::int64_t blocks = n / block, whole = blocks / ranks, extra = blocks % ranks;
    return whole * block + (rank < extra ? block : rank == extra ? n % block : 0);
  }
  std::int64_t count() const noexcept { return count(own); }
  std::int64_t global(std::int64_t local) const noexcept {
    return (local / block * ranks + own) * block + local % block;
  }
  // How many of this rank's come before that one.
  std::int64_t before(std::int64_t global) const noexcept { return Axis{global, block, ranks, own}.count(); }
  int owner(std::int64_t global) const noexcept { return static_cast<int>(global / block % ranks); }
  bool mine(std::int64_t global) const noexcept { return owner(global) == own; }
  std::int64_t local(std::int64_t global) const noexcept { return global / block / ranks * block + global % block; }
};

struct Matrix::State {
  Axis row, column;
  Grid grid;
  bool vector = false;
  Tensor storage;  // [local columns, local rows], contiguous: column-major to ScaLAPACK

  std::int64_t local_rows() const noexcept { return storage.shape()[1]; }
  std::int64_t local_columns() const noexcept { return storage.shape()[0]; }
};

// The part of a matrix that this rank has, to compute with.
template <class T>
struct Local {
  T* data = nullptr;
  Axis row, column;
  std::array<int, 9> descriptor{};

  std::int64_t rows() const noexcept { return row.count(); }
  std::int64_t columns() const noexcept { return column.count(); }
  std::int64_t leading() const noexcept { return std::max<std::int64_t>(1, row.count()); }
  T& at(std::int64_t i, std::int64_t j) const noexcept { return data[j * leading() + i]; }  // local numbers
  // f(i, j, element) over what this rank has, with global numbers.
  template <class F>
  void each(F&& f) const {
    const std::int64_t m = rows(), n = columns(), ld = leading();
    for (std::int64_t j = 0; j < n; ++j) {
      const std::int64_t at = column.global(j);
      for (std::int64_t i = 0; i < m;)  // a block of rows at a time: no division inside
        for (std::int64_t g = row.global(i), end = std::min(m, i + row.block); i < end; ++i, ++g)
          f(g, at, data[j * ld + i]);
    }
  }
  // f(i, element) over what this rank has of the diagonal.
  template <class F>
  void each_diagonal(F&& f) const {
    for (std::int64_t i = 0, m = rows(); i < m; ++i)
      if (const std::int64_t g = row.global(i); g < column.n && column.mine(g)) f(g, at(i, column.local(g)));
  }
};

// The layout that is meant by block = 0 for m × n.
std::int64_t chosen_block(const Layout& layout, std::int64_t m, std::int64_t n);

// A matrix with memory of its own, uninitialised. Raises on all ranks if one has not enough of it, or if ScaLAPACK's
// 32-bit numbers do not suffice. Collective.
Matrix make_matrix(std::int64_t m, std::int64_t n, DType dtype, const Layout& layout, bool vector = false);
// The same shape of this rank's part, with that storage. Not collective.
Matrix with_storage(const Matrix& like, const Tensor& storage);
Matrix make_like(const Matrix& like, DType dtype);
inline Matrix make_like(const Matrix& like) {
  return make_like(like, like.dtype());
}
Matrix copy_of(const Matrix& a);
// The same numbers in another dtype; a itself, if it has that. Collective.
Matrix converted(const Matrix& a, DType dtype);

template <class T>
Local<T> local(const Matrix& a) {
  const Matrix::State& s = a.state();
  Local<T> l{reinterpret_cast<T*>(s.storage.node()->data), s.row, s.column, {}};
  l.descriptor = {1,
                  s.grid.state().context,
                  static_cast<int>(s.row.n),
                  static_cast<int>(s.column.n),
                  static_cast<int>(s.row.block),
                  static_cast<int>(s.column.block),
                  0,
                  0,
                  static_cast<int>(l.leading())};
  return l;
}

// As gather() gives it: [m, n], or [m] of a vector.
Dims shape_of(const Matrix& a);
// What ranks must agree on: "f64 [3, 3] in blocks of 64 on 2 × 2 ranks"; "block 64 on 2 × 2 ranks".
std::string facts(const Matrix& a);
std::string facts(const Layout& layout);
// Both in the dtype that holds both, B spread as A is; ops, where that changes them. Collective.
struct Alike {
  Matrix a, b;
};
Alike alike(const Matrix& a, const Matrix& b, Where where);
void need_defined(const Matrix& a, std::string_view name);
// A is there and has two axes; need_square: and is square.
void need_matrix(const Matrix& a);
void need_square(const Matrix& a);
void need_defined(const Tensor& a, std::string_view name);

// Columns [first, first + count) on every rank, row-major rows × count.
template <class T>
void gather_columns(Local<T> a, std::int64_t first, std::int64_t count, T* to);
// The other way: every rank has them and keeps what is its own.
template <class T>
void scatter_columns(const T* from, std::int64_t first, std::int64_t count, Local<T> a);
// Rows instead, row-major count × columns.
template <class T>
void gather_rows(Local<T> a, std::int64_t first, std::int64_t count, T* to);

}  // namespace wp::dist
