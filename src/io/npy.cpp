#include "io/npy.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "kernels/types.hpp"
#include "kernels/walk.hpp"

namespace wp::io {
namespace {

static_assert(std::endian::native == std::endian::little, "npy files are mapped and written as memory stands");

constexpr std::uint64_t kMapped = 1 << 20;  // smaller files are cheaper to copy than to map
constexpr std::uint64_t kAlignment = 16;    // of element 0 in the file
constexpr std::int64_t kPiece = 1 << 16;    // elements gathered at a time when writing

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
void check_bools(const Source& source, const NpyHeader& h, const char* data) {
  if (h.dtype != DType::boolean) return;
  for (std::uint64_t i = 0; i < h.bytes; ++i)
    if (static_cast<unsigned char>(data[i]) > 1)
      source.refuse_at(
          "WP-FMT-003", h.data + i,
          say("a bool is stored as 0 or 1; found ", static_cast<unsigned>(static_cast<unsigned char>(data[i])), "."));
}

// Element [i, j, …] of a Fortran-order array is element […, j, i] of the row-major array with the lengths turned
// round: shows it so, without moving anything.
Tensor turned(const Tensor& reversed, const Dims& shape) {
  Dims strides = reversed.strides();
  std::reverse(strides.begin(), strides.end());
  return Tensor::adopt(wp::detail::make_view(*reversed.node(), shape, strides, 0));
}

Tensor map_data(const Source& source, const NpyHeader& h, const Dims& shape) {
  Source::Mapping mapping = source.map();
  if (!mapping.data) return {};
  char* const data = mapping.data + h.data;
  Tensor t = Tensor::borrow(data, h.dtype, shape, {}, std::move(mapping.release));
  check_bools(source, h, data);
  return t;
}

Tensor read_data(const Source& source, const NpyHeader& h, const Dims& shape) {
  Tensor t = Tensor::adopt(wp::detail::make_node(h.dtype, shape));
  char* const data = t.node()->data;
  source.read(h.data, data, static_cast<std::size_t>(h.bytes));
  check_bools(source, h, data);
  if (h.big_endian) swap_bytes(data, static_cast<std::size_t>(h.bytes), size_of(real_of(h.dtype)));
  return t;
}

}  // namespace

Tensor read_npy(const Source& source, const LoadOptions& options) {
  const NpyHeader h = read_npy_header(source);
  const bool turn = h.fortran && h.shape.size() > 1 && h.bytes > 0;
  Dims stored = h.shape;
  if (turn) std::reverse(stored.begin(), stored.end());
  Tensor t;
  if (!h.big_endian && !options.copy && h.bytes >= kMapped && h.data % kAlignment == 0)
    t = map_data(source, h, stored);
  if (!t.defined()) t = read_data(source, h, stored);
  return turn ? turned(t, h.shape) : t;
}

void write_npy(Sink& sink, const Tensor& t, const SaveOptions& options) {
  if (!options.names.empty())
    refuse<ArgumentError>("WP-ARG-001", "npy files have no column names.", "Leave names away, or save as .csv.");
  sink.write(npy_header(t.dtype(), t.shape()));
  const char* const data = t.node()->data;
  if (t.is_contiguous()) {
    sink.write(data, t.nbytes());
    return;
  }
  std::vector<char> buffer(static_cast<std::size_t>(std::min(t.size(), kPiece)) * size_of(t.dtype()));
  for (std::int64_t start = 0; start < t.size(); start += kPiece) {
    const std::int64_t n = std::min(kPiece, t.size() - start);
    kernels::gather(buffer.data(), t.dtype(), data, t.dtype(), t.shape(), t.strides(), start, n);
    sink.write(buffer.data(), static_cast<std::size_t>(n) * size_of(t.dtype()));
  }
}

}  // namespace wp::io
