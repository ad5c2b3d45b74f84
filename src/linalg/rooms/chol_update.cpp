#include <cmath>

#include "base/text.hpp"
#include "kernels/condition.hpp"
#include "kernels/exponents.hpp"
#include "kernels/numbers.hpp"
#include "kernels/triangular.hpp"
#include "linalg/members.hpp"
#include "linalg/prescaled.hpp"
#include "linalg/rules.hpp"
#include "linalg/solving.hpp"
#include "linalg/spectral.hpp"
#include "linalg/system.hpp"
#include "ops/derivative.hpp"
#include "ops/reduce.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_linalg_chol_update;
namespace {

using namespace linalg;

// Axes of x2 that are no batch: one vector, or a matrix of columns.
std::int64_t trailing(const Call& c) {
  return c.attr(1).flag() ? 2 : 1;
}
Dims batch_both(const Call& c) {
  return broadcast(batch_of(c.in[0]), batch_of(c.in[1], trailing(c)));
}

void infer(Call& c) {
  const std::int64_t n = square_size(c.in[0], "x1");
  const Tensor& x = c.in[1];
  const std::int64_t own = trailing(c);
  if (x.ndim() < own || x.shape()[x.shape().size() - static_cast<std::size_t>(own)] != n)
    refuse<ShapeError>("WP-SHP-017",
                       say("x2 must be [..., n", own == 2 ? ", k" : "", "] for x1 [..., n, n]; got x1 ",
                           c.in[0].shape(), ", x2 ", x.shape(), "."),
                       own == 1 ? "With columns = true, x2 is [..., n, k]." : "");
  c.key = float_result(common_dtype(c));
  Dims shape = batch_both(c);
  shape.push_back(n);
  shape.push_back(n);
  c.output(c.key, shape);
}

// The lower triangle L (row-major) and a vector x, scaled by one power of two.
template <class T>
class Factor {
 public:
  using R = typename kernels::RealOf<T>::type;
  Factor(std::int64_t n, T* l, std::vector<T> x) : n_(n), l_(l), x_(std::move(x)) {}

  // [L x]·G = [L′ 0] by Givens rotations of column j with x (Golub & Van Loan 2013, §6.5.4).
  void add() {
    for (std::int64_t j = 0; j < n_; ++j) rotate(j, std::real(l_[j * n_ + j]), x_[at(j)]);
  }

  // L·Lᴴ − x·xᴴ is positive definite if and only if ‖a‖ < 1, L·a = x. Rotations that take (a, ρ), ρ² = 1 − ‖a‖², to
  // (0, …, 0, 1) take [L 0] to [L′ x] (LINPACK's xCHDD; Saunders 1972). Returns ρ², negative if there is no L′.
  double subtract() {
    std::vector<T> a = x_;
    kernels::solve_triangular<T>({false, false}, n_, 1, {l_, n_, 1}, {a.data(), 1, 1});
    const double norm = kernels::norms<T>(n_, 1, {a.data(), 1, 1}).frobenius;
    const double rest = (1 - norm) * (1 + norm);
    if (!(rest > 0)) return -1;
    R rho = static_cast<R>(std::sqrt(rest));
    std::fill(x_.begin(), x_.end(), T(0));
    for (std::int64_t j = n_; j-- > 0;) {
      const R size = std::hypot(rho, std::abs(a[at(j)])), c = rho / size;
      const T s = a[at(j)] / size;
      // Column j of [L 0] loses its part along (a, ρ): lⱼ ← c·lⱼ − conj(s)·x … with x ← s̄·lⱼ + c·x.
      for (std::int64_t i = j; i < n_; ++i) {
        T& l = l_[i * n_ + j];
        T& x = x_[at(i)];
        const T old = l;
        l = c * old - conjugate(s) * x;
        x = s * old + c * x;
      }
      rho = size;
    }
    make_positive();
    return rest;
  }

