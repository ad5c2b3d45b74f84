// NumPy's .npy: magic, version, header (a Python dict literal), data.
#pragma once
#include "io/format.hpp"
#include "io/stored.hpp"

namespace wp::io {

inline constexpr std::string_view npy_magic = "\x93NUMPY";

// Checks everything the header says against itself and against the file's size. Throws FormatError.
Stored read_npy_header(const Part& source);
// Magic, version, header, padded so that the data starts at a multiple of 64 bytes, at `least` or behind it.
std::string npy_header(DType dtype, const Dims& shape, std::size_t least = 0);

Tensor read_npy(const Source& source, const LoadOptions& options);
void write_npy(Sink& sink, const Tensor& t, const SaveOptions& options);
std::unique_ptr<RowSink> npy_rows(Sink& sink, const SaveOptions& options);

}  // namespace wp::io
