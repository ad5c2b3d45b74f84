#include "wellposed/schema.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace wp {
namespace {

template <class F>
std::string refusal(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing was refused";
}
std::string toml_refusal(const std::string& text) {
  return refusal([&] { (void)Schema::from_toml(text, "s.toml"); });
}
#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

const char* const kFull = R"(
version = 1
strict = true
holds = ["x.low <= y"]

[tensor.x]
dtype = ["f32", "f64"]
shape = ["batch", 32]
range = "(0, 1]"
[tensor.x.column."a b"]
one_of = [1, 2.5]

[tensor.y]
shape = ["batch"]
range = [-inf, 5]
)";

TEST(Schemas, SurviveTomlAndJson) {
  const Schema s = Schema::from_toml(kFull);
  EXPECT_TRUE(s.is_strict());
  ASSERT_EQ(s.tensors().size(), 2U);
  EXPECT_EQ(s.find("x")->find("range")->text(), "(0, 1]");
  EXPECT_EQ(s.find("x")->column_rules().at(0).name(), "a b");
  EXPECT_EQ(s.find("y")->find("range")->items()[0].real(), -HUGE_VAL);
  EXPECT_EQ(Schema::from_toml(s.toml()), s);
  EXPECT_EQ(Schema::from_json(s.json()), s);
  EXPECT_TRUE(schema_diff(s, Schema::from_json(s.json())).empty());
}

TEST(Schemas, AreTheSameBuiltInAProgramAndReadFromAFile) {
  Schema s;
  s.strict().holds("x.low <= y");
  s.tensor("x").dtype({"f32", "f64"}).shape({"batch", 32}).range("(0, 1]");
  s.tensor("x").column("a b").one_of({1, 2.5});
  s.tensor("y").shape({"batch"}).range(-HUGE_VAL, 5);
  EXPECT_EQ(s, Schema::from_toml(kFull)) << s.toml();
}

TEST(Schemas, RefuseUnknownKeysAndNameTheNearest) {
  EXPECT_SAYS(toml_refusal("version = 1\n[tensor.x]\nrnage = [0, 1]\n"),
              "'s.toml': tensor.x: there is no rule 'rnage'. Did you mean 'range'?");
  EXPECT_SAYS(toml_refusal("version = 1\ntensors = 3\n"), "there is no key 'tensors'. Did you mean 'tensor'?");
  EXPECT_SAYS(toml_refusal("version = 1\n[tensor.column.a]\nrank = 1\n"), "is one of whole tensors; 'a' is a column");
  EXPECT_SAYS(toml_refusal("version = 1\n[tensor.x.rank]\na = 1\n"), "'rank' is a table; rules are not");
  EXPECT_SAYS(refusal([] { Schema().tensor().set("uniqe", true); }), "Did you mean 'unique'?");
}

TEST(Schemas, RefuseValuesThatRulesDoNotTake) {
  const char* const bad[] = {"rank = -1",
                             "rank = 1.5",
                             "range = [1, 0]",
                             "range = \"(1, 1)\"",
                             "range = \"0, 1\"",
                             "range = [0]",
                             "range = \"[0, x]\"",
                             "finite = 1",
                             "dtype = \"f23\"",
                             "dtype = []",
                             "shape = [\"a b\"]",
                             "shape = [-1]",
                             "one_of = []",
                             "one_of = [\"a\"]",
                             "monotone = \"up\"",
                             "unique = \"columns\"",
                             "max_bytes = \"2 GB\"",
                             "row_sum = \"1\"",
                             "cond_below = 0",
                             "quantiles = [[2, 0, 1]]",
                             "quantiles = [0.5]",
                             "reference = [1, 2]",
                             "psi = -1",
                             "holds = \"a < b\"",
                             "reference = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 3]",
                             "range = [nan, 1]",
                             "columns = [1]"};
  for (const char* const line : bad) {
    const std::string words = toml_refusal(std::string("version = 1\n[tensor]\n") + line + "\n");
    EXPECT_SAYS(words, "takes");
    EXPECT_SAYS(words, "WP-SCM-003");
  }
}

TEST(Schemas, WithoutAVersionAreOfTheFirst) {
  EXPECT_EQ(wp::Schema::from_toml("[tensor]\nrank = 2\n").toml(),
            wp::Schema::from_toml("version = 1\n[tensor]\nrank = 2\n").toml());
}

