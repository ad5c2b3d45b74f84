// The wire format of protocol buffers (protobuf.dev/programming-guides/encoding), as far as event files use it:
// fields are numbered, a length stands before what is nested, integers are varints of 7 bits a byte.
#pragma once
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace wp::summary {

inline void put_varint(std::string& out, std::uint64_t v) {
  for (; v >= 0x80; v >>= 7) out.push_back(static_cast<char>(v | 0x80));
  out.push_back(static_cast<char>(v));
}
inline std::size_t varint_size(std::uint64_t v) noexcept {
  return v == 0 ? 1 : (static_cast<std::size_t>(std::bit_width(v)) + 6) / 7;
}

class Message {
 public:
  void integer(int field, std::int64_t v) {
    key(field, 0);
    varint(static_cast<std::uint64_t>(v));
  }
  void real(int field, double v) {
    key(field, 1);
    raw(&v, sizeof v);
  }
  void bytes(int field, std::string_view v) {
    key(field, 2);
    varint(v.size());
    out_.append(v);
  }
  void message(int field, const Message& m) { bytes(field, m.out_); }
  const std::string& text() const noexcept { return out_; }

 private:
  void key(int field, unsigned type) { varint(static_cast<std::uint64_t>(field) << 3 | type); }
  void varint(std::uint64_t v) { put_varint(out_, v); }
  void raw(const void* v, std::size_t bytes) {
    static_assert(std::endian::native == std::endian::little);
    out_.append(static_cast<const char*>(v), bytes);
  }
  std::string out_;
};

// One field of a message that is read. Exactly one of number and bytes has a meaning.
struct Field {
  int number = 0;
  enum Type : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 } type = varint;
  std::uint64_t value = 0;  // varint and fixed
  std::string_view text;

  double real() const noexcept {
    return type == fixed32 ? static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(value)))
                           : std::bit_cast<double>(value);
  }
  std::int64_t integer() const noexcept { return static_cast<std::int64_t>(value); }
};

// for (Fields f(bytes); f.next();) … f->number …; ok() says whether all of it was a message.
class Fields {
 public:
  explicit Fields(std::string_view message) : rest_(message) {}
  bool next() {
    if (rest_.empty() || !ok_) return false;
    std::uint64_t key = 0;
    ok_ = varint(key) && key >> 3 > 0 && key >> 3 < (1U << 29);
    if (!ok_) return false;
    field_ = {static_cast<int>(key >> 3), static_cast<Field::Type>(key & 7), 0, {}};
    std::uint64_t length = 0;
    switch (field_.type) {
      case Field::varint: return ok_ = varint(field_.value);
      case Field::fixed64: return ok_ = fixed(8);
      case Field::fixed32: return ok_ = fixed(4);
      case Field::bytes:
        ok_ = varint(length) && length <= rest_.size();
        if (ok_) field_.text = take(length);
        return ok_;
      default: return ok_ = false;
    }
  }
  const Field* operator->() const noexcept { return &field_; }
  const Field& operator*() const noexcept { return field_; }
  bool ok() const noexcept { return ok_; }

 private:
  std::string_view take(std::size_t bytes) {
    const std::string_view out = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return out;
  }
  bool varint(std::uint64_t& v) {
    v = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      v |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  bool fixed(std::size_t bytes) {
    if (rest_.size() < bytes) return false;
    std::memcpy(&field_.value, take(bytes).data(), bytes);
    return true;
  }
  std::string_view rest_;
  Field field_;
  bool ok_ = true;
};

}  // namespace wp::summary
