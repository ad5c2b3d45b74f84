#include "wellposed/validate.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "wellposed/index.hpp"
#include "wellposed/ops.hpp"
#include "wellposed/random.hpp"
#include "wellposed/threads.hpp"

namespace wp {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = HUGE_VAL;

Schema only(std::string_view rule, SchemaValue value) {
  Schema s;
  s.tensor().set(rule, std::move(value));
  return s;
}
RuleReport judged(const Tensor& x, std::string_view rule, SchemaValue value) {
  const Report r = validate(x, only(rule, std::move(value)));
  EXPECT_EQ(r.rules.size(), 1U);
  return r.rules.at(0);
}

TEST(Validate, SaysOfTheDocumentsExampleWhichElementIsBelowWhatInWhichRow) {
  const Tensor data{{0.2, 0.8}, {0.5, 0.5}, {-0.1, 0.9}};
  Schema schema;
  schema.tensor().rank(2).range(0, 1);
  const Report report = validate(data, schema);
  EXPECT_FALSE(report.ok());
  EXPECT_EQ(report.findings().at(0).message, "element [2, 0] = -0.1 is below 0; 1 of 6 values; row 2.");
  EXPECT_NE(report.text().find("WP-VAL-003: element [2, 0] = -0.1 is below 0; 1 of 6 values; row 2"),
            std::string::npos)
      << report.text();
  try {
    report.raise();
    ADD_FAILURE() << "it did not raise";
  } catch (const ValidationError& e) {
    EXPECT_NE(std::string(e.what()).find("element [2, 0] = -0.1 is below 0; 1 of 6 values; row 2."),
              std::string::npos);
    EXPECT_EQ(e.finding().code, "WP-VAL-003");
    EXPECT_EQ(e.finding().element, (Dims{2, 0}));
    EXPECT_EQ(e.report().failed_rules(), 1);
  }
  EXPECT_THROW((void)validate(data, schema, {.raise = true}), ValidationError);
  EXPECT_NO_THROW(validate(abs(data), schema).raise());
}

// Counts, first and worst offenders by looking at every element.
TEST(Validate, CountsWhatALoopOverAllElementsCounts) {
  random::Generator g(5);
  for (const std::int64_t n : {1, 7, 4095, 4096, 4097, 65536, 65537, 300001}) {
    Tensor x = g.normal({n});
    const auto v = x.to_vector<double>();
    std::int64_t failed = 0, first = -1, worst = -1;
    for (std::int64_t i = 0; i < n; ++i) {
      const double e = std::fmax(-1.5 - v[i], v[i] - 1);
      if (!(e > 0)) continue;
      ++failed;
      if (first < 0) first = i;
      if (worst < 0 || e > std::fmax(-1.5 - v[worst], v[worst] - 1)) worst = i;
    }
    const RuleReport r = judged(x, "range", {-1.5, 1});
    EXPECT_EQ(r.failed, failed);
    EXPECT_EQ(r.checked, n);
    EXPECT_EQ(r.holds, failed == 0);
    if (!failed) continue;
    EXPECT_EQ(r.first.at(0).index, Dims{first});
    EXPECT_EQ(r.worst.at(0).index, Dims{worst});
  }
}

// The words of reports: bit for bit the same, however the data comes.
TEST(Validate, GivesTheSameReportForAnyBlocksThreadsAndLayout) {
  random::Generator g(9);
  Tensor x = g.normal({30011, 7});
  x[{20000, 3}] = kNan;
  x[{29999, 6}] = kInf;
  Schema s = Schema::from_toml(R"(
version = 1
[tensor]
columns = ["a", "b", "c", "d", "e", "f", "g"]
range = [-3, 3]
finite = true
unique = true
one_of = [0, 1]
monotone = "increasing"
row_sum = [-5, 5]
probability = true
mean = [10, 11]
std = [10, 11]
quantiles = [[0.5, 10, 11], [0.999, 0, 1]]
reference = [-3, -2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3]
psi = 1e-9
ks = 1e-9
holds = ["a < b or c > 0"]
[tensor.column.d]
range = [-1, 1]
non_null = true
)");
  const std::string whole = validate(x, s).json();
  for (const std::int64_t block : {1000, 4681, 30010})
    EXPECT_EQ(validate(x, s, {.block = block}).json(), whole) << block;
  const int before = threads();
  for (const int n : {1, 2, 5}) {
    set_threads(n);
    EXPECT_EQ(validate(x, s).json(), whole) << n << " threads";
  }
  set_threads(before);
  const Tensor turned = matrix_transpose(reshape(matrix_transpose(x), {7, 30011}, {.copy = true}));
  EXPECT_EQ(validate(turned, s).json(), whole);
}

TEST(Validate, HoldsIntegersAgainstBoundsExactly) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max(),
                     least = std::numeric_limits<std::int64_t>::min();
  EXPECT_TRUE(judged(Tensor::from(std::vector{most, least}, {2}), "range", {least, most}).holds);
  EXPECT_FALSE(judged(Tensor::from(std::vector{most}, {1}), "range", {0, most - 1}).holds);
  EXPECT_FALSE(judged(Tensor::from(std::vector{most}, {1}), "range", {0.0, 0x1p62}).holds);
  EXPECT_TRUE(judged(Tensor::from(std::vector{most}, {1}), "range", {0.0, 0x1p63}).holds);
  // 2^53 + 1 is no f64.
  EXPECT_FALSE(
      judged(Tensor::from(std::vector<std::int64_t>{(std::int64_t{1} << 53) + 1}, {1}), "range", {0.0, 0x1p53})
          .holds);
  const Tensor large = Tensor::from(std::vector<std::uint64_t>{~std::uint64_t{0}}, {1});
  EXPECT_TRUE(judged(large, "range", "[0, 18446744073709551615]").holds);
  EXPECT_FALSE(judged(large, "range", "[0, 18446744073709551615)").holds);
  EXPECT_EQ(judged(large, "range", "[0, 18446744073709551614]").message,
            "element [0] = 18446744073709551615 is above 18446744073709551614; 1 of 1 value; row 0");
  EXPECT_TRUE(judged(large, "one_of", {1}).failed == 1);
}

