#include "wellposed/version.hpp"

namespace wp {
std::string_view version() noexcept {
  return WP_VERSION;
}
}  // namespace wp
