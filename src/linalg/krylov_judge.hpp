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
// to kWhole columns the whole matrix is written down and solved with, else a Krylov space of a vector that has a part
// along all of them is spanned by a few products. Then forward_error, digits, condition, and ill_conditioned where
// they are fewer than a residual of that size promises.
template <class T>
class Judge {
 public:
  Judge(Krylov<T>& k, double damp, bool least_squares) : k_(k), damp_(damp), least_squares_(least_squares) {}

  // `seen`: what the iteration met. `slope`: ‖Aᴴr − damp² x‖, for least squares.
  void operator()(ValueRange seen, const Vector<T>& r, double slope) {
    const double size = norm(k_.x);
    if (k_.out.status != Status::ok || !(size > 0) || !std::isfinite(k_.out.residual)) return;
    double error = Member::unknown;
    if (small())
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
  static constexpr std::int64_t kWhole = 64, kTall = 4096;
  static constexpr std::size_t kSteps = 16;

  bool small() const { return k_.p.a.columns() <= kWhole && k_.p.a.rows() <= kTall; }
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
    Tensor a = Tensor::adopt(detail::make_node(dtype_v<T>, {m, n}));
    T* const to = reinterpret_cast<T*>(a.node()->data);
    for (std::int64_t j = 0; j < n; ++j) {
      Vector<T> unit(static_cast<std::size_t>(n), T(0));
      unit[static_cast<std::size_t>(j)] = T(1);
      const Vector<T> column = k_.apply(unit);
      for (std::int64_t i = 0; i < m; ++i) to[i * n + j] = column[static_cast<std::size_t>(i)];
    }
    const Spectral<T> svd(m, n, {to, n, 1});
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
    multiply(v, 1 / norm(v));
    return v;
  }
  // Aₖ with A V = W Aₖ, V and W orthonormal: its singular values lie among those of A. V from powers of A (Arnoldi),
  // or of AᴴA for least squares (Golub & Kahan 1965).
  void look_around(ValueRange& seen) const {
    std::vector<Vector<T>> v{start()}, w;
    std::vector<std::vector<Sum<T>>> columns;
    const auto away = [](Vector<T>& x, const std::vector<Vector<T>>& from, std::vector<Sum<T>>* parts) {
      for (int pass = 0; pass < 2; ++pass)
        for (std::size_t i = 0; i < from.size(); ++i) {
          const Sum<T> h = dot(from[i], x);
          add<T>(x, -h, from[i]);
          if (parts) (*parts)[i] += h;
        }
    };
    for (std::size_t j = 0; j < kSteps; ++j) {
      Vector<T> image = k_.apply(v[j]);
      const double before = norm(image);
      if (!std::isfinite(before)) return;
      std::vector<Sum<T>> column(w.size() + 1);
      Vector<T> next = least_squares_ ? k_.adjoint(image) : image;
      away(image, w, &column);
      const double length = norm(image);
      column.back() = length > 4 * kUnit<T> * before ? length : 0;
      columns.push_back(std::move(column));
      if (!(length > 4 * kUnit<T> * before)) break;
      multiply(image, 1 / length);
      w.push_back(std::move(image));
      const double size = norm(next);
      away(next, v, nullptr);
      const double rest = norm(next);
      if (!(rest > 4 * kUnit<T> * size)) break;
      multiply(next, 1 / rest);
      v.push_back(std::move(next));
    }
    const std::size_t n = columns.size();
    std::vector<Sum<T>> dense(n * n);
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t i = 0; i < columns[j].size() && i < n; ++i) dense[i * n + j] = columns[j][i];
    const auto order = static_cast<std::int64_t>(n);
    const Spectral<Sum<T>> svd(order, order, {dense.data(), order, 1}, Parts::values);
    if (svd.status() == Status::ok) seen.take(svd.sigma().back(), svd.sigma().front());
  }

  Krylov<T>& k_;
  double damp_;
  bool least_squares_;
};

}  // namespace wp::linalg
