// Derivatives of every op of the table against differences: first and second order, reverse and forward, at every
// sample that is floating-point.
#include "table.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "long_tests.hpp"
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
    if (op->no_derivative.empty()) all.push_back(op);
  return all;
}

// The sample in f64 or c128, if it has floating-point inputs, all finite, and is small enough.
bool in_double(Sample& s) {
  bool any = false;
  std::int64_t size = 0;
  for (Tensor& t : s.in) {
    if (!t.defined() || !is_floating(t.dtype())) continue;
    any = true;
    size += t.size();
    t = astype(t, is_complex(t.dtype()) ? c128 : f64);
    if (!bool(all(isfinite(t)))) return false;
  }
  return any && size <= 60;
}

class Derivative : public testing::TestWithParam<const Op*> {};

TEST_P(Derivative, AgreesWithDifferencesAtItsSamples) {
  const Op& op = *GetParam();
  ASSERT_TRUE(op.vjp) << op.name << " has neither a rule nor a reason why there is none";
  std::int64_t judged = 0;
  std::vector<std::string> seen;
  for (Sample& s : op.samples()) {
    if (!in_double(s)) continue;
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
      r = gradcheck(f, s.in, 2);
    } catch (const GradientError& e) {
      // No derivative at this sample (WP-GRD-012), or none of single elements (a basis is arbitrary).
      const bool refused = e.finding().code == "WP-GRD-012" || dynamic_cast<const GaugeError*>(&e);
      EXPECT_TRUE(refused) << op.name << " at " << key.str() << ": " << e.what();
      continue;
    } catch (const Error& e) {
      ADD_FAILURE() << op.name << " at " << key.str() << ": " << e.what();
      continue;
    }
    EXPECT_TRUE(r) << op.name << " at " << key.str() << "\n" << r;
    judged += r.entries - r.unjudged;
  }
  EXPECT_GT(judged, 0);
}
INSTANTIATE_TEST_SUITE_P(, Derivative, testing::ValuesIn(differentiable()), Name());

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
