// How good the answers of iterative solvers are: a residual says little of x where A is ill-conditioned.
#pragma once
#include "linalg/krylov.hpp"
#include "linalg/spectral.hpp"

namespace wp::linalg {

// What is known of the least and the largest singular value, from inside of their range.
struct ValueRange {
  double low = HUGE_VAL, high = 0;
  void take(double l, double h) {
    if (!(l <= h)) return;
    low = std::min(low, l);
    high = std::max(high, h);
  }
  bool known() const { return high > 0; }
};

// Looks at the operator beside the way that the iteration took, on which some of its singular values may not lie: up
// to 64 columns the whole matrix is written down and solved with, else a Krylov space of a vector that has a part
// along all of them is spanned by a few products; neither if the options say so. Then forward_error, digits,
// condition, and ill_conditioned where they are fewer than a residual of that size promises.
template <class T>
class Judge {
 public:
  Judge(Krylov<T>& k, double damp, bool least_squares) : k_(k), damp_(damp), least_squares_(least_squares) {}

  // `seen`: what the iteration met. `slope`: ‖Aᴴr − damp² x‖, for least squares.
  void operator()(ValueRange seen, const Vector<T>& r, double slope) {
    const double size = norm(k_.x);
    if (!k_.p.options.judge || k_.out.status != Status::ok || !(size > 0) || !std::isfinite(k_.out.residual)) return;
    double error = Member::unknown;
    if (is_small(k_.p.a))
      error = by_matrix(seen, r, slope, size);
    else
      look_around(seen);
    if (!seen.known()) return;
    if (std::isnan(error)) error = error_of(seen, norm(r), slope, size);
    k_.out.condition = seen.high / seen.low;
    k_.out.forward_error = std::isnan(error) ? 1 : std::min(error, 1.0);
    k_.out.digits = digits_of(k_.out.forward_error, kUnit<T>);
    if (k_.out.digits < wanted()) k_.out.status = Status::ill_conditioned;
  }

 private:
  static constexpr std::size_t kSteps = 16;

  // Six digits (three), or what the residual that was asked for can give: three fewer than it has, at least one.
  double wanted() const {
    const double usual = kUnit<T> < 1e-10 ? 6 : 3, asked = k_.b_norm > 0 ? k_.out.target / k_.b_norm : 1;
    return std::clamp(asked > 0 ? -std::log10(asked) - 3 : usual, 1.0, usual);
  }
  // Residuals have an error of u‖A‖‖x‖ from products alone; κ²·u‖r‖ for least squares (Wedin 1973).
  double rounding(const ValueRange& s, double rest, double size) const {
    const double least = std::hypot(s.low, damp_), condition = least > 0 ? s.high / least : HUGE_VAL;
    return kUnit<T> * condition * (1 + (least_squares_ ? condition * rest / s.high / size : 0));
  }
  double error_of(const ValueRange& s, double rest, double slope, double size) const {
    const double square = s.low * s.low + damp_ * damp_;
    const double left = !(square > 0) ? HUGE_VAL : least_squares_ ? slope / square : rest / s.low;
    return left / size + rounding(s, rest, size);
  }

  double by_matrix(ValueRange& seen, const Vector<T>& r, double slope, double size) const {
    const std::int64_t m = k_.p.a.rows(), n = k_.p.a.columns();
    const Tensor a = written_down(k_.p.a);
    const Spectral<T> svd(m, n, {reinterpret_cast<const T*>(a.node()->data), n, 1});
    if (svd.status() != Status::ok || svd.sigma().empty()) return Member::unknown;
    const double threshold = static_cast<double>(std::max(m, n)) * 2 * kUnit<T> * svd.largest();
    const std::int64_t rank = svd.rank(threshold);
    if (rank == 0) return Member::unknown;
    const bool full = rank == std::min(m, n);
    seen = {};
    seen.take(full || least_squares_ ? svd.sigma()[static_cast<std::size_t>(rank - 1)] : svd.sigma().back(),
              svd.largest());
    if (!full && !least_squares_) return 1;  // more than one x has this residual
    if (damp_ != 0) return error_of(seen, norm(r), slope, size);
    const Tensor rest = Krylov<T>::tensor_of(r);
    const Tensor d = least_squares_ ? diagnosed::lstsq(a, rest).value : diagnosed::solve(a, rest).value;
    return norm(Krylov<T>::vector_of(d)) / size + rounding(seen, norm(r), size);
  }

  Vector<T> start() const {
    Vector<T> v(static_cast<std::size_t>(k_.p.a.columns()));
    std::uint64_t state = 0x9e3779b97f4a7c15u;
    for (T& e : v) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      e = T(static_cast<typename kernels::RealOf<T>::type>(static_cast<double>(state >> 40) * 0x1p-23 - 1));
    }
    return v;
  }
  // Aₖ with A V = W Aₖ, V and W orthonormal: its singular values lie among those of A. V from powers of A, where W is
  // V with one vector more (Arnoldi 1951), or of AᴴA for least squares (Golub & Kahan 1965).
  void look_around(ValueRange& seen) const {
    Basis<T> v, w;
    std::vector<Sum<T>> unused;
    std::vector<std::vector<Sum<T>>> columns;
    v.add_rest(start(), unused);
    for (bool more = true; more;) {
      const Vector<T> image = k_.apply(v[columns.size()]);
      if (!std::isfinite(norm(image))) return;
      std::vector<Sum<T>> column;
      const double below = (least_squares_ ? w : v).add_rest(image, column);
      column.push_back(below);
      columns.push_back(std::move(column));
      more = columns.size() < kSteps && below > 0 && (!least_squares_ || v.add_rest(k_.adjoint(image), unused) > 0);
    }
    const std::size_t n = columns.size(), m = columns.back().size();
    std::vector<Sum<T>> dense(m * n);
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t i = 0; i < columns[j].size(); ++i) dense[i * n + j] = columns[j][i];
    const auto width = static_cast<std::int64_t>(n);
    const Spectral<Sum<T>> svd(static_cast<std::int64_t>(m), width, {dense.data(), width, 1}, Parts::values);
    if (svd.status() == Status::ok) seen.take(svd.sigma().back(), svd.sigma().front());
  }

  Krylov<T>& k_;
  double damp_;
  bool least_squares_;
};

}  // namespace wp::linalg
