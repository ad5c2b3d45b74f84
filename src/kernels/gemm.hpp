// One product of two matrices; kernels/matmul.cpp runs them over batches.
#pragma once
#include <atomic>
#include <complex>
#include <cstdint>
#include <type_traits>

#include "base/memory.hpp"

namespace wp::kernels {

// Element (i, j) is data[i * rows + j * columns].
template <class T>
struct View {
  const T* data;
  std::int64_t rows, columns;
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

 private:
  std::size_t bytes_;
  T* data_;
};

// C = A·B, C row-major with rows of n. T: float, double, complex64, complex128, std::uint32_t, std::uint64_t.
// gemm for m, n ≥ 2; gemv for n = 1: y = A·x, or conj(A)·x. k ≥ 1.
// `bad`, if given, is set when a result is not finite; looked for while the results are in cache.
template <class T>
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, View<T> a, View<T> b, T* c, std::atomic<bool>* bad);
template <class T>
void gemv(std::int64_t m, std::int64_t k, View<T> a, const T* x, std::int64_t x_stride, T* y, bool conjugate);

}  // namespace wp::kernels
