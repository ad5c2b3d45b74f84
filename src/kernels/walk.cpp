#include "kernels/walk.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/pool.hpp"
#include "kernels/convert.hpp"
#include "kernels/scan.hpp"
#include "simd/stream.hpp"

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

namespace {

// One walk: which operands the loop reads in place, which pass through a buffer.
struct Walk {
  Dims shape;
  Operand* operands;
  int count;
  simd::Inner fn;
  bool direct[kMaxOperands];  // in memory as the loop wants it
  bool stream;                // the result goes past the caches

  char* at(int o, std::int64_t element) const {
    return operands[o].data + element * static_cast<std::int64_t>(size_of(operands[o].dtype));
  }
  void run(std::int64_t begin, std::int64_t end, simd::Status& status) const;
};

void Walk::run(std::int64_t begin, std::int64_t end, simd::Status& status) const {
  alignas(64) char buffer[kMaxOperands][kChunk * 16];
  const int out = count - 1;
  const bool whole = !stream && std::all_of(direct, direct + count, [](bool d) { return d; });
  const std::int64_t step = whole ? end - begin : kChunk;
  for (std::int64_t i = begin; i < end; i += step) {
    const std::int64_t m = std::min(step, end - i);
    void* p[kMaxOperands];
    for (int o = 0; o < out; ++o) {
      const Operand& x = operands[o];
      p[o] = direct[o] ? at(o, i) : buffer[o];
      if (!direct[o]) gather(buffer[o], x.loop_dtype, x.data, x.dtype, shape, x.strides, i, m);
    }
    p[out] = direct[out] && !stream ? at(out, i) : buffer[out];
    fn(p, m, &status);
    if (!direct[out]) {
      const DType dtype = operands[out].dtype;
      convert(at(out, i), dtype, buffer[out], operands[out].loop_dtype, 1, m);
      // A finite f32 can become Inf in f16 or bf16: the loop did not see it.
      if (any_nonfinite(dtype, at(out, i), m)) status.bits |= simd::Status::nonfinite;
    } else if (stream) {
      simd::stream_copy(at(out, i), buffer[out], static_cast<std::size_t>(m) * size_of(operands[out].dtype));
    }
  }
  if (stream) simd::stream_fence();
}

}  // namespace

std::uint32_t walk(const Dims& full_shape, Operand* operands, int count, simd::Inner fn) {
  const std::int64_t n = count_of(full_shape);
  if (n == 0) return 0;
  Walk w{full_shape, operands, count, fn, {}, false};
  Dims* strides[kMaxOperands] = {};
  for (int o = 0; o < count; ++o) strides[o] = &operands[o].strides;
  coalesce(w.shape, strides, count);
  std::size_t bytes = 0;
  for (int o = 0; o < count; ++o) {
    const Operand& x = operands[o];
    w.direct[o] = x.dtype == x.loop_dtype && is_row_major(w.shape, x.strides);
    if (w.direct[o]) bytes += static_cast<std::size_t>(n) * size_of(x.dtype);
  }
  w.stream = w.direct[count - 1] && bytes >= simd::stream_threshold();
  std::atomic<std::uint32_t> bits{0};
  parallel_for(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    simd::Status status;
    w.run(begin, end, status);
    if (status.bits) bits.fetch_or(status.bits, std::memory_order_relaxed);
  });
  return bits.load();
}

}  // namespace wp::kernels