 private:
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
  void rotate(std::int64_t j, R d, T y) {
    const R size = std::hypot(d, std::abs(y));
    if (size == 0) return;
    const R c = d / size;
    const T s = y / size;
    for (std::int64_t i = j; i < n_; ++i) {
      T& l = l_[i * n_ + j];
      T& x = x_[at(i)];
      const T old = l;
      l = c * old + conjugate(s) * x;
      x = c * x - s * old;
    }
    l_[j * n_ + j] = T(size);
  }
  // Columns with a negative diagonal element change sign.
  void make_positive() {
    for (std::int64_t j = 0; j < n_; ++j) {
      const bool turn = std::real(l_[j * n_ + j]) < 0;
      l_[j * n_ + j] = T(std::abs(std::real(l_[j * n_ + j])));
      for (std::int64_t i = j + 1; i < n_ && turn; ++i) l_[i * n_ + j] = -l_[i * n_ + j];
    }
  }

  std::int64_t n_;
  T* l_;
  std::vector<T> x_;
};

// What is left of L·Lᴴ along the columns of X: the least eigenvalue of 1 − YᴴY with L·Y = X. Not positive: L·Lᴴ −
// X·Xᴴ is not definite.
template <class T>
double left_along(std::int64_t n, std::int64_t k, const T* l, std::vector<T> x) {
  if (n == 0 || k == 0) return 1;
  kernels::solve_triangular<T>({false, false}, n, k, {l, n, 1}, {x.data(), k, 1});
  if (k == 1) {
    const double norm = kernels::norms<T>(n, 1, {x.data(), 1, 1}).frobenius;
    return (1 - norm) * (1 + norm);
  }
  const Spectral<T> y(n, k, {x.data(), k, 1}, Parts::values);
  return y.status() == Status::ok ? (1 - y.sigma()[0]) * (1 + y.sigma()[0]) : -1;
}

// How good L′ is. Solving with L and rotating leave errors up to ε‖Lᵢ‖ in row i of L and X, so L′L′ᴴ is off by ΔA,
// |ΔA| ≤ 2ε d dᵀ with dᵢ = ‖Lᵢ‖, and to first order ΔL′ = L′ Φ(L′⁻¹ ΔA L′⁻ᴴ), Φ the lower triangle with half its
// diagonal (Stewart 1977): |L′⁻¹ ΔA L′⁻ᴴ| ≤ 2ε w wᵀ with w = |L′⁻¹| d.
struct DowndateError {
  double relative = 0;  // of L′, to its largest element
  double change = 0;    // the largest element of 2ε w wᵀ: from 1 on, nothing says that L′ exists
};
template <class T>
DowndateError downdate_error(std::int64_t n, const T* l, const std::vector<double>& w, double epsilon) {
  DowndateError out;
  double most = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    double sum = 0;  // Σ |L′ᵢₖ| wₖ over k > j, and half of k = j
    for (std::int64_t j = i + 1; j-- > 0;) {
      const double size = std::abs(std::complex<double>(l[i * n + j])), mine = w[static_cast<std::size_t>(j)];
      most = std::max(most, size);
      out.relative = std::max(out.relative, 2 * epsilon * mine * (sum + size * mine / 2));
      sum += size * mine;
    }
    out.change = std::max(out.change, 2 * epsilon * w[static_cast<std::size_t>(i)] * w[static_cast<std::size_t>(i)]);
  }
  out.relative = most > 0 ? out.relative / most : 0;
  return out;
}
// w from above in O(n²), by substitution in which nothing cancels; where that says too little, with L′⁻¹ itself.
template <class T>
DowndateError downdate_error(std::int64_t n, std::int64_t k, const T* l, const std::vector<double>& d) {
  const double epsilon = std::sqrt(static_cast<double>(std::max<std::int64_t>(n, 1))) *
                         static_cast<double>(std::max<std::int64_t>(k, 1)) * kUnit<T>;
  std::vector<double> w = d;
  for (std::int64_t i = 0; i < n; ++i) {
    double& mine = w[static_cast<std::size_t>(i)];
    for (std::int64_t j = 0; j < i; ++j)
      mine += std::abs(std::complex<double>(l[i * n + j])) * w[static_cast<std::size_t>(j)];
    mine /= std::abs(std::complex<double>(l[i * n + i]));
  }
  const DowndateError above = downdate_error(n, l, w, epsilon);
  if (above.relative <= kGoodEnough && above.change < 1) return above;
  std::vector<T> inverse(l, l + n * n);
  kernels::invert_triangular<T>({.upper = false, .unit = false}, n, {inverse.data(), n, 1});
  for (std::int64_t i = 0; i < n; ++i) {
    double& mine = w[static_cast<std::size_t>(i)];
    mine = 0;
    for (std::int64_t j = 0; j <= i; ++j)
      mine += std::abs(std::complex<double>(inverse[static_cast<std::size_t>(i * n + j)])) *
              d[static_cast<std::size_t>(j)];
  }
  return downdate_error(n, l, w, epsilon);
}

