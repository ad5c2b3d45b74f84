#include "io/stored.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "kernels/types.hpp"

namespace wp::io {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays are mapped and written as memory stands");

constexpr std::uint64_t kMapped = 1 << 20;  // smaller files are cheaper to copy than to map
constexpr std::uint64_t kAlignment = 16;    // of element 0 in the file

void swap_bytes(void* data, std::size_t bytes, std::size_t width) {
  kernels::with_size(width, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (sizeof(T) > 1 && sizeof(T) <= 8) {
      auto* const p = static_cast<T*>(data);
      for (std::size_t i = 0; i < bytes / sizeof(T); ++i) {
        if constexpr (sizeof(T) == 2) p[i] = __builtin_bswap16(p[i]);
        if constexpr (sizeof(T) == 4) p[i] = __builtin_bswap32(p[i]);
        if constexpr (sizeof(T) == 8) p[i] = __builtin_bswap64(p[i]);
      }
    }
  });
}

// A byte that is neither 0 nor 1 has no meaning as a bool.
void check_bools(const Source& source, std::uint64_t at, const char* data, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i)
    if (static_cast<unsigned char>(data[i]) > 1)
      source.refuse_at(
          "WP-FMT-003", at + i,
          say("a bool is stored as 0 or 1; found ", static_cast<unsigned>(static_cast<unsigned char>(data[i])), "."));
}

bool turns(const Stored& s) noexcept {
  return s.fortran && s.shape.size() > 1 && s.bytes > 0;
}

Tensor map_data(const Source& source, const Stored& s, const Dims& shape) {
  Source::Mapping mapping = source.map();
  if (!mapping.data) return {};
  char* const data = mapping.data + s.data;
  Tensor t = Tensor::borrow(data, s.dtype, shape, {}, std::move(mapping.release));
  if (s.dtype == DType::boolean) check_bools(source, s.data, data, static_cast<std::size_t>(s.bytes));
  return t;
}

Tensor read_data(const Source& source, const Stored& s, const Dims& shape) {
  Tensor t = Tensor::adopt(wp::detail::make_node(s.dtype, shape));
  source.read(s.data, t.node()->data, t.nbytes());
  settle(source, s, s.data, t.node()->data, t.nbytes());
  return t;
}

}  // namespace

bool bytes_of(DType dtype, const Dims& shape, std::uint64_t& bytes) noexcept {
  bytes = size_of(dtype);
  bool overflow = false, zero = false;
  for (const std::int64_t n : shape) {
    zero |= n == 0;
    overflow |= __builtin_mul_overflow(bytes, n == 0 ? 1U : static_cast<std::uint64_t>(n), &bytes);
  }
  overflow |= bytes > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) / 2;
  if (zero) bytes = 0;
  return !overflow;
}

void settle(const Source& source, const Stored& s, std::uint64_t at, void* data, std::size_t bytes) {
  if (s.dtype == DType::boolean) check_bools(source, at, static_cast<const char*>(data), bytes);
  if (s.big_endian) swap_bytes(data, bytes, size_of(real_of(s.dtype)));
}

Tensor turned(const Tensor& reversed) {
  Dims shape = reversed.shape(), strides = reversed.strides();
  std::reverse(shape.begin(), shape.end());
  std::reverse(strides.begin(), strides.end());
  return Tensor::adopt(wp::detail::make_view(*reversed.node(), shape, strides, 0));
}

Tensor read_stored(const Source& source, const Stored& s, const LoadOptions& options) {
  Dims stored = s.shape;
  if (turns(s)) std::reverse(stored.begin(), stored.end());
  Tensor t;
  if (!s.big_endian && !options.copy && s.bytes >= kMapped && s.data % kAlignment == 0)
    t = map_data(source, s, stored);
  if (!t.defined()) t = read_data(source, s, stored);
  return turns(s) ? turned(t) : t;
}

Tensor read_rows(const Source& source, const Stored& s, std::int64_t first, std::int64_t count) {
  Dims shape = s.shape;
  if (shape.empty()) return read_data(source, s, shape);
  const std::int64_t rows = shape[0];
  shape[0] = count;
  if (s.bytes == 0) return Tensor::adopt(wp::detail::make_node(s.dtype, shape));
  const std::uint64_t row = s.bytes / static_cast<std::uint64_t>(rows), item = size_of(s.dtype);
  if (!turns(s)) {
    Stored part = s;
    part.data += row * static_cast<std::uint64_t>(first);
    return read_data(source, part, shape);
  }
  // Columns of Fortran's order: `count` elements of each lie together.
  std::reverse(shape.begin(), shape.end());
  Tensor t = Tensor::adopt(wp::detail::make_node(s.dtype, shape));
  const std::size_t piece = static_cast<std::size_t>(count) * item;
  char* to = t.node()->data;
  for (std::uint64_t j = 0; j < row / item; ++j, to += piece) {
    const std::uint64_t at =
        s.data + (j * static_cast<std::uint64_t>(rows) + static_cast<std::uint64_t>(first)) * item;
    source.read(at, to, piece);
    settle(source, s, at, to, piece);
  }
  return turned(t);
}

}  // namespace wp::io
