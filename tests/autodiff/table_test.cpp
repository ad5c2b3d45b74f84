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

// Entries whose differences settle, of those at finite x and y. Less than nine tenths for a reason only.
struct Floor {
  std::string_view op;
  double share;
  const char* why;
};
constexpr const char* kCount = "where values repeat, moving one changes the number of results";
constexpr const char* kRank = "moving one element changes the rank: Bases.* judges along matrices of one rank";
constexpr Floor kFloors[] = {
    {"unique_all", 0.3, kCount},
    {"unique_counts", 0.3, kCount},
    {"unique_inverse", 0.3, kCount},
    {"unique_values", 0.3, kCount},
    {"linalg_orth", 0.28, kRank},
    {"linalg_null_space", 0.6, kRank},
    {"linalg_projector", 0.53, kRank},
    {"linalg_nearest_correlation", 0.65, "it is iterated to a tolerance, which differences see"},
    {"sqrt", 0.8, "complex numbers on the cut, where it jumps, and x = 0, where the slope is infinite"},
    {"std", 0.5, "at equal elements it has a kink, and steps relative to x are coarse where the spread is 1e-7 of x"},
};
Floor floor_of(const Op& op) {
  for (const Floor& f : kFloors)
    if (f.op == table::qualified(op)) return f;
  return {op.name, 0.89, "kinks and jumps"};
}

std::string shown(const Sample& s) {
  std::ostringstream key;
  for (const Tensor& t : s.in)
    if (t.defined()) key << t;
  for (const Attr& a : s.attrs) key << a.show();
  return key.str();
}
std::vector<Tensor> called(const Op& op, const std::vector<Tensor>& x, const Sample& s) {
  std::vector<const Tensor*> p;
  for (const Tensor& t : x) p.push_back(&t);
  const Tensors y = call(op, Inputs(p.data(), p.size()), s.attrs, {});
  return {y.begin(), y.end()};
}
// Samples in double precision that have a derivative, each once.
std::vector<Sample> smooth_samples(const Op& op) {
  std::vector<Sample> all;
  std::vector<std::string> seen;
  for (Sample& s : op.samples()) {
    if (!in_double(s, op.ns == "linalg") || overflows(op, s)) continue;
    if (op.name == "sort" && s.covers == "-0 and 0 are equal") continue;  // many are equal: differences see none move
    without_far_stairs(op, s);
    if (std::find(seen.begin(), seen.end(), shown(s)) != seen.end()) continue;
    seen.push_back(shown(s));
    if (table::run(op, s.in, s.attrs).ok()) all.push_back(s);  // else a sample of what is refused
  }
  return all;
}
// Nothing where there is no derivative (WP-GRD-011), or none of single elements (a basis is arbitrary).
std::optional<GradcheckReport> judged_at(const Op& op, const Sample& s, const std::vector<Tensor>& x,
                                         const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& f) {
  try {
    // Where a product overflows on the way, so do its derivatives.
    const GradcheckReport r = gradcheck(f, x, s.covers == "overflow on the way" ? 1 : 2);
    EXPECT_EQ(r.wrong_count, 0) << op.name << " at " << shown(s) << "\n" << r;
    return r;
  } catch (const GradientError& e) {
    const bool refused = e.finding().code == "WP-GRD-011" || dynamic_cast<const GaugeError*>(&e);
    EXPECT_TRUE(refused) << op.name << " at " << shown(s) << ": " << e.what();
  } catch (const Error& e) {
    ADD_FAILURE() << op.name << " at " << shown(s) << ": " << e.what();
  }
  return std::nullopt;
}

class Derivative : public testing::TestWithParam<const Op*> {};

