#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/text.hpp"
#include "files.hpp"

namespace {

using wp::Schema;

class Inferred : public Files {};

TEST_F(Inferred, IsASchemaThatTheDataFulfils) {
  wp::random::Generator g(12);
  const double inf = HUGE_VAL, nan = NAN;
  const std::int64_t most = std::numeric_limits<std::int64_t>::max(),
                     least = std::numeric_limits<std::int64_t>::min();
  const Tensor spd = wp::matmul(wp::matrix_transpose(g.normal({9, 4})), g.normal({9, 4}));
  const std::vector<Tensor> all{g.normal({1000, 3}),
                                g.uniform({500}),
                                g.integers({300}, 0, 5),
                                g.integers({200, 2}, -1000000, 1000000),
                                wp::softmax(g.normal({50, 7})),
                                wp::arange(100),
                                wp::zeros({0, 3}),
                                wp::zeros({3, 0}),
                                Tensor(2.5),
                                Tensor{nan, nan},
                                Tensor{inf, -inf, 1.0},
                                Tensor{nan, 1.0, inf},
                                Tensor::from(std::vector{most, least, std::int64_t{0}}, {3}),
                                Tensor::from(std::vector<std::uint64_t>{~std::uint64_t{0}, 1}, {2}),
                                Tensor::from(std::vector<std::uint64_t>{std::uint64_t{1} << 63}, {1}),
                                Tensor::from(std::vector<std::int64_t>(4, (std::int64_t{1} << 53) + 1), {4}),
                                Tensor{1.0} > 0.5,
                                wp::astype(g.normal({40}), wp::f16),
                                wp::astype(g.normal({40}), wp::c64),
                                Tensor{5e-324, 1e-320},
                                Tensor{1e308, -1e308},
                                Tensor{-0.0},
                                Tensor{7.0, 7.0, 7.0},
                                g.normal({200000}) * 1e-7,
                                wp::eye(5),
                                spd + wp::matrix_transpose(spd),
                                Tensor{std::nextafter(1.0, 2.0), 1.0}};
  for (const Tensor& x : all)
    for (const bool drift : {false, true}) {
      const Schema s = wp::infer_schema(x, {.drift = drift});
      const wp::Report r = wp::validate(x, s);
      EXPECT_TRUE(r.ok()) << wp::say(x.dtype(), x.shape()) << '\n' << s.toml() << r.text();
      EXPECT_EQ(Schema::from_toml(s.toml()), s) << s.toml();
      EXPECT_EQ(Schema::from_json(s.json()), s) << s.json();
    }
}

TEST_F(Inferred, SaysWhatItSawAndLeavesSomeSlack) {
  const Tensor x = wp::linspace(10, 20, 101);
  const std::string text = wp::infer_schema(x).toml();
  EXPECT_SAYS(text, "range = [9, 21]  # seen: 10 to 20, mean 15, deviation 2.915");
  EXPECT_SAYS(text, "shape = [\"rows\"]  # seen: [101]");
  EXPECT_SAYS(text, "finite = true");
  EXPECT_TRUE(wp::validate(x + 0.9, wp::infer_schema(x)).ok());
  EXPECT_FALSE(wp::validate(x + 2, wp::infer_schema(x)).ok());
}

TEST_F(Inferred, KnowsProbabilitiesMatricesKeysAndClasses) {
  wp::random::Generator g(2);
  EXPECT_SAYS(wp::infer_schema(wp::softmax(g.normal({50, 7}))).toml(), "probability = true");
  EXPECT_SAYS(wp::infer_schema(wp::eye(4) * 2.0).toml(), "spd = true");
  EXPECT_SAYS(wp::infer_schema(wp::arange(100) + 100).toml(), "unique = true");
  EXPECT_SAYS(wp::infer_schema(g.integers({300}, 0, 3)).toml(), "one_of = [0, 1, 2]");
}

int drifted(const wp::Report& r) {
  int count = 0;
  for (const wp::RuleReport& one : r.rules) count += !one.holds && (one.rule == "psi" || one.rule == "ks");
  return count;
}

TEST_F(Inferred, SeesDriftInNoFreshSampleOfTheSameLawHoweverSmallOrDiscrete) {
  wp::random::Generator g(77);
  const Schema normal = wp::infer_schema(g.normal({2000}), {.drift = true}),
               few = wp::infer_schema(g.normal({40}), {.drift = true}),
               whole = wp::infer_schema(g.integers({2000}, 0, 30), {.drift = true});
  for (const std::int64_t n : {4, 10, 30, 100, 1000}) {
    int alarms = 0, missed = 0;
    for (int k = 0; k < 100; ++k) {
      alarms += drifted(wp::validate(g.normal({n}), normal)) > 0;
      alarms += drifted(wp::validate(g.normal({n}), few)) > 0;
      alarms += drifted(wp::validate(g.integers({n}, 0, 30), whole)) > 0;
      missed += drifted(wp::validate(g.normal({n}) + 3.0, normal)) == 0;
    }
    EXPECT_LE(alarms, 3) << n;  // of 300
    if (n >= 10) {
      EXPECT_LE(missed, 3) << n;
    }
  }
  const wp::Report r = wp::validate(g.normal({100}), normal);
  EXPECT_SAYS(r.text(), "for 100 values and a reference of 2000");
}

TEST_F(Inferred, MakesNoReferenceOfAFewValuesNorTakesNothingForTheSameLaw) {
  wp::random::Generator g(78);
  const Schema tiny = wp::infer_schema(g.normal({8}), {.drift = true});
  EXPECT_EQ(tiny.tensors().at(0).find("ks"), nullptr);
  EXPECT_SAYS(tiny.toml(), "no reference for drift: 8 values of 32 needed");
  const Schema s = wp::infer_schema(g.normal({2000}), {.drift = true});
  EXPECT_EQ(drifted(wp::validate(Tensor{NAN, NAN}, s)), 2);
  EXPECT_EQ(drifted(wp::validate(wp::zeros({0}), s)), 2);
  EXPECT_SAYS(wp::validate(wp::zeros({0}), s).text(), "WP-VAL-015: ks cannot be judged: there is no finite value");
  EXPECT_SAYS(wp::validate(g.normal({2}), s).text(), "too few to tell any drift");
}

TEST_F(Inferred, TakesASparseMatrixForAMatrix) {
  const std::string head = "%%MatrixMarket matrix coordinate real ",
                    entries = "3 3 5\n1 1 2\n2 1 -1\n2 2 2\n3 2 -1\n3 3 2\n";
  const std::string file = write("a.mtx", head + "symmetric\n" + entries),
                    other = write("b.mtx", head + "general\n" + entries);
  Schema s;
  s.tensor().symmetric().spd().shape({3, 3});
  const wp::Report r = wp::validate_files({file}, s);
  EXPECT_TRUE(r.ok()) << r.text();
  EXPECT_SAYS(r.text(), "the file holds a sparse matrix, which was judged as a dense one");
  EXPECT_FALSE(wp::validate_files({other}, s).ok());
  EXPECT_SAYS(wp::infer_schema_files({file}).toml(), "spd = true");
  EXPECT_THROW(wp::validate_files({file}, s, {.max_unfolded = 71}), wp::FormatError);
  EXPECT_TRUE(wp::validate_files({file}, s, {.max_unfolded = 72}).ok());
  Schema arrays;
  arrays.tensor("indptr").monotone("nondecreasing");
  EXPECT_TRUE(wp::validate_files({file}, arrays).ok()) << wp::validate_files({file}, arrays).text();
}

TEST_F(Inferred, KnowsTheColumnsOfATable) {
  std::string text = "id,size,note\n";
  for (int i = 0; i < 40; ++i)
    text += std::to_string(i) + "," + std::to_string(0.5 * i) + "," + (i % 7 ? "1" : "") + "\n";
  const std::string file = write("table.csv", text);
  const Schema s = wp::infer_schema_files({file});
  EXPECT_SAYS(s.toml(), "[tensor.column.id]\ndtype = \"integer\"  # seen: i64\nnon_null = true\n");
  EXPECT_SAYS(s.toml(), "non_null = false  # seen: 6 of 40 values missing");
  EXPECT_SAYS(s.toml(), "columns = [\"id\", \"size\", \"note\"]");
  EXPECT_TRUE(wp::validate_files({file}, s).ok()) << wp::validate_files({file}, s).text();
  const std::string other = write("other.csv", "id,size,note\n3,100,1\n2,,1\n");
  const wp::Report r = wp::validate_files({other}, s);
  const std::string words = r.text();
  EXPECT_SAYS(words, "other.size range");
  EXPECT_SAYS(words, "element [0, 1] = 100 is above 21.5");
  EXPECT_SAYS(words, "element [1, 1] = nan is missing; 1 of 2 values; row 1");
  EXPECT_SAYS(words, "element [1, 0] = 2 is below 3 before it");
}

TEST_F(Inferred, BindsTensorsWithTheSameRows) {
  const Schema s =
      wp::infer_schema(wp::NamedTensors{{"x", wp::ones({5, 2})}, {"y", wp::ones({5})}, {"z", wp::ones({7})}});
  EXPECT_EQ(s.find("x")->find("shape")->toml(), "[\"rows\", 2]");
  EXPECT_EQ(s.find("y")->find("shape")->toml(), "[\"rows\"]");
  EXPECT_EQ(s.find("z")->find("shape")->toml(), "[\"rows1\"]");
}

}  // namespace
