#include "wellposed/linear_operator.hpp"

#include <mutex>

#include "base/pool.hpp"
#include "base/text.hpp"
#include "linalg/refine.hpp"
#include "linalg/stack.hpp"
#include "ops/lines.hpp"
#include "wellposed/linalg.hpp"
#include "wellposed/ops.hpp"

namespace wp::linalg {

struct LinearOperator::State {
  std::int64_t rows, columns;
  DType dtype;
  Apply apply, adjoint;
  Tensor stored = {};
};

namespace {

constexpr std::string_view kName = "LinearOperator";

DType operator_dtype(DType d) {
  return d == DType::f16 || d == DType::bf16 ? f32 : is_floating(d) ? d : f64;
}

// A callable's result, or an argument, as a contiguous vector of n elements.
Tensor vector_of(const Tensor& x, std::int64_t n, DType dtype, std::string_view what) {
  if (!x.defined() || x.shape() != Dims{n})
    raise<ShapeError>("WP-SHP-017", kName,
                      say(what, " must be a vector of ", plural(n, "element"), "; got ",
                          x.defined() ? say(x.shape()) : std::string("nothing"), "."));
  if (is_complex(x.dtype()) && !is_complex(dtype))
    raise<DtypeError>("WP-DTY-004", kName, say(what, " is ", x.dtype(), ", the operator ", dtype, "."),
                      "Make a complex operator.");
  return context().listeners ? astype(x, dtype) : packed(x, dtype);
}

// Σ over the elements of each row, in the order they are stored; sums of f32 in f64.
template <class T>
struct Csr {
  std::int64_t rows, columns;
  std::vector<std::int64_t> starts, places;
  std::vector<T> values;

  Tensor times(const Tensor& x) const {
    Tensor y = Tensor::adopt(detail::make_node(dtype_v<T>, {rows}));
    const T* const from = reinterpret_cast<const T*>(x.node()->data);
    T* const to = reinterpret_cast<T*>(y.node()->data);
    parallel_for(rows, 4096, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        Sum<T> sum = 0;
        for (std::int64_t k = starts[static_cast<std::size_t>(i)]; k < starts[static_cast<std::size_t>(i + 1)]; ++k) {
          const auto e = static_cast<std::size_t>(k);
          sum += Sum<T>(values[e]) * Sum<T>(from[places[e]]);
        }
        to[i] = static_cast<T>(sum);
      }
    });
    return y;
  }
  Csr adjoint() const {
    Csr out{columns, rows, std::vector<std::int64_t>(static_cast<std::size_t>(columns + 1)), places, values};
    for (const std::int64_t j : places) ++out.starts[static_cast<std::size_t>(j + 1)];
    for (std::size_t j = 0; j < static_cast<std::size_t>(columns); ++j) out.starts[j + 1] += out.starts[j];
    std::vector<std::int64_t> next(out.starts.begin(), out.starts.end() - 1);
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t k = starts[static_cast<std::size_t>(i)]; k < starts[static_cast<std::size_t>(i + 1)]; ++k) {
        const auto e = static_cast<std::size_t>(k);
        const auto to = static_cast<std::size_t>(next[static_cast<std::size_t>(places[e])]++);
        out.places[to] = i;
        out.values[to] = conjugate(values[e]);
      }
    return out;
  }
};

std::vector<std::int64_t> integers(const Tensor& t, std::string_view what) {
  if (!t.defined() || t.ndim() != 1 || !is_integer(t.dtype()))
    raise<ShapeError>("WP-SHP-011", kName, say(what, " must be a 1-d array of integers."));
  const Tensor wide = packed(t, i64);
  const auto* const v = reinterpret_cast<const std::int64_t*>(wide.node()->data);
  return {v, v + wide.size()};
}

