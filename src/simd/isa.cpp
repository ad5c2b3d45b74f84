#include "simd/isa.hpp"

#include <cstdio>
#include <cstdlib>

#include "base/text.hpp"

namespace wp::simd {
namespace {

constexpr std::string_view names[kIsas] = {"baseline", "avx2", "avx512"};

int choose() noexcept {
  int best = kIsas - 1;
  while (best > 0 && !supported(static_cast<Isa>(best))) --best;
  const char* text = std::getenv("WELLPOSED_ISA");
  if (!text || !*text) return best;
  for (int i = 0; i < kIsas; ++i)
    if (names[i] == text) {
      if (i <= best) return i;
      std::fprintf(stderr, "wellposed: WELLPOSED_ISA=%s, but this CPU has only %s; using that.\n", text,
                   names[best].data());
      return best;
    }
  std::fprintf(stderr, "wellposed: WELLPOSED_ISA='%s' is not one of baseline, avx2, avx512; ignored.\n", text);
  return best;
}

}  // namespace

bool supported(Isa isa) noexcept {
  if (isa == Isa::baseline) return true;
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  if (isa == Isa::avx2) return avx2;
  return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
#else
  return false;
#endif
}

std::string_view name(Isa isa) noexcept {
  return names[static_cast<int>(isa)];
}

namespace detail {
int active = choose();
}

void set_isa(Isa isa) {
  if (!supported(isa)) raise<ArgumentError>("WP-ARG-001", "set_isa", say("this CPU does not have ", name(isa), "."));
  detail::active = static_cast<int>(isa);
}

}  // namespace wp::simd