TEST_P(Derivative, AgreesWithDifferencesAtItsSamples) {
  const Op& op = *GetParam();
  ASSERT_TRUE(op.vjp) << op.name << " has neither a rule nor a reason why there is none";
  std::int64_t judged = 0, steep = 0, unsettled = 0;
  for (const Sample& s : smooth_samples(op)) {
    const auto r = judged_at(op, s, s.in, [&](const std::vector<Tensor>& x) { return called(op, x, s); });
    if (!r) continue;
    judged += r->entries - r->unjudged;
    steep += r->steep;
    unsettled += r->unsettled;
  }
  const Floor floor = floor_of(op);
  EXPECT_GT(judged, 0);
  EXPECT_GE(static_cast<double>(judged), floor.share * static_cast<double>(judged + steep + unsettled))
      << op.name << ": " << judged << " judged, " << steep << " too steep, " << unsettled
      << " unsettled. Known: " << floor.why;
}

// f(x, x): what both arguments bring is added.
TEST_P(Derivative, OfATensorThatIsGivenTwiceAgreesWithDifferences) {
  const Op& op = *GetParam();
  std::int64_t judged = 0, asked = 0;
  for (const Sample& s : smooth_samples(op)) {
    std::vector<std::size_t> places;  // of floating-point inputs like the first
    for (std::size_t i = 0; i < s.in.size(); ++i) {
      const Tensor& t = s.in[i];
      if (!t.defined() || !is_floating(t.dtype())) continue;
      if (places.empty() || t.dtype() == s.in[places[0]].dtype()) places.push_back(i);
    }
    if (places.size() < 2) continue;
    const auto twice = [&](const Tensor& x) {
      std::vector<Tensor> in = s.in;
      for (const std::size_t i : places) in[i] = x;
      return in;
    };
    Tensor x = s.in[places[0]];
    if (op.name == "copysign") x = x[{not_equal(x, 0)}];  // |x| has a kink: no chain rule
    const bool overflow = op.ns == "linalg" && bool(any(logical_and(less(abs(x), 1e-100), not_equal(x, 0))));
    if (overflow || !table::run(op, twice(x), s.attrs).ok()) continue;
    const auto r = judged_at(op, s, {x}, [&](const std::vector<Tensor>& t) { return called(op, twice(t[0]), s); });
    if (!r || r->entries == 0) continue;
    ++asked;
    judged += r->entries - r->unjudged;
  }
  EXPECT_TRUE(asked == 0 || judged > 0) << op.name;
  const bool binary = op.flow == flow_elementwise && op.params.size() == 2;
  EXPECT_TRUE(asked > 0 || !binary) << op.name << " has no sample of two floating-point numbers";
}
// Where something is not finite the tape looks, element by element, for what choices have dropped: a rule that leaves
// an infinity by the way, at a matrix that has a finite derivative, costs n⁴.
TEST_P(Derivative, OfAFiniteMatrixMakesNothingThatIsNotFinite) {
  const Op& op = *GetParam();
  if (op.ns != "linalg") return;
  for (const Sample& s : smooth_samples(op)) {
    GradientTape tape;
    for (const Tensor& t : s.in)
      if (t.defined() && is_floating(t.dtype())) tape.watch(t);
    std::vector<Tensor> y, g;
    for (const Tensor& t : called(op, s.in, s))
      if (is_floating(t.dtype())) y.push_back(t), g.push_back(ones_like(t));
    try {
      const std::vector<Tensor> found = tape.gradient(y, s.in, {.output_gradients = g});
      const bool finite = std::all_of(found.begin(), found.end(),
                                      [](const Tensor& t) { return !t.defined() || bool(all(isfinite(t))); });
      EXPECT_FALSE(finite && context().saw_nonfinite) << op.name << " at " << shown(s);
    } catch (const Error&) {  // refused, as judged_at sees
    }
  }
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
  Tensors pulled_back(const std::function<Tensor()>&, std::span<const Tensor>, const Tensor&) const override {
    return {};
  }
  void find(Finding) const override {}
};