TEST(Validate, TakesBoundsOpenOrClosed) {
  EXPECT_TRUE(judged(Tensor{0.0, 1.0}, "range", {0, 1}).holds);
  EXPECT_TRUE(judged(Tensor{-0.0}, "range", {0, 1}).holds);
  EXPECT_EQ(judged(Tensor{0.0, 0.5}, "range", "(0, 1]").message,
            "element [0] = 0 is not above 0; 1 of 2 values; row 0");
  EXPECT_EQ(judged(Tensor{1.0, 0.5}, "range", "[0, 1)").message,
            "element [0] = 1 is not below 1; 1 of 2 values; row 0");
  EXPECT_TRUE(judged(Tensor{5e-324}, "range", "(0, 1)").holds);
  EXPECT_TRUE(judged(Tensor{kInf, 1.0}, "range", {0, kInf}).holds);
  EXPECT_FALSE(judged(Tensor{kInf, 1.0}, "range", "[0, inf)").holds);
  EXPECT_TRUE(judged(astype(Tensor{0.1}, f32), "range", {0, 0.11}).holds);
  // 0.1f is above 0.1, and what 0.1 means for f32.
  EXPECT_TRUE(judged(astype(Tensor{0.1}, f32), "range", {0, 0.1}).holds);
}

TEST(Validate, CountsNanAsOutsideUnlessItStandsForAMissingValue) {
  const Tensor x{{1.0, kNan}, {kNan, 2.0}};
  EXPECT_EQ(judged(x, "range", {0, 3}).failed, 2);
  EXPECT_EQ(judged(x, "finite", true).failed, 2);
  EXPECT_EQ(judged(x, "non_null", true).message, "element [0, 1] = nan is missing; 2 of 4 values; rows 0, 1");
  Schema s;
  s.tensor().range(0, 3).finite().non_null(false).one_of({1, 2}).monotone("increasing").unique();
  const Report r = validate(x, s);
  EXPECT_TRUE(r.ok()) << r.text();
  EXPECT_EQ(r.rules.at(0).checked, 2);
}

