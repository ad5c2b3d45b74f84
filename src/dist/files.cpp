// .npy files of distributed matrices: every rank reads and writes rows of its own, some columns at a time, and
// p?gemr2d brings them to where they belong.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/text.hpp"
#include "dist/matrix.hpp"
#include "dist/noting.hpp"
#include "dist/scalapack.hpp"
#include "dist/stage.hpp"
#include "dist/team.hpp"
#include "io/npy.hpp"
#include "kernels/convert.hpp"
#include "linalg/stack.hpp"

namespace wp::dist {
namespace {

constexpr std::int64_t kBytes = 32 << 20;  // of a panel on one rank

std::string shape_text(const Dims& shape) {
  return say(shape);
}

// All ranks in one column: each has consecutive lines (rows of a file in C order, columns in Fortran order).
struct Lines {
  Axis axis;            // over the lines
  std::int64_t length;  // elements of a line
  Lines(std::int64_t count, std::int64_t its_length) : length(its_length) {
    axis = {count, std::max<std::int64_t>(1, (count + size() - 1) / size()), size(), rank()};
  }
  std::int64_t first() const { return axis.own * axis.block; }
  std::int64_t count() const { return axis.count(); }
};

// Elements [from, from + width) of this rank's lines, as ScaLAPACK wants them: of rows, a part with these rows; of
// columns, one with these columns.
template <class T>
Local<T> panel_of(const Lines& lines, std::int64_t width, bool rows, T* data, const Grid& grid) {
  Local<T> p;
  p.data = data;
  const Axis across{width, std::max<std::int64_t>(width, 1), 1, 0};
  p.row = rows ? lines.axis : across;
  p.column = rows ? across : lines.axis;
  p.descriptor = {1,
                  grid.state().context,
                  static_cast<int>(p.row.n),
                  static_cast<int>(p.column.n),
                  static_cast<int>(p.row.block),
                  static_cast<int>(p.column.block),
                  0,
                  0,
                  static_cast<int>(p.leading())};
  return p;
}

std::int64_t panel_width(const Lines& lines, std::size_t element, std::int64_t block) {
  const std::int64_t most = kBytes / static_cast<std::int64_t>(element) / std::max<std::int64_t>(1, lines.axis.block);
  return std::max(block, most / block * block);
}

DType stored_dtype(const io::Stored& s, const LoadMatrixOptions& o, const std::string& path) {
  if (s.dtype == DType::boolean)
    refuse<DtypeError>("WP-DTY-003", say("'", path, "' holds bool; a distributed matrix holds numbers."));
  const DType own = s.dtype == f16 || s.dtype == bf16 ? f32 : is_floating(s.dtype) ? s.dtype : f64;
  const DType to = o.dtype.value_or(own);
  if (!is_floating(to) || to == f16 || to == bf16 || (is_complex(own) && !is_complex(to)))
    refuse<DtypeError>("WP-DTY-003", say("'", path, "' holds ", s.dtype, ", which does not become ", to, "."));
  return to;
}

void check_shape(const io::Stored& s, const LoadMatrixOptions& o, const std::string& path) {
  if (s.shape.size() != 1 && s.shape.size() != 2)
    refuse<ShapeError>("WP-MPI-009",
                       say("'", path, "' holds ", shape_text(s.shape), "; a matrix or a vector is needed."));
  if (o.shape && *o.shape != s.shape)
    refuse<ShapeError>("WP-MPI-008", say("'", path, "' was promised to be ", shape_text(*o.shape), "; it holds ",
                                         shape_text(s.shape), ". Nothing was read."));
}

// Reads elements [from, from + width) of every own line into p.
template <class T>
void read_panel(const io::Source& source, const io::Stored& s, const Lines& lines, std::int64_t from,
                std::int64_t width, const Local<T>& p, bool rows) {
  const auto each = static_cast<std::int64_t>(size_of(s.dtype));
  std::vector<char> raw(static_cast<std::size_t>(width * each));
  std::vector<T> line(static_cast<std::size_t>(width));
  for (std::int64_t l = 0; l < lines.count(); ++l) {
    const auto at = s.data + static_cast<std::uint64_t>(((lines.first() + l) * lines.length + from) * each);
    source.read(at, raw.data(), raw.size());
    io::settle(source, s, at, raw.data(), raw.size());
    kernels::convert(line.data(), dtype_v<T>, raw.data(), s.dtype, 1, width);
    for (std::int64_t e = 0; e < width; ++e) (rows ? p.at(l, e) : p.at(e, l)) = line[static_cast<std::size_t>(e)];
  }
}

}  // namespace

Matrix Matrix::load(const std::string& path, const LoadMatrixOptions& options, Where where) {
  const Stage stage("dist.load", where);
  meet(say("dist.load '", path, "' as ", options.dtype ? name(*options.dtype) : "stored", ", ", facts(options.layout),
           options.shape ? ", promised " + shape_text(*options.shape) : ""));
  std::unique_ptr<io::Source> source;
  io::Stored s;
  DType dtype = f64;
  together([&] {
    if (!path.ends_with(".npy"))
      refuse<ArgumentError>("WP-ARG-001", say("'", path, "' is not a .npy file: only these are read in parts."),
                            "Convert it: wellposed reads many formats and writes .npy.");
    source = std::make_unique<io::Source>(path);
    s = io::read_npy_header(*source);
    check_shape(s, options, path);
    dtype = stored_dtype(s, options, path);
  });
  meet(say("dist.load '", path, "' holding ", name(s.dtype), ' ', shape_text(s.shape)));
  const bool vector = s.shape.size() == 1;
  const std::int64_t m = s.shape[0], n = vector ? 1 : s.shape[1];
  Matrix a = make_matrix(m, n, dtype, options.layout, vector);
  const bool rows = !s.fortran || vector;
  const Lines lines(rows ? m : n, rows ? n : m);
  const Grid column(size(), 1), row(1, size());
  const std::int64_t width = panel_width(lines, size_of(dtype), a.layout().block);
  linalg::with_float(dtype, [&]<class T>(T) {
    std::vector<T> memory;
    together([&] {
      memory.resize(
          static_cast<std::size_t>(std::max<std::int64_t>(1, lines.count() * std::min(width, lines.length))));
    });
    for (std::int64_t from = 0; from < lines.length; from += width) {
      const std::int64_t count = std::min(width, lines.length - from);
      const Local<T> p = panel_of<T>(lines, count, rows, memory.data(), rows ? column : row);
      together([&] { read_panel<T>(*source, s, lines, from, count, p, rows); });
      const scalapack::Corner into = rows ? scalapack::Corner{0, from} : scalapack::Corner{from, 0};
      scalapack::redistribute<T>(rows ? m : count, rows ? count : n, p, {}, dist::local<T>(a), into,
                                 a.state().grid.state().context);
    }
  });
  return a;
}

namespace {

// A file that all ranks write into, and rank 0 puts in place.
class SharedFile {
 public:
  SharedFile(const std::string& path, const std::string& header, std::uint64_t bytes) : SharedFile(path) {
    together([&] {
      if (rank() != 0) return;
      const std::filesystem::path target(path_);
      const std::string beside =
          (target.parent_path() / say(".", target.filename().string(), ".", getpid(), ".tmp")).string();
      fd_ = open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (fd_ < 0) fail(errno);
      temporary_ = beside;
      if (const int error = posix_fallocate(fd_, 0, static_cast<off_t>(header.size() + bytes)); error != 0)
        fail(error);
      put(0, header.data(), header.size());
    });
    temporary_ = broadcast_text(temporary_);
    together([&] {
      if (rank() == 0) return;
      fd_ = open(temporary_.c_str(), O_WRONLY | O_CLOEXEC);
      if (fd_ < 0) fail(errno);
    });
  }
  ~SharedFile() {
    if (fd_ >= 0) close(fd_);
    if (!done_ && rank() == 0 && !temporary_.empty()) unlink(temporary_.c_str());
  }
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;

