// The options that functions of linear systems share.
#pragma once
#include "linalg/verdict.hpp"
#include "ops/op.hpp"

namespace wp::linalg {

enum class Policy : std::uint8_t { raise, warn, nan, pinv, ridge, ignore };
enum class Assume : std::uint8_t { detect, general, symmetric, spd, triangular, lower, upper, diagonal };
enum class RidgeRule : std::uint8_t { none, given, automatic, gcv, l_curve, discrepancy };

struct Ridge {
  RidgeRule rule = RidgeRule::none;
  double given = 0, noise = 0;
};

struct Options {
  Policy if_ill = Policy::raise;
  Ridge ridge;
  double shift = 0;
  Assume assume = Assume::detect;
  Method method = Method::none;  // none: by structure; or lu, cholesky, ldl, qr
  enum class Refine : std::uint8_t { never, always, when_it_pays } refine = Refine::when_it_pays;
  bool certify = false, high = false;
  double min_digits = -1;  // −1: 6 in f64, 3 in f32
  std::vector<std::string> names;
};

// ridge and noise, between others; ridge_of reads them from attribute `first` of the call.
std::vector<AttrSpec> ridge_attrs(std::vector<AttrSpec> before, std::vector<AttrSpec> after);
Ridge ridge_of(const Call& c, std::size_t first);

// The attributes, in the order in which options_of reads them, from attribute `first` of the call.
std::vector<AttrSpec> system_attrs(std::vector<AttrSpec> own = {});
Options options_of(const Call& c, std::size_t first);
// The same for systems whose structure is said: if_ill (raise, warn, nan, ignore), refine and min_digits.
std::vector<AttrSpec> structured_attrs(std::vector<AttrSpec> own = {});
Options structured_options(const Call& c, std::size_t first);

}  // namespace wp::linalg
