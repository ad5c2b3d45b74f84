// What a fuzzer and the ordinary tests do with any bytes: read them as each format does, in memory and in blocks.
// A typed error is fine; anything else is not.
#pragma once
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <vector>

#include "io/blocks.hpp"
#include "io/format.hpp"

namespace wp::fuzz {

// A file that exists in memory only.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : fd_(memfd_create("fuzz", MFD_CLOEXEC)) {
    while (!bytes.empty()) {
      const ssize_t n = write(fd_, bytes.data(), bytes.size());
      if (n <= 0) break;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

// Whether the bytes were a file of this format.
inline bool read_as(const io::Format& format, std::string_view bytes) {
  const MemoryFile file(bytes);
  LoadOptions options{.max_unfolded = std::uint64_t{1} << 26};
  if (format.ending == ".bin" || format.ending == ".raw") options.dtype = f32;
  bool good = false;
  try {
    const io::Source source(file.path());
    NamedTensors all = format.read_all(source, options);
    good = true;
  } catch (const Error&) {
  }
  try {
    std::vector<Tensor> block;
    for (const auto& reader : format.blocks(std::make_shared<const io::Source>(file.path()), {.load = options}))
      while (reader->next(3, block)) {
      }
  } catch (const Error&) {
  }
  return good;
}

}  // namespace wp::fuzz
