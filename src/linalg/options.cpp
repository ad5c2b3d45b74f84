#include "linalg/options.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.hpp"
#include "linalg/members.hpp"

namespace wp::linalg {
namespace {

// Constants of the compiler: rooms read them while static objects are made.
constexpr std::array<std::string_view, 6> policies{"raise", "warn", "nan", "pinv", "ridge", "ignore"};
constexpr std::array<std::string_view, 8> structures{"detect",     "general", "symmetric", "spd",
                                                     "triangular", "lower",   "upper",     "diagonal"};
constexpr std::array<std::string_view, 5> methods{"auto", "lu", "cholesky", "ldl", "qr"};
constexpr std::array<std::string_view, 4> ridge_rules{"auto", "gcv", "l-curve", "discrepancy"};

template <std::size_t N>
std::vector<std::string_view> list(const std::array<std::string_view, N>& names) {
  return {names.begin(), names.end()};
}

template <class E, std::size_t N>
E chosen(const std::array<std::string_view, N>& names, std::string_view text, int first = 0) {
  std::size_t i = 0;
  while (names[i] != text) ++i;  // dispatch has checked that it is there
  return static_cast<E>(static_cast<int>(i) + first);
}

// A finite number that is not negative.
double amount(const Call& c, std::size_t i) {
  const double v = c.attr(i).real();
  if (!(v >= 0) || std::isinf(v))
    refuse<ArgumentError>("WP-ARG-001",
                          say(c.op.attrs[i].name, " must be a finite number that is not negative; got ", v, "."));
  return v;
}

AttrSpec refine_attr() {
  return {.name = "refine",
          .type = AttrType::boolean,
          .doc = "Improve the answer with residuals in twice the precision; none: when it pays."};
}
AttrSpec digits_attr() {
  return {
      .name = "min_digits", .type = AttrType::real, .doc = "Fewer digits are a finding; none: 6 in f64, 3 in f32."};
}

// The factorisation, and the structure that it rests on.
void take_method(Options& o, std::string_view name) {
  constexpr std::array<Method, 5> by_name{Method::none, Method::lu, Method::cholesky, Method::ldl, Method::qr};
  constexpr std::array<Assume, 5> assumes{Assume::detect, Assume::general, Assume::spd, Assume::symmetric,
                                          Assume::general};
  const auto i = static_cast<std::size_t>(std::find(methods.begin(), methods.end(), name) - methods.begin());
  if (i == 0) return;
  if (o.assume != Assume::detect)
    refuse<ArgumentError>("WP-ARG-001",
                          say("method = \"", name, "\" says the structure already; got assume = \"",
                              structures[static_cast<std::size_t>(o.assume)], "\"."),
                          "Leave one of them out.");
  o.method = by_name[i];
  o.assume = assumes[i];
}

}  // namespace

std::vector<AttrSpec> ridge_attrs(std::vector<AttrSpec> before, std::vector<AttrSpec> after) {
  before.push_back({.name = "ridge",
                    .type = AttrType::setting,
                    .doc = "λ ≥ 0: minimise ‖A x − b‖² + λ‖x‖² instead, for every matrix; or a rule that finds λ.",
                    .choices = list(ridge_rules)});
  before.push_back({.name = "noise",
                    .type = AttrType::real,
                    .fallback = 0.0,
                    .doc = "For ridge = \"discrepancy\": the norm of the noise in b."});
  before.insert(before.end(), after.begin(), after.end());
  return before;
}

Ridge ridge_of(const Call& c, std::size_t first) {
  Ridge r;
  if (const Attr& ridge = c.attr(first)) {
    r.rule = ridge.is_number() ? RidgeRule::given
                               : chosen<RidgeRule>(ridge_rules, ridge.text(), static_cast<int>(RidgeRule::automatic));
    if (ridge.is_number()) r.given = amount(c, first);
  }
  r.noise = amount(c, first + 1);
  if (r.rule == RidgeRule::discrepancy && r.noise == 0)
    refuse<ArgumentError>("WP-ARG-002", "ridge = \"discrepancy\" needs the noise of b.",
                          "Give noise = the norm of the noise, or use ridge = \"gcv\".");
  return r;
}

std::vector<AttrSpec> system_attrs(std::vector<AttrSpec> own) {
  own.push_back({.name = "if_ill",
                 .type = AttrType::text,
                 .fallback = "raise",
                 .doc = "What becomes of a matrix that is singular to working precision.",
                 .choices = list(policies)});
  return ridge_attrs(
      std::move(own),
      {
          {.name = "shift", .type = AttrType::real, .fallback = 0.0, .doc = "λ: use A + λ I (A symmetric)."},
          {.name = "assume",
           .type = AttrType::text,
           .fallback = "detect",
           .doc = "The structure of A; detect looks for it, triangular for the triangle that is zero.",
           .choices = list(structures)},
          refine_attr(),
          certify_attr(),
          digits_attr(),
          names_attr(),
          {.name = "accuracy",
           .type = AttrType::text,
           .fallback = "normal",
           .doc = "high: what f64 cannot resolve is eliminated in 113-bit arithmetic (up to 200 rows); slower.",
           .choices = {"normal", "high"}},
          {.name = "method",
           .type = AttrType::text,
           .fallback = "auto",
           .doc = "How A is factored; auto goes by its structure. cholesky and ldl take the Hermitian part of A.",
           .choices = list(methods)},
      });
}

Options options_of(const Call& c, std::size_t first) {
  Options o;
  o.if_ill = chosen<Policy>(policies, c.attr(first).text());
  o.ridge = ridge_of(c, first + 1);
  o.shift = c.attr(first + 3).real();
  if (!std::isfinite(o.shift)) refuse<ArgumentError>("WP-ARG-001", say("shift must be finite; got ", o.shift, "."));
  o.assume = chosen<Assume>(structures, c.attr(first + 4).text());
  if (const Attr& refine = c.attr(first + 5))
    o.refine = refine.flag() ? Options::Refine::always : Options::Refine::never;
  o.certify = c.attr(first + 6).flag();
  if (c.attr(first + 7)) o.min_digits = amount(c, first + 7);
  if (c.attr(first + 8)) o.names = c.attr(first + 8).texts();
  o.high = c.attr(first + 9).text() == "high";
  take_method(o, c.attr(first + 10).text());
  return o;
}

std::vector<AttrSpec> structured_attrs(std::vector<AttrSpec> own) {
  own.push_back({.name = "if_ill",
                 .type = AttrType::text,
                 .fallback = "raise",
                 .doc = "What becomes of a problem that is singular to working precision.",
                 .choices = {"raise", "warn", "nan", "ignore"}});
  own.push_back(refine_attr());
  own.push_back(digits_attr());
  return own;
}

Options structured_options(const Call& c, std::size_t first) {
  Options o;
  o.if_ill = chosen<Policy>(policies, c.attr(first).text());
  if (const Attr& refine = c.attr(first + 1))
    o.refine = refine.flag() ? Options::Refine::always : Options::Refine::never;
  if (c.attr(first + 2)) o.min_digits = amount(c, first + 2);
  return o;
}

}  // namespace wp::linalg
