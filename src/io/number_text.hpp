// Numbers as text that reads back as the same value.
#pragma once
#include <fmt/format.h>

#include <string_view>
#include <type_traits>

#include "kernels/convert.hpp"
#include "wellposed/dtype.hpp"

namespace wp::io {

// The shortest text that reads back as v. Floats always show that they are: 1.0, 1e+20, nan. Complex: two numbers
// with a blank between.
template <class T>
void append_number(fmt::memory_buffer& out, T v) {
  if constexpr (std::is_same_v<T, bool>) {
    out.push_back(v ? '1' : '0');
  } else if constexpr (std::is_same_v<T, Half>) {
    append_number(out, kernels::half_value(v.bits));
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    append_number(out, kernels::bfloat16_value(v.bits));
  } else if constexpr (std::is_floating_point_v<T>) {
    const std::size_t start = out.size();
    fmt::format_to(std::back_inserter(out), "{}", v);
    bool whole = true;
    for (std::size_t i = start; i < out.size(); ++i) whole &= out[i] == '-' || (out[i] >= '0' && out[i] <= '9');
    if (whole) out.append(std::string_view(".0"));
  } else if constexpr (std::is_integral_v<T>) {
    fmt::format_to(std::back_inserter(out), "{}", v);
  } else {
    append_number(out, v.real());
    out.push_back(' ');
    append_number(out, v.imag());
  }
}

}  // namespace wp::io
