#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <unordered_set>

#include "io/format.hpp"
#include "io/zip.hpp"

namespace wp::io {
namespace {

constexpr std::uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50,
                        kLocator64 = 0x07064b50;
constexpr std::size_t kEndBytes = 22, kCentralBytes = 46, kLocalBytes = 30, kEnd64Bytes = 56, kLocatorBytes = 20;
constexpr std::uint64_t kNarrow = 0xffffffff;
constexpr std::uint64_t kRatio = 1032;  // deflate: 258 bytes in 2 bits

// Little-endian numbers of `bytes`, which were read from byte `base` of the file.
struct Bytes {
  std::string_view bytes;
  std::uint64_t base = 0;
  std::uint64_t number(std::size_t at, std::size_t width) const noexcept {
    std::uint64_t v = 0;
    for (std::size_t i = 0; i < width; ++i)
      v |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
    return v;
  }
  std::uint16_t u16(std::size_t at) const noexcept { return static_cast<std::uint16_t>(number(at, 2)); }
  std::uint32_t u32(std::size_t at) const noexcept { return static_cast<std::uint32_t>(number(at, 4)); }
  std::uint64_t u64(std::size_t at) const noexcept { return number(at, 8); }
};

std::string bytes_at(const Source& s, std::uint64_t offset, std::size_t bytes) {
  std::string out(bytes, '\0');
  s.read(offset, out.data(), bytes);
  return out;
}

struct Directory {
  std::uint64_t offset = 0, bytes = 0, entries = 0;
};

Directory wide_directory(const Source& s, std::uint64_t end) {
  if (end < kLocatorBytes) s.refuse_at("WP-FMT-002", end, "the zip archive has no room for its zip64 locator.");
  const std::uint64_t at = end - kLocatorBytes;
  const std::string text = bytes_at(s, at, kLocatorBytes);
  const Bytes locator{text, at};
  if (locator.u32(0) != kLocator64) s.refuse_at("WP-FMT-002", at, "a zip64 locator should stand here.");
  const std::uint64_t where = locator.u64(8);
  if (locator.u32(4) != 0 || locator.u32(16) > 1)
    s.refuse_at("WP-FMT-004", at, "zip archives in several parts are not read.");
  if (at < kEnd64Bytes || where != at - kEnd64Bytes)
    s.refuse_at("WP-FMT-002", at + 8, say("the zip64 directory record is said to be at byte ", where, "."));
  const std::string record_text = bytes_at(s, where, kEnd64Bytes);
  const Bytes record{record_text, where};
  if (record.u32(0) != kEnd64 || record.u64(4) != kEnd64Bytes - 12)
    s.refuse_at("WP-FMT-002", where, "a zip64 directory record should stand here.");
  if (record.u32(16) != 0 || record.u32(20) != 0 || record.u64(24) != record.u64(32))
    s.refuse_at("WP-FMT-004", where + 16, "zip archives in several parts are not read.");
  if (record.u64(48) > where || record.u64(40) != where - record.u64(48))
    s.refuse_at("WP-FMT-003", where + 40, "the zip directory does not end where its end record begins.");
  return {record.u64(48), record.u64(40), record.u64(32)};
}

Directory find_directory(const Source& s) {
  const std::uint64_t size = s.size();
  if (size < kEndBytes) s.refuse_at("WP-FMT-003", size, "the file is too short for a zip archive: truncated.");
  const auto tail = static_cast<std::size_t>(std::min<std::uint64_t>(size, kEndBytes + 0xffff));
  const std::string text = bytes_at(s, size - tail, tail);
  const Bytes b{text, size - tail};
  std::size_t at = tail - kEndBytes;
  while (b.u32(at) != kEnd || b.u16(at + 20) != tail - at - kEndBytes) {
    if (at == 0)
      s.refuse_at("WP-FMT-003", size, "no end of a zip directory is found: truncated, or not a zip archive.");
    --at;
  }
  const std::uint64_t end = b.base + at;
  if (b.u16(at + 4) != 0 || b.u16(at + 6) != 0 || b.u16(at + 8) != b.u16(at + 10))
    s.refuse_at("WP-FMT-004", end + 4, "zip archives in several parts are not read.");
  const Directory narrow{b.u32(at + 16), b.u32(at + 12), b.u16(at + 10)};
  if (narrow.entries == 0xffff || narrow.offset == kNarrow || narrow.bytes == kNarrow) return wide_directory(s, end);
  if (narrow.offset > end || narrow.bytes != end - narrow.offset)
    s.refuse_at("WP-FMT-003", end + 12,
                say("the zip directory is said to be ", narrow.bytes, " bytes from byte ", narrow.offset,
                    " on, but its end record is at byte ", end, "."));
  return narrow;
}

// Sizes that do not fit 32 bits stand in the extra field 1, those that are needed, in this order.
void widen(const Source& s, const Bytes& extra, std::initializer_list<std::uint64_t*> values) {
  std::size_t needed = 0;
  for (const std::uint64_t* v : values) needed += *v == kNarrow ? 8 : 0;
  if (needed == 0) return;
  for (std::size_t at = 0; at + 4 <= extra.bytes.size();) {
    const std::size_t bytes = extra.u16(at + 2);
    if (at + 4 + bytes > extra.bytes.size()) break;
    if (extra.u16(at) == 1 && bytes >= needed) {
      std::size_t from = at + 4;
      for (std::uint64_t* v : values)
        if (*v == kNarrow) {
          *v = extra.u64(from);
          from += 8;
        }
      return;
    }
    at += 4 + bytes;
  }
  s.refuse_at("WP-FMT-002", extra.base, "a zip entry of 4 GiB or more has no zip64 sizes.");
}

std::size_t central_entry(const Source& s, const Bytes& b, std::size_t at, ZipEntry& e) {
  const std::uint64_t here = b.base + at;
  if (at + kCentralBytes > b.bytes.size() || b.u32(at) != kCentral)
    s.refuse_at("WP-FMT-002", here, "an entry of the zip directory should stand here.");
  const std::size_t name = b.u16(at + 28), extra = b.u16(at + 30), comment = b.u16(at + 32);
  const std::size_t next = at + kCentralBytes + name + extra + comment;
  if (next > b.bytes.size())
    s.refuse_at("WP-FMT-002", here + 28, "an entry of the zip directory is longer than the directory.");
  e.name = std::string(b.bytes.substr(at + kCentralBytes, name));
  const auto no = [&](std::size_t field, std::string_view why) {
    s.refuse_at("WP-FMT-004", here + field, say("entry '", excerpt(e.name), "' ", why));
  };
  if (b.u16(at + 6) > 63) no(6, "needs a version of zip that is not known.");
  if ((b.u16(at + 8) & 0x2061) != 0) no(8, "is encrypted.");
  const unsigned method = b.u16(at + 10);
  if (method != 0 && method != 8) no(10, "is neither stored nor deflated.");
  if (!valid_utf8(e.name) || e.name.find('\0') != std::string::npos) no(kCentralBytes, "has a name that is no text.");
  e.deflated = method == 8;
  e.crc = b.u32(at + 16);
  e.packed = b.u32(at + 20);
  e.unpacked = b.u32(at + 24);
  e.local = b.u32(at + 42);
  widen(s, {b.bytes.substr(at + kCentralBytes + name, extra), here + kCentralBytes + name},
        {&e.unpacked, &e.packed, &e.local});
  if (!e.deflated && e.packed != e.unpacked) no(20, "is stored, but its sizes differ.");
  if (e.deflated && e.unpacked / kRatio > e.packed)
    no(24, say("is said to unfold from ", e.packed, " to ", e.unpacked, " bytes, which deflate cannot."));
  return next;
}

// The header before the bytes of an entry repeats the directory.
void local_entry(const Source& s, ZipEntry& e, std::uint64_t end) {
  if (e.local > end || end - e.local < kLocalBytes)
    s.refuse_at("WP-FMT-003", e.local, say("entry '", excerpt(e.name), "' begins behind the zip directory."));
  const std::string fixed = bytes_at(s, e.local, kLocalBytes);
  const Bytes b{fixed, e.local};
  const std::size_t name = b.u16(26), extra = b.u16(28);
  const auto differs = [&](std::size_t field, std::string_view what) {
    s.refuse_at(
        "WP-FMT-002", e.local + field,
        say("entry '", excerpt(e.name), "': the zip directory says another ", what, " than the entry itself."));
  };
  if (b.u32(0) != kLocal) differs(0, "place");
  if ((b.u16(6) & 0x2061) != 0 || b.u16(8) != (e.deflated ? 8 : 0)) differs(6, "way of packing");
  e.data = e.local + kLocalBytes + name + extra;
  if (e.data > end || end - e.data < e.packed)
    s.refuse_at("WP-FMT-003", e.local,
                say("entry '", excerpt(e.name), "' promises ", e.packed, " bytes, which go into the zip directory."));
  const std::string text = bytes_at(s, e.local + kLocalBytes, name + extra);
  if (text.compare(0, name, e.name) != 0) differs(kLocalBytes, "name");
  if ((b.u16(6) & 8) != 0) return;  // sizes and checksum follow the bytes
  std::uint64_t packed = b.u32(18), unpacked = b.u32(22);
  widen(s, {std::string_view(text).substr(name), e.local + kLocalBytes + name}, {&unpacked, &packed});
  if (packed != e.packed || unpacked != e.unpacked) differs(18, "size");
  if (b.u32(14) != e.crc) differs(14, "checksum");
}

}  // namespace

std::vector<ZipEntry> read_zip(const Source& s) {
  const Directory d = find_directory(s);
  if (d.entries > d.bytes / kCentralBytes)
    s.refuse_at("WP-FMT-003", d.offset,
                say("the zip directory is said to have ", d.entries, " entries in ", d.bytes, " bytes."));
  if (d.entries > most_entries(s.size()))
    s.refuse_at("WP-FMT-003", d.offset,
                say("the zip directory has ", d.entries, " entries; a file of this size may have ",
                    most_entries(s.size()), "."));
  const std::string text = bytes_at(s, d.offset, static_cast<std::size_t>(d.bytes));
  const Bytes b{text, d.offset};
  std::vector<ZipEntry> entries(static_cast<std::size_t>(d.entries));
  std::unordered_set<std::string_view> names;
  std::size_t at = 0;
  for (ZipEntry& e : entries) {
    at = central_entry(s, b, at, e);
    local_entry(s, e, d.offset);
    if (!names.insert(e.name).second)
      s.refuse_at("WP-FMT-002", e.local, say("two entries have the name '", excerpt(e.name), "'."));
  }
  if (at != text.size())
    s.refuse_at("WP-FMT-003", d.offset + at, "bytes follow the last entry of the zip directory.");
  std::vector<const ZipEntry*> order;
  for (const ZipEntry& e : entries) order.push_back(&e);
  std::sort(order.begin(), order.end(), [](const ZipEntry* x, const ZipEntry* y) { return x->local < y->local; });
  for (std::size_t i = 1; i < order.size(); ++i)
    if (order[i]->local < order[i - 1]->data + order[i - 1]->packed)
      s.refuse_at("WP-FMT-003", order[i]->local,
                  say("entries '", excerpt(order[i - 1]->name), "' and '", excerpt(order[i]->name), "' overlap."));
  return entries;
}

std::uint32_t crc32(std::uint32_t crc, const void* data, std::size_t bytes) noexcept {
  return static_cast<std::uint32_t>(crc32_z(crc, static_cast<const Bytef*>(data), bytes));
}

struct Unpacker::Stream {
  explicit Stream(std::uint64_t packed) : buffer(std::min<std::uint64_t>(std::uint64_t{1} << 17, packed)) {}
  z_stream z{};
  std::vector<unsigned char> buffer;
  ~Stream() { inflateEnd(&z); }
};

Unpacker::Unpacker(const Source& source, const ZipEntry& entry) : source_(source), entry_(entry) {
  if (!entry.deflated) return;
  stream_ = std::make_unique<Stream>(entry.packed);
  if (inflateInit2(&stream_->z, -MAX_WBITS) != Z_OK) refuse<OutOfMemory>("WP-MEM-001", "no memory to unpack a file.");
}
Unpacker::~Unpacker() = default;

void Unpacker::bad(std::string_view reason) const {
  source_.refuse_at("WP-FMT-003", entry_.data + taken_, say("entry '", excerpt(entry_.name), "': ", reason));
}

void Unpacker::inflate(char* to, std::size_t bytes) {
  z_stream& z = stream_->z;
  while (bytes > 0) {
    if (z.avail_in == 0) {
      const auto n =
          static_cast<std::size_t>(std::min<std::uint64_t>(stream_->buffer.size(), entry_.packed - taken_));
      if (n == 0) bad("the packed bytes end early.");
      source_.read(entry_.data + taken_, stream_->buffer.data(), n);
      taken_ += n;
      z.next_in = stream_->buffer.data();
      z.avail_in = static_cast<uInt>(n);
    }
    const auto room = static_cast<uInt>(std::min<std::size_t>(bytes, std::size_t{1} << 30));
    z.next_out = reinterpret_cast<Bytef*>(to);
    z.avail_out = room;
    const int code = ::inflate(&z, Z_NO_FLUSH);
    const std::size_t made = room - z.avail_out;
    to += made;
    bytes -= made;
    if (code == Z_STREAM_END && bytes > 0) bad("it unfolds to less than it promises.");
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
      bad(say("the packed bytes are damaged", z.msg ? say(" (", z.msg, ")") : std::string(), "."));
  }
}

void Unpacker::finish() {
  finished_ = true;
  if (stream_) {
    z_stream& z = stream_->z;
    unsigned char more = 0;
    for (;;) {  // the end mark may come in bytes that were not needed yet
      if (z.avail_in == 0 && taken_ < entry_.packed) {
        const auto n =
            static_cast<std::size_t>(std::min<std::uint64_t>(stream_->buffer.size(), entry_.packed - taken_));
        source_.read(entry_.data + taken_, stream_->buffer.data(), n);
        taken_ += n;
        z.next_in = stream_->buffer.data();
        z.avail_in = static_cast<uInt>(n);
      }
      z.next_out = &more;
      z.avail_out = 1;
      const int code = ::inflate(&z, Z_NO_FLUSH);
      if (z.avail_out == 0) bad("it unfolds to more than it promises.");
      if (code == Z_STREAM_END) break;
      if (code != Z_OK || (z.avail_in == 0 && taken_ == entry_.packed)) bad("the packed bytes have no end.");
    }
    if (z.avail_in != 0 || taken_ != entry_.packed) bad("bytes follow the packed ones.");
  }
  if (crc_ != entry_.crc) bad("the checksum is not that of the bytes: the file is damaged.");
}

void Unpacker::read(void* to, std::size_t bytes) {
  constexpr std::size_t piece = std::size_t{1} << 18;  // checksummed while it is in cache
  for (auto* at = static_cast<char*>(to); bytes > 0;) {
    const std::size_t n = std::min(piece, bytes);
    if (stream_) {
      inflate(at, n);
    } else {
      source_.read(entry_.data + taken_, at, n);
      taken_ += n;
    }
    crc_ = crc32(crc_, at, n);
    given_ += n;
    at += n;
    bytes -= n;
  }
  if (given_ == entry_.unpacked && !finished_) finish();
}

}  // namespace wp::io