// Exponents that bring the largest element of all to [1/2, 1), or, where small ones would be lost beside it, that of
// each row of [L X]: D L and D X have the factor D L′.
template <class T>
std::vector<int> row_exponents(std::int64_t n, std::int64_t k, const T* l, const std::vector<T>& x) {
  const kernels::View<T> left{l, n, 1}, right{x.data(), k, 1};
  const kernels::Reach a = kernels::reach<T>(n, n, left), b = kernels::reach<T>(n, k, right);
  const int most = std::max(a.most, b.most);
  std::vector<int> out(static_cast<std::size_t>(n), most == kernels::kNoExponent ? 0 : most);
  const auto far = [&](int least) {
    return least != kernels::kNoExponent && least - most < kernels::kRoom<typename kernels::RealOf<T>::type>;
  };
  if (!far(a.least) && !far(b.least)) return out;
  for (std::int64_t i = 0; i < n; ++i) {
    const int row =
        std::max(kernels::reach<T>(1, n, left.from(i, 0)).most, kernels::reach<T>(1, k, right.from(i, 0)).most);
    out[static_cast<std::size_t>(i)] = row == kernels::kNoExponent ? 0 : row;
  }
  return out;
}

// L′ of one member, row-major: one column of X after the other. Where the last matrix is definite, so are all before.
template <class T>
Verdict update(std::int64_t n, std::int64_t k, kernels::View<T> given, kernels::View<T> vectors, bool downdate,
               T* l) {
  Verdict v;
  v.method = Method::cholesky;
  v.structure = Structure::spd;
  std::vector<T> x;
  bool finite = true;
  const auto take = [&](T e) {
    const double size =
        std::max(std::fabs(static_cast<double>(std::real(e))), std::fabs(static_cast<double>(std::imag(e))));
    finite = finite && std::isfinite(size);
    return e;
  };
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < k; ++j) x.push_back(take(vectors.data[i * vectors.rows + j * vectors.columns]));
    for (std::int64_t j = 0; j < n; ++j)
      l[i * n + j] = j < i    ? take(given.data[i * given.rows + j * given.columns])
                     : j == i ? T(std::real(take(given.data[i * (given.rows + given.columns)])))
                              : T(0);
  }
  v.status = finite ? Status::ok : Status::nonfinite_input;
  if (!finite) return v;
  const std::vector<int> e = row_exponents<T>(n, k, l, x);
  const auto shift_rows = [&](std::int64_t each, T* rows, int sign) {
    for (std::int64_t i = 0; i < n * each; ++i)
      rows[i] = times_power(rows[i], sign * e[static_cast<std::size_t>(i / each)]);
  };
  shift_rows(n, l, -1);
  shift_rows(k, x.data(), -1);
  double rest = downdate ? left_along<T>(n, k, l, x) : 1;
  std::vector<double> rows;  // their norms
  for (std::int64_t i = 0; i < n && downdate; ++i)
    rows.push_back(kernels::norms<T>(1, n, {l + i * n, n, 1}).frobenius);
  for (std::int64_t j = 0; j < k && rest > 0; ++j) {
    std::vector<T> column;
    for (std::int64_t i = 0; i < n; ++i) column.push_back(x[static_cast<std::size_t>(i * k + j)]);
    Factor<T> factor(n, l, std::move(column));
    if (!downdate)
      factor.add();
    else if (factor.subtract() < 0)
      rest = -1;
  }
  if (downdate) {
    const DowndateError found = rest > 0 ? downdate_error(n, k, l, rows) : DowndateError{1, 1};
    v.rcond = std::max(rest, 0.0);
    v.forward_error = n > 0 ? std::max(kUnit<T> / v.rcond, std::min(found.relative, 1.0)) : 0;
    v.digits = digits_of(v.forward_error, kUnit<T>);
    v.status = rest > 0 ? status_of(v.digits, -1, kUnit<T>) : Status::not_spd;
    if (v.status == Status::singular || !(found.change < 1)) v.status = Status::not_spd;
    if (v.status == Status::ill_conditioned)
      v.reason = say("has a downdated factor of which about ", std::lround(std::floor(v.digits)),
                     " digits can be vouched for.");
  }
  shift_rows(n, l, 1);
  return v;
}

