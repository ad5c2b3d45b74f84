// Predicates over fields: "low <= high and not (age < 0)". Numbers, names, + - * / %, comparisons (also chained:
// 0 < a < b), and, or, not, abs, min, max, sqrt, isnan, isfinite. Nothing else: no loops, no calls of the program,
// and what it costs is the length of the text times the number of rows.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace wp::data {

class Expression {
 public:
  // Throws ArgumentError WP-SCM-004 with the place in the text.
  static Expression parse(std::string_view text);

  const std::string& text() const noexcept { return text_; }
  // Names in the order of their first use: "low", "x.low", "$3" (column 3), or in backquotes.
  const std::vector<std::string>& names() const noexcept { return names_; }
  // Computes n rows; values[k] are those of names()[k]. truth[i]: 1 where it holds. Comparisons with NaN do not hold.
  void evaluate(std::span<const double* const> values, std::int64_t n, double* truth) const;

 private:
  friend class ExpressionParser;
  enum class Code : std::uint8_t {
    number,
    name,
    add,
    subtract,
    multiply,
    divide,
    remainder,
    negate,
    less,
    at_most,
    more,
    at_least,
    equal,
    unequal,
    both,
    either,
    negation,
    absolute,
    least,
    most,
    root,
    nan,
    finite
  };
  struct Step {
    Code code;
    double number = 0;
    std::size_t name = 0;
  };
  std::string text_;
  std::vector<std::string> names_;
  std::vector<Step> steps_;  // postfix
  std::size_t depth_ = 0;    // of the stack
};

}  // namespace wp::data
