#include <gtest/gtest.h>

#include <cmath>

#include "findings.hpp"

namespace wp::triggers {
namespace {

std::function<void()> checked(const char* rules, Tensor x) {
  return [rules, x] { validate(x, Schema::from_toml(std::string("version = 1\n[tensor]\n") + rules)).raise(); };
}
std::function<void()> read(const char* text) {
  return [text] { (void)Schema::from_toml(text); };
}

}  // namespace

const Rows& of_data() {
  static const Tensor v{1.0, 2.0}, m{{1.0, 2.0}, {2.0, 5.0}};
  static const Rows all{
      {"WP-SCM-001", read("version = 9\n[tensor]\n"), read("[tensor]\n")},
      {"WP-SCM-002", read("version = 1\n[tensor]\nrnage = [0, 1]\n"),
       read("version = 1\n[tensor]\nrange = [0, 1]\n")},
      {"WP-SCM-003", read("version = 1\n[tensor]\nrange = [1, 0]\n"),
       read("version = 1\n[tensor]\nrange = [1, 1]\n")},
      {"WP-SCM-004", [] { Schema().holds("a <"); }, [] { Schema().holds("a < b"); }},
      {"WP-VAL-001", checked("dtype = \"f32\"", v), checked("dtype = \"f64\"", v)},
      {"WP-VAL-002", checked("shape = [3]", v), checked("shape = [2]", v)},
      {"WP-VAL-003", checked("range = [0, 1]", v), checked("range = [1, 2]", v)},
      {"WP-VAL-004", checked("finite = true", Tensor{1.0, HUGE_VAL}), checked("finite = true", v)},
      {"WP-VAL-005", checked("non_null = true", Tensor{1.0, NAN}), checked("non_null = true", Tensor{1.0, HUGE_VAL})},
      {"WP-VAL-006", checked("unique = true", Tensor{1.0, 1.0}), checked("unique = true", v)},
      {"WP-VAL-007", checked("one_of = [1, 3]", v), checked("one_of = [1, 2]", v)},
      {"WP-VAL-008", checked("monotone = \"decreasing\"", v), checked("monotone = \"increasing\"", v)},
      {"WP-VAL-009", checked("row_sum = 2", v), checked("row_sum = 3", v)},
      {"WP-VAL-010", checked("spd = true", Tensor{{1.0, 2.0}, {2.0, 4.0 - 1e-9}}), checked("spd = true", m)},
      {"WP-VAL-011", checked("mean = [0, 1]", v), checked("mean = [1, 2]", v)},
      {"WP-VAL-012", checked("reference = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]\nks = 0.1", linspace(0, 1, 100)),
       checked("reference = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]\nks = 0.1", linspace(0, 1, 100))},
      {"WP-VAL-013", checked("holds = [\"$0 > $1\"]", m), checked("holds = [\"$0 < $1\"]", m)},
      {"WP-VAL-014", checked("[tensor.column.2]\nfinite = true", m), checked("[tensor.column.1]\nfinite = true", m)},
      {"WP-VAL-015", checked("range = [0, 1]", astype(v, c128)), checked("range = [1, 2]", v)},
  };
  return all;
}

TEST(Findings, OfDataHaveATriggerAndANeighbourThatDoesNotTriggerThem) {
  expect_triggers(of_data());
}

}  // namespace wp::triggers
