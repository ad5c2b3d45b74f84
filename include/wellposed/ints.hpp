// One integer or a list of them: axes, shapes, shifts.
#pragma once
#include <concepts>
#include <initializer_list>
#include <optional>

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

// The same where none may be given: {.axis = 1}, {.axis = {0, 2}}, {.axis = std::nullopt}.
class OptionalInts : public std::optional<Ints> {
 public:
  OptionalInts(std::nullopt_t = std::nullopt) noexcept {}  // NOLINT: all implicit on purpose
  template <std::integral T>
  OptionalInts(T value) : std::optional<Ints>(value) {}                                                     // NOLINT
  OptionalInts(std::initializer_list<std::int64_t> values) : std::optional<Ints>(std::in_place, values) {}  // NOLINT
  OptionalInts(const Dims& values) : std::optional<Ints>(values) {}                                         // NOLINT
};

}  // namespace gnu::visibility("default")]]wp
