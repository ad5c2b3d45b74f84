// Zip archives: APPNOTE.TXT 6.3.10 of PKWARE; stored (0) and deflated (8) entries, zip64.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "io/file.hpp"

namespace wp::io {

inline constexpr std::string_view zip_magic = "PK\x03\x04";

struct ZipEntry {
  std::string name;
  bool deflated = false;
  std::uint32_t crc = 0;
  std::uint64_t packed = 0, unpacked = 0;  // bytes
  std::uint64_t local = 0, data = 0;       // offsets of its header and of its bytes
};
// In the order of the directory. Everything the directory and the headers of the entries say is checked against each
// other and against the file's size; entries do not overlap. Throws FormatError.
std::vector<ZipEntry> read_zip(const Source& source);

// The bytes of an entry, front to back. The last read verifies length and checksum.
class Unpacker {
 public:
  Unpacker(const Source& source, const ZipEntry& entry);
  ~Unpacker();
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;
  void read(void* to, std::size_t bytes);  // throws FormatError where the bytes are not what they should be
  std::uint64_t bytes_taken() const noexcept { return taken_; }  // of the packed ones

 private:
  struct Stream;
  void inflate(char* to, std::size_t bytes);
  void finish();
  [[noreturn]] void bad(std::string_view reason) const;

  const Source& source_;
  ZipEntry entry_;
  std::uint64_t given_ = 0, taken_ = 0;
  std::uint32_t crc_ = 0;
  bool finished_ = false;
  std::unique_ptr<Stream> stream_;  // of deflated entries
};
std::uint32_t crc32(std::uint32_t crc, const void* data, std::size_t bytes) noexcept;

// Writes an archive entry by entry, with memory for a piece of one.
class ZipWriter {
 public:
  explicit ZipWriter(Sink& sink);
  ~ZipWriter();
  ZipWriter(const ZipWriter&) = delete;
  ZipWriter& operator=(const ZipWriter&) = delete;
  // An entry of at most `bytes` bytes, which put() brings in pieces. Its first `head` bytes (64 KiB at most) come
  // last, with end(): not in a pipe.
  void begin(const std::string& name, std::uint64_t bytes, bool deflate, std::size_t head = 0);
  void put(const void* data, std::size_t bytes);
  void end(std::string_view head = {});
  void finish();  // the directory

 private:
  struct Stream;
  void deflate(int flush);

  Sink& sink_;
  std::vector<ZipEntry> entries_;
  bool wide_ = false;  // the current entry's header has room for 64-bit sizes
  std::unique_ptr<Stream> stream_;
};

}  // namespace wp::io
