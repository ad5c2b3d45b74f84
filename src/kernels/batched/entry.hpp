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
// The same for a function that has the same bits with AVX2 and AVX-512: a few matrices leave most lanes of the wider
// registers idle, but would take the room of as many as there are lanes.
template <class F>
F* chosen_for(Range range, F* baseline, F* avx2, F* avx512) {
  constexpr std::int64_t kFew = 4;  // lanes of AVX2
  return chosen(baseline, avx2, range.end - range.begin <= kFew ? avx2 : avx512);
}

}  // namespace wp::kernels::batched
