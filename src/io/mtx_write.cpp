#include "io/mtx.hpp"
#include "io/number_text.hpp"
#include "kernels/types.hpp"
#include "tensor/note.hpp"

namespace wp::io {
namespace {

constexpr std::size_t kFlush = 1 << 20;

std::string_view field_of(DType d) {
  return is_complex(d) ? "complex" : is(d, kinds::integer | kinds::boolean) ? "integer" : "real";
}

void flush(Sink& sink, fmt::memory_buffer& out, std::size_t above) {
  if (out.size() <= above) return;
  sink.write(out.data(), out.size());
  out.clear();
}

const Tensor& array(const NamedTensors& arrays, std::string_view name, Kinds kinds) {
  for (const auto& [its, t] : arrays)
    if (its == name) {
      if (t.ndim() != 1 || !is(t.dtype(), kinds))
        refuse<ShapeError>("WP-SHP-001", say(name, " must have one axis; got ", t.dtype(), " ", t.shape(), "."));
      return t;
    }
  refuse<ArgumentError>("WP-ARG-001",
                        say("a sparse matrix needs indptr, indices, data and shape; there is no ", name, "."),
                        "A dense matrix is written by save.");
}

}  // namespace

void write_mtx(Sink& sink, const Tensor& t, const SaveOptions& options) {
  refuse_names(options, ".mtx");
  if (t.ndim() > 2 || t.ndim() == 0 || t.dtype() == u64)
    refuse<ShapeError>(
        "WP-SHP-001",
        say("Matrix Market files hold matrices of i64, f64 or c128; got ", t.dtype(), " ", t.shape(), "."),
        "Save as .npy.");
  const std::int64_t rows = t.shape()[0], columns = t.ndim() == 2 ? t.shape()[1] : 1;
  sink.write(say("%%MatrixMarket matrix array ", field_of(t.dtype()), " general\n", rows, " ", columns, "\n"));
  const Dims turned_shape{columns, rows};
  const Dims turned_strides{t.ndim() == 2 ? t.strides()[1] : 0, t.strides()[0]};
  kernels::with_type(t.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    constexpr std::int64_t piece = 4096;
    std::vector<char> values(piece * sizeof(T));
    fmt::memory_buffer out;
    for (std::int64_t first = 0; first < t.size(); first += piece) {
      const std::int64_t n = std::min(piece, t.size() - first);
      kernels::gather(values.data(), t.dtype(), t.node()->data, t.dtype(), turned_shape, turned_strides, first, n);
      for (std::int64_t i = 0; i < n; ++i) {
        append_number(out, reinterpret_cast<const T*>(values.data())[i]);
        out.push_back('\n');
      }
      flush(sink, out, kFlush);
    }
    flush(sink, out, 0);
  });
}

void write_sparse_mtx(Sink& sink, const NamedTensors& arrays, const SaveOptions& options) {
  refuse_names(options, ".mtx");
  const std::vector<std::int64_t> starts = array(arrays, "indptr", kinds::integer).to_vector<std::int64_t>();
  const std::vector<std::int64_t> places = array(arrays, "indices", kinds::integer).to_vector<std::int64_t>();
  const std::vector<std::int64_t> shape = array(arrays, "shape", kinds::integer).to_vector<std::int64_t>();
  const Tensor& data = array(arrays, "data", kinds::any & ~kind(u64));
  bool good = shape.size() == 2 && shape[0] >= 0 && shape[1] >= 0 &&
              starts.size() == static_cast<std::size_t>(shape[0]) + 1 && starts.front() == 0 &&
              starts.back() == static_cast<std::int64_t>(places.size()) && data.size() == starts.back();
  for (std::size_t i = 0; good && i + 1 < starts.size(); ++i) good = starts[i] <= starts[i + 1];
  for (std::size_t k = 0; good && k < places.size(); ++k) good = places[k] >= 0 && places[k] < shape[1];
  if (!good)
    refuse<ArgumentError>("WP-ARG-001", say("indptr (", starts.size(), "), indices (", places.size(), ") and data (",
                                            data.size(), ") are no compressed rows of that shape."));
  sink.write(say("%%MatrixMarket matrix coordinate ", field_of(data.dtype()), " general\n", shape[0], " ", shape[1],
                 " ", data.size(), "\n"));
  kernels::with_type(data.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    fmt::memory_buffer out;
    for (std::size_t r = 0; r + 1 < starts.size(); ++r)
      for (std::int64_t k = starts[r]; k < starts[r + 1]; ++k) {
        fmt::format_to(std::back_inserter(out), "{} {} ", r + 1, places[static_cast<std::size_t>(k)] + 1);
        append_number(out, reinterpret_cast<const T*>(data.node()->data)[k * data.strides()[0]]);
        out.push_back('\n');
        flush(sink, out, kFlush);
      }
    flush(sink, out, 0);
  });
}

}  // namespace wp::io
