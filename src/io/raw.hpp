// .bin, .raw: the bytes of the elements alone; what they are is said by the reader.
#pragma once
#include "io/format.hpp"
#include "io/stored.hpp"

namespace wp::io {

Stored raw_layout(const Source& source, const LoadOptions& options);
Tensor read_raw(const Source& source, const LoadOptions& options);
void write_raw(Sink& sink, const Tensor& t, const SaveOptions& options);
std::unique_ptr<RowSink> raw_rows(Sink& sink, const SaveOptions& options);

}  // namespace wp::io