  void put(std::uint64_t at, const void* data, std::size_t bytes) {
    for (const auto* from = static_cast<const char*>(data); bytes > 0;) {
      const ssize_t n = pwrite(fd_, from, bytes, static_cast<off_t>(at));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail(errno);
      from += n;
      at += static_cast<std::uint64_t>(n);
      bytes -= static_cast<std::size_t>(n);
    }
  }
  void commit() {
    together([&] {
      if (fsync(fd_) != 0) fail(errno);
    });
    together([&] {
      if (rank() == 0 && std::rename(temporary_.c_str(), path_.c_str()) != 0) fail(errno);
    });
    done_ = true;
  }

 private:
  explicit SharedFile(const std::string& path) : path_(path) {}  // from here on the destructor tidies up
  [[noreturn]] void fail(int error) const {
    refuse<FileError>("WP-FIL-001", say("'", path_, "' cannot be written: ", std::strerror(error), "."),
                      "Every rank must see the folder, and be allowed to write there. Nothing was changed.");
  }
  std::string path_, temporary_;
  int fd_ = -1;
  bool done_ = false;
};

}  // namespace

void Matrix::save(const std::string& path, Where where) const {
  const Stage stage("dist.save", where);
  meet(say("dist.save '", path, "' ", facts(*this)));
  if (!path.ends_with(".npy"))
    refuse<ArgumentError>("WP-ARG-001", say("'", path, "' must end in .npy: only these are written in parts."));
  const Matrix& a = *this;
  escape(a, "save", Counts::made, where);
  const Dims shape = is_vector() ? Dims{rows()} : Dims{rows(), columns()};
  const std::string header = io::npy_header(dtype(), shape);
  const std::size_t each = size_of(dtype());
  SharedFile file(path, header, static_cast<std::uint64_t>(rows() * columns()) * each);
  const Lines lines(rows(), columns());
  const Grid column(size(), 1);
  const std::int64_t width = panel_width(lines, each, layout().block);
  linalg::with_float(dtype(), [&]<class T>(T) {
    std::vector<T> memory, line;
    together([&] {
      memory.resize(static_cast<std::size_t>(std::max<std::int64_t>(1, lines.count() * std::min(width, columns()))));
      line.resize(static_cast<std::size_t>(std::min(width, columns())));
    });
    for (std::int64_t from = 0; from < columns(); from += width) {
      const std::int64_t count = std::min(width, columns() - from);
      const Local<T> p = panel_of<T>(lines, count, true, memory.data(), column);
      scalapack::redistribute<T>(rows(), count, dist::local<T>(a), {0, from}, p, {}, a.state().grid.state().context);
      together([&] {
        for (std::int64_t l = 0; l < lines.count(); ++l) {
          for (std::int64_t e = 0; e < count; ++e) line[static_cast<std::size_t>(e)] = p.at(l, e);
          const auto at = static_cast<std::uint64_t>((lines.first() + l) * columns() + from) * each + header.size();
          file.put(at, line.data(), static_cast<std::size_t>(count) * each);
        }
      });
    }
  });
  file.commit();
}

}  // namespace wp::dist
