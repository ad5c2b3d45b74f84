#include "dist/matrix.hpp"

#include <cmath>
#include <limits>
#include <map>

#include "autodiff/lent.hpp"
#include "base/text.hpp"
#include "dist/calling.hpp"
#include "dist/one_place.hpp"
#include "dist/scalapack.hpp"
#include "dist/stage.hpp"
#include "dist/team.hpp"
#include "kernels/convert.hpp"
#include "kernels/each_float.hpp"
#include "linalg/stack.hpp"
#include "ops/lines.hpp"
#include "ops/moves.hpp"
#include "wellposed/ops.hpp"

namespace wp::dist {
namespace {

// Contexts of BLACS are few and cost communicators: one per shape of grid.
std::shared_ptr<const Grid::State> grid_state(int rows, int columns) {
  static auto* const known = new std::map<std::pair<int, int>, std::shared_ptr<const Grid::State>>;
  auto& at = (*known)[{rows, columns}];
  if (!at) {
    auto s = std::make_shared<Grid::State>();
    s->rows = rows;
    s->columns = columns;
    s->row = rank() / columns;
    s->column = rank() % columns;
    s->context = scalapack::new_context(rows, columns);
    at = s;
  }
  return at;
}

std::shared_ptr<Matrix::State> shaped(std::int64_t m, std::int64_t n, const Layout& layout, bool vector) {
  auto s = std::make_shared<Matrix::State>();
  const std::int64_t block = chosen_block(layout, m, n);
  s->grid = layout.grid;
  s->row = {m, block, layout.grid.rows(), layout.grid.row()};
  s->column = {n, block, layout.grid.columns(), layout.grid.column()};
  s->vector = vector;
  return s;
}

DType matrix_dtype(DType d) {
  if (is_floating(d) && d != f16 && d != bf16) return d;
  if (d == f16 || d == bf16) return f32;
  if (d == DType::boolean) refuse<DtypeError>("WP-DTY-003", "a distributed matrix holds numbers; got bool.");
  return f64;
}

// Of elements that are taken as they are.
void need_matrix_dtype(DType d) {
  if (matrix_dtype(d) != d)
    refuse<DtypeError>("WP-DTY-003", say("a distributed matrix is f32, f64, c64 or c128; got ", d, "."),
                       say("Convert it first: astype(x, ", matrix_dtype(d), ")."));
}

std::string shape_text(std::int64_t m, std::int64_t n) {
  return say("[", m, ", ", n, "]");
}

}  // namespace

Grid::Grid(int rows, int columns, Where where) {
  const Stage stage("dist.Grid", where);
  meet(say("dist.Grid ", rows, " × ", columns));
  if (rows < 1 || columns < 1 || static_cast<std::int64_t>(rows) * columns != size())
    refuse<ArgumentError>(
        "WP-MPI-004",
        say("the ranks must form the grid: rows × columns = ranks; got ", rows, " × ", columns, " for ",
            plural(size(), "rank"), "."),
        say("Start ", std::max(1, rows) * std::max(1, columns), " ranks (mpirun -n), or leave the grid out."));
  state_ = grid_state(rows, columns);
}
const Grid::State& Grid::state() const {
  if (state_) return *state_;
  int rows = 1;
  for (int r = 1; r * r <= size(); ++r)
    if (size() % r == 0) rows = r;
  return *grid_state(rows, size() / rows);
}
int Grid::rows() const {
  return state().rows;
}
int Grid::columns() const {
  return state().columns;
}
int Grid::row() const {
  return state().row;
}
int Grid::column() const {
  return state().column;
}

std::int64_t chosen_block(const Layout& layout, std::int64_t m, std::int64_t n) {
  constexpr std::int64_t kLargest = 1024;  // ScaLAPACK's workspaces are multiples of block², counted with 32 bits
  if (layout.block < 0 || layout.block > kLargest)
    refuse<ArgumentError>("WP-ARG-001", say("block must be from 1 to ", kLargest, "; got ", layout.block, "."),
                          "64 is good for most matrices; 0 chooses.");
  if (layout.block > 0) return layout.block;
  const std::int64_t most = std::max<std::int64_t>({layout.grid.rows(), layout.grid.columns(), 1});
  return std::clamp<std::int64_t>(std::max(m, n) / (2 * most), 4, 64);
}

Matrix make_matrix(std::int64_t m, std::int64_t n, DType dtype, const Layout& layout, bool vector) {
  std::shared_ptr<Matrix::State> s;
  together([&] {
    constexpr std::int64_t kMost = std::numeric_limits<int>::max();
    if (m < 0 || n < 0)
      refuse<ShapeError>("WP-MPI-009", say("lengths must not be negative; got ", shape_text(m, n), "."));
    s = shaped(m, n, layout, vector);
    const std::int64_t rows = s->row.count(0), columns = s->column.count(0);
    if (m > kMost || n > kMost || rows * std::max<std::int64_t>(columns, 1) > kMost)
      refuse<ShapeError>(
          "WP-MPI-005",
          say("ScaLAPACK counts with 32 bits: a rank can hold 2147483647 elements; ", shape_text(m, n), " on ",
              layout.grid.rows(), " × ", layout.grid.columns(), " ranks needs ", rows * columns, "."),
          "Use more ranks.");
    s->storage = Tensor::adopt(detail::make_node(dtype, {s->column.count(), s->row.count()}));
  });
  return Matrix(s);
}

Matrix with_storage(const Matrix& like, const Tensor& storage) {
  auto s = std::make_shared<Matrix::State>(like.state());
  s->storage = storage;
  return Matrix(s);
}
Matrix make_like(const Matrix& like, DType dtype) {
  return make_matrix(like.rows(), like.columns(), dtype, like.layout(), like.is_vector());
}
Matrix copy_of(const Matrix& a) {
  Matrix b = make_like(a);
  std::copy_n(a.state().storage.node()->data, a.state().storage.nbytes(), b.state().storage.node()->data);
  return b;
}

Matrix converted(const Matrix& a, DType dtype) {
  if (a.dtype() == dtype) return a;
  Matrix b = make_like(a, dtype);
  const Tensor &from = a.state().storage, &to = b.state().storage;
  kernels::convert(to.node()->data, dtype, from.node()->data, a.dtype(), 1, from.size());
  return b;
}

Dims shape_of(const Matrix& a) {
  return a.is_vector() ? Dims{a.rows()} : Dims{a.rows(), a.columns()};
}
std::string facts(const Matrix& a) {
  return a.defined() ? a.to_string() : "nothing";
}
std::string facts(const Layout& layout) {
  return say("block ", layout.block, " on ", layout.grid.rows(), " × ", layout.grid.columns(), " ranks");
}
namespace {
template <class Argument>
void need(const Argument& a, std::string_view name) {
  if (!a.defined()) refuse<ArgumentError>("WP-ARG-002", say("argument ", name, " is missing."));
}
}  // namespace
void need_defined(const Matrix& a, std::string_view name) {
  need(a, name);
}
void need_defined(const Tensor& a, std::string_view name) {
  need(a, name);
}
Alike alike(const Matrix& a, const Matrix& b, Where where) {
  const DType both = promote(a.dtype(), b.dtype());
  const auto in_dtype = [&](const Matrix& m) { return m.dtype() == both ? m : m.astype(both, where); };
  const Layout own = a.layout(), other = b.layout();
  const bool same = own.grid == other.grid && own.block == other.block;
  return {in_dtype(a), in_dtype(same ? b : b.redistributed(own, where))};
}
void need_matrix(const Matrix& a) {
  need_defined(a, "A");
  if (a.is_vector())
    refuse<ShapeError>("WP-SHP-018", say("A must be a matrix, [m, n]; got ", shape_of(a), "."),
                       say("A matrix of one column is ", shape_text(a.rows(), 1), "."));
}
void need_square(const Matrix& a) {
  need_matrix(a);
  if (a.rows() != a.columns())
    refuse<ShapeError>("WP-SHP-016", say("A must be square; got ", shape_of(a), "."),
                       "For a tall or wide A use lstsq or pinv.");
}

std::int64_t Matrix::rows() const noexcept {
  return state_->row.n;
}
std::int64_t Matrix::columns() const noexcept {
  return state_->column.n;
}
DType Matrix::dtype() const noexcept {
  return state_->storage.dtype();
}
bool Matrix::is_vector() const noexcept {
  return state_->vector;
}
Layout Matrix::layout() const {
  return {state_->grid, state_->row.block};
}
std::int64_t Matrix::local_rows() const noexcept {
  return state_->local_rows();
}
std::int64_t Matrix::local_columns() const noexcept {
  return state_->local_columns();
}
std::int64_t Matrix::global_row(std::int64_t i) const noexcept {
  return state_->row.global(i);
}
std::int64_t Matrix::global_column(std::int64_t j) const noexcept {
  return state_->column.global(j);
}
std::string Matrix::to_string() const {
  return say(dtype(), ' ', shape_of(*this), " in blocks of ", state_->row.block, " on ", state_->grid.rows(), " × ",
             state_->grid.columns(), " ranks");
}

Matrix Matrix::from(const Tensor& whole, const Layout& layout, Where where) {
  const Stage stage("dist.from", where);
  const Dims shape = whole.defined() ? whole.shape() : Dims();
  const std::string values =
      whole.defined() ? say(whole.dtype(), ' ', shape, " (hash ", autodiff::checksum(whole), ")") : "nothing";
  meet(say("dist.from ", values, ", ", facts(layout)));
  need_defined(whole, "whole");
  if (shape.size() != 1 && shape.size() != 2)
    refuse<ShapeError>("WP-MPI-009", say("a matrix or a vector is needed; got ", shape, "."));
  const DType dtype = matrix_dtype(whole.dtype());
  return taped_from(
      "dist.from", whole,
      [=](const Tensor& t) {
        Tensor full;
        together([&] { full = wp::packed(t, dtype); });
        return spread(full, layout, shape.size() == 1);
      },
      [](const Matrix& g) { return g.gather(); }, where);
}

Matrix Matrix::generate(std::int64_t rows, std::int64_t columns, DType dtype,
                        const std::function<complex128(std::int64_t, std::int64_t)>& f, const Layout& layout,
                        Where where) {
  const Stage stage("dist.generate", where);
  meet(say("dist.generate ", dtype, ' ', shape_text(rows, columns), ", ", facts(layout)));
  need_matrix_dtype(dtype);
  Matrix a = make_matrix(rows, columns, dtype, layout);
  together([&] {
    linalg::with_float(dtype, [&]<class T>(T) {
      dist::local<T>(a).each([&](std::int64_t i, std::int64_t j, T& v) {
        const complex128 value = f(i, j);
        if constexpr (kernels::RealOf<T>::parts == 2)
          v = T(value);
        else
          v = static_cast<T>(value.real());
      });
    });
  });
  return a;
}

Matrix Matrix::identity(std::int64_t n, DType dtype, const Layout& layout, Where where) {
  return generate(
      n, n, dtype, [](std::int64_t i, std::int64_t j) { return complex128(i == j ? 1 : 0); }, layout, where);
}

Matrix Matrix::from_local(const Tensor& local, std::int64_t rows, std::int64_t columns, const Layout& layout,
                          Where where) {
  const Stage stage("dist.from_local", where);
  meet(say("dist.from_local ", local.defined() ? name(local.dtype()) : "nothing", ' ', shape_text(rows, columns),
           ", ", facts(layout)));
  need_defined(local, "local");
  need_matrix_dtype(local.dtype());
  std::shared_ptr<State> s;
  together([&] {
    s = shaped(rows, columns, layout, false);
    const Dims own{s->row.count(), s->column.count()};
    if (local.shape() != own)
      refuse<ShapeError>("WP-MPI-009",
                         say("this rank has ", own, " of ", shape_text(rows, columns), "; got ", local.shape(), "."),
                         "local_rows() and local_columns() of a matrix with this layout say what it has.");
    s->storage = contiguous(matrix_transpose(local));
  });
  return Matrix(s);
}

Tensor Matrix::local(Where where) const {
  return matrix_transpose(state_->storage, where);
}

Tensor Matrix::gather(Where where) const {
  const Stage stage("dist.gather", where);
  meet(say("dist.gather ", facts(*this)));
  return taped_tensor(
      "dist.gather", *this, [](const Matrix& a) { return brought_together(a); },
      [](const Matrix& a, const Tensor& g) { return from(g, a.layout()); }, where);
}

Matrix Matrix::astype(DType to, Where where) const {
  const Stage stage("dist.astype", where);
  meet(say("dist.astype ", to, ' ', facts(*this)));
  if (matrix_dtype(to) != to || (is_complex(dtype()) && !is_complex(to)))
    refuse<DtypeError>("WP-DTY-003", say(dtype(), " does not become ", to, " in a distributed matrix."));
  if (to == dtype()) return *this;
  const DType own = dtype();
  return taped(
      "dist.astype", {*this}, [to](const Many& in) { return converted(in[0], to); },
      [own](const Many& in, const Matrix&, const Matrix& g) -> Many {
        return {
            with_storage(in[0], wp::astype(is_complex(own) ? g.state().storage : wp::real(g.state().storage), own))};
      },
      where);
}

Matrix Matrix::redistributed(const Layout& layout, Where where) const {
  const Stage stage("dist.redistributed", where);
  meet(say("dist.redistributed ", facts(*this), " to ", facts(layout)));
  return taped(
      "dist.redistributed", {*this},
      [layout](const Many& in) {
        Matrix b = make_matrix(in[0].rows(), in[0].columns(), in[0].dtype(), layout, in[0].is_vector());
        linalg::with_float(b.dtype(), [&]<class T>(T) {
          scalapack::redistribute<T>(b.rows(), b.columns(), dist::local<T>(in[0]), {}, dist::local<T>(b), {},
                                     in[0].state().grid.state().context);
        });
        return b;
      },
      [](const Many& in, const Matrix&, const Matrix& g) -> Many { return {g.redistributed(in[0].layout())}; }, where,
      {Notes::moves});
}

namespace {

Matrix turned(const Matrix& a, bool conjugate, std::string_view name, Where where) {
  const Stage stage(name, where);
  meet(say(name, ' ', facts(a)));
  return taped(
      name, {a},
      [conjugate](const Many& in) {
        Matrix b = make_matrix(in[0].columns(), in[0].rows(), in[0].dtype(), in[0].layout());
        linalg::with_float(b.dtype(), [&]<class T>(T) {
          scalapack::transpose<T>(conjugate, dist::local<T>(in[0]), dist::local<T>(b));
        });
        return b;
      },
      [=](const Many&, const Matrix&, const Matrix& g) -> Many { return {turned(g, conjugate, name, where)}; }, where,
      {Notes::moves});
}

}  // namespace

Matrix Matrix::transposed(Where where) const {
  return turned(*this, false, "dist.transposed", where);
}
Matrix Matrix::adjoint(Where where) const {
  return turned(*this, true, "dist.adjoint", where);
}

template <class T>
void gather_columns(Local<T> a, std::int64_t first, std::int64_t count, T* to) {
  const std::int64_t m = a.row.n;
  std::fill_n(reinterpret_cast<char*>(to), static_cast<std::size_t>(m * count) * sizeof(T), '\0');
  for (std::int64_t j = first; j < first + count; ++j) {
    if (!a.column.mine(j)) continue;
    const std::int64_t column = a.column.local(j);
    for (std::int64_t i = 0; i < a.rows(); ++i) to[a.row.global(i) * count + (j - first)] = a.at(i, column);
  }
  all_join(to, static_cast<std::size_t>(m * count) * sizeof(T));
}

template <class T>
void scatter_columns(const T* from, std::int64_t first, std::int64_t count, Local<T> a) {
  for (std::int64_t j = first; j < first + count; ++j) {
    if (!a.column.mine(j)) continue;
    const std::int64_t column = a.column.local(j);
    for (std::int64_t i = 0; i < a.rows(); ++i) a.at(i, column) = from[a.row.global(i) * count + (j - first)];
  }
}

template <class T>
void gather_rows(Local<T> a, std::int64_t first, std::int64_t count, T* to) {
  const std::int64_t n = a.column.n;
  std::fill_n(reinterpret_cast<char*>(to), static_cast<std::size_t>(n * count) * sizeof(T), '\0');
  for (std::int64_t i = first; i < first + count; ++i) {
    if (!a.row.mine(i)) continue;
    const std::int64_t row = a.row.local(i);
    for (std::int64_t j = 0; j < a.columns(); ++j) to[(i - first) * n + a.column.global(j)] = a.at(row, j);
  }
  all_join(to, static_cast<std::size_t>(n * count) * sizeof(T));
}

#define WP_INSTANTIATE(T)                                                        \
  template void gather_columns(Local<T>, std::int64_t, std::int64_t, T*);        \
  template void scatter_columns(const T*, std::int64_t, std::int64_t, Local<T>); \
  template void gather_rows(Local<T>, std::int64_t, std::int64_t, T*);
WP_FOR_FLOATS(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::dist
