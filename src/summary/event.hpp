// Events as TensorBoard reads them: tensorflow/core/util/event.proto, framework/summary.proto and tensor.proto.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wellposed/tensor.hpp"

namespace wp::summary {

// Counts of values between edges, as the plugin `histograms` takes them: rows (left, right, count).
struct Bucket {
  double left, right, count;
};

enum class Plugin : std::uint8_t { scalars, histograms, text, images };
std::string_view name(Plugin plugin) noexcept;

double wall_time();  // seconds since 1970

// What an event says of one tag. Each function gives the serialised event.
std::string version_event(double wall_time);
std::string histogram_event(double wall_time, std::int64_t step, std::string_view tag,
                            const std::vector<Bucket>& rows);
std::string text_event(double wall_time, std::int64_t step, std::string_view tag, std::string_view markdown);
// images: PNG files of one size.
std::string image_event(double wall_time, std::int64_t step, std::string_view tag, std::int64_t width,
                        std::int64_t height, const std::vector<std::string>& images);

// Appends an event as it stands in a file: length, masked CRC-32C of the length, the bytes, masked CRC-32C of the
// bytes.
void put_record(std::string& file, std::string_view event);
// The record of a scalar, which is most of what is logged: nothing is taken from the heap for it.
void put_scalar_record(std::string& file, double wall_time, std::int64_t step, std::string_view tag, float value);
std::uint32_t masked_crc(std::string_view bytes) noexcept;
inline constexpr std::size_t kRecordHead = 12, kRecordTail = 4;

// SCOPE/NAME as a tag that every reader takes: valid UTF-8 without control characters (U+FFFD instead), not empty.
std::string tag_of(std::string_view scope, std::string_view name);

}  // namespace wp::summary