TEST(Validate, JudgesEmptyAllNanComplexAndBooleanData) {
  for (const Dims& shape : {Dims{0}, Dims{0, 3}, Dims{3, 0}, Dims{2, 0, 3}}) {
    Schema s;
    s.tensor().range(0, 1).finite().unique().monotone("increasing").mean(0, 1).quantiles({{0.5, 0, 1}}).row_sum(1);
    const Report r = validate(zeros(shape), s);
    EXPECT_EQ(r.fields.at(0).values, 0);
    for (const RuleReport& one : r.rules) EXPECT_TRUE(one.holds) << one.rule << ' ' << one.message;
  }
  const Tensor nothing{kNan, kNan};
  EXPECT_EQ(judged(nothing, "mean", {0, 1}).note, "there is no finite value: nothing was judged");
  EXPECT_EQ(validate(nothing, only("finite", true)).fields.at(0).low, "");
  const Tensor z = Tensor::from(std::vector<complex128>{{1, 2}, {kInf, 0}}, {2});
  EXPECT_EQ(judged(z, "finite", true).message, "element [1] = inf+0j is not finite; 1 of 2 values; row 1");
  EXPECT_EQ(judged(z, "range", {0, 1}).code, "WP-VAL-015");
  EXPECT_FALSE(judged(z, "unique", true).failed);
  const Tensor b = Tensor{1.0, 0.0, 1.0} > 0.5;
  EXPECT_TRUE(judged(b, "one_of", {0, 1}).holds);
  EXPECT_EQ(judged(b, "range", {1, 1}).failed, 1);
  EXPECT_TRUE(judged(Tensor(3.0), "range", {0, 3}).holds);
  EXPECT_EQ(judged(Tensor(3.0), "range", {0, 2}).message, "element [] = 3 is above 2; 1 of 1 value");
}

TEST(Validate, JudgesHalvesAndLongRows) {
  EXPECT_EQ(judged(astype(Tensor{0.5, 2.0}, f16), "range", {0, 1}).failed, 1);
  EXPECT_EQ(judged(astype(Tensor{0.5, kNan}, bf16), "finite", true).failed, 1);
  Tensor wide = zeros({2, 200000});
  wide[{1, 150000}] = 2.0;
  const RuleReport r = judged(wide, "range", {0, 1});
  EXPECT_EQ(r.first.at(0).index, (Dims{1, 150000}));
  EXPECT_EQ(judged(wide, "row_sum", 2).failed, 1);
  EXPECT_EQ(judged(wide, "row_sum", 0).first.at(0).index, Dims{1});
}

TEST(Validate, BindsNamesOfLengthsAcrossTensors) {
  Schema s;
  s.tensor("x").shape({"batch", 3});
  s.tensor("y").shape({"batch"});
  EXPECT_TRUE(validate({{"x", zeros({4, 3})}, {"y", zeros({4})}}, s).ok());
  const Report r = validate({{"x", zeros({4, 3})}, {"y", zeros({5})}}, s);
  EXPECT_EQ(r.findings().at(0).message, "y: the shape is [5]: axis 0 has the length 5; 'batch' is 4 by x axis 0.");
}

