// The hard cases of tests/cases/hard.json, section A: values with their exact answers. Wrong and silent fails; so
// does a refusal or an alarm where the condition leaves a good answer (cond·u < 1e-3).
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "ops/moves.hpp"
#include "tensor/note.hpp"
#include "wellposed/wellposed.hpp"

namespace wp {
namespace {

using json = nlohmann::json;

const std::vector<json>& cases() {
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

double number(const std::string& text) {
  return std::strtod(text.c_str(), nullptr);
}

Tensor load(const json& t) {
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

// The same values in memory of another layout.
Tensor laid_out(const Tensor& x, const std::string& layout) {
  if (layout == "transposed_view") return matrix_transpose(contiguous(matrix_transpose(x)));
  if (layout == "reversed_view") return flip(contiguous(flip(x)));
  if (layout == "strided_view") {
    const std::int64_t n = x.shape()[1];
    const Tensor wide = contiguous(reshape(stack({x, zeros_like(x)}, {.axis = -1}), {x.shape()[0], 2 * n}));
    return view_of(wide, x.shape(), {2 * n, 2});
  }
  return x;
}

using Function = std::function<Tensors(const std::vector<Tensor>&)>;
const std::map<std::string, Function>& functions() {
  namespace la = linalg;
  static const std::map<std::string, Function> all{
      {"solve", [](const auto& x) { return Tensors{la::solve(x[0], x[1])}; }},
      {"inv", [](const auto& x) { return Tensors{la::inv(x[0])}; }},
      {"rank", [](const auto& x) { return Tensors{la::matrix_rank(x[0])}; }},
      {"det", [](const auto& x) { return Tensors{la::det(x[0])}; }},
      {"cond", [](const auto& x) { return Tensors{la::cond(x[0])}; }},
      {"pinv", [](const auto& x) { return Tensors{la::pinv(x[0])}; }},
      {"lstsq", [](const auto& x) { return Tensors{la::lstsq(x[0], x[1])}; }},
      {"slogdet",
       [](const auto& x) {
         const auto r = la::slogdet(x[0]);
         return Tensors{r.sign, r.logabsdet};
       }},
      {"eigvals",  // a set: here and there in the order of real parts
       [](const auto& x) {
         auto w = la::eigvals(x[0]).template to_vector<complex128>();
         std::sort(w.begin(), w.end(), [](complex128 a, complex128 b) { return a.real() < b.real(); });
         return Tensors{Tensor::from(w, {static_cast<std::int64_t>(w.size())})};
       }},
      {"eigvalsh", [](const auto& x) { return Tensors{la::eigvalsh(x[0])}; }},
      {"svdvals", [](const auto& x) { return Tensors{la::svdvals(x[0])}; }},
      {"cholesky", [](const auto& x) { return Tensors{la::cholesky(x[0])}; }},
      {"sqrtm", [](const auto& x) { return Tensors{la::sqrtm(x[0])}; }},
      {"norm2", [](const auto& x) { return Tensors{la::vector_norm(x[0])}; }},
      {"sum", [](const auto& x) { return Tensors{sum(x[0])}; }},
      {"mean", [](const auto& x) { return Tensors{mean(x[0])}; }},
  };
  return all;
}

std::vector<complex128> flat(const Tensors& out) {
  std::vector<complex128> v;
  for (const Tensor& t : out)
    for (std::int64_t i = 0; i < t.size(); ++i) v.push_back(value_at(t, i));
  return v;
}
std::vector<complex128> exact(const json& e) {
  std::vector<complex128> v;
  const bool complex = e.value("cplx", false);
  const json& dec = e.at("dec");
  for (std::size_t i = 0; i < dec.size(); i += complex ? 2 : 1)
    v.emplace_back(number(dec[i].get<std::string>()), complex ? number(dec[i + 1].get<std::string>()) : 0.0);
  return v;
}

bool close(const std::vector<complex128>& got, const std::vector<complex128>& want, const json& c, double u) {
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

class Hard : public ::testing::TestWithParam<std::size_t> {};

TEST_P(Hard, IsRightOrHonest) {
  const json& c = cases()[GetParam()];
  const auto function = functions().find(c.at("op").get<std::string>());
  ASSERT_NE(function, functions().end()) << c.at("op");
  std::vector<Tensor> in;
  for (const json& t : c.at("inputs")) in.push_back(load(t));
  if (c.contains("layout")) in[0] = laid_out(in[0], c["layout"].get<std::string>());
  const double u = real_of(in[0].dtype()) == f32 ? 0x1p-24 : 0x1p-53;
  std::vector<Finding> told;
  const FindingHandler before = on_finding([&](const Finding& f) { told.push_back(f); });
  std::string refused;
  Tensors out;
  try {
    out = function->second(in);
  } catch (const Error& e) {
    refused = e.what();
  }
  on_finding(before);
  const std::string expect = c.at("expect");
  const bool known = c.contains("cond2") && c["cond2"].is_string();
  const bool due = (known && number(c["cond2"].get<std::string>()) * u < 1e-3) || c.value("metric", "") == "comp";
  if (expect == "any") return;
  if (expect == "value") {
    if (!refused.empty()) {
      EXPECT_FALSE(due) << "refused: " << refused;
      return;
    }
    bool right = close(flat(out), exact(c.at("exact")), c, u);
    if (c.contains("alts"))
      for (const json& a : c["alts"]) right = right || close(flat(out), exact(a.at("exact")), c, u);
    std::string got;
    for (const complex128 v : flat(out)) got += std::to_string(v.real()) + " ";
    if (right) {
      EXPECT_TRUE(told.empty() || !due) << "false alarm: " << told[0].text();
    } else {
      EXPECT_FALSE(told.empty()) << "wrong and silent: " << got;
      EXPECT_FALSE(due) << "wrong: " << got;
    }
  } else if (expect == "overflow") {
    EXPECT_TRUE(!refused.empty() || !told.empty()) << "silent overflow";
  } else {
    EXPECT_FALSE(refused.empty()) << expect << " was accepted";
  }
}

std::string case_name(const ::testing::TestParamInfo<std::size_t>& info) {
  std::string out = cases()[info.param].at("id");
  for (char& ch : out)
    if (!std::isalnum(static_cast<unsigned char>(ch))) ch = '_';
  return out + "_" + std::to_string(info.param);
}
INSTANTIATE_TEST_SUITE_P(Values, Hard, ::testing::Range<std::size_t>(0, cases().size()), case_name);

}  // namespace
}  // namespace wp
