// The public function that runs: errors inside name it and the user's line.
#pragma once
#include "wellposed/context.hpp"

namespace wp::io {

struct Calling : wp::detail::Restore<&Context::running> {
  Place place;
  Running running;
  Calling(const char* function, const Place& from) : place(from), running{function, &place} {
    context().running = &running;
  }
};

}  // namespace wp::io
