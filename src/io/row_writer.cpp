#include "io/calling.hpp"
#include "io/csv.hpp"
#include "io/npy.hpp"
#include "io/raw.hpp"
#include "tensor/note.hpp"

namespace wp {

struct RowWriter::State {
  State(const std::string& path, const SaveOptions& its_options, const io::Format* its_format)
      : options(its_options), format(its_format), sink(path) {}
  bool is_text() const noexcept { return format->ending == ".csv" || format->ending == ".tsv"; }

  SaveOptions options;
  const io::Format* format;
  io::Sink sink;
  bool begun = false;
  DType dtype = f64;
  Dims shape;  // shape[0]: rows so far
};

namespace {

constexpr std::size_t kHeader = 256;  // room for any number of rows

char delimiter_of(const io::Format& f) {
  return f.ending == ".tsv" ? '\t' : ',';
}

}  // namespace

RowWriter::RowWriter(const std::string& path, const SaveOptions& options, std::source_location where) {
  const io::Calling here("RowWriter", where);
  const io::Format* const format = io::format_of(path);
  const std::string_view ending = format ? format->ending : "";
  if (ending != ".npy" && ending != ".csv" && ending != ".tsv" && ending != ".bin" && ending != ".raw")
    refuse<ArgumentError>("WP-ARG-001", say("'", path, "' must end in .npy, .csv, .tsv, .bin or .raw."));
  if (ending != ".csv" && ending != ".tsv") io::refuse_names(options, ending);
  state_ = std::make_unique<State>(path, options, format);
  if (ending == ".npy" && !state_->sink.can_rewrite())
    refuse<ArgumentError>("WP-ARG-001",
                          say("'", path,
                              "': an .npy header says the number of rows, which is not known "
                              "before the end; a pipe takes no header then."),
                          "Write .csv, or save the whole array.");
}
RowWriter::RowWriter(RowWriter&&) noexcept = default;
RowWriter& RowWriter::operator=(RowWriter&&) noexcept = default;
RowWriter::~RowWriter() = default;

void RowWriter::append(const In& x, std::source_location where) {
  const io::Calling here("append", where);
  if (!state_) refuse<ArgumentError>("WP-ARG-001", "the writer is closed.");
  State& s = *state_;
  const Tensor& t = x.tensor();
  if (!t.defined() || t.ndim() == 0) refuse<ShapeError>("WP-SHP-001", "rows are needed: a tensor with an axis.");
  Dims tail = t.shape();
  tail[0] = s.begun ? s.shape[0] : 0;
  if (s.begun && (t.dtype() != s.dtype || tail != s.shape)) {
    tail[0] = t.shape()[0];
    refuse<ShapeError>("WP-SHP-001", say("all rows need one dtype and shape; got ", t.dtype(), " ", tail, " after ",
                                         s.dtype, " ", s.shape, "."));
  }
  escape(t, "append", Counts::made, where);
  if (!s.begun) {
    if (s.is_text())
      io::write_csv(s.sink, t, s.options, delimiter_of(*s.format));
    else if (s.format->ending == ".npy")
      s.sink.write(io::npy_header(t.dtype(), tail, kHeader));
    s.dtype = t.dtype();
    s.shape = tail;
    s.begun = true;
    if (s.is_text()) {
      s.shape[0] = t.shape()[0];
      return;
    }
  } else if (s.is_text()) {
    io::write_csv_rows(s.sink, t, delimiter_of(*s.format));
  }
  if (!s.is_text()) io::write_elements(t, [&](const char* bytes, std::size_t count) { s.sink.write(bytes, count); });
  s.shape[0] += t.shape()[0];
}

void RowWriter::close(std::source_location where) {
  const io::Calling here("close", where);
  if (!state_) return;
  State& s = *state_;
  if (!s.begun) refuse<ArgumentError>("WP-ARG-001", "nothing was appended: dtype and shape are not known.");
  if (s.format->ending == ".npy") s.sink.rewrite(0, io::npy_header(s.dtype, s.shape, kHeader));
  s.sink.commit();
  state_.reset();
}

}  // namespace wp
