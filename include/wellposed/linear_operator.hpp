// Linear maps that need not be written down as matrices.
#pragma once
#include <functional>
#include <memory>

#include "wellposed/tensor.hpp"

namespace [[gnu::visibility("default")]] wp {
namespace linalg {

// An m × n map known by what it does to vectors. dtype f32, f64, c64 or c128. Copies share; thread-safe if its
// callables are.
class LinearOperator {
 public:
  using Apply = std::function<Tensor(const Tensor&)>;

  // A matrix [m, n]; integers count as f64, f16 and bf16 as f32.
  LinearOperator(const Tensor& matrix);  // NOLINT: implicit on purpose
  // apply: x [n] ↦ A x [m]; adjoint: y [m] ↦ Aᴴ y [n], needed by lsmr and adjoint() only.
  LinearOperator(std::int64_t rows, std::int64_t columns, DType dtype, Apply apply, Apply adjoint = {});
  // Compressed sparse rows: row i has data[k] in column indices[k] for indptr[i] ≤ k < indptr[i + 1]. Elements that
  // are named twice are added.
  static LinearOperator csr(const Tensor& indptr, const Tensor& indices, const Tensor& data, std::int64_t rows,
                            std::int64_t columns);

  std::int64_t rows() const noexcept;
  std::int64_t columns() const noexcept;
  DType dtype() const noexcept;
  bool has_adjoint() const noexcept;
  // The matrix [m, n], or the data of compressed rows; undefined if only what A does to vectors is known.
  const Tensor& stored() const noexcept;

  // A x for one vector [n]; Aᴴ y for one vector [m]. Raise ShapeError for vectors of another length, also for those
  // that a callable returns.
  Tensor operator()(const Tensor& x) const;
  Tensor apply_adjoint(const Tensor& y) const;
  LinearOperator adjoint() const;

  friend LinearOperator operator+(const LinearOperator& a, const LinearOperator& b);
  friend LinearOperator operator*(const LinearOperator& a, const LinearOperator& b);  // x ↦ A (B x)
  friend LinearOperator operator*(const Scalar& factor, const LinearOperator& a);

 private:
  struct State;
  explicit LinearOperator(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace linalg
}  // namespace gnu::visibility("default")]]wp
