// Exceptions on their way to other ranks.
#pragma once
#include <exception>
#include <string>

#include "wellposed/error.hpp"

namespace wp::dist {

// Types that are raised again as they were; all others as Error.
enum class Kind : int {
  none,
  error,
  argument,
  shape,
  dtype,
  index,
  domain,
  memory,
  format,
  file,
  nonfinite,
  internal
};

struct Told {
  Kind kind = Kind::none;
  Finding finding;
};

Told told(std::exception_ptr error);
std::string packed(const Told& t);
Told unpacked(const std::string& text, const Place& place);
[[noreturn]] void throw_as(Told t);

}  // namespace wp::dist