TEST(Schemas, RefuseWhatIsNoSchema) {
  EXPECT_SAYS(toml_refusal("version = 2\n"), "version 2 is not known");
  EXPECT_SAYS(toml_refusal("version = \n"), "it is not TOML");
  EXPECT_SAYS(toml_refusal("version = 1\nstrict = 2024-01-01\n"), "dates and times");
  EXPECT_SAYS(toml_refusal("version = 1\ntensor = 3\n"), "'tensor' is a table");
  EXPECT_SAYS(toml_refusal("version = 1\n[tensor]\nrank = 1\n[tensor.x]\nrank = 1\n"), "one tensor without a name");
  EXPECT_SAYS(refusal([] { (void)Schema::from_json("{\"version\": 1, \"tensor\": null}"); }), "null");
  EXPECT_SAYS(refusal([] { (void)Schema::from_json("[1]"); }), "it must be a table");
  EXPECT_SAYS(refusal([] { (void)Schema::from_json("{"); }), "it is not JSON");
  std::string deep = "{\"version\": 1, \"tensor\": ";
  for (int i = 0; i < 100; ++i) deep += "{\"a\": ";
  EXPECT_SAYS(refusal([&] { (void)Schema::from_json(deep + "1" + std::string(101, '}')); }), "nested too deeply");
}

TEST(Schemas, RefuseKeysThatStandTwiceInTomlAndInJson) {
  const auto json_refusal = [](std::string_view text) { return refusal([&] { Schema::from_json(text); }); };
  EXPECT_SAYS(json_refusal(R"({"tensor": {"finite": true, "finite": false}})"), "the key 'finite' stands twice");
  EXPECT_SAYS(json_refusal(R"({"tensor": {"x": {"rank": 1}}, "tensor": {}})"), "the key 'tensor' stands twice");
  EXPECT_SAYS(toml_refusal("version = 1\n[tensor]\nfinite = true\nfinite = false\n"), "it is not TOML");
  EXPECT_EQ(Schema::from_json(R"({"tensor": {"x": {"rank": 1}, "y": {"rank": 1}}})").tensors().size(), 2U);
}

TEST(Schemas, AreReadToTheirEndNotToANul) {
  using namespace std::string_view_literals;
  EXPECT_SAYS(refusal([] { Schema::from_json("{\"tensor\": {\"rank\": 1}}\0garbage"sv); }), "byte 23 is NUL");
  EXPECT_SAYS(refusal([] { Schema::from_toml("[tensor]\nrank = 1\n\0garbage"sv); }), "it is not TOML");
}

TEST(Schemas, SayWherePredicatesAreWrong) {
  const std::pair<const char*, const char*> bad[] = {{"a <", "character 4: something is missing"},
                                                     {"a = b", "equality is =="},
                                                     {"a + b", "it is a number, not a predicate"},
                                                     {"a < b c", "it should end here"},
                                                     {"(a < b", "a closing parenthesis is missing"},
                                                     {"a and b", "needs predicates"},
                                                     {"a < (b < c)", "needs numbers"},
                                                     {"abs a < 1", "it should end here"},
                                                     {"min(a) < 1", "a second argument is missing"},
                                                     {"__import__('os') < 1", "it should end here"},
                                                     {"a < `b", "a backquote is not closed"},
                                                     {"", "something is missing"},
                                                     {"not a", "needs predicates"}};
  for (const auto& [text, words] : bad) {
    const std::string said = refusal([&] { Schema().holds(text); });
    EXPECT_SAYS(said, words);
    EXPECT_SAYS(said, "WP-SCM-004");
  }
  EXPECT_SAYS(refusal([] { Schema().holds(std::string(2000, '(') + "a < 1"); }), "nested too deeply");
  EXPECT_SAYS(refusal([] { Schema().holds("a < " + std::string(5000, '1')); }), "more than 4096");
  EXPECT_SAYS(toml_refusal("version = 1\n[tensor]\nholds = [\"a <\"]\n"),
              "tensor: the predicate 'a <' cannot be read");
}

