// The table of file formats. A new one is a row in format.cpp and a file with its functions.
#pragma once
#include <algorithm>
#include <functional>
#include <span>
#include <string_view>

#include "io/blocks.hpp"
#include "io/file.hpp"
#include "kernels/walk.hpp"
#include "wellposed/io.hpp"

namespace wp::io {

using OwnedBlocks = std::vector<std::unique_ptr<Blocks>>;

// Writes an array whose number of rows is known when it ends.
class RowSink {
 public:
  virtual ~RowSink() = default;
  virtual void rows(const Tensor& t) = 0;
  virtual void end(DType dtype, const Dims& shape) = 0;
  virtual bool goes_back() const noexcept { return true; }  // at the end, to write a header
};
// A header, padded to a length where one is given, and the elements behind it.
using Header = std::function<std::string(DType dtype, const Dims& shape, std::size_t length)>;
std::unique_ptr<RowSink> headed_rows(Sink& sink, Header header);
// The length that has room for any number of such rows.
std::size_t room_for(const Header& header, const Tensor& rows);

struct Format {
  std::string_view ending;  // ".npy", in lower case
  std::string_view magic;   // first bytes of every such file; may be empty
  // Headers are checked whole before memory for elements is asked for.
  Tensor (*read)(const Source&, const LoadOptions&);
  NamedTensors (*read_all)(const Source&, const LoadOptions&);
  OwnedBlocks (*blocks)(std::shared_ptr<const Source>, const BlockOptions&);
  // Refuse what the format does not hold before they write.
  void (*write)(Sink&, const Tensor&, const SaveOptions&);
  void (*write_all)(Sink&, const NamedTensors&, const SaveOptions&);  // null: the format holds one array
  std::unique_ptr<RowSink> (*rows)(Sink&, const SaveOptions&);        // null: rows do not stand one after the other
};
std::span<const Format> formats();
// By the path's ending; null if no format has it.
const Format* format_of(std::string_view path);
// By the first bytes; null if they are of none.
const Format* format_by_magic(const Source& source);
// By either; throws FormatError.
const Format& format_for(const Source& source);
// ".npy, .csv, .tsv".
std::string endings_text();

// The positions of the arrays that were asked for, in that order (all: none were asked for). Throws ArgumentError.
std::vector<std::size_t> chosen(const Source& source, const std::vector<std::string>& have,
                                const std::vector<std::string>& asked);
// The position of the only one, or of the one that was asked for.
std::size_t chosen_one(const Source& source, const std::vector<std::string>& have,
                       const std::vector<std::string>& asked);
// "weights.npz:w": the file and the array of it. The name is empty if a file has the whole text as its name.
std::pair<std::string, std::string> split_target(const std::string& text);
void refuse_names(const SaveOptions& options, std::string_view format);  // column names outside of tables
// What may be made of so many bytes of a file.
inline std::uint64_t most_unfolded(const LoadOptions& options, std::uint64_t packed) noexcept {
  return options.max_unfolded ? options.max_unfolded : std::max(std::uint64_t{1} << 30, 100 * packed);
}
inline constexpr std::string_view kUnfold =
    "If that is what it should be, give max_unfolded in bytes (wellposed validate and schema infer: --max-unfolded "
    "4GiB).";
// How many arrays (or texts of metadata) a file may name. What is kept of each takes memory whatever its size, so
// that their number is bounded: 100,000, or one in 1 KiB of the file if that is more.
inline std::uint64_t most_entries(std::uint64_t bytes) noexcept {
  return std::max(std::uint64_t{100'000}, bytes / 1024);
}
// put(bytes, count) for the elements in row-major order, some at a time.
template <class Put>
void write_elements(const Tensor& t, const Put& put) {
  constexpr std::int64_t piece = 1 << 16;  // elements at a time
  const char* const data = t.node()->data;
  const std::size_t item = size_of(t.dtype());
  std::vector<char> buffer(t.is_contiguous() ? 0 : static_cast<std::size_t>(std::min(t.size(), piece)) * item);
  for (std::int64_t start = 0; start < t.size(); start += piece) {
    const std::int64_t n = std::min(piece, t.size() - start);
    const char* from = data + static_cast<std::size_t>(start) * item;
    if (!t.is_contiguous()) {
      kernels::gather(buffer.data(), t.dtype(), data, t.dtype(), t.shape(), t.strides(), start, n);
      from = buffer.data();
    }
    put(from, static_cast<std::size_t>(n) * item);
  }
}
}  // namespace wp::io
