#include "base/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace wp::terminal {
namespace {

std::string_view variable(const char* name) noexcept {
  const char* const text = std::getenv(name);
  return text ? text : "";
}

}  // namespace

bool is_tty(std::FILE* stream) noexcept {
  return isatty(fileno(stream)) == 1;
}

bool colours(std::FILE* stream) noexcept {
  const char* const text = std::getenv("WELLPOSED_COLOR");
  const std::string_view wish = text ? text : "";
  if (wish == "always") return true;
  if (wish == "never") return false;
  static const bool told = [&] {  // once per process
    if (!wish.empty() && wish != "auto")
      std::fprintf(stderr, "wellposed: WELLPOSED_COLOR='%s' is not one of auto, always, never; using auto.\n", text);
    return true;
  }();
  (void)told;
  return variable("NO_COLOR").empty() && variable("TERM") != "dumb" && is_tty(stream);
}

int width(std::FILE* stream) noexcept {
  winsize size{};
  return ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace wp::terminal
