// Where made Inf and NaN come from, and what happens when they leave the computation.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "wellposed/context.hpp"
#include "wellposed/tensor.hpp"

namespace wp {

// The op, element and operands that made a non-finite value.
struct Origin {
  Finding finding;
  std::string value;  // "-inf"
};

// Only tensors with at least one made element have a note. Everything else non-finite was given.
struct Note {
  std::vector<std::shared_ptr<const Origin>> origins;
  // Empty: every non-finite element was made by origins[0]. Else one entry per element in row-major order:
  // 0 not made, k made by origins[k − 1]. (255 or more origins: the last one stands for the rest.)
  std::vector<std::uint8_t> source;

  // The origin of an element; null: not made. `nonfinite`: whether the element's value is.
  const Origin* of(std::int64_t element, bool nonfinite) const noexcept {
    if (source.empty()) return nonfinite ? origins[0].get() : nullptr;
    const std::uint8_t k = source[static_cast<std::size_t>(element)];
    return k ? origins[k - 1U].get() : nullptr;
  }
};

// What an error is about: what left the computation although it should not, an index out of range.
struct Subject {
  Tensor tensor;
  std::int64_t element;
};

// Sinks: what takes values out of the computation.
enum class Counts : std::uint8_t { made, made_and_given };
// Raises NonFiniteError (or warns, by the check level) if an element of t that leaves is non-finite and counts.
// `sink` names the function: "item", "save".
// `whole`: what t is a part of, where messages are about that.
struct Whole {
  Dims shape;
  std::function<Dims(std::int64_t element)> index;  // in it, of an element of the part
};
void escape(const Tensor& t, std::string_view sink, Counts counts, Place place, const Whole* whole = nullptr);

// Element access for reports and cold paths; `element` counts in row-major order.
std::int64_t offset_of(const Tensor& t, std::int64_t element) noexcept;  // in elements from data
complex128 value_at(const Tensor& t, std::int64_t element) noexcept;
bool nonfinite_at(const Tensor& t, std::int64_t element) noexcept;
bool nan_at(const Tensor& t, std::int64_t element) noexcept;
std::int64_t next_nonfinite(const Tensor& t, std::int64_t from);  // at or after `from`; −1: none
std::string text_at(const Tensor& t, std::int64_t element);
std::string entry_text(std::string_view name, const Tensor& t, std::int64_t element);  // "x[3, 1] = 7.2"
Dims unravel(std::int64_t element, const Dims& shape);

}  // namespace wp