template <class T>
void run(const Call& c, const Tensor& a, const Tensor& x, Diagnosis::State& state, const Result& out) {
  const std::int64_t n = a.shape().back();
  const Stack<T> factors(a, state.batch), vectors(x, state.batch, trailing(c));
  const std::int64_t k = trailing(c) == 2 ? x.shape().back() : 1;
  for_members(static_cast<std::int64_t>(state.verdicts.size()), n, [&](std::int64_t i) {
    T* const to = out.data<T>() + i * n * n;
    Verdict& v = state.verdicts[static_cast<std::size_t>(i)];
    v = update<T>(n, k, factors[i], vectors[i], c.attr(0).flag(), to);
    if (v.status > Status::ill_conditioned) fill_nan(to, n * n);
  });
}

void forward(Call& c) {
  const DType work = working_dtype(c.key, c.in[0].shape().back());
  const Tensor a = brought(c.in[0], work), x = brought(c.in[1], work);
  auto state = new_state(c, batch_both(c));
  state->matrix = Tensor();
  Result out(c.out[0], work);
  with_float(work, [&]<class T>(T) { run<T>(c, a, x, *state, out); });
  out.finish();
  settle(c, std::move(state), policy_of(c, 2),
         "The matrix without x2 is not positive definite: factor it anew with cholesky, or subtract less.");
}

// The lower triangle of x1's member; all of x2's.
void flow(const FlowQuery& q, Visit visit) {
  const std::int64_t n = q.call.in[0].shape().back();
  const std::int64_t own = q.input == 0 ? 2 : trailing(q.call);
  const std::int64_t k = q.input == 1 && own == 2 ? q.call.in[1].shape().back() : 1;
  const std::int64_t member = own_member(q.element / (n * n), batch_both(q.call), batch_of(q.call.in[q.input], own));
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < k && q.input == 1; ++j) visit((member * n + i) * k + j);
    for (std::int64_t j = 0; j <= i && q.input == 0; ++j) visit((member * n + i) * n + j);
  }
}

