// One integer or a list of them: axes, shapes, shifts.
#pragma once
#include <concepts>
#include <initializer_list>

#include "wellposed/error.hpp"

namespace [[gnu::visibility("default")]] wp {

class Ints : public Dims {
 public:
  Ints() = default;
  template <std::integral T>
  Ints(T value) : Dims{static_cast<std::int64_t>(value)} {}  // NOLINT: implicit on purpose
  Ints(std::initializer_list<std::int64_t> values) : Dims(values) {}
  Ints(const Dims& values) : Dims(values) {}  // NOLINT
};

}  // namespace gnu::visibility("default")]]wp