// The result, and its way back in one pass (where there is one) and by the rule in ops.
struct BothWays {
  Tensor y, once, rule;
};
BothWays both_ways(const Op& op, const Sample& s, const Tensor& g) {
  const table::Outcome made = table::run(op, s.in, s.attrs);
  EXPECT_TRUE(made.ok());
  const Tensor &x = s.in[0], &y = made.out[0];
  const Fact of_x{x.shape(), x.dtype()}, of_y{y.shape(), y.dtype()};
  const Fact* const facts[] = {&of_x, &of_y};
  const Saved saved{op, s.attrs, s.in, made.out, {}, facts, {}};
  const bool wanted[] = {true};
  const checks off(CheckLevel::off);
  return {y, op.vjp(Asked(saved, {&g, 1}, wanted, false))[0], op.vjp(Asked(saved, {&g, 1}, wanted, true))[0]};
}

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
    const Tensor g = astype(cos(arange(x.size())) + 1.5, x.dtype());
    const auto [y, once, rule] = both_ways(op, s, g);
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
// g (1 − e^y) − e^y (Σ g − g): within 4 ulp of its terms. Lines of one, few and many elements, and more than one
// group.
TEST(LogSoftmax, GoesBackInOnePassAsByItsRule) {
  const Op* op = nullptr;
  for (const Op* o : op_table())
    if (o->name == "log_softmax") op = o;
  ASSERT_NE(op, nullptr);
  for (const DType d : {f32, f64})
    for (const Dims& shape : {Dims{3}, {5, 1}, {300, 10}, {4, 3, 7}, {3, 2048}, {2, 2049}}) {
      const Tensor x = astype(10 * random::normal(shape, 1, 0), d), g = astype(random::normal(shape, 2, 0), d);
      const auto [y, once, rule] = both_ways(*op, {{x}, {-1}}, g);
      const Tensor e = exp(astype(y, f64)), wide = astype(g, f64),
                   rest = sum(wide, {.axis = -1, .keepdims = true}) - wide;
      const Tensor scale = abs(wide * (1 - e)) + abs(e * rest) + e * sum(abs(wide), {.axis = -1, .keepdims = true});
      EXPECT_LE(max(abs(astype(once, f64) - astype(rule, f64)) / scale).item<double>(), 4 * finfo(d).eps)
          << say(d, " ", shape);
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

std::vector<const Op*> not_differentiable() {
  std::vector<const Op*> all;
  for (const Op* op : op_table())
    if (!op->no_derivative.empty()) all.push_back(op);
  return all;
}
class NoDerivative : public testing::TestWithParam<const Op*> {};
// Constants (ones_like, …) are not connected to x; ops without tensors (arange, draws) have nothing to be asked
// about.
TEST_P(NoDerivative, IsRefusedWithItsReason) {
  const Op& op = *GetParam();
  const std::string reason(op.no_derivative);
  const bool constant = reason.find("do not depend on any argument") != std::string::npos;
  int asked = 0;
  for (const Sample& s : op.samples()) {
    std::vector<Tensor> sources;
    for (const Tensor& t : s.in)
      if (t.defined() && !is_complex(t.dtype()) && t.size()) sources.push_back(astype(t, f64));
    if (sources.empty() || sources.size() != s.in.size() || !table::run(op, s.in, s.attrs).ok()) continue;
    const auto f = [&](const std::vector<Tensor>& x) {  // through the dtype that the op takes
      std::vector<Tensor> in;
      for (std::size_t i = 0; i < x.size(); ++i) in.push_back(astype(x[i], s.in[i].dtype()));
      Tensor total;
      for (const Tensor& y : called(op, in, s)) {
        const Tensor one = sum(astype(y, f64));
        total = total.defined() ? total + one : one;
      }
      return total;
    };
    const checks off(CheckLevel::off);
    GradientTape tape;
    tape.watch(sources);
    const Tensor y = f(sources);
    try {
      const Tensor g = tape.gradient(y, sources)[0];
      EXPECT_TRUE(constant && !g.defined()) << op.name << " gives " << g;
    } catch (const GradientError& e) {
      EXPECT_EQ(e.finding().code, "WP-GRD-001");
      EXPECT_NE(std::string(e.what()).find(reason), std::string::npos) << e.what();
      EXPECT_NE(std::string(e.what()).find(op.name), std::string::npos) << e.what();
    }
    if (++asked == 3) return;
  }
  EXPECT_TRUE(asked || op.params.empty()) << op.name << " was never asked";
}
INSTANTIATE_TEST_SUITE_P(, NoDerivative, testing::ValuesIn(not_differentiable()), Name());
}  // namespace
