#include "summary/png.hpp"

#include <zlib.h>

#include <string_view>

#include "base/text.hpp"

namespace wp::summary {
namespace {

void put_number(std::string& out, std::uint32_t v) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(v >> shift));
}
// Length, kind, bytes, and the CRC of kind and bytes.
void put_chunk(std::string& out, std::string_view kind, std::string_view bytes) {
  put_number(out, static_cast<std::uint32_t>(bytes.size()));
  const std::size_t begin = out.size();
  out.append(kind).append(bytes);
  put_number(out, static_cast<std::uint32_t>(
                      crc32_z(0, reinterpret_cast<const Bytef*>(out.data() + begin), out.size() - begin)));
}

}  // namespace

std::string png(std::int64_t h, std::int64_t w, int channels, const std::uint8_t* pixels) {
  const auto line = static_cast<std::size_t>(w * channels);
  std::string rows;
  rows.reserve(static_cast<std::size_t>(h) * (line + 1));
  for (std::int64_t i = 0; i < h; ++i) {
    rows.push_back(0);  // no filter
    rows.append(reinterpret_cast<const char*>(pixels) + static_cast<std::size_t>(i) * line, line);
  }
  std::string packed(compressBound(rows.size()), '\0');
  uLongf size = packed.size();
  if (compress2(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(rows.data()),
                rows.size(), Z_BEST_SPEED) != Z_OK)
    raise<OutOfMemory>("WP-MEM-001", "SummaryWriter::image", "there is no memory to compress the image.");
  packed.resize(size);
  std::string head;
  put_number(head, static_cast<std::uint32_t>(w));
  put_number(head, static_cast<std::uint32_t>(h));
  head += '\x08';                                                    // bits
  head += channels == 1 ? '\x00' : channels == 3 ? '\x02' : '\x06';  // grey, RGB, RGBA
  head.append(3, '\0');  // deflate, no filter method but the first, not interlaced
  std::string out = "\x89PNG\r\n\x1a\n";
  put_chunk(out, "IHDR", head);
  put_chunk(out, "IDAT", packed);
  put_chunk(out, "IEND", {});
  return out;
}

}  // namespace wp::summary
