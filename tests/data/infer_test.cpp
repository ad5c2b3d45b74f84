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