void check_csr(const std::vector<std::int64_t>& starts, const std::vector<std::int64_t>& places, std::int64_t stored,
               std::int64_t rows, std::int64_t columns) {
  const auto n = static_cast<std::int64_t>(places.size());
  if (static_cast<std::int64_t>(starts.size()) != rows + 1 || starts.front() != 0 || starts.back() != n)
    raise<ShapeError>("WP-SHP-017", kName,
                      say("indptr must have rows + 1 elements, from 0 to the number of indices; got ", starts.size(),
                          " elements for ", rows, " rows, and ", plural(n, "index"), "."));
  if (stored != n)
    raise<ShapeError>("WP-SHP-017", kName,
                      say("data must be as long as indices; got ", stored, " and ", n, " elements."));
  for (std::size_t i = 0; i + 1 < starts.size(); ++i)
    if (starts[i] > starts[i + 1])
      raise<ArgumentError>(
          "WP-ARG-001", kName,
          say("indptr must not fall; got ", starts[i], " before ", starts[i + 1], " at row ", i, "."));
  for (std::size_t k = 0; k < places.size(); ++k)
    if (places[k] < 0 || places[k] >= columns)
      raise<IndexError>("WP-IDX-002", kName,
                        say("indices[", k, "] = ", places[k], " is outside of ", plural(columns, "column"), "."));
}

}  // namespace

LinearOperator::LinearOperator(const Tensor& matrix) {
  if (!matrix.defined() || matrix.ndim() != 2)
    raise<ShapeError>("WP-SHP-008", kName,
                      say("needs a matrix [m, n]; got ", matrix.defined() ? say(matrix.shape()) : "nothing", "."));
  const DType dtype = operator_dtype(matrix.dtype());
  const Tensor a = astype(matrix, dtype);
  state_ = std::make_shared<const State>(State{
      a.shape()[0], a.shape()[1], dtype, [a](const Tensor& x) { return matmul(a, x); },
      [a](const Tensor& y) {  // Aᴴ y is the conjugate of Aᵀ ȳ: no copy of A
        return is_complex(a.dtype()) ? conj(matmul(matrix_transpose(a), conj(y))) : matmul(matrix_transpose(a), y);
      },
      matrix});
}

LinearOperator::LinearOperator(std::int64_t rows, std::int64_t columns, DType dtype, Apply apply, Apply adjoint) {
  if (rows < 0 || columns < 0)
    raise<ShapeError>("WP-SHP-002", kName, say("lengths must not be negative; got ", rows, " × ", columns, "."));
  if (dtype != f32 && dtype != f64 && dtype != c64 && dtype != c128)
    raise<DtypeError>("WP-DTY-003", kName, say("dtype must be f32, f64, c64 or c128; got ", dtype, "."));
  if (!apply) raise<ArgumentError>("WP-ARG-002", kName, "needs a callable x ↦ A x.");
  state_ = std::make_shared<const State>(State{rows, columns, dtype, std::move(apply), std::move(adjoint)});
}

LinearOperator LinearOperator::csr(const Tensor& indptr, const Tensor& indices, const Tensor& data, std::int64_t rows,
                                   std::int64_t columns) {
  auto starts = integers(indptr, "indptr"), places = integers(indices, "indices");
  if (!data.defined() || data.ndim() != 1) raise<ShapeError>("WP-SHP-011", kName, "data must be a 1-d array.");
  check_csr(starts, places, data.size(), rows, columns);
  const DType dtype = operator_dtype(data.dtype());
  return with_float(dtype, [&]<class T>(T) {
    const Tensor values = packed(data, dtype);
    const T* const v = reinterpret_cast<const T*>(values.node()->data);
    struct Both {
      Csr<T> plain, turned;
      std::once_flag once;
    };
    auto both = std::make_shared<Both>();
    both->plain = {rows, columns, std::move(starts), std::move(places), std::vector<T>(v, v + values.size())};
    // To a tape the product is made of ops, with the data as they were given.
    const auto recorded = [both, given = astype(data, dtype)](const Tensor& x, bool adjoint) {
      const Csr<T>& a = both->plain;
      std::vector<std::int64_t> row_of(a.places.size());
      for (std::size_t i = 0; i + 1 < a.starts.size(); ++i)
        std::fill(row_of.begin() + a.starts[i], row_of.begin() + a.starts[i + 1], static_cast<std::int64_t>(i));
      const Dims shape{static_cast<std::int64_t>(a.places.size())};
      const Tensor rows_of = Tensor::from(row_of, shape), columns_of = Tensor::from(a.places, shape);
      const Tensor terms = adjoint ? multiply(conj(given), take(x, rows_of)) : multiply(given, take(x, columns_of));
      return scatter(zeros({adjoint ? a.columns : a.rows}, {.dtype = x.dtype()}), adjoint ? columns_of : rows_of,
                     terms, {.mode = "add"});
    };
    return LinearOperator(std::make_shared<const State>(State{
        rows, columns, dtype,
        [both, recorded](const Tensor& x) { return context().listeners ? recorded(x, false) : both->plain.times(x); },
        [both, recorded](const Tensor& y) {
          if (context().listeners) return recorded(y, true);
          std::call_once(both->once, [&] { both->turned = both->plain.adjoint(); });
          return both->turned.times(y);
        },
        data}));
  });
}