std::string change(const std::string& before, const std::string& after) {
  const std::string head = "version = 1\n[tensor]\n";
  const auto all = schema_diff(Schema::from_toml(head + before), Schema::from_toml(head + after));
  return all.size() == 1 ? all[0].kind : std::to_string(all.size()) + " changes";
}

TEST(Schemas, DoNotDifferInHowTheSameIsWritten) {
  const std::vector<std::pair<std::string, std::string>> same{
      {"dtype = \"f32\"", "dtype = \"float32\""},
      {"dtype = \"f32\"", "dtype = [\"float32\"]"},
      {"dtype = [\"f32\", \"i64\"]", "dtype = [\"int64\", \"f32\"]"},
      {"dtype = \"float\"", "dtype = [\"f64\", \"f32\", \"bf16\", \"f16\"]"},
      {"max_bytes = \"1 KiB\"", "max_bytes = 1024"},
      {"range = [0, 1]", "range = \"[0, 1.0]\""},
      {"one_of = [1, 2]", "one_of = [2.0, 1, 2]"},
      {"psi = 1", "psi = 1.0"},
      {"quantiles = [[0.5, 0, 1]]", "quantiles = [[0.5, 0.0, 1.0]]"},
      {"holds = [\"$0 < 1\", \"$1 < 1\"]", "holds = [\"$1 < 1\", \"$0 < 1\"]"},
      {"finite = false", ""},
  };
  for (const auto& [before, after] : same)
    EXPECT_EQ(change(before, after), "0 changes") << before << " and " << after;
  EXPECT_EQ(change("dtype = \"float\"", "dtype = \"f32\""), "narrowed");
  EXPECT_EQ(change("row_sum = 1", "row_sum = [1, 1]"), "changed");  // only a number is taken up to rounding
}

TEST(Schemas, DifferBeingWiderOrNarrower) {
  EXPECT_EQ(change("range = [0, 1]", "range = [0, 2]"), "widened");
  EXPECT_EQ(change("range = [0, 1]", "range = \"(0, 1]\""), "narrowed");
  EXPECT_EQ(change("range = [0, 1]", "range = [-1, 0.5]"), "changed");
  EXPECT_EQ(change("range = [0, 1]", ""), "widened");
  EXPECT_EQ(change("", "finite = true"), "narrowed");
  EXPECT_EQ(change("finite = false", "finite = true"), "narrowed");
  EXPECT_EQ(change("", "non_null = false"), "widened");
  EXPECT_EQ(change("non_null = true", ""), "widened");
  EXPECT_EQ(change("", "optional = true"), "widened");
  EXPECT_EQ(change("dtype = \"f32\"", "dtype = [\"f32\", \"f64\"]"), "widened");
  EXPECT_EQ(change("one_of = [1, 2, 3]", "one_of = [3, 1]"), "narrowed");
  EXPECT_EQ(change("shape = [3, 4]", "shape = [\"n\", 4]"), "widened");
  EXPECT_EQ(change("shape = [\"*\", 4]", "shape = [\"n\", 4]"), "narrowed");
  EXPECT_EQ(change("shape = [3]", "shape = [4]"), "changed");
  EXPECT_EQ(change("max_bytes = \"1 MiB\"", "max_bytes = 1048577"), "widened");
  EXPECT_EQ(change("max_dims = [3, 3]", "max_dims = [2, 3]"), "narrowed");
  EXPECT_EQ(change("holds = [\"$0 < 1\"]", "holds = [\"$0 < 1\", \"$1 < 1\"]"), "narrowed");
  EXPECT_EQ(change("monotone = \"increasing\"", "monotone = \"nondecreasing\""), "widened");
  EXPECT_EQ(change("psi = 0.1", "psi = 0.2"), "widened");
  EXPECT_EQ(change("row_sum = 1", "row_sum = [0, 1]"), "widened");
  EXPECT_EQ(change("doc = \"a\"", "doc = \"b\""), "changed");
  EXPECT_EQ(change("", "[tensor.column.a]\nfinite = true"), "narrowed");
  const auto one = schema_diff(Schema::from_toml("version = 1\n[tensor.x]\nrange = [0, 1]\n"),
                               Schema::from_toml("version = 1\n[tensor.x]\nrange = [0, 2]\n"));
  EXPECT_EQ(one.at(0).text(), "x: range widened from [0, 1] to [0, 2]");
}

}  // namespace
}  // namespace wp
