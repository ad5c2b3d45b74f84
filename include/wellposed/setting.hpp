// A number, or the name of a rule that finds it: {.ridge = 1e-6}, {.ridge = "auto"}, {.ord = 2}, {.ord = "fro"}.
#pragma once
#include <string_view>
#include <type_traits>

#include "wellposed/dtype.hpp"

namespace [[gnu::visibility("default")]] wp {

class Setting {
 public:
  template <class T>
  requires std::is_arithmetic_v<T> Setting(T number)
  noexcept : number_(static_cast<double>(number)) {}        // NOLINT: all implicit on purpose
  Setting(const char* rule) noexcept : rule_(rule) {}       // NOLINT
  Setting(std::string_view rule) noexcept : rule_(rule) {}  // NOLINT: the text must outlive the call
  bool is_number() const noexcept { return rule_.data() == nullptr; }
  double number() const noexcept { return number_; }
  std::string_view rule() const noexcept { return rule_; }

 private:
  double number_ = 0;
  std::string_view rule_;
};

}  // namespace gnu::visibility("default")]]wp
