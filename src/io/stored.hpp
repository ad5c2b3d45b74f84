// Arrays whose elements stand in a file one after the other: npy, safetensors, stored entries of npz, raw files.
#pragma once
#include "io/file.hpp"
#include "wellposed/io.hpp"

namespace wp::io {

struct Stored {
  DType dtype = f64;
  bool big_endian = false, fortran = false;
  Dims shape;
  std::uint64_t data = 0;   // offset of the first element in the file
  std::uint64_t bytes = 0;  // of the elements; they lie inside the file
};

// The number of bytes that elements of this dtype and shape take; false when no array can have that many. A length
// of 0 makes the product 0; the other lengths must still be a product that exists, as in Tensor.
bool bytes_of(DType dtype, const Dims& shape, std::uint64_t& bytes) noexcept;

// Maps large little-endian arrays unless options.copy; else reads.
Tensor read_stored(const Source& source, const Stored& s, const LoadOptions& options);
// Rows [first, first + count) of the leading axis, read into memory of their own.
Tensor read_rows(const Source& source, const Stored& s, std::int64_t first, std::int64_t count);

// Puts elements that are in memory right: byte order; bytes that are no bool are refused. `at` is the offset in the
// file of the first.
void settle(const Source& source, const Stored& s, std::uint64_t at, void* data, std::size_t bytes);
// Element [i, j, …] of a Fortran-order array is element […, j, i] of the row-major array with the lengths turned
// round: shows it so, without moving anything.
Tensor turned(const Tensor& reversed);

}  // namespace wp::io
