#include "simd/draw.hpp"

#include "simd/samplers.hpp"

namespace wp::simd {

#define WP_PER_ISA "simd/draw.inl"
#include "simd/per_isa.inl"

DrawLoop draw_loop(Draw which) noexcept {
  const DrawLoop* const tables[kIsas] = {baseline::draws, avx2::draws, avx512::draws};
  return tables[static_cast<int>(isa())][static_cast<int>(which)];
}
SampleLoop sample_loop(Sampler which) noexcept {
  const SampleLoop* const tables[kIsas] = {baseline::samplers, avx2::samplers, avx512::samplers};
  return tables[static_cast<int>(isa())][static_cast<int>(which)];
}
CumulateLoop cumulate_loop() noexcept {
  constexpr CumulateLoop loops[kIsas] = {baseline::cumulate, avx2::cumulate, avx512::cumulate};
  return loops[static_cast<int>(isa())];
}

}  // namespace wp::simd
