// Compiles one file once per instruction set, each in a namespace of its own:
//   #define WP_PER_ISA "kernels/softmax.inl"
//   #include "simd/per_isa.inl"
// The file may name its namespace: WP_ISA. With WP_PORTABLE_KERNELS all of them are the portable one, which takes a
// third of the time to compile.
namespace baseline {
#define WP_ISA baseline
#include WP_PER_ISA
#undef WP_ISA
}  // namespace baseline
#if defined(__x86_64__) && !defined(WP_PORTABLE_KERNELS)
WP_BEGIN_AVX2
namespace avx2 {
#define WP_ISA avx2
#include WP_PER_ISA
#undef WP_ISA
}  // namespace avx2
WP_END_ISA
WP_BEGIN_AVX512
namespace avx512 {
#define WP_ISA avx512
#include WP_PER_ISA
#undef WP_ISA
}  // namespace avx512
WP_END_ISA
#else
namespace avx2 = baseline;
namespace avx512 = baseline;
#endif
#undef WP_PER_ISA
