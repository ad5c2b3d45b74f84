// Derivatives of every op of the table against differences: first and second order, reverse and forward, at every
// sample that is floating-point.
#include "table.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/text.hpp"
#include "long_tests.hpp"
#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "wellposed/gradcheck.hpp"
#include "wellposed/wellposed.hpp"

namespace {
using namespace wp;

struct Name {
  std::string operator()(const testing::TestParamInfo<const Op*>& info) const {
    return table::qualified(*info.param);
  }
};
std::vector<const Op*> differentiable() {
  std::vector<const Op*> all;
  for (const Op* op : op_table())
    if (op->no_derivative.empty() && op->name != "stop_gradient") all.push_back(op);
  return all;
}

// The sample in f64 or c128, if it has floating-point inputs (of matrices all finite) and is small enough.
bool in_double(Sample& s, bool matrices) {
  bool any = false;
  std::int64_t size = 0;
  for (Tensor& t : s.in) {
    if (!t.defined() || !is_floating(t.dtype())) continue;
    any = true;
    size += t.size();
    t = astype(t, is_complex(t.dtype()) ? c128 : f64);
    if (matrices && !bool(all(isfinite(t)))) return false;
  }
  return any && size <= 60;
}

// Without elements beyond 2^20 steps of 1: differences that are relative to x see a slope there, not stairs.
void without_far_stairs(const Op& op, Sample& s) {
  const std::string_view stairs[] = {"ceil", "floor", "floor_divide", "remainder", "round", "trunc"};
  if (std::find(std::begin(stairs), std::end(stairs), op.name) == std::end(stairs)) return;
  const Tensor near = less(abs(s.in.size() > 1 ? s.in[0] / s.in[1] : s.in[0]), 0x1p20);
  for (Tensor& t : s.in) t = t[{near}];
}

// exp of [0 1e300; 0 0] is fine, its derivatives are beyond the largest number; so are those of 1/‖A⁻¹‖ at 1e-150.
bool overflows(const Op& op, const Sample& s) {
  return (op.name == "expm" && s.covers == "nilpotent") || (op.name == "rcond" && s.covers == "badly scaled");
}

class Derivative : public testing::TestWithParam<const Op*> {};

TEST_P(Derivative, AgreesWithDifferencesAtItsSamples) {
  const Op& op = *GetParam();
  ASSERT_TRUE(op.vjp) << op.name << " has neither a rule nor a reason why there is none";
  std::int64_t judged = 0, unjudged = 0;
  std::vector<std::string> seen;
  for (Sample& s : op.samples()) {
    if (!in_double(s, op.ns == "linalg") || overflows(op, s)) continue;
    if (op.name == "sort" && s.covers == "-0 and 0 are equal") continue;  // many are equal: differences see none move
    without_far_stairs(op, s);
    std::ostringstream key;
    for (const Tensor& t : s.in)
      if (t.defined()) key << t;
    for (const Attr& a : s.attrs) key << a.show();
    if (std::find(seen.begin(), seen.end(), key.str()) != seen.end()) continue;
    seen.push_back(key.str());
    if (!table::run(op, s.in, s.attrs).ok()) continue;  // a sample of what is refused
    const auto f = [&](const std::vector<Tensor>& x) {
      std::vector<const Tensor*> p;
      for (const Tensor& t : x) p.push_back(&t);
      const Tensors y = call(op, Inputs(p.data(), p.size()), s.attrs, {});
      return std::vector<Tensor>(y.begin(), y.end());
    };
    GradcheckReport r;
    try {
      // Where a product overflows on the way, so do its derivatives.
      r = gradcheck(f, s.in, s.covers == "overflow on the way" ? 1 : 2);
    } catch (const GradientError& e) {
      // No derivative at this sample (WP-GRD-011), or none of single elements (a basis is arbitrary).
      const bool refused = e.finding().code == "WP-GRD-011" || dynamic_cast<const GaugeError*>(&e);
      EXPECT_TRUE(refused) << op.name << " at " << key.str() << ": " << e.what();
      continue;
    } catch (const Error& e) {
      ADD_FAILURE() << op.name << " at " << key.str() << ": " << e.what();
      continue;
    }
    EXPECT_TRUE(r) << op.name << " at " << key.str() << "\n" << r;
    judged += r.entries - r.unjudged;
    unjudged += r.unjudged;
  }
  RecordProperty("judged", std::to_string(judged));
  RecordProperty("unjudged", std::to_string(unjudged));
  EXPECT_GT(judged, 0);
}
INSTANTIATE_TEST_SUITE_P(, Derivative, testing::ValuesIn(differentiable()), Name());

// A rule that is asked outside of a way back.
struct Asked : Backward {
  bool again;  // whether its answer is differentiated too
  Asked(const Saved& s, std::span<const Tensor> g, std::span<const bool> wanted, bool r)
      : Backward(s, g, wanted), again(r) {}
  std::vector<Tensors> taylor(const Variation&, const Variation&, int) const override { return {}; }
  std::optional<bool> verify() const noexcept override { return false; }
  int depth() const noexcept override { return again; }
  void find(Finding) const override {}
};

// Loops that go back in one pass: within 4 ulp of the rule, whose terms may cancel (silu, gelu) from the size of the
// slope there.
class Fused : public testing::TestWithParam<const Op*> {};
TEST_P(Fused, LoopsGiveWhatTheRuleGives) {
  const Op& op = *GetParam();
  std::vector<Sample> samples = op.samples();
  for (const DType d : {f32, f64}) {
    Sample wide = samples.front();
    wide.in[0] = astype(arange(-20.0, {.stop = 20.0, .step = 0.0625}) * 1.0001, d);
    samples.push_back(wide);
  }
  for (const Sample& s : samples) {
    const Tensor& x = s.in[0];
    if (!is_floating(x.dtype()) || is_complex(x.dtype()) || x.size() == 0) continue;
    const table::Outcome made = table::run(op, s.in, s.attrs);
    ASSERT_TRUE(made.ok());
    const Fact facts[] = {{x.shape(), x.dtype()}, {made.out[0].shape(), made.out[0].dtype()}};
    const Saved saved{op, s.attrs, s.in, made.out, {}, facts, {}};
    const Tensor g = astype(cos(arange(x.size())) + 1.5, x.dtype());
    const bool wanted[] = {true};
    const checks off(CheckLevel::off);
    const Tensor once = op.vjp(Asked(saved, {&g, 1}, wanted, false))[0];
    const Tensor rule = op.vjp(Asked(saved, {&g, 1}, wanted, true))[0];
    const double ulp = finfo(x.dtype()).eps;
    for (std::int64_t e = 0; e < x.size(); ++e) {
      const double a = value_at(once, e).real(), b = value_at(rule, e).real(), at = std::fabs(value_at(x, e).real());
      if (!std::isfinite(b)) continue;
      const bool normal = op.name == "gelu";
      const double cancels = normal ? at * std::exp(-at * at / 2) : op.name == "silu" ? at * std::exp(-at) : 0;
      const double ulps = normal ? 4 + at * at : 4;  // the rule's exponent is rounded
      EXPECT_NEAR(a, b, ulps * ulp * std::max(std::fabs(b), cancels) + finfo(x.dtype()).smallest_normal * ulp * ulps)
          << say(op.name, " ", x.dtype(), " at ", value_at(x, e).real());
    }
  }
}
std::vector<const Op*> element_wise_of_one() {
  std::vector<const Op*> all;
  for (const Op* op : op_table())
    if (op->flow == flow_elementwise && op->params.size() == 1 && op->vjp && op->attrs.size() <= 1 &&
        (op->partial || op->name == "abs"))
      all.push_back(op);
  return all;
}
INSTANTIATE_TEST_SUITE_P(, Fused, testing::ValuesIn(element_wise_of_one()), Name());

// Integer, bool and index results, draws and constants: nothing else is without a derivative.
TEST(Derivatives, AreMissingOnlyForTheOpsOfTheList) {
  std::ostringstream list;
  for (const Op* op : op_table())
    if (!op->no_derivative.empty())
      list << (op->ns.empty() ? "" : std::string(op->ns) + ".") << op->name << ": " << op->no_derivative << "\n";
  const std::string path = WP_SOURCE_TREE "/tests/golden/no_derivative.txt";
  if (std::getenv("WP_WRITE_GOLDEN")) std::ofstream(path) << list.str();
  std::ostringstream golden;
  golden << std::ifstream(path).rdbuf();
  EXPECT_EQ(golden.str(), list.str());
}
}  // namespace
