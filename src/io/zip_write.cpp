#include <zlib.h>

#include "io/zip.hpp"

namespace wp::io {
namespace {

constexpr std::uint64_t kNarrow = 0xffffffff;
constexpr std::uint64_t kAlign = 64;         // of stored bytes in the file, so that they can be mapped
constexpr unsigned kFlags = 0x0800;          // names are UTF-8
constexpr unsigned kSizesFollow = 0x0008;    // in a pipe: sizes and checksum stand behind the bytes
constexpr std::uint64_t kDate = 0x00210000;  // 1980-01-01: the same arrays give the same file

void put(std::string& out, std::uint64_t value, std::size_t width) {
  for (std::size_t i = 0; i < width; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}
std::uint64_t narrow(std::uint64_t value, bool wide) {
  return wide ? kNarrow : value;
}

// Version to version 2.0, or 4.5 with zip64.
std::string local_header(const ZipEntry& e, bool wide, unsigned flags, std::size_t padding) {
  std::string out(zip_magic);
  put(out, wide ? 45 : 20, 2);
  put(out, flags, 2);
  put(out, e.deflated ? 8 : 0, 2);
  put(out, kDate, 4);
  const bool follow = (flags & kSizesFollow) != 0;
  put(out, follow ? 0 : e.crc, 4);
  put(out, narrow(follow ? 0 : e.packed, wide), 4);
  put(out, narrow(follow ? 0 : e.unpacked, wide), 4);
  put(out, e.name.size(), 2);
  put(out, (wide ? 20 : 0) + (padding ? padding : 0), 2);
  out += e.name;
  if (wide) {
    put(out, 1, 2);
    put(out, 16, 2);
    put(out, follow ? 0 : e.unpacked, 8);
    put(out, follow ? 0 : e.packed, 8);
  }
  if (padding) {  // 0xd935: Android's zipalign
    put(out, 0xd935, 2);
    put(out, padding - 4, 2);
    put(out, kAlign, 2);
    out.append(padding - 6, '\0');
  }
  return out;
}

std::string central_header(const ZipEntry& e, unsigned flags) {
  const bool wide_sizes = e.packed >= kNarrow || e.unpacked >= kNarrow, wide_place = e.local >= kNarrow;
  std::string extra;
  if (wide_sizes || wide_place) {
    put(extra, 1, 2);
    put(extra, (wide_sizes ? 16U : 0U) + (wide_place ? 8U : 0U), 2);
    if (wide_sizes) {
      put(extra, e.unpacked, 8);
      put(extra, e.packed, 8);
    }
    if (wide_place) put(extra, e.local, 8);
  }
  std::string out("PK\x01\x02");
  put(out, extra.empty() ? 20 : 45, 2);
  put(out, extra.empty() ? 20 : 45, 2);
  put(out, flags, 2);
  put(out, e.deflated ? 8 : 0, 2);
  put(out, kDate, 4);
  put(out, e.crc, 4);
  put(out, narrow(e.packed, wide_sizes), 4);
  put(out, narrow(e.unpacked, wide_sizes), 4);
  put(out, e.name.size(), 2);
  put(out, extra.size(), 2);
  put(out, 0, 2 + 2 + 2);  // comment, part, kind
  put(out, 0, 4);
  put(out, narrow(e.local, wide_place), 4);
  return out + e.name + extra;
}

std::string directory_end(std::uint64_t entries, std::uint64_t offset, std::uint64_t bytes) {
  std::string out;
  const bool wide = entries >= 0xffff || offset >= kNarrow || bytes >= kNarrow;
  if (wide) {
    out += "PK\x06\x06";
    put(out, 44, 8);
    put(out, 45, 2);
    put(out, 45, 2);
    put(out, 0, 8);
    put(out, entries, 8);
    put(out, entries, 8);
    put(out, bytes, 8);
    put(out, offset, 8);
    out += "PK\x06\x07";
    put(out, 0, 4);
    put(out, offset + bytes, 8);
    put(out, 1, 4);
  }
  out += "PK\x05\x06";
  put(out, 0, 4);
  put(out, wide ? 0xffff : entries, 2);
  put(out, wide ? 0xffff : entries, 2);
  put(out, narrow(bytes, wide), 4);
  put(out, narrow(offset, wide), 4);
  put(out, 0, 2);
  return out;
}

}  // namespace

struct ZipWriter::Stream {
  z_stream z{};
  std::vector<unsigned char> buffer = std::vector<unsigned char>(std::size_t{1} << 17);
  ~Stream() { deflateEnd(&z); }
};

ZipWriter::ZipWriter(Sink& sink) : sink_(sink) {}
ZipWriter::~ZipWriter() = default;

void ZipWriter::begin(const std::string& name, std::uint64_t bytes, bool deflate, std::size_t head) {
  ZipEntry e{.name = name, .deflated = deflate};
  e.local = sink_.written();
  wide_ = bytes + bytes / 1000 + 65536 >= kNarrow;  // deflate adds 5 bytes to 16 KiB at most
  const std::uint64_t behind = e.local + 30 + name.size() + (wide_ ? 20 : 0);
  std::size_t padding = deflate ? 0 : static_cast<std::size_t>((kAlign - behind % kAlign) % kAlign);
  if (padding && padding < 6) padding += kAlign;
  const std::string header = local_header(e, wide_, kFlags | (sink_.can_rewrite() ? 0 : kSizesFollow), padding);
  sink_.write(header);
  e.data = sink_.written();
  if (head && deflate) {  // a block of its own that is not packed, so that it can be replaced
    std::string block(1, '\0');
    io::put(block, head, 2);
    io::put(block, ~head, 2);
    sink_.write(block);
  }
  sink_.write(std::string(head, '\0'));
  entries_.push_back(std::move(e));
  if (!deflate) return;
  if (!stream_) {
    stream_ = std::make_unique<Stream>();
    if (deflateInit2(&stream_->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
      refuse<OutOfMemory>("WP-MEM-001", "no memory to pack a file.");
  } else {
    deflateReset(&stream_->z);
  }
}

void ZipWriter::deflate(int flush) {
  z_stream& z = stream_->z;
  do {
    z.next_out = stream_->buffer.data();
    z.avail_out = static_cast<uInt>(stream_->buffer.size());
    ::deflate(&z, flush);
    sink_.write(stream_->buffer.data(), stream_->buffer.size() - z.avail_out);
  } while (z.avail_out == 0);
}

void ZipWriter::put(const void* data, std::size_t bytes) {
  ZipEntry& e = entries_.back();
  e.crc = crc32(e.crc, data, bytes);
  e.unpacked += bytes;
  if (!e.deflated) {
    sink_.write(data, bytes);
    return;
  }
  for (const auto* at = static_cast<const Bytef*>(data); bytes > 0;) {
    const std::size_t n = std::min<std::size_t>(bytes, std::size_t{1} << 30);
    stream_->z.next_in = const_cast<Bytef*>(at);  // zlib's interface; it reads only
    stream_->z.avail_in = static_cast<uInt>(n);
    deflate(Z_NO_FLUSH);
    at += n;
    bytes -= n;
  }
}

void ZipWriter::end(std::string_view head) {
  ZipEntry& e = entries_.back();
  if (e.deflated) deflate(Z_FINISH);
  e.packed = sink_.written() - e.data;
  if (!head.empty()) {
    sink_.rewrite(e.data + (e.deflated ? 5 : 0), head);
    const std::uint32_t front = crc32(0, head.data(), head.size());
    e.crc = static_cast<std::uint32_t>(crc32_combine(front, e.crc, static_cast<z_off_t>(e.unpacked)));
    e.unpacked += head.size();
  }
  if (sink_.can_rewrite()) {
    const std::string header = local_header(e, wide_, kFlags, 0);
    sink_.rewrite(e.local + 14, std::string_view(header).substr(14, 12));
    if (wide_) sink_.rewrite(e.local + 34 + e.name.size(), std::string_view(header).substr(34 + e.name.size(), 16));
    return;
  }
  std::string sizes("PK\x07\x08");
  io::put(sizes, e.crc, 4);
  io::put(sizes, e.packed, wide_ ? 8 : 4);
  io::put(sizes, e.unpacked, wide_ ? 8 : 4);
  sink_.write(sizes);
}

void ZipWriter::finish() {
  const std::uint64_t offset = sink_.written();
  const unsigned flags = kFlags | (sink_.can_rewrite() ? 0 : kSizesFollow);
  for (const ZipEntry& e : entries_) sink_.write(central_header(e, flags));
  sink_.write(directory_end(entries_.size(), offset, sink_.written() - offset));
}

}  // namespace wp::io
