#include "io/npy.hpp"

#include <algorithm>
#include <vector>

#include "kernels/walk.hpp"

namespace wp::io {
namespace {

constexpr std::int64_t kPiece = 1 << 16;  // elements gathered at a time when writing

}  // namespace

Tensor read_npy(const Source& source, const LoadOptions& options) {
  return read_stored(source, read_npy_header(source), options);
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
