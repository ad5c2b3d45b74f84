#pragma once
#include <string>
#include <string_view>

#include "base/terminal.hpp"

namespace wp::cli {

// Colours for one stream, or none (base/terminal.hpp decides).
class Paint {
 public:
  explicit Paint(std::FILE* stream) : on_(terminal::colours(stream)) {}
  std::string bold(std::string_view s) const { return dress("1", s); }
  std::string faint(std::string_view s) const { return dress("2", s); }
  std::string red(std::string_view s) const { return dress("31", s); }
  std::string green(std::string_view s) const { return dress("32", s); }
  std::string yellow(std::string_view s) const { return dress("33", s); }
  std::string cyan(std::string_view s) const { return dress("36", s); }

 private:
  std::string dress(std::string_view code, std::string_view s) const {
    if (!on_) return std::string(s);
    std::string out = "\x1b[";
    return out.append(code).append("m").append(s).append("\x1b[0m");
  }
  bool on_;
};

}  // namespace wp::cli
