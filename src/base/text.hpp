// Small text building without a formatting library in every translation unit.
#pragma once
#include <complex>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "wellposed/dtype.hpp"
#include "wellposed/error.hpp"

namespace wp {

void put(std::string& out, std::string_view s);
void put(std::string& out, double v);  // shortest text that reads back as v
void put(std::string& out, float v);
void put(std::string& out, std::int64_t v);
void put(std::string& out, std::uint64_t v);
void put(std::string& out, const Dims& d);  // "[2, 3]"
inline void put(std::string& out, const char* s) {
  put(out, std::string_view(s));
}
inline void put(std::string& out, const std::string& s) {
  put(out, std::string_view(s));
}
inline void put(std::string& out, char c) {
  out += c;
}
inline void put(std::string& out, bool b) {
  put(out, std::string_view(b ? "true" : "false"));
}
inline void put(std::string& out, DType d) {
  put(out, name(d));
}
template <class T>
requires(std::is_integral_v<T>) void put(std::string& out, T v) {
  if constexpr (std::is_signed_v<T>)
    put(out, static_cast<std::int64_t>(v));
  else
    put(out, static_cast<std::uint64_t>(v));
}
template <class T>
void put(std::string& out, std::complex<T> v) {
  put(out, v.real());
  if (!(v.imag() < 0) && !std::signbit(v.imag())) out += '+';
  put(out, v.imag());
  out += 'j';
}

// say("got ", shape, " and ", 3): the parts, joined.
template <class... Parts>
std::string say(const Parts&... parts) {
  std::string out;
  (put(out, parts), ...);
  return out;
}

std::string bytes_text(double bytes);                       // "1.5 GiB"
std::string plural(std::int64_t n, std::string_view word);  // "1 element", "3 elements"
std::string kinds_text(Kinds k);                            // "real floating-point"
bool valid_utf8(std::string_view text) noexcept;
// What is not UTF-8 and control characters (but ends of lines and tabs, if `lines`) as U+FFFD.
std::string clean_utf8(std::string_view text, bool lines = true);
// Levenshtein's distance: the fewest letters to add, drop or change.
std::size_t edit_distance(std::string_view a, std::string_view b);
// JSON string with quotes and escapes, and a list of them.
std::string json_quote(std::string_view s);
std::string json_list(const std::vector<std::string>& all);

// Misuse: throws E with a finding of this code. Message: rule and what came; advice: what to do. Inside a call the
// finding carries the op's name, the user's line and the scope.
Finding misuse(std::string_view code, std::string_view function, std::string message, std::string advice);
template <class E>
[[noreturn]] void raise(std::string_view code, std::string_view function, std::string message,
                        std::string advice = {}) {
  throw E(misuse(code, function, std::move(message), std::move(advice)));
}
// The same with the user's line, for functions that take it themselves.
template <class E>
[[noreturn]] void raise_at(const Place& place, std::string_view code, std::string_view function, std::string message,
                           std::string advice = {}) {
  Finding f = misuse(code, function, std::move(message), std::move(advice));
  f.place = place;
  throw E(std::move(f));
}
// The same from inside a room: the function is the op that runs.
template <class E>
[[noreturn]] void refuse(std::string_view code, std::string message, std::string advice = {}) {
  throw E(misuse(code, {}, std::move(message), std::move(advice)));
}

}  // namespace wp