TEST(Validate, NamesTensorsAndColumnsThatAreNotThere) {
  Schema s;
  s.tensor("weights").rank(1);
  EXPECT_EQ(validate(NamedTensors{{"weigths", zeros({1})}}, s).findings().at(0).message,
            "weights: there is no tensor 'weights' in the data. Did you mean 'weigths'?");
  s.tensor("weights").optional();
  EXPECT_TRUE(validate(NamedTensors{{"x", zeros({1})}}, s).ok());
  s.strict();
  EXPECT_EQ(validate(NamedTensors{{"x", zeros({1})}}, s).findings().at(0).code, "WP-VAL-014");
  Schema t;
  t.tensor().columns({"age", "size"});
  t.tensor().column("agee").range(0, 1);
  EXPECT_EQ(validate(zeros({2, 2}), t).findings().at(0).message,
            "agee: there is no column 'agee'. Did you mean 'age'?");
}

TEST(Validate, HoldsPredicatesAgainstRowsAndNamesTheColumns) {
  Schema s;
  s.tensor().columns({"low", "high"}).holds({"low <= high", "abs(low) < 10"});
  const Report r = validate(Tensor{{1.0, 2.0}, {3.0, 2.0}, {kNan, 1.0}}, s);
  EXPECT_EQ(r.rules.at(1).message, "row 1 breaks low <= high: low = 3, high = 2; 2 of 3 rows");
  EXPECT_EQ(r.rules.at(2).failed, 1);
  Schema t;
  t.tensor().columns({"low", "high"}).holds({"low <= hihg"});
  EXPECT_EQ(validate(zeros({1, 2}), t).findings().at(0).message,
            "low <= hihg: there is no column 'hihg'. Did you mean 'high'?");
}

TEST(Validate, HoldsPredicatesAcrossTensors) {
  Schema s;
  s.tensor("x").columns({"a", "b"});
  s.tensor("y").rank(1);
  s.holds("x.a + x.$1 <= y");
  const Tensor x{{1.0, 1.0}, {2.0, 2.0}}, y{2.0, 3.0};
  const Report r = validate({{"x", x}, {"y", y}}, s);
  EXPECT_EQ(r.findings().at(0).message, "row 1 breaks x.a + x.$1 <= y: x.a = 2, x.$1 = 2, y = 3; 1 of 2 rows.");
  EXPECT_FALSE(validate({{"x", x}, {"y", zeros({3})}}, s).ok());
  EXPECT_TRUE(validate({{"x", x}, {"y", Tensor{4.0, 4.0}}}, s).ok());
}

TEST(Validate, FindsDriftFromAReferenceAndNoneWhereThereIsNone) {
  random::Generator g(3);
  const Tensor before = g.normal({50000}), same = g.normal({20000}), moved = g.normal({20000}) + 1.0;
  const Schema s = infer_schema(before, {.drift = true});
  for (const RuleReport& r : validate(same, s).rules)
    EXPECT_TRUE(r.holds || (r.rule != "psi" && r.rule != "ks")) << r.message;
  double ks = 0;
  for (const RuleReport& r : validate(moved, s).rules) {
    if (r.rule == "ks") ks = r.measured;
    EXPECT_FALSE(r.holds && (r.rule == "psi" || r.rule == "ks")) << r.rule << ' ' << r.measured;
  }
  // sup |Φ(x) − Φ(x − 1)| = 2 Φ(1/2) − 1 = 0.3829, less at most 1/32 for the knots, and noise.
  EXPECT_NEAR(ks, 0.3829 - 1.0 / 64, 0.03);
  for (const RuleReport& r : validate(before, s).rules) EXPECT_TRUE(r.rule != "ks" || r.measured == 0);
}

TEST(Validate, WritesAPageThatLoadsNothing) {
  const std::string path = testing::TempDir() + "wellposed_report.html";
  validate(Tensor{{0.5, 2.0}}, only("range", {0, 1})).html(path);
  std::FILE* const f = std::fopen(path.c_str(), "r");
  ASSERT_TRUE(f);
  std::string text(1 << 20, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), f));
  std::fclose(f);
  EXPECT_NE(text.find("<svg"), std::string::npos);
  EXPECT_NE(text.find("element [0, 1] = 2 is above 1"), std::string::npos);
  EXPECT_EQ(text.find("<script"), std::string::npos);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace wp
