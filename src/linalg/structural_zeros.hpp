// Elements of the solution of A X = B that are zero whatever the numbers are: A falls into blocks, and B has zeros.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/gemm.hpp"

namespace wp::linalg {

class StructuralZeros {
 public:
  StructuralZeros() = default;  // none
  // T: float, double, complex64, complex128.
  template <class T>
  StructuralZeros(std::int64_t n, std::int64_t columns, kernels::View<T> a, kernels::View<T> b);

  template <class T>
  void clear(kernels::MutableView<T> x) const {
    for (const Element& e : elements_) x.data[e.row * x.rows + e.column * x.columns] = T(0);
  }
  // Of each column, the largest factor 2^weights of an element that need not be zero, over the largest of all.
  std::vector<double> shares(std::int64_t n, std::int64_t columns, const std::vector<int>& weights) const;

 private:
  struct Element {
    std::int64_t row, column;
  };
  std::vector<Element> elements_;
};

}  // namespace wp::linalg
