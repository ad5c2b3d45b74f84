// Files: reading at offsets, mapping, and writing that either happens or does not.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/text.hpp"

namespace wp::io {

// A file that is read. Pipes and devices are read to their end at once, so that every source has a size.
class Source {
 public:
  explicit Source(const std::string& path);  // throws FileError
  ~Source();
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  const std::string& path() const noexcept { return path_; }
  std::uint64_t size() const noexcept { return size_; }
  // All of [offset, offset + bytes), which must lie inside the file. Throws FileError.
  void read(std::uint64_t offset, void* to, std::size_t bytes) const;
  std::string text() const;  // all of it
  // The file's bytes, read only, while `release` has not been called; null when they cannot be mapped.
  struct Mapping {
    char* data = nullptr;
    std::function<void()> release;
  };
  Mapping map() const;

  // Throws FormatError: "load: 'w.npy' at byte 10: reason. Nothing was read."
  [[noreturn]] void refuse_at(std::string_view code, std::uint64_t offset, std::string_view reason,
                              std::string_view advice = {}) const;

 private:
  void read_stream();
  std::string path_;
  int fd_ = -1;
  std::uint64_t size_ = 0;
  char* memory_ = nullptr;  // of a stream
  std::size_t capacity_ = 0;
};

// What is read like a file of its own: all of a file, or an entry of an archive. Offsets count from its first byte.
class Part {
 public:
  Part(const Source& source) noexcept : source_(source), size_(source.size()) {}  // NOLINT: implicit on purpose
  Part(const Source& source, std::string entry, std::uint64_t base, std::uint64_t size)
      : source_(source), entry_(std::move(entry)), base_(base), size_(size) {}
  // An entry that is packed from `base` on: `head` holds its first bytes, and no others are read.
  Part(const Source& source, std::string entry, std::uint64_t base, std::uint64_t size, std::string_view head)
      : source_(source), entry_(std::move(entry)), base_(base), size_(size), head_(head), packed_(true) {}

  std::uint64_t base() const noexcept { return packed_ ? 0 : base_; }
  std::uint64_t size() const noexcept { return size_; }
  std::string title() const;  // "'x.npz', entry 'w.npy',"
  void read(std::uint64_t offset, void* to, std::size_t bytes) const;
  [[noreturn]] void refuse_at(std::string_view code, std::uint64_t offset, std::string_view reason,
                              std::string_view advice = {}) const;

 private:
  const Source& source_;
  std::string entry_;
  std::uint64_t base_ = 0, size_;
  std::string_view head_;
  bool packed_ = false;
};

// A file that is written: a temporary file in the same directory that commit() puts in place. Without commit() it
// goes away and the old file stays. What is not a regular file (a pipe, /dev/stdout) is written directly.
class Sink {
 public:
  explicit Sink(const std::string& path);  // throws FileError
  ~Sink();
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  void write(const void* data, std::size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  std::uint64_t written() const noexcept { return written_; }
  // Whether bytes that were written can be replaced: not in a pipe.
  bool can_rewrite() const noexcept { return !temporary_.empty(); }
  void rewrite(std::uint64_t offset, std::string_view bytes);
  void commit();

 private:
  [[noreturn]] void fail(const char* what, int error) const;
  std::string path_, target_, directory_, temporary_;
  int fd_ = -1;
  std::uint64_t written_ = 0;
};

// The whole of a file at once.
void write_text(const std::string& path, std::string_view text);

// Bytes of a file for a message: at most `limit` of them, with unprintable ones as \xNN.
std::string excerpt(std::string_view bytes, std::size_t limit = 24);

}  // namespace wp::io
