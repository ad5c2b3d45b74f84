// Linear algebra on many processes: matrices that no single one holds, by MPI and ScaLAPACK. Not part of
// wellposed.hpp: link wellposed::wellposed_mpi in the place of wellposed::wellposed, and start with mpirun.
//
// Every function here is collective: all ranks call it, in the same order and with the same arguments. Ranks that
// differ are told so, all of them: a mismatch is an ArgumentError or ShapeError on every rank, never a deadlock. What
// goes wrong on one rank is raised on all. Options, policies, verdicts and messages are those of wp::linalg.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "wellposed/gradient_tape.hpp"
#include "wellposed/linalg.hpp"
#include "wellposed/tensor.hpp"

namespace [[gnu::visibility("default")]] wp {
namespace dist {

using Where = std::source_location;

// Starts MPI, and ends it. One per process, made before all else of this header; programs that have started MPI
// themselves may make one too. Ranks other than 0 print no findings. With WELLPOSED_RECORD = a folder (it is made),
// every rank records into a file of its own there (rank-0000.wpr); `wellposed postmortem FOLDER` reads them together.
class Session {
 public:
  Session();
  ~Session();  // meets the other ranks once more
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};
int rank();
int size();

// A whole program: a session, and `program` in it. An exception is printed once (rank 0), whoever threw it; a rank
// that fails alone ends the others. Returns the exit code: what program returns, 1 for a finding about numbers, 3 for
// bad input, 4 for a defect.
int run(const std::function<int()>& program);

// Ranks as rows × columns. Rank r is in row r / columns.
class Grid {
 public:
  Grid() noexcept = default;  // as square as the number of ranks allows, not taller than wide
  Grid(int rows, int columns, Where where = Where::current());  // ArgumentError unless rows·columns = size()
  int rows() const;
  int columns() const;
  int row() const;  // of this rank
  int column() const;
  bool operator==(const Grid& other) const { return rows() == other.rows() && columns() == other.columns(); }
  struct State;
  const State& state() const;

 private:
  std::shared_ptr<const State> state_;  // null: of the ranks that there are
};

// How a matrix is spread: block (i, j) of `block` × `block` elements is on rank (i mod rows, j mod columns).
struct Layout {
  Grid grid = {};
  std::int64_t block = 0;  // to 1024; 0: 64, smaller for matrices that would not reach every rank otherwise
};

struct LoadMatrixOptions {
  std::optional<Dims> shape = std::nullopt;   // what the file must hold: [m, n] or [m]
  std::optional<DType> dtype = std::nullopt;  // what it becomes; none: as stored, integers as f64
  Layout layout = {};
};

// An m × n matrix of f32, f64, c64 or c128 whose blocks are on the ranks of a grid. A value: copies share, nothing
// changes it. A vector is a matrix with one column that files and gather() show as 1-d; functions take it as
// right-hand side, factor of a product or for its norm, and refuse it as A.
class Matrix {
 public:
  Matrix() = default;  // of nothing
  // Reads a .npy file, every rank its own part: [m, n] or [m]. Raises FileError, FormatError; ShapeError where the
  // file is not what options.shape promises.
  static Matrix load(const std::string& path, const LoadMatrixOptions& options = {}, Where where = Where::current());
  // From a tensor that every rank has, with the same values: each keeps its part.
  static Matrix from(const Tensor& whole, const Layout& layout = {}, Where where = Where::current());
  // Element (i, j) is f(i, j), called by the rank that holds it.
  static Matrix generate(std::int64_t rows, std::int64_t columns, DType dtype,
                         const std::function<complex128(std::int64_t i, std::int64_t j)>& f,
                         const Layout& layout = {}, Where where = Where::current());
  static Matrix identity(std::int64_t n, DType dtype = f64, const Layout& layout = {},
                         Where where = Where::current());
  // From what each rank holds, [local_rows(), local_columns()] as a matrix of this shape has it there.
  static Matrix from_local(const Tensor& local, std::int64_t rows, std::int64_t columns, const Layout& layout = {},
                           Where where = Where::current());

  bool defined() const noexcept { return state_ != nullptr; }
  std::int64_t rows() const noexcept;
  std::int64_t columns() const noexcept;
  DType dtype() const noexcept;
  bool is_vector() const noexcept;
  Layout layout() const;
  std::int64_t local_rows() const noexcept;
  std::int64_t local_columns() const noexcept;
  // The row of the whole that local row i is, and the same for columns.
  std::int64_t global_row(std::int64_t i) const noexcept;
  std::int64_t global_column(std::int64_t j) const noexcept;

