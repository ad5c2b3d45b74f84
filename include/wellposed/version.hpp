// Which wellposed this is.
#pragma once
#include <string_view>

namespace [[gnu::visibility("default")]] wp {
// "0.1.0" of the library that runs, which need not be the one the headers came with.
std::string_view version() noexcept;
}  // namespace gnu::visibility("default")]]wp
