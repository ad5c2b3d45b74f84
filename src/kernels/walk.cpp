#include "kernels/walk.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/pool.hpp"
#include "kernels/convert.hpp"
#include "kernels/scan.hpp"

namespace wp::kernels {
namespace {

constexpr std::int64_t kChunk = 1024;  // elements that converted operands take in cache

std::int64_t count_of(const Dims& shape) {
  std::int64_t n = 1;
  for (const std::int64_t d : shape) n *= d;
  return n;
}

bool is_row_major(const Dims& shape, const Dims& strides) {
  std::int64_t expect = 1;
  for (std::size_t k = shape.size(); k-- > 0;) {
    if (shape[k] != 1 && strides[k] != expect) return false;
    expect *= shape[k];
  }
  return true;
}

}  // namespace

void coalesce(Dims& shape, Dims* const* strides, int count) {
  std::size_t kept = 0;
  for (std::size_t k = 0; k < shape.size(); ++k) {
    if (shape[k] == 1) continue;
    bool joins = kept > 0;
    for (int o = 0; o < count && joins; ++o) joins = (*strides[o])[kept - 1] == (*strides[o])[k] * shape[k];
    if (joins) {
      shape[kept - 1] *= shape[k];
    } else {
      shape[kept] = shape[k];
      ++kept;
    }
    for (int o = 0; o < count; ++o) (*strides[o])[kept - 1] = (*strides[o])[k];
  }
  shape.resize(kept);
  for (int o = 0; o < count; ++o) strides[o]->resize(kept);
}

void gather(char* dst, DType to, const char* src, DType from, const Dims& shape, const Dims& strides,
            std::int64_t start, std::int64_t n) {
  const std::size_t in_size = size_of(from), out_size = size_of(to);
  const auto at = [&](std::int64_t element) { return src + element * static_cast<std::int64_t>(in_size); };
  if (shape.empty()) {
    convert(dst, to, src, from, 0, n);
    return;
  }
  const std::size_t last = shape.size() - 1;
  Dims index(shape.size(), 0);
  std::int64_t offset = 0, rest = start;
  for (std::size_t k = shape.size(); k-- > 0;) {
    index[k] = rest % shape[k];
    rest /= shape[k];
    offset += index[k] * strides[k];
  }
  while (n > 0) {
    const std::int64_t run = std::min(n, shape[last] - index[last]);
    convert(dst, to, at(offset), from, strides[last], run);
    dst += static_cast<std::size_t>(run) * out_size;
    n -= run;
    index[last] += run;
    offset += run * strides[last];
    for (std::size_t k = last; k > 0 && index[k] == shape[k]; --k) {
      offset += strides[k - 1] - shape[k] * strides[k];
      index[k] = 0;
      ++index[k - 1];
    }
  }
}

std::uint32_t walk(const Dims& full_shape, Operand* operands, int count, simd::Inner fn) {
  const std::int64_t n = count_of(full_shape);
  if (n == 0) return 0;
  Dims shape = full_shape;
  Dims* strides[kMaxOperands];
  for (int o = 0; o < count; ++o) strides[o] = &operands[o].strides;
  coalesce(shape, strides, count);
  const int out = count - 1;
  bool direct[kMaxOperands];
  for (int o = 0; o < count; ++o)
    direct[o] = operands[o].dtype == operands[o].loop_dtype && is_row_major(shape, operands[o].strides);
  std::atomic<std::uint32_t> bits{0};
  parallel_for(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    alignas(64) char buffer[kMaxOperands][kChunk * 16];
    simd::Status status;
    const bool all_direct = std::all_of(direct, direct + count, [](bool d) { return d; });
    const std::int64_t step = all_direct ? kGrain : kChunk;
    for (std::int64_t i = begin; i < end; i += step) {
      const std::int64_t m = std::min(step, end - i);
      void* p[kMaxOperands];
      for (int o = 0; o < count; ++o) {
        const Operand& op = operands[o];
        if (direct[o]) {
          p[o] = op.data + i * static_cast<std::int64_t>(size_of(op.dtype));
        } else {
          p[o] = buffer[o];
          if (o != out) gather(buffer[o], op.loop_dtype, op.data, op.dtype, shape, op.strides, i, m);
        }
      }
      fn(p, m, &status);
      if (!direct[out]) {
        char* const to = operands[out].data + i * static_cast<std::int64_t>(size_of(operands[out].dtype));
        convert(to, operands[out].dtype, buffer[out], operands[out].loop_dtype, 1, m);
        // A finite f32 can become Inf in f16 or bf16: the loop did not see it.
        if (any_nonfinite(operands[out].dtype, to, m)) status.bits |= simd::Status::nonfinite;
      }
    }
    if (status.bits) bits.fetch_or(status.bits, std::memory_order_relaxed);
  });
  return bits.load();
}

}  // namespace wp::kernels
