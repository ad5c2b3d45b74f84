#include "io/raw.hpp"

namespace wp::io {

Stored raw_layout(const Source& source, const LoadOptions& options) {
  if (!options.dtype)
    refuse<ArgumentError>("WP-ARG-001", say("'", source.path(), "' has no header: its dtype must be given."),
                          "Give load a dtype, and a shape if it has one: dtype = f32, shape = (-1, 3).");
  Stored s{.dtype = *options.dtype, .shape = options.shape.value_or(Dims{-1}), .data = options.offset};
  if (s.data > source.size())
    refuse<ArgumentError>("WP-ARG-001",
                          say("'", source.path(), "' has ", source.size(), " bytes; got offset ", s.data, "."));
  const std::uint64_t have = source.size() - s.data;
  std::int64_t* open = nullptr;
  for (std::int64_t& n : s.shape)
    if (n < 0) {
      if (n != -1 || open)
        refuse<ArgumentError>("WP-ARG-001", say("a shape has at most one length of -1; got ", *options.shape, "."));
      open = &n;
      n = 1;
    }
  bool exists = bytes_of(s.dtype, s.shape, s.bytes);
  if (open && exists && s.bytes > 0) {
    *open = static_cast<std::int64_t>(have / s.bytes);
    s.bytes *= static_cast<std::uint64_t>(*open);
  }
  if (!exists || s.bytes != have)
    source.refuse_at("WP-FMT-003", s.data,
                     say(have, " bytes follow, which are not ", s.dtype, " ", options.shape.value_or(Dims{-1}), "."));
  return s;
}

Tensor read_raw(const Source& source, const LoadOptions& options) {
  chosen_one(source, {""}, options.names);
  return read_stored(source, raw_layout(source, options), options);
}

void write_raw(Sink& sink, const Tensor& t, const SaveOptions& options) {
  refuse_names(options, ".bin");
  write_elements(t, [&](const char* bytes, std::size_t count) { sink.write(bytes, count); });
}

std::unique_ptr<RowSink> raw_rows(Sink& sink, const SaveOptions& options) {
  refuse_names(options, ".bin");
  return headed_rows(sink, {});
}

}  // namespace wp::io
