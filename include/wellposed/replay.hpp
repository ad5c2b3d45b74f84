// Where digits are lost: the traced calls again in about 32 digits, and the ops ranked by how much they lost.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "wellposed/error.hpp"

namespace [[gnu::visibility("default")]] wp {

struct LostDigits {
  std::string op, scope;
  Place place;
  std::int64_t step = -1;
  double digits = 0;  // decimal digits that this call lost, more than its operands had lost before
  // ‖y − exact‖/‖exact‖ of its result, and the largest of its operands; of single elements |y − exact|/|exact|
  double error = 0, operand_error = 0;
  Dims element;              // the worst
  std::string value, exact;  // there
};

struct Replay {
  std::vector<LostDigits> calls;  // the most digits lost first; calls that lost less than half a digit are left out
  // Of calls whose result as a whole lost less: the element that lost half of its digits or more. It matters where
  // the element is used alone, not where it is added to larger ones.
  std::vector<LostDigits> elements;
  std::vector<LostDigits>
      overflowed;             // calls whose result is not finite, though the exact one is: no digits to count
  std::int64_t replayed = 0;  // calls that ran again
  std::vector<std::string>
      plain;  // ops that are known in f64 only: exact for f32, blind to their own rounding in f64
  std::vector<std::string> blind;  // those of `plain` that gave f64
  std::string missing;  // what could not be replayed as it was: lent memory that was changed since, complex numbers

  std::string text() const;
  std::string json() const;  // numbers that are not finite are quoted
};

struct ReplayOptions {
  std::string_view precision = "double-double";  // or "f64": faster, and enough for programs in f32
};

// The calls in the innermost Trace, from its tensors that no kept call made. Arithmetic, sums, products of matrices
// and the usual functions are computed in double-double (106 bits), everything else in f64; with precision = "f64"
// all of them in f64.
Replay replay(const ReplayOptions& options = {}, std::source_location where = std::source_location::current());

}  // namespace gnu::visibility("default")]]wp
