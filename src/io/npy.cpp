#include "io/npy.hpp"

namespace wp::io {

Tensor read_npy(const Source& source, const LoadOptions& options) {
  chosen_one(source, {""}, options.names);
  return read_stored(source, read_npy_header(source), options);
}

void write_npy(Sink& sink, const Tensor& t, const SaveOptions& options) {
  refuse_names(options, ".npy");
  sink.write(npy_header(t.dtype(), t.shape()));
  write_elements(t, [&](const char* bytes, std::size_t count) { sink.write(bytes, count); });
}

std::unique_ptr<RowSink> npy_rows(Sink& sink, const SaveOptions& options) {
  refuse_names(options, ".npy");
  return headed_rows(sink, npy_header);
}

}  // namespace wp::io
