// Elements chosen by a list of places: the inner loops of indexing with tensors.
#pragma once
#include "kernels/combine.hpp"
#include "wellposed/error.hpp"

namespace wp::kernels {

// An array of shape outer × n × inner on two sides. The middle axis stands at listed offsets, or without a list at
// multiples of a step. Offsets, steps and strides count elements.
struct Pick {
  struct Side {
    Dims outer, inner;                     // strides
    const std::int64_t* places = nullptr;  // n offsets
    std::int64_t step = 0;
    std::int64_t at(std::int64_t k) const noexcept { return places ? places[k] : k * step; }
  };
  Dims outer, inner;  // lengths
  std::int64_t n = 0;
  Side to, from;
};

// Copies from `src` to `dst`, whose places differ from each other.
void pick(const Pick& p, char* dst, const char* src, std::size_t item);
// Writes into `dst`, whose places may repeat: in the order of the list for any number of threads. Returns whether
// something non-finite was written.
bool put(const Pick& p, char* dst, const char* src, DType dtype, Combine mode);

// Along one axis, every element with an index of its own:
//   take:  dst[i] = src[i with its coordinate on `axis` replaced by index[i]]
//   put:   dst[i with its coordinate on `axis` replaced by index[i]] ∘= src[i],  in the order of the axis
// `shape` is the index's. Strides of the indexed side have their own value on `axis`.
struct Along {
  Dims shape;
  std::size_t axis = 0;
  Dims indexed, plain, index_strides;
  const std::int64_t* index = nullptr;
};
void take_along(const Along& a, char* dst, const char* src, std::size_t item);
bool put_along(const Along& a, char* dst, const char* src, DType dtype, Combine mode);

}  // namespace wp::kernels
