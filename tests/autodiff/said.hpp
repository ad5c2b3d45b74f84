// What tensors hold, and what errors say.
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "wellposed/wellposed.hpp"

namespace wp::said {

inline std::vector<double> values(const Tensor& t) {
  return astype(t, f64).to_vector<double>();
}
inline std::string message(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}
inline void expect_says(const std::function<void()>& f, const std::string& part) {
  const std::string text = message(f);
  EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
}

}  // namespace wp::said
