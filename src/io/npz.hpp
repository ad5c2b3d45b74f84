// NumPy's .npz: a zip archive of .npy files.
#pragma once
#include "io/format.hpp"

namespace wp::io {

Tensor read_npz(const Source& source, const LoadOptions& options);
NamedTensors read_all_npz(const Source& source, const LoadOptions& options);
OwnedBlocks npz_blocks(std::shared_ptr<const Source> source, const BlockOptions& options);
void write_npz(Sink& sink, const NamedTensors& arrays, const SaveOptions& options);
std::unique_ptr<RowSink> npz_rows(Sink& sink, const SaveOptions& options);

}  // namespace wp::io
