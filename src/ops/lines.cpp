#include "ops/lines.hpp"

#include <algorithm>
#include <atomic>
#include <memory>

#include "base/pool.hpp"
#include "base/text.hpp"
#include "kernels/convert.hpp"
#include "kernels/scan.hpp"
#include "kernels/types.hpp"
#include "kernels/walk.hpp"
#include "ops/reduce.hpp"

namespace wp {
namespace {

constexpr std::int64_t kTile = 16;  // lines brought together: neighbours share cache lines

// One tensor seen as lines: the axis, and the other axes in row-major order.
struct Side {
  char* data;
  DType dtype, loop;
  std::int64_t length = 1, stride = 1;
  Dims other, strides;
  std::int64_t item, loop_item;

  Side(const Tensor& t, DType loop_dtype, std::int64_t axis)
      : data(t.node()->data),
        dtype(t.dtype()),
        loop(loop_dtype),
        item(static_cast<std::int64_t>(size_of(t.dtype()))),
        loop_item(static_cast<std::int64_t>(size_of(loop_dtype))) {
    for (std::int64_t k = 0; k < t.ndim(); ++k) {
      const auto at = static_cast<std::size_t>(k);
      if (k == axis) {
        length = t.shape()[at];
        stride = t.strides()[at];
      } else {
        other.push_back(t.shape()[at]);
        strides.push_back(t.strides()[at]);
      }
    }
  }
  bool direct() const noexcept { return dtype == loop && (stride == 1 || length == 1); }
  // Lines follow each other without gaps.
  bool packed() const noexcept {
    std::int64_t expect = length;
    for (std::size_t k = other.size(); k-- > 0;) {
      if (other[k] != 1 && strides[k] != expect) return false;
      expect *= other[k];
    }
    return direct();
  }
  char* line(std::int64_t i) const noexcept {
    std::int64_t offset = 0;
    for (std::size_t k = other.size(); k-- > 0;) {
      offset += i % other[k] * strides[k];
      i /= other[k];
    }
    return data + offset * item;
  }
};

// Lines [first, first + count) to buffer, one after the other.
void bring(const Side& s, std::int64_t first, std::int64_t count, char* buffer) {
  if (s.stride == 1 || count == 1) {
    for (std::int64_t k = 0; k < count; ++k)
      kernels::convert(buffer + k * s.length * s.loop_item, s.loop, s.line(first + k), s.dtype, s.stride, s.length);
    return;
  }
  const char* at[kTile];
  for (std::int64_t k = 0; k < count; ++k) at[k] = s.line(first + k);
  bool even = true;  // lines are neighbours at one distance
  for (std::int64_t k = 2; k < count; ++k) even = even && at[k] - at[k - 1] == at[1] - at[0];
  kernels::with_size(static_cast<std::size_t>(s.loop_item), [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* const to = reinterpret_cast<T*>(buffer);
    for (std::int64_t i = 0; i < s.length; ++i) {
      T across[kTile];
      const std::int64_t shift = i * s.stride * s.item;
      if (even)
        kernels::convert(across, s.loop, at[0] + shift, s.dtype, (at[1] - at[0]) / s.item, count);
      else
        for (std::int64_t k = 0; k < count; ++k) kernels::convert(across + k, s.loop, at[k] + shift, s.dtype, 1, 1);
      for (std::int64_t k = 0; k < count; ++k) to[k * s.length + i] = across[k];
    }
  });
}

// The other way. Returns whether a written value is not finite.
bool take(const Side& s, std::int64_t first, std::int64_t count, const char* buffer) {
  bool bad = false;
  if (s.stride == 1 || s.length == 1) {
    for (std::int64_t k = 0; k < count; ++k) {
      char* const to = s.line(first + k);
      kernels::convert(to, s.dtype, buffer + k * s.length * s.loop_item, s.loop, 1, s.length);
      bad |= kernels::any_nonfinite(s.dtype, to, s.length);
    }
    return bad;
  }
  std::unique_ptr<char[]> converted;
  if (s.dtype != s.loop) {
    converted = std::make_unique_for_overwrite<char[]>(static_cast<std::size_t>(count * s.length * s.item));
    kernels::convert(converted.get(), s.dtype, buffer, s.loop, 1, count * s.length);
    buffer = converted.get();
  }
  kernels::with_size(static_cast<std::size_t>(s.item), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* const from = reinterpret_cast<const T*>(buffer);
    T* at[kTile];
    for (std::int64_t k = 0; k < count; ++k) at[k] = reinterpret_cast<T*>(s.line(first + k));
    for (std::int64_t i = 0; i < s.length; ++i)
      for (std::int64_t k = 0; k < count; ++k) at[k][i * s.stride] = from[k * s.length + i];
  });
  return kernels::any_nonfinite(s.dtype, buffer, count * s.length);
}

}  // namespace

