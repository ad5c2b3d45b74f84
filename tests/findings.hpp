// Every code of docs/findings.md: a call that triggers it, and a neighbour that does not.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "wellposed/wellposed.hpp"

namespace wp::triggers {

struct Row {
  const char* code;
  std::function<void()> trigger, neighbour;
};
using Rows = std::vector<Row>;

inline void use(const Tensor&) {}
inline void use(const Tensors&) {}
inline Tensor diagonal(double a, double b) {
  return Tensor{{a, 0.0}, {0.0, b}};
}

// WP-GRD; WP-SCM and WP-VAL; WP-SUM; WP-NNM; findings_test.cpp has the others.
const Rows& of_gradients();
const Rows& of_data();
const Rows& of_summaries();
const Rows& of_models();

void expect_triggers(const Rows& rows);

}  // namespace wp::triggers