// A′ = L Lᴴ ± x xᴴ.
Tensors vjp(const Backward& b) {
  const bool vector = !b.attr(1).flag();
  const Tensor g = multiply(cholesky_cotangent(b.out[0], b.g()), 2);
  const Tensor l = tril(b.in[0]), x = vector ? expand_dims(b.in[1], {.axis = -1}) : b.in[1];
  const Tensor own = tril(matmul(g, l));
  const Tensor of_x = vector ? squeeze(matmul(g, x), -1) : matmul(g, x);
  // Of L's diagonal the real part is read.
  const Tensor diagonal = tril(triu(own));
  return {is_complex(own.dtype()) ? subtract(own, subtract(diagonal, hermitian(diagonal))) : own,
          b.attr(0).flag() ? negative(of_x) : of_x};
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  using Values = std::vector<complex128>;
  const auto add = [&](DType d, const Dims& sl, const Values& l, const Dims& sx, const Values& x,
                       std::string_view covers, Attr downdate = false, Attr if_ill = "raise", Attr columns = false) {
    out.push_back({{sample_tensor(d, sl, l), sample_tensor(d, sx, x)}, {downdate, columns, if_ill}, covers});
  };
  for (int k = 0; k < kDTypes; ++k)
    if (const auto d = static_cast<DType>(k); is(d, op_linalg_chol_update.params[0].kinds)) {
      add(d, {3, 3}, {2, 7, 7, 1, 2, 7, 1, 3, 4}, {3}, {1, 2, 3}, {});
      add(d, {3, 3}, {4, 7, 7, 1, 5, 7, 1, 3, 4}, {3}, {1, 2, 3}, "downdate", true);
    }
  for (const DType d : {c64, c128}) {
    add(d, {2, 2}, {2, 7, {1, 1}, 3}, {2}, {{1, 2}, {0, 1}}, {});
    add(d, {2, 2}, {4, 7, {1, 1}, 3}, {2}, {{1, 2}, {0, 1}}, "downdate", true);
  }
  for (const DType d : {f32, f64, c128})
    for (const bool downdate : {false, true})
      add(d, {3, 3}, {5, 7, 7, 1, 6, 7, 1, 3, 7}, {3, 2}, {1, 1, 1, 2, 0, 1}, "columns", downdate, "raise", true);
  add(f64, {2, 2}, {2, 0, 1, 2}, {2, 2}, {1.5, 0, 0, 1.9}, "not positive definite", true, "nan", true);
  add(f64, {2, 2}, {2, 0, 1, 2}, {3, 2, 1}, {1, 2, 3, 4, 5, 6}, "batches broadcast", false, "raise", true);
  add(f64, {2, 2}, {2, 0, 1, 2}, {2, 0}, {0}, "columns", true, "raise", true);
  add(f64, {2, 2, 2}, {2, 0, 1, 2, 3, 0, 2, 1}, {2}, {1, 3}, "batches broadcast");
  add(f64, {2, 2}, {1e300, 0, 1e300, 2e300}, {2}, {1e300, 3e300}, "near overflow");
  add(f64, {2, 2}, {2, 0, 1, 2}, {2}, {2, 1}, "not positive definite", true, "nan");
  add(f64, {2, 2}, {2, 0, 1, 2}, {2}, {9, 1}, "not positive definite", true, "nan");
  add(f64, {0, 0}, {0}, {0}, {0}, "empty");
  add(f64, {2, 2}, {1, 0, 1, 1}, {2}, {1, HUGE_VAL}, "not finite", false, "nan");
  return out;
}

}  // namespace

const Op op_linalg_chol_update = {
    .name = "chol_update",
    .ns = "linalg",
    .group = "linear algebra",
    .doc =
        "The Cholesky factor of A + x2 conj(x2)ᵀ, or with downdate = true of A - x2 conj(x2)ᵀ, from the lower factor "
        "x1 of A in O(n²) per column; leading axes broadcast. A downdate that is not positive definite is refused.",
    .params = {{"x1", kinds::numeric}, {"x2", kinds::numeric}},
    .attrs = {{"downdate", AttrType::boolean, false, "Subtract instead of add."},
              {"columns", AttrType::boolean, false, "x2 is a matrix of k columns, [..., n, k], and not one vector."},
              policy_attr()},
    .infer = infer,
    .forward = forward,
    .diagnoses = true,
    .notes = Notes::gives,
    .flow = flow,
    .vjp = vjp,
    .saves_inputs = 3,
    .saves_outputs = 1,
    .branches = {"downdate", "columns", "batches broadcast", "near overflow", "not positive definite", "empty",
                 "not finite"},
    .samples = samples,
};

}  // namespace wp
