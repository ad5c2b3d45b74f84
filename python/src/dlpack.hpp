// The layout of DLPack's C structures (https://dmlc.github.io/dlpack/latest/c_api.html).
#pragma once
#include <cstdint>
#include <optional>

#include "wellposed/dtype.hpp"

namespace wp::python::dlpack {

struct Device {
  std::int32_t type = 1, id = 0;  // 1: CPU
};
struct Type {
  std::uint8_t code, bits;
  std::uint16_t lanes = 1;
};
struct Array {
  void* data;
  Device device;
  std::int32_t ndim;
  Type dtype;
  std::int64_t *shape, *strides;  // no strides: row-major
  std::uint64_t byte_offset;
};
enum Code : std::uint8_t { integer, natural, real, opaque, bfloat, complex, boolean_code };

Type type_of(DType d);
std::optional<DType> dtype_of(Type t) noexcept;  // none: wellposed has no such dtype

}  // namespace wp::python::dlpack
