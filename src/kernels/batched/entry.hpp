// What a file here needs that compiles one source for every instruction set and chooses among the results.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/batched/lanes.hpp"
#include "kernels/gemm.hpp"
#include "simd/doubles.hpp"

namespace wp::kernels::batched {

// The one for this machine.
template <class F>
F* chosen(F* baseline, F* avx2, F* avx512) {
  F* const all[] = {baseline, avx2, avx512};
  return all[static_cast<int>(simd::isa())];
}

}  // namespace wp::kernels::batched
