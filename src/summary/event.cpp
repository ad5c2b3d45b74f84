#include "summary/event.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstring>

#include "base/text.hpp"
#include "simd/crc.hpp"
#include "summary/wire.hpp"

namespace wp::summary {
namespace {

constexpr std::array<std::string_view, 4> plugins{"scalars", "histograms", "text", "images"};
constexpr std::array<std::int64_t, 4> classes{1, 2, 2, 3};  // DataClass: scalar, tensor, tensor, blob sequence
enum DataType : std::int64_t { dt_float = 1, dt_double = 2, dt_string = 7 };  // tensorflow/core/framework/types.proto

Message tensor_of(DataType type, const std::vector<std::int64_t>& shape) {
  Message dims, tensor;
  for (const std::int64_t n : shape) {
    Message dim;
    if (n != 0) dim.integer(1, n);  // a field that has its default is not written
    dims.message(2, dim);
  }
  tensor.integer(1, type);
  tensor.message(2, dims);
  return tensor;
}

std::string event_of(double wall_time, std::int64_t step, std::string_view tag, Plugin plugin,
                     const Message& tensor) {
  const auto p = static_cast<std::size_t>(plugin);
  Message data, metadata, value, summary, event;
  data.bytes(1, plugins[p]);
  metadata.message(1, data);
  metadata.integer(4, classes[p]);
  value.bytes(1, tag);
  value.message(8, tensor);
  value.message(9, metadata);
  summary.message(1, value);
  event.real(1, wall_time);
  if (step != 0) event.integer(2, step);
  event.message(5, summary);
  return event.text();
}

template <class T>
std::string_view bytes_of(const T& v) {
  return {reinterpret_cast<const char*>(&v), sizeof v};
}

// The head of a record; the event is appended behind it, then end_record(file, where the event begins).
std::size_t begin_record(std::string& file, std::uint64_t length) {
  file.append(bytes_of(length));
  file.append(bytes_of(masked_crc(bytes_of(length))));
  return file.size();
}
void end_record(std::string& file, std::size_t begin) {
  const std::uint32_t crc = masked_crc(std::string_view(file).substr(begin));
  file.append(bytes_of(crc));
}

}  // namespace

std::string_view name(Plugin plugin) noexcept {
  return plugins[static_cast<std::size_t>(plugin)];
}

double wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string version_event(double wall_time) {
  Message event;
  event.real(1, wall_time);
  event.bytes(3, "brain.Event:2");
  return event.text();
}

std::string histogram_event(double wall_time, std::int64_t step, std::string_view tag,
                            const std::vector<Bucket>& rows) {
  static_assert(sizeof(Bucket) == 24);
  Message tensor = tensor_of(dt_double, {static_cast<std::int64_t>(rows.size()), 3});
  if (!rows.empty()) tensor.bytes(4, {reinterpret_cast<const char*>(rows.data()), rows.size() * sizeof(Bucket)});
  return event_of(wall_time, step, tag, Plugin::histograms, tensor);
}

std::string text_event(double wall_time, std::int64_t step, std::string_view tag, std::string_view markdown) {
  Message tensor = tensor_of(dt_string, {});
  tensor.bytes(8, markdown);
  return event_of(wall_time, step, tag, Plugin::text, tensor);
}

std::string image_event(double wall_time, std::int64_t step, std::string_view tag, std::int64_t width,
                        std::int64_t height, const std::vector<std::string>& images) {
  Message tensor = tensor_of(dt_string, {static_cast<std::int64_t>(images.size()) + 2});
  tensor.bytes(8, std::to_string(width));
  tensor.bytes(8, std::to_string(height));
  for (const std::string& png : images) tensor.bytes(8, png);
  return event_of(wall_time, step, tag, Plugin::images, tensor);
}

std::uint32_t masked_crc(std::string_view bytes) noexcept {
  return std::rotr(simd::crc32c(bytes.data(), bytes.size()), 15) + 0xa282ead8U;
}

void put_record(std::string& file, std::string_view event) {
  const std::size_t begin = begin_record(file, event.size());
  file.append(event);
  end_record(file, begin);
}

// The event of event_of() with a tensor of dt_float, without a shape, of 4 bytes; lengths are computed first, so that
// no message is built to be copied into another.
void put_scalar_record(std::string& file, double wall_time, std::int64_t step, std::string_view tag, float value) {
  constexpr std::string_view tensor{"\x42\x0a\x08\x01\x12\x00\x22\x04", 8};            // 8: {1: 1, 2: {}, 4: …
  constexpr std::string_view metadata{"\x4a\x0d\x0a\x09\x0a\x07scalars\x20\x01", 15};  // 9: {1: {1: …}, 4: 1}
  const std::size_t in_value =
                        1 + varint_size(tag.size()) + tag.size() + tensor.size() + sizeof value + metadata.size(),
                    in_summary = 1 + varint_size(in_value) + in_value;
  const std::size_t begin = begin_record(file, 9 + (step ? 1 + varint_size(static_cast<std::uint64_t>(step)) : 0) +
                                                   1 + varint_size(in_summary) + in_summary);
  file += '\x09';
  file.append(bytes_of(wall_time));
  if (step != 0) {
    file += '\x10';
    put_varint(file, static_cast<std::uint64_t>(step));
  }
  file += '\x2a';
  put_varint(file, in_summary);
  file += '\x0a';
  put_varint(file, in_value);
  file += '\x0a';
  put_varint(file, tag.size());
  file.append(tag);
  file.append(tensor).append(bytes_of(value)).append(metadata);
  end_record(file, begin);
}

std::string tag_of(std::string_view scope, std::string_view name) {
  std::string whole;
  whole.reserve(scope.size() + 1 + name.size());
  whole.append(scope);
  if (!scope.empty()) whole += '/';
  whole.append(name);
  const auto plain = [](char c) { return c >= 0x20 && c < 0x7f; };
  if (!std::all_of(whole.begin(), whole.end(), plain)) whole = clean_utf8(whole, false);
  return whole.empty() ? "unnamed" : whole;
}

}  // namespace wp::summary
