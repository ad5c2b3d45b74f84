// From a dtype at run time to a C++ type at compile time.
#pragma once
#include <utility>

#include "wellposed/dtype.hpp"

namespace wp::kernels {

template <class T>
struct Tag {
  using type = T;
};

// f(Tag<T>{}) for the C++ type of d.
template <class F>
decltype(auto) with_type(DType d, F&& f) {
  switch (d) {
    case DType::boolean: return f(Tag<bool>{});
    case DType::i8: return f(Tag<std::int8_t>{});
    case DType::i16: return f(Tag<std::int16_t>{});
    case DType::i32: return f(Tag<std::int32_t>{});
    case DType::i64: return f(Tag<std::int64_t>{});
    case DType::u8: return f(Tag<std::uint8_t>{});
    case DType::u16: return f(Tag<std::uint16_t>{});
    case DType::u32: return f(Tag<std::uint32_t>{});
    case DType::u64: return f(Tag<std::uint64_t>{});
    case DType::f16: return f(Tag<Half>{});
    case DType::bf16: return f(Tag<BFloat16>{});
    case DType::f32: return f(Tag<float>{});
    case DType::f64: return f(Tag<double>{});
    case DType::c64: return f(Tag<complex64>{});
    case DType::c128: break;
  }
  return f(Tag<complex128>{});
}

// The same over unsigned integers of the element's size, for code that only moves elements.
struct Bytes16 {
  std::uint64_t a, b;
};
template <class F>
decltype(auto) with_size(std::size_t size, F&& f) {
  switch (size) {
    case 1: return f(Tag<std::uint8_t>{});
    case 2: return f(Tag<std::uint16_t>{});
    case 4: return f(Tag<std::uint32_t>{});
    case 8: return f(Tag<std::uint64_t>{});
    default: return f(Tag<Bytes16>{});
  }
}

}  // namespace wp::kernels
