// Every rule of the table has data that it passes and data that it does not.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "data/rule.hpp"
#include "wellposed/index.hpp"
#include "wellposed/linalg.hpp"
#include "wellposed/ops.hpp"
#include "wellposed/random.hpp"

namespace wp::data {
namespace {

struct Case {
  std::string_view rule;
  SchemaValue value;
  Tensor good, bad;
};
Tensor rotation(double angle) {
  return Tensor{{std::cos(angle), -std::sin(angle)}, {std::sin(angle), std::cos(angle)}};
}
SchemaValue tenths() {
  SchemaValue::List v;
  for (int k = 0; k <= 10; ++k) v.emplace_back(k / 10.0);
  return SchemaValue::list(v);
}

std::vector<Case> cases() {
  random::Generator g(1);
  const Tensor uniform = g.uniform({5000}), normal = g.normal({5000});
  const double third = 1.0 / 3;
  return {
      {"dtype", "f64", Tensor{1.0}, Tensor{1}},
      {"dtype", {"i64", "float"}, Tensor{1.0}, Tensor{1.0} > 0.0},
      {"rank", 2, zeros({1, 1}), zeros({1})},
      {"shape", {"n", "n", "*", 2}, zeros({3, 3, 7, 2}), zeros({3, 4, 7, 2})},
      {"columns", {"a", "b"}, zeros({5, 2}), zeros({5, 3})},
      {"max_dims", {3, 2}, zeros({3, 1}), zeros({4, 2})},
      {"max_bytes", "1 KiB", zeros({128}), zeros({129})},
      {"range", {0, 1}, Tensor{0.0, 1.0}, Tensor{std::nextafter(1.0, 2.0)}},
      {"finite", true, Tensor{1e308}, Tensor{HUGE_VAL}},
      {"non_null", true, Tensor{HUGE_VAL}, Tensor{NAN}},
      {"unique", true, Tensor{1.0, 2.0, 3.0}, Tensor{0.0, 2.0, -0.0}},
      {"unique", "rows", Tensor{{1.0, 2.0}, {2.0, 1.0}}, Tensor{{1.0, 2.0}, {3.0, 4.0}, {1.0, 2.0}}},
      {"one_of", {0, 0.5}, Tensor{0.5, 0.0}, Tensor{0.25}},
      {"monotone", "increasing", Tensor{1, 2, 3}, Tensor{1, 1}},
      {"monotone", "nondecreasing", Tensor{{1, 5}, {1, 6}}, Tensor{{1, 5}, {2, 4}}},
      {"monotone", "decreasing", Tensor{3, 2}, Tensor{2, 2}},
      {"monotone", "nonincreasing", Tensor{2, 2}, Tensor{2, 3}},
      {"row_sum", 1, Tensor{{third, third, third}}, Tensor{{third, third, 0.334}}},
      {"row_sum", {0, 1}, Tensor{{0.5, 0.1}}, Tensor{{0.5, 0.6}}},
      {"probability", true, Tensor{{0.1, 0.2, 0.7}}, Tensor{{1.5, -0.5}}},
      {"holds", {"$0 < $1"}, Tensor{{1, 2}}, Tensor{{2, 2}}},
      {"symmetric", true, Tensor{{1.0, 2.0}, {2.0, 1.0}}, Tensor{{1.0, 2.0}, {2.0 + 1e-12, 1.0}}},
      {"spd", true, Tensor{{2.0, 1.0}, {1.0, 2.0}}, Tensor{{1.0, 2.0}, {2.0, 1.0}}},
      {"orthogonal", true, rotation(0.3), rotation(0.3) * (1 + 1e-12)},
      {"full_rank", true, Tensor{{1.0, 2.0}, {3.0, 4.0}}, Tensor{{1.0, 2.0}, {2.0, 4.0}}},
      {"cond_below", 100, Tensor{{1.0, 0.0}, {0.0, 0.011}}, Tensor{{1.0, 0.0}, {0.0, 0.009}}},
      {"mean", {1.5, 2.5}, Tensor{1.0, 3.0}, Tensor{1.0, 1.0}},
      {"std", {0.5, 1.5}, Tensor{1.0, 3.0}, Tensor{1.0, 1.0}},
      {"quantiles", {{0.5, 2, 2}}, Tensor{1.0, 2.0, 3.0}, Tensor{1.0, 1.0, 3.0}},
      {"psi", 0.1, uniform, normal},
      {"ks", 0.05, uniform, normal},
  };
}

TEST(Rules, EachPassesWhatItAllowsAndStopsWhatItDoesNot) {
  std::set<std::string_view> seen;
  for (const Case& c : cases()) {
    Schema s;
    s.tensor().set(c.rule, c.value);
    if (c.rule == "psi" || c.rule == "ks") s.tensor().reference(tenths());
    const Report good = validate(c.good, s), bad = validate(c.bad, s);
    EXPECT_TRUE(good.ok()) << c.rule << ": " << good.text();
    EXPECT_FALSE(bad.ok()) << c.rule << " = " << c.value.toml();
    for (const RuleReport& r : bad.rules) {
      EXPECT_EQ(r.code, find_rule(c.rule)->code);
      EXPECT_FALSE(r.message.empty());
      EXPECT_GE(r.checked, r.failed);
    }
    seen.insert(c.rule);
  }
  for (const Rule& r : rules()) EXPECT_TRUE(!r.make || seen.contains(r.name)) << r.name << " is not tried";
}

TEST(Rules, TakeTheExampleThatTheirDocumentationHas) {
  for (const Rule& r : rules()) {
    const Schema s = Schema::from_toml(say("version = 1\n[tensor]\n", r.name, " = ", r.example, "\n"));
    EXPECT_EQ(s.tensors().at(0).rules().at(0).name, r.name);
    EXPECT_EQ(Schema::from_json(s.json()), s);
    EXPECT_EQ(Schema::from_toml(s.toml()), s);
  }
}

RuleReport one(const Tensor& x, std::string_view rule, const SchemaValue& value) {
  Schema s;
  s.tensor().set(rule, value);
  return validate(x, s).rules.at(0);
}

TEST(Rules, OfMeanAndDeviationSeeNeitherOverflowNorUnderflow) {
  const double big = 1.7e308;
  EXPECT_EQ(one(Tensor{big, -big}, "mean", {-1, 1}).measured, 0);
  EXPECT_EQ(one(Tensor{big, -big}, "std", {1e308, 1.75e308}).measured, big);
  EXPECT_EQ(one(Tensor{1e200, -1e200}, "std", {0, 1e201}).measured, 1e200);
  EXPECT_EQ(one(Tensor{1e-200, -1e-200}, "std", {1e-201, 1}).measured, 1e-200);
  EXPECT_EQ(one(Tensor{5e-324, 5e-324}, "mean", {0, 1}).measured, 5e-324);
  // Tiles of their own sizes: zeros, then small, then large ones.
  const Tensor zero = zeros({40000}), small = full({40000}, 1e-200), large = full({40000}, 1e200);
  EXPECT_NEAR(one(concat({zero, small}), "std", {0, 1}).measured / 0.5e-200, 1, 1e-12);
  EXPECT_NEAR(one(concat({small, zero, large}), "mean", {0, 1}).measured / (1e200 / 3), 1, 1e-12);
  EXPECT_TRUE(one(Tensor{big, HUGE_VAL, -big, NAN}, "mean", {-1, 1}).holds);
  const std::string text = infer_schema(Tensor{big, -big}).toml();
  EXPECT_NE(text.find("mean 0, deviation 1.7e+308"), std::string::npos) << text;
}

TEST(Rules, OfPositiveDefinitenessSayItOnce) {
  EXPECT_EQ(one(ones({3, 3}), "spd", true).message,
            "the matrix is not positive definite: elimination leaves no positive number in row 1; 1 of 1 matrix");
  const std::string words = one(Tensor{{1.0, 2.0}, {2.0, 1.0}}, "spd", true).message;
  EXPECT_EQ(words.find("positive definite"), words.rfind("positive definite")) << words;
  EXPECT_EQ(words.find(".;"), std::string::npos) << words;
}

TEST(Rules, TakeNumbersAsElementsOfTheFieldHaveThem) {
  for (const DType d : {f16, bf16, f32, f64}) {
    const Tensor tenth = astype(Tensor{0.1}, d), more = astype(Tensor{0.11}, d);
    EXPECT_TRUE(one(tenth, "range", {0, 0.1}).holds) << name(d);
    EXPECT_TRUE(one(tenth, "range", {0.1, 1}).holds) << name(d);
    EXPECT_FALSE(one(tenth, "range", "[0, 0.1)").holds) << name(d);
    EXPECT_TRUE(one(tenth, "one_of", {0.1, 0.2}).holds) << name(d);
    EXPECT_TRUE(one(tenth, "quantiles", {{0.5, 0, 0.1}}).holds) << name(d);
    EXPECT_FALSE(one(more, "range", {0, 0.1}).holds) << name(d);
    EXPECT_FALSE(one(more, "one_of", {0.1, 0.2}).holds) << name(d);
  }
  EXPECT_EQ(one(astype(Tensor{0.25}, f32), "range", {0, 0.1}).message,
            "element [0] = 0.25 is above 0.1; 1 of 1 value; row 0");
  EXPECT_TRUE(one(astype(Tensor{6e4}, f16), "range", {0, 1e6}).holds);
  EXPECT_TRUE(one(astype(Tensor{1e11}, f32), "one_of", {1e11}).holds);
  EXPECT_FALSE(one(astype(Tensor{16777216.0}, f32), "range", {16777217, 16777218}).holds);  // integers are exact
}

TEST(Rules, OfOrderReachAcrossLongRows) {
  Tensor x = zeros({3, 100000});
  EXPECT_TRUE(one(x, "monotone", "nondecreasing").holds);
  x[{1, 70000}] = 1.0;
  const RuleReport r = one(x, "monotone", "nondecreasing");
  EXPECT_EQ(r.failed, 1);
  EXPECT_EQ(r.first.at(0).index, (Dims{2, 70000}));
}

TEST(Rules, OfMatricesJudgeEveryMatrixOfAStack) {
  Tensor stack = zeros({1000, 3, 3}) + eye(3);
  Schema s;
  s.tensor().symmetric().spd().orthogonal().full_rank().cond_below(2);
  EXPECT_TRUE(validate(stack, s).ok());
  stack[{617, 2, 2}] = 0.0;
  const Report r = validate(stack, s);
  EXPECT_TRUE(r.rules.at(0).holds);
  for (std::size_t k = 1; k < 5; ++k) {
    EXPECT_EQ(r.rules[k].failed, 1) << r.rules[k].rule;
    EXPECT_EQ(r.rules[k].checked, 1000);
    EXPECT_EQ(r.rules[k].first.at(0).index, Dims{617}) << r.rules[k].rule;
  }
  stack[{3, 0, 1}] = NAN;
  EXPECT_EQ(validate(stack, s).rules.at(0).message, "matrix 3 is not finite: [0, 1] = nan; 1 of 1000 matrices");
}

TEST(Rules, OfUniquenessSayWhenTheyStoppedCounting) {
  const Tensor x = arange(static_cast<double>((1 << 20) + 1000));
  Schema s;
  s.tensor().unique();
  const Report r = validate(x, s);
  EXPECT_TRUE(r.ok());
  EXPECT_NE(r.rules.at(0).note.find("1048576"), std::string::npos) << r.rules.at(0).note;
  EXPECT_EQ(validate(x[{slice(0, 1 << 20)}], s).rules.at(0).note, "");
}

}  // namespace
}  // namespace wp::data
