// Images as PNG (ISO/IEC 15948): 8 bits a channel, rows without filters, deflated.
#pragma once
#include <cstdint>
#include <string>

namespace wp::summary {

// h × w pixels of 1 (grey), 3 (RGB) or 4 (RGBA) bytes, row by row.
std::string png(std::int64_t h, std::int64_t w, int channels, const std::uint8_t* pixels);

}  // namespace wp::summary
