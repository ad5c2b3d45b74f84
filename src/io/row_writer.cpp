#include <limits>

#include "io/calling.hpp"
#include "io/format.hpp"
#include "tensor/note.hpp"

namespace wp {
namespace io {
namespace {

class HeadedRows final : public RowSink {
 public:
  HeadedRows(Sink& sink, Header header) : sink_(sink), header_(std::move(header)) {}
  void rows(const Tensor& t) override {
    if (header_ && !room_) {
      room_ = room_for(header_, t);
      sink_.write(std::string(room_, '\0'));
    }
    write_elements(t, [&](const char* bytes, std::size_t count) { sink_.write(bytes, count); });
  }
  void end(DType dtype, const Dims& shape) override {
    if (header_) sink_.rewrite(0, header_(dtype, shape, room_));
  }
  bool goes_back() const noexcept override { return header_ != nullptr; }

 private:
  Sink& sink_;
  Header header_;
  std::size_t room_ = 0;
};

}  // namespace

std::unique_ptr<RowSink> headed_rows(Sink& sink, Header header) {
  return std::make_unique<HeadedRows>(sink, std::move(header));
}

std::size_t room_for(const Header& header, const Tensor& rows) {
  constexpr std::size_t bytes = 64;  // what numbers of bytes may take beyond those of this shape
  Dims widest = rows.shape();
  widest[0] = std::numeric_limits<std::int64_t>::max();
  return header(rows.dtype(), widest, 0).size() + bytes;
}

}  // namespace io

struct RowWriter::State {
  explicit State(const std::string& path) : sink(path) {}
  io::Sink sink;
  std::unique_ptr<io::RowSink> rows;
  bool begun = false;
  DType dtype = f64;
  Dims shape;  // shape[0]: rows so far
};

RowWriter::RowWriter(const std::string& path, const SaveOptions& options, std::source_location where) {
  const io::Calling here("RowWriter", where);
  const io::Format* const format = io::format_of(path);
  if (!format || !format->rows) {
    std::string endings;
    for (const io::Format& f : io::formats())
      if (f.rows) endings += say(endings.empty() ? "" : ", ", f.ending);
    refuse<ArgumentError>("WP-ARG-001", say("'", path, "' must end in one of ", endings, "."),
                          format ? "A dense .mtx file lists columns; save writes a whole matrix." : "");
  }
  auto state = std::make_unique<State>(path);
  state->rows = format->rows(state->sink, options);
  if (state->rows->goes_back() && !state->sink.can_rewrite())
    refuse<ArgumentError>("WP-ARG-001",
                          say("'", path, "': the header of ", format->ending,
                              " says the number of rows, which is not known before the end; a pipe takes no header "
                              "then."),
                          "Write .csv, or save the whole array.");
  state_ = std::move(state);
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
  s.rows->rows(t);
  s.dtype = t.dtype();
  s.shape = std::move(tail);
  s.shape[0] += t.shape()[0];
  s.begun = true;
}

void RowWriter::close(std::source_location where) {
  const io::Calling here("close", where);
  if (!state_) return;
  State& s = *state_;
  if (!s.begun) refuse<ArgumentError>("WP-ARG-001", "nothing was appended: dtype and shape are not known.");
  s.rows->end(s.dtype, s.shape);
  s.sink.commit();
  state_.reset();
}

}  // namespace wp
