// .safetensors: the length of the header (u64), the header (JSON), the elements.
// https://github.com/huggingface/safetensors#format
#pragma once
#include "io/format.hpp"

namespace wp::io {

Tensor read_safetensors(const Source& source, const LoadOptions& options);
NamedTensors read_all_safetensors(const Source& source, const LoadOptions& options);
OwnedBlocks safetensors_blocks(std::shared_ptr<const Source> source, const BlockOptions& options);
Metadata safetensors_metadata(const Source& source);
void write_safetensors(Sink& sink, const NamedTensors& arrays, const SaveOptions& options);
std::unique_ptr<RowSink> safetensors_rows(Sink& sink, const SaveOptions& options);

}  // namespace wp::io
