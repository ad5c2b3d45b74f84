// Eigen on stacks of small matrices, matrix by matrix, with sizes known at compile time.
#pragma once
#include <Eigen/Dense>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

using Run = std::function<void(std::int64_t begin, std::int64_t end)>;

template <class T>
struct Stack {
  int n;
  std::int64_t count;
  std::vector<T> a, b, x, y, values;
};

// Empty: no such function. The build makes a source file per type and size (CMakeLists.txt), which includes
// native_eigen.inl: one file would take ten minutes to compile.
template <class T, int N>
Run eigen(const std::string& op, Stack<T>& s);
