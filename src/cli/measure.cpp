#include "cli/measure.hpp"

#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/memory.hpp"
#include "kernels/blas.hpp"
#include "wellposed/ops.hpp"
#include "wellposed/threads.hpp"

namespace wp::cli {
namespace {

double seconds(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// The least time of one run: at least 3 runs, then until `limit` seconds are used or 20 runs are done.
template <class F>
double least_time(clockid_t clock, double limit, F&& run) {
  double best = 1e9, used = 0;
  for (int i = 0; i < 20 && (i < 3 || used < limit); ++i) {
    const double start = seconds(clock);
    run();
    const double t = seconds(clock) - start;
    best = std::min(best, t);
    used += t;
  }
  return std::max(best, 1e-9);
}

template <class T>
void hide(T& value) {  // the compiler must have it in a register here and knows nothing about it after
  asm volatile("" : "+r"(value));
}

constexpr std::int64_t kSize = 384;

double flops(std::int64_t n) {
  return 2.0 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
}

}  // namespace

double measure_clock() {
  constexpr int kRounds = 100000, kAdds = 16;
  std::uint64_t x = 0, step = 1;
  const double t = least_time(CLOCK_THREAD_CPUTIME_ID, 0.02, [&] {
    hide(step);
    for (int r = 0; r < kRounds; ++r) {
#pragma GCC unroll 16
      for (int k = 0; k < kAdds; ++k) {
        x += step;
        hide(x);
      }
    }
  });
  return kRounds * kAdds / t;
}

double measure_gemm() {
  const std::vector<double> a(kSize * kSize, 0.5), b = a;
  std::vector<double> c = a;
  const double t = least_time(CLOCK_THREAD_CPUTIME_ID, 0.1, [&] {
    blas::gemm<double>(kSize, kSize, kSize, 1, {a.data(), kSize, 1}, {b.data(), kSize, 1}, 0, {c.data(), kSize, 1});
  });
  return flops(kSize) / t;
}

double measure_matmul(DType dtype) {
  const Tensor a = full({kSize, kSize}, 0.5, {.dtype = dtype});
  const int before = threads();
  set_threads(1);
  const double t = least_time(CLOCK_THREAD_CPUTIME_ID, 0.1, [&] { (void)matmul(a, a); });
  set_threads(before);
  return flops(kSize) / t;
}

double measure_matmul_threads() {
  const Tensor a = full({2 * kSize, 2 * kSize}, 0.5);
  return flops(2 * kSize) / least_time(CLOCK_MONOTONIC, 0.2, [&] { (void)matmul(a, a); });
}

Bandwidth measure_bandwidth() {
  // Beyond the caches of current processors, and a small part of what there is.
  const std::size_t bytes =
      std::min<std::size_t>(std::size_t{64} << 20, memory::available() / 8) & ~std::size_t{4095};
  auto* const from = static_cast<std::uint64_t*>(memory::allocate(bytes));
  auto* const to = static_cast<std::uint64_t*>(memory::allocate(bytes));
  std::memset(from, 1, bytes);
  std::memset(to, 2, bytes);
  const std::size_t n = bytes / sizeof(std::uint64_t);
  const double read = least_time(CLOCK_THREAD_CPUTIME_ID, 0.1, [&] {
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < n; ++i) total += from[i];
    hide(total);
  });
  const double copy = least_time(CLOCK_THREAD_CPUTIME_ID, 0.15, [&] {
    std::memcpy(to, from, bytes);
    asm volatile("" : : "r"(to) : "memory");
  });
  memory::release(from, bytes);
  memory::release(to, bytes);
  const auto size = static_cast<double>(bytes);
  return {size / read, 2 * size / copy};
}

}  // namespace wp::cli
