// Matrix Market: Boisvert, Pozo, Remington, "The Matrix Market exchange formats" (NISTIR 5935, 1996).
#pragma once
#include "io/format.hpp"

namespace wp::io {

inline constexpr std::string_view mtx_magic = "%%MatrixMarket";

// Dense files; sparse ones with options.dense.
Tensor read_mtx(const Source& source, const LoadOptions& options);
// Sparse files: indptr, indices, data, shape.
NamedTensors read_all_mtx(const Source& source, const LoadOptions& options);
void write_mtx(Sink& sink, const Tensor& t, const SaveOptions& options);
void write_sparse_mtx(Sink& sink, const NamedTensors& arrays, const SaveOptions& options);

}  // namespace wp::io