void run_lines(Call& c, const Tensor& x, DType in, Tensor& y, DType out, std::int64_t axis, LineFunction fn,
               const void* context) {
  const Side from(x, in, axis), to(y, out, axis);
  std::int64_t lines = 1;
  for (const std::int64_t d : from.other) lines *= d;
  const std::int64_t longest = std::max(from.length, to.length);
  if (lines == 0 || to.length == 0) return;
  const bool from_packed = from.packed(), to_packed = to.packed();
  // Tiles of a few lines that stay in cache.
  const std::int64_t tile = std::clamp<std::int64_t>(kernels::kGrain / std::max<std::int64_t>(longest, 1), 1,
                                                     from_packed && to_packed ? lines : kTile);
  std::atomic<std::uint32_t> bits{0};
  parallel_for(lines, tile, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t count = end - begin;
    const auto space = [&](const Side& s, bool packed) {
      return packed || s.length == 0
                 ? nullptr
                 : std::make_unique_for_overwrite<char[]>(static_cast<std::size_t>(count * s.length * s.loop_item));
    };
    const bool in_place = from_packed || (count == 1 && from.direct());
    const bool out_in_place = to_packed || (count == 1 && to.direct());
    const auto in_buffer = space(from, in_place), out_buffer = space(to, out_in_place);
    if (!in_place) bring(from, begin, count, in_buffer.get());
    char* const result = out_in_place ? to.line(begin) : out_buffer.get();
    fn({in_place ? from.line(begin) : in_buffer.get(), result, count, from.length, to.length, context});
    const bool bad = out_in_place ? kernels::any_nonfinite(y.dtype(), result, count * to.length)
                                  : take(to, begin, count, out_buffer.get());
    if (bad) bits.fetch_or(simd::Status::nonfinite, std::memory_order_relaxed);
  });
  c.status.bits |= bits.load();
}

Tensor packed(const Tensor& x, DType d) {
  if (x.is_contiguous() && x.dtype() == d) return x;
  Tensor y = Tensor::adopt(detail::make_node(d, x.shape()));
  Dims shape = x.shape(), strides = x.strides();
  Dims* s = &strides;
  kernels::coalesce(shape, &s, 1);
  const auto item = static_cast<std::int64_t>(size_of(d));
  parallel_for(y.size(), kernels::kGrain, [&](std::int64_t begin, std::int64_t end) {
    kernels::gather(y.node()->data + begin * item, d, x.node()->data, x.dtype(), shape, strides, begin, end - begin);
  });
  return y;
}

DType line_dtype(DType d) noexcept {
  return d == f16 || d == bf16 ? f32 : d;
}

AttrSpec axis_attr(Attr fallback, std::string_view doc) {
  return {"axis", AttrType::integer, std::move(fallback), doc};
}

std::int64_t axis_of(const Call& c, std::size_t attr) {
  const Tensor& x = c.in[0];
  if (c.attr(attr)) return normal_axis(c.attr(attr).integer(), x.ndim());
  if (x.ndim() != 1)
    refuse<ArgumentError>("WP-ARG-002",
                          say("axis is needed for a tensor that is not 1-d; x has shape ", x.shape(), "."));
  return 0;
}

namespace {

// The line of x that holds q.element's line: first element, distance, length; and q.element's place along the axis.
struct LinePlace {
  std::int64_t first, step, length, at;
};
LinePlace place_of(const FlowQuery& q) {
  const auto axis = static_cast<std::size_t>(axis_of(q.call));
  const Dims& in = q.call.in[q.input].shape();
  const Dims& out = q.call.out[q.output].shape();
  std::int64_t inner = 1;
  for (std::size_t k = axis + 1; k < in.size(); ++k) inner *= in[k];
  const std::int64_t m = out.size() == in.size() ? out[axis] : 1;
  const std::int64_t before = q.element / (m * inner), at = q.element / inner % m, after = q.element % inner;
  return {before * in[axis] * inner + after, inner, in[axis], at};
}

}  // namespace

void flow_line(const FlowQuery& q, Visit visit) {
  const LinePlace p = place_of(q);
  for (std::int64_t i = 0; i < p.length; ++i) visit(p.first + i * p.step);
}

void flow_prefix(const FlowQuery& q, std::int64_t initial, Visit visit) {
  const LinePlace p = place_of(q);
  for (std::int64_t i = 0; i <= p.at - initial; ++i) visit(p.first + i * p.step);
}

void flow_last(const FlowQuery& q, std::int64_t initial, Visit visit) {
  const LinePlace p = place_of(q);
  if (p.at >= initial) visit(p.first + (p.at - initial) * p.step);
}

std::int64_t base_line(const FlowQuery& q) {
  const LinePlace p = place_of(q);
  return q.element - p.at * p.step;
}
std::int64_t base_prefix(const FlowQuery& q) {
  const LinePlace p = place_of(q);
  return p.at == 0 ? -1 : q.element - p.step;
}
std::int64_t base_everything(const FlowQuery&) {
  return 0;
}

std::vector<Sample> line_samples(const Op& op, const std::vector<double>& values,
                                 const std::function<std::vector<Attr>(std::int64_t)>& attrs) {
  std::vector<Sample> out;
  for (int k = 0; k < kDTypes; ++k) {
    const auto d = static_cast<DType>(k);
    if (!is(d, op.params[0].kinds)) continue;
    std::vector<complex128> v;
    for (std::size_t i = 0; i < values.size(); ++i)
      v.emplace_back(is(d, kinds::unsigned_integer | kinds::boolean) ? std::abs(values[i]) : values[i],
                     is_complex(d) ? values[(3 * i + 1) % values.size()] : 0.0);
    const auto add = [&](const Dims& shape, std::int64_t axis) {
      out.push_back({{sample_tensor(d, shape, v)}, attrs(axis)});
    };
    add({2, 3}, -1);
    if (d != i64 && d != f64) continue;
    add({3, 2, 2}, 1);
    add({4, 2}, 0);
  }
  return out;
}

}  // namespace wp