  // What this rank holds, [local_rows, local_columns]. Not collective.
  Tensor local(Where where = Where::current()) const;
  // The whole, on every rank: for results that are small.
  Tensor gather(Where where = Where::current()) const;
  // Writes a .npy file, every rank its own part; there is the whole new file or what was there before.
  void save(const std::string& path, Where where = Where::current()) const;
  Matrix redistributed(const Layout& layout, Where where = Where::current()) const;
  Matrix astype(DType dtype, Where where = Where::current()) const;
  Matrix transposed(Where where = Where::current()) const;
  Matrix adjoint(Where where = Where::current()) const;
  std::string to_string() const;  // "f64 [1000, 1000] in blocks of 64 on 2 × 2 ranks"

  struct State;
  explicit Matrix(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  const State& state() const noexcept { return *state_; }

 private:
  std::shared_ptr<const State> state_;
};

template <class R>
using Diagnosed = linalg::Diagnosed<R>;
using linalg::CholeskyOptions;
using linalg::CondOptions;
using linalg::EighOptions;
using linalg::InvOptions;
using linalg::LogdetOptions;
using linalg::LstsqOptions;
using linalg::LuOptions;
using linalg::MatrixRankOptions;
using linalg::PinvOptions;
using linalg::QrOptions;
using linalg::SolveOptions;
using linalg::SvdvalsOptions;

// Two matrices are brought to one dtype, and the second to the layout of the first.
// A matrix of at most 1000 rows and columns that is in doubt is brought to one place and judged by wp::linalg itself;
// certify, method = "ldl" and the accuracy "high" of decompositions are there up to that size. `out` is not taken.

// A X = B for square A. As linalg::solve, with its options: equilibrated, factored by p?getrf (p?potrf, p?trtrs,
// p?geqrf where structure or growth say so), judged by an estimate of ‖A⁻¹‖₁ and by the corrections of residuals in
// twice the precision. A matrix that is singular to working precision is refused with the rows and columns that
// depend on each other, by their global numbers. Memory: A, the factors and X. The exception carries no values: the
// diagnosis says what there is to know.
Matrix solve(const Matrix& a, const Matrix& b, const SolveOptions& options = {}, Where where = Where::current());
Matrix inv(const Matrix& a, const InvOptions& options = {}, Where where = Where::current());
// The shortest X that minimises ‖A X − B‖, of any shape and rank: by QR where that is safe, else by the singular
// values above rtol times the largest.
Matrix lstsq(const Matrix& a, const Matrix& b, const LstsqOptions& options = {}, Where where = Where::current());
Matrix pinv(const Matrix& a, const PinvOptions& options = {}, Where where = Where::current());

struct LuResult {
  std::vector<std::int64_t> order;  // row i of P A is row order[i] of A, on every rank
  Matrix L, U;                      // of min(m, n) columns, rows
};
struct QrResult {
  Matrix Q, R;
};
struct SvdResult {
  Matrix U;
  Tensor S;  // on every rank, falling
  Matrix Vh;
};
struct EighResult {
  Tensor eigenvalues;  // on every rank, rising
  Matrix eigenvectors;
};
struct SvdOptions {
  bool full_matrices = false;  // square U and Vh
  std::string_view if_ill = "raise", accuracy = "normal";
  std::optional<std::vector<std::string>> names = std::nullopt;  // labels of the columns
};
Matrix cholesky(const Matrix& a, const CholeskyOptions& options = {}, Where where = Where::current());
LuResult lu(const Matrix& a, const LuOptions& options = {}, Where where = Where::current());
QrResult qr(const Matrix& a, const QrOptions& options = {}, Where where = Where::current());
SvdResult svd(const Matrix& a, const SvdOptions& options = {}, Where where = Where::current());
Tensor svdvals(const Matrix& a, const SvdvalsOptions& options = {}, Where where = Where::current());
EighResult eigh(const Matrix& a, const EighOptions& options = {}, Where where = Where::current());

// conjugate transposes where asked for.
struct MatmulOptions {
  bool adjoint_a = false, adjoint_b = false;
};
Matrix matmul(const Matrix& a, const Matrix& b, const MatmulOptions& options = {}, Where where = Where::current());
// ord: as linalg::matrix_norm (1, -1, 2, -2, inf, -inf, "fro", "nuc"), or "max", "inf"; nothing overflows on the way.
// On every rank.
double matrix_norm(const Matrix& a, const Setting& ord = "fro", Where where = Where::current());
double cond(const Matrix& a, const CondOptions& options = {}, Where where = Where::current());
// -1 where there is none (if_ill = nan).
std::int64_t matrix_rank(const Matrix& a, const MatrixRankOptions& options = {}, Where where = Where::current());
// log |det A| of a positive definite A as linalg::logdet; 0-d, on every rank.
Tensor logdet(const Matrix& a, const LogdetOptions& options = {}, Where where = Where::current());

// The same with their diagnoses; numerical trouble does not raise.
namespace diagnosed {
Diagnosed<Matrix> solve(const Matrix& a, const Matrix& b, const SolveOptions& options = {},
                        Where where = Where::current());
Diagnosed<Matrix> inv(const Matrix& a, const InvOptions& options = {}, Where where = Where::current());
Diagnosed<Matrix> lstsq(const Matrix& a, const Matrix& b, const LstsqOptions& options = {},
                        Where where = Where::current());
Diagnosed<Matrix> pinv(const Matrix& a, const PinvOptions& options = {}, Where where = Where::current());
Diagnosed<Matrix> cholesky(const Matrix& a, const CholeskyOptions& options = {}, Where where = Where::current());
Diagnosed<Tensor> logdet(const Matrix& a, const LogdetOptions& options = {}, Where where = Where::current());
Diagnosed<LuResult> lu(const Matrix& a, const LuOptions& options = {}, Where where = Where::current());
Diagnosed<QrResult> qr(const Matrix& a, const QrOptions& options = {}, Where where = Where::current());
Diagnosed<SvdResult> svd(const Matrix& a, const SvdOptions& options = {}, Where where = Where::current());
Diagnosed<Tensor> svdvals(const Matrix& a, const SvdvalsOptions& options = {}, Where where = Where::current());
Diagnosed<double> cond(const Matrix& a, const CondOptions& options = {}, Where where = Where::current());
Diagnosed<std::int64_t> matrix_rank(const Matrix& a, const MatrixRankOptions& options = {},
                                    Where where = Where::current());
Diagnosed<EighResult> eigh(const Matrix& a, const EighOptions& options = {}, Where where = Where::current());
}  // namespace diagnosed

// All that is to be known of a matrix: the diagnosis of its inverse (pseudo-inverse, where it is not square) with
// rank, condition and gap, and as value its singular values, on every rank; none of a matrix that is not finite.
Diagnosed<Tensor> diagnose(const Matrix& a, const InvOptions& options = {}, Where where = Where::current());

// A stack [batch, …] that every rank has: each rank runs f on its share of the members, and all ranks get all
// results, with one diagnosis entry per member. f must give one result per member: [share, …]; it runs on one rank
// alone and cannot call functions of this header.
Diagnosed<Tensor> map(const Tensor& stack, const std::function<Diagnosed<Tensor>(const Tensor& share)>& f,
                      Where where = Where::current());

// Derivatives. Every rank has a tape of its own and runs the same program; real or complex numbers on every rank
// (sum, logdet, dot) are one number, not one per rank.
void watch(GradientTape& tape, const Matrix& a);
// As tape.gradient; a matrix of nothing where the loss does not depend on a (options.unconnected = "none").
Matrix gradient(GradientTape& tape, const Tensor& loss, const Matrix& a, const GradientOptions& options = {},
                Where where = Where::current());
Tensor sum(const Matrix& a, Where where = Where::current());
Tensor dot(const Matrix& a, const Matrix& b, Where where = Where::current());  // Re Σ conj(a) b

// What this rank has sent and computed since the session began.
struct Traffic {
  std::int64_t messages = 0;  // sent, also inside ScaLAPACK; a broadcast or reduction counts log₂ of its ranks
  std::int64_t bytes = 0;     // of them
  double flops = 0;           // of factorisations and products, by their formulas, per rank
};
Traffic traffic();

}  // namespace dist
}  // namespace gnu::visibility("default")]]wp