std::int64_t LinearOperator::rows() const noexcept {
  return state_->rows;
}
std::int64_t LinearOperator::columns() const noexcept {
  return state_->columns;
}
DType LinearOperator::dtype() const noexcept {
  return state_->dtype;
}
bool LinearOperator::has_adjoint() const noexcept {
  return static_cast<bool>(state_->adjoint);
}
const Tensor& LinearOperator::stored() const noexcept {
  return state_->stored;
}

Tensor LinearOperator::operator()(const Tensor& x) const {
  const State& s = *state_;
  return vector_of(s.apply(vector_of(x, s.columns, s.dtype, "x")), s.rows, s.dtype, "A x");
}
Tensor LinearOperator::apply_adjoint(const Tensor& y) const {
  const State& s = *state_;
  if (!s.adjoint) raise<ArgumentError>("WP-ARG-002", kName, "has no adjoint.", "Give a second callable, y ↦ Aᴴ y.");
  return vector_of(s.adjoint(vector_of(y, s.rows, s.dtype, "y")), s.columns, s.dtype, "Aᴴ y");
}

LinearOperator LinearOperator::adjoint() const {
  const LinearOperator a = *this;
  if (!has_adjoint()) a.apply_adjoint(Tensor());  // says why not
  return {columns(), rows(), dtype(), [a](const Tensor& y) { return a.apply_adjoint(y); },
          [a](const Tensor& x) { return a(x); }};
}

LinearOperator operator+(const LinearOperator& a, const LinearOperator& b) {
  if (a.rows() != b.rows() || a.columns() != b.columns())
    raise<ShapeError>("WP-SHP-014", kName,
                      say("operators to add must have one shape; got ", a.rows(), " × ", a.columns(), " and ",
                          b.rows(), " × ", b.columns(), "."));
  LinearOperator::Apply adjoint;
  if (a.has_adjoint() && b.has_adjoint())
    adjoint = [a, b](const Tensor& y) { return add(a.apply_adjoint(y), b.apply_adjoint(y)); };
  return {a.rows(), a.columns(), promote(a.dtype(), b.dtype()), [a, b](const Tensor& x) { return add(a(x), b(x)); },
          adjoint};
}
LinearOperator operator*(const LinearOperator& a, const LinearOperator& b) {
  if (a.columns() != b.rows())
    raise<ShapeError>("WP-SHP-014", kName,
                      say("the first operator must have as many columns as the second has rows; got ", a.rows(),
                          " × ", a.columns(), " and ", b.rows(), " × ", b.columns(), "."));
  LinearOperator::Apply adjoint;
  if (a.has_adjoint() && b.has_adjoint())
    adjoint = [a, b](const Tensor& y) { return b.apply_adjoint(a.apply_adjoint(y)); };
  return {a.rows(), b.columns(), promote(a.dtype(), b.dtype()), [a, b](const Tensor& x) { return a(b(x)); }, adjoint};
}
LinearOperator operator*(const Scalar& factor, const LinearOperator& a) {
  const complex128 f(factor.real(), factor.imag());
  const bool complex = factor.kind() == Scalar::Kind::complex;
  const DType dtype = complex ? promote(a.dtype(), c64) : a.dtype();
  const auto times = [complex](complex128 c, const Tensor& x) {
    return complex ? multiply(x, c) : multiply(x, c.real());
  };
  LinearOperator::Apply adjoint;
  if (a.has_adjoint()) adjoint = [a, f, times](const Tensor& y) { return times(std::conj(f), a.apply_adjoint(y)); };
  return {a.rows(), a.columns(), dtype, [a, f, times](const Tensor& x) { return times(f, a(x)); }, adjoint};
}

}  // namespace wp::linalg
