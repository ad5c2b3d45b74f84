// Attributes of a call: plain data that a tape can copy and a file can hold.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wellposed/setting.hpp"
#include "wellposed/tensor.hpp"

namespace wp {

enum class AttrType : std::uint8_t {
  none,
  boolean,
  integer,
  real,
  scalar,
  dtype,
  ints,
  text,
  setting,
  texts,
  object
};

// A copy that lives as long as the process.
std::string_view intern(std::string_view text);

// `text` lives as long as the process: choices are literals, other text is interned (intern).
class Attr {
 public:
  Attr() noexcept : type_(AttrType::none), scalar_(0) {}
  Attr(bool v) noexcept : type_(AttrType::boolean), scalar_(v) {}            // NOLINT: all implicit on purpose
  Attr(std::int64_t v) noexcept : type_(AttrType::integer), scalar_(v) {}    // NOLINT
  Attr(int v) noexcept : Attr(static_cast<std::int64_t>(v)) {}               // NOLINT
  Attr(double v) noexcept : type_(AttrType::real), scalar_(v) {}             // NOLINT
  Attr(const Scalar& v) noexcept : type_(AttrType::scalar), scalar_(v) {}    // NOLINT
  Attr(DType v) noexcept : type_(AttrType::dtype), dtype_(v), scalar_(0) {}  // NOLINT
  Attr(Dims v) : type_(AttrType::ints), scalar_(0), ints_(std::move(v)) {}   // NOLINT
  Attr(std::string_view v) noexcept : type_(AttrType::text), scalar_(0), text_(v) {}                  // NOLINT
  Attr(const char* v) noexcept : Attr(std::string_view(v)) {}                                         // NOLINT
  Attr(const Setting& v) : type_(AttrType::setting), scalar_(v.number()), text_(intern(v.rule())) {}  // NOLINT
  // Something of the caller's that only its op knows: a function.
  Attr(std::shared_ptr<const void> v) noexcept
      : type_(AttrType::object), scalar_(0), object_(std::move(v)) {}  // NOLINT
  Attr(const std::vector<std::string>& v);                             // NOLINT
  template <class T>
  Attr(const std::optional<T>& v) : Attr(v ? Attr(*v) : Attr()) {}  // NOLINT

  AttrType type() const noexcept { return type_; }
  explicit operator bool() const noexcept { return type_ != AttrType::none; }  // given, not None
  bool flag() const noexcept { return scalar_.integer() != 0; }
  std::int64_t integer() const noexcept { return scalar_.integer(); }
  double real() const noexcept { return scalar_.real(); }
  const Scalar& scalar() const noexcept { return scalar_; }
  DType dtype() const noexcept { return dtype_; }
  const Dims& ints() const noexcept { return ints_; }
  std::string_view text() const noexcept { return text_; }
  template <class T>
  const T& object() const noexcept {
    return *static_cast<const T*>(object_.get());
  }
  bool is_number() const noexcept { return text_.empty(); }  // of a setting
  std::vector<std::string> texts() const;
  std::string show() const;  // "axis = 1" prints "1"

 private:
  AttrType type_;
  DType dtype_ = f64;
  Scalar scalar_;
  Dims ints_;
  std::string_view text_;
  std::shared_ptr<const void> object_;
};
using Attrs = std::span<const Attr>;

}  // namespace wp
