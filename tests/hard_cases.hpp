// The hard cases of tests/cases/hard.json, and when an answer counts as theirs.
#pragma once
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tensor/note.hpp"
#include "wellposed/wellposed.hpp"

namespace wp::hard {

using json = nlohmann::json;

// Those of section A: values.
inline const std::vector<json>& cases() {
  static const auto* const all = [] {
    std::ifstream file(WP_SOURCE_TREE "/tests/cases/hard.json");
    const json parsed = json::parse(file);
    auto* out = new std::vector<json>;
    for (const json& c : parsed.is_array() ? parsed : parsed.at("cases"))
      if (c.at("section") == "A") out->push_back(c);
    return out;
  }();
  return *all;
}

inline double number(const std::string& text) {
  return std::strtod(text.c_str(), nullptr);
}

inline Tensor load(const json& t) {
  const DType dtype = parse_dtype(t.at("dtype").get<std::string>());
  const Dims shape = [&] {
    Dims s;
    for (const auto& d : t.at("shape")) s.push_back(d.get<std::int64_t>());
    return s;
  }();
  std::vector<double> values;
  for (const auto& v : t.at("hex")) values.push_back(number(v.get<std::string>()));
  if (is_complex(dtype)) {
    std::vector<complex128> z;
    for (std::size_t i = 0; i + 1 < values.size(); i += 2) z.emplace_back(values[i], values[i + 1]);
    return astype(Tensor::from(z, shape), dtype);
  }
  return astype(Tensor::from(values, shape), dtype);
}

inline std::vector<complex128> flat(const Tensors& out) {
  std::vector<complex128> v;
  for (const Tensor& t : out)
    for (std::int64_t i = 0; i < t.size(); ++i) v.push_back(value_at(t, i));
  return v;
}
inline std::vector<complex128> exact(const json& e) {
  std::vector<complex128> v;
  const bool complex = e.value("cplx", false);
  const json& dec = e.at("dec");
  for (std::size_t i = 0; i < dec.size(); i += complex ? 2 : 1)
    v.emplace_back(number(dec[i].get<std::string>()), complex ? number(dec[i + 1].get<std::string>()) : 0.0);
  return v;
}

inline bool close(const std::vector<complex128>& got, const std::vector<complex128>& want, const json& c, double u) {
  if (got.size() != want.size()) return false;
  const std::string check = c.value("check", "");
  const double tol = c.at("tol").get<double>();
  if (check == "cond") {
    const double w = want[0].real(), g = got[0].real();
    return w > 0.02 / u ? g >= 0.01 / u : std::fabs(g - w) <= 0.05 * w;
  }
  if (check == "rank") return got[0] == want[0];
  double scale = 0, worst = 0;
  for (std::size_t i = 0; i < want.size(); ++i) scale = std::max(scale, std::abs(want[i]));
  if (c.contains("params") && c["params"].is_object() && c["params"].contains("hadamard") && scale == 0)
    scale = c["params"]["hadamard"].get<double>();
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (got[i] == want[i]) continue;
    const double of = c.value("metric", "norm") == "comp" ? std::abs(want[i]) : scale;
    const double off = std::abs(got[i] - want[i]) / of;
    worst = std::isnan(off) ? HUGE_VAL : std::max(worst, off);
  }
  return worst <= tol;
}

// What an answer was: the values, or why there are none; and what was told beside them.
struct Outcome {
  Tensors out;
  std::string refused, told;
};
// Of cases that come without a condition, those of which no good answer is due.
inline bool is_hopeless(const std::string& id) {
  return id == "A/lstsq/filip_like/f64";  // of rank 11, but 10 to working precision: the condition is about 1e17
}
// Infinite where the truth is beyond the range, with a finding that says so.
inline std::string fault_of_overflow(const Outcome& o) {
  if (!o.refused.empty()) return "refused: " + o.refused;
  bool infinite = false;
  for (const complex128 v : flat(o.out)) {
    if (std::isnan(v.real()) || std::isnan(v.imag())) return "NaN in place of an overflow";
    infinite = infinite || std::isinf(v.real()) || std::isinf(v.imag());
  }
  if (!infinite) return "finite, and the truth is not";
  return o.told.find("WP-LIN-007") == std::string::npos ? "overflow without a finding of it: " + o.told : "";
}
// Right, or honest? An empty text; else what is wrong. Wrong and silent is wrong, and so is a refusal or an alarm
// where the condition leaves a good answer (cond·u < 1e-3).
inline std::string fault(const json& c, const Outcome& o, double u) {
  const std::string expect = c.at("expect");
  const bool known = c.contains("cond2") && c["cond2"].is_string();
  const bool good = known ? number(c["cond2"].get<std::string>()) * u < 1e-3 : !is_hopeless(c.at("id"));
  const bool due = good || c.value("metric", "") == "comp";
  if (expect == "any") return {};
  if (expect == "overflow") return fault_of_overflow(o);
  if (expect != "value") return o.refused.empty() ? expect + " was accepted" : "";
  if (!o.refused.empty()) return due ? "refused: " + o.refused : "";
  bool right = close(flat(o.out), exact(c.at("exact")), c, u);
  if (c.contains("alts"))
    for (const json& a : c["alts"]) right = right || close(flat(o.out), exact(a.at("exact")), c, u);
  if (right) return o.told.empty() || !due ? "" : "false alarm: " + o.told;
  std::string got;
  for (const complex128 v : flat(o.out)) got += std::to_string(v.real()) + " ";
  if (o.told.empty()) return "wrong and silent: " + got;
  return due ? "wrong: " + got : "";
}

}  // namespace wp::hard
