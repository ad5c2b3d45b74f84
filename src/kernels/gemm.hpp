// One product of two matrices; kernels/matmul.cpp runs them over batches.
#pragma once
#include <atomic>
#include <complex>
#include <cstdint>
#include <type_traits>

#include "base/memory.hpp"
#include "simd/gemm.hpp"

namespace wp::kernels {

using simd::Into;

// Element (i, j) is data[i * rows + j * columns], or its conjugate.
template <class T>
struct View {
  const T* data;
  std::int64_t rows, columns;
  bool conjugate = false;

  View from(std::int64_t i, std::int64_t j) const {
    return {data + i * rows + j * columns, rows, columns, conjugate};
  }
  View transposed() const { return {data, columns, rows, conjugate}; }
  View conjugated() const { return {data, rows, columns, !conjugate}; }
  // Of m × n: rows and columns from the last to the first. The reverse of an upper triangle is a lower one.
  View reversed(std::int64_t m, std::int64_t n) const {
    return {data + (m - 1) * rows + (n - 1) * columns, -rows, -columns, conjugate};
  }
};
// The same to write to. One of the strides is 1 or −1.
template <class T>
struct MutableView {
  T* data;
  std::int64_t rows, columns;

  operator View<T>() const { return {data, rows, columns}; }
  MutableView from(std::int64_t i, std::int64_t j) const { return {data + i * rows + j * columns, rows, columns}; }
  MutableView transposed() const { return {data, columns, rows}; }
  MutableView reversed(std::int64_t m, std::int64_t n) const {
    return {data + (m - 1) * rows + (n - 1) * columns, -rows, -columns};
  }
  MutableView reversed_rows(std::int64_t m) const { return {data + (m - 1) * rows, -rows, columns}; }
};

template <class T>
struct RealOf {
  using type = T;
  static constexpr std::int64_t parts = 1;
};
template <class T>
struct RealOf<std::complex<T>> {
  using type = T;
  static constexpr std::int64_t parts = 2;
};

// Scratch memory.
template <class T>
class Buffer {
 public:
  explicit Buffer(std::int64_t n)
      : bytes_(static_cast<std::size_t>(n) * sizeof(T)), data_(static_cast<T*>(memory::allocate(bytes_))) {}
  ~Buffer() { memory::release(data_, bytes_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  T* data() noexcept { return data_; }
  const T* data() const noexcept { return data_; }

 private:
  std::size_t bytes_;
  T* data_;
};

// Which elements of C a product writes; those on the diagonal belong to both triangles.
enum class Part : std::uint8_t { all, lower, upper };

// C = A·B, C += A·B or C −= A·B for any m, n, k ≥ 0. T: float, double, complex64, complex128, std::uint32_t,
// std::uint64_t. An element's bits depend on its row, its column, k and its old value only.
// `bad`, if given, is set when a result is not finite; looked for while the results are in cache. It asks for a C
// with contiguous rows.
template <class T>
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, View<T> a, View<T> b, MutableView<T> c,
          Into into = Into::set, Part part = Part::all, std::atomic<bool>* bad = nullptr);
// y = A·x, or conj(A)·x, in 32 interleaved partial sums per element. k ≥ 1; a.conjugate is not read.
template <class T>
void gemv(std::int64_t m, std::int64_t k, View<T> a, const T* x, std::int64_t x_stride, T* y, bool conjugate);

}  // namespace wp::kernels
