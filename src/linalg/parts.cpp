// The factors of a system as matrices.
#include "kernels/each_float.hpp"
#include "kernels/lapack.hpp"
#include "linalg/system.hpp"

namespace wp::linalg {

template <class T>
std::optional<typename System<T>::Parts> System<T>::parts() const {
  if (banded_ || !factored()) return std::nullopt;
  const auto size = [](std::int64_t v) { return static_cast<std::size_t>(v); };
  const T* const m = factors_.data();
  const Dense<T> whole(n_, n_, {m, n_, 1});
  const auto triangle = [&](const Dense<T>& of, bool upper, bool unit) {
    Dense<T> out(n_, n_);
    for (std::int64_t i = 0; i < n_; ++i)
      for (std::int64_t j = upper ? i : 0; j < (upper ? n_ : i + 1); ++j)
        out(i, j) = unit && i == j ? T(1) : of(i, j);
    return out;
  };
  Parts p{verdict_.method, {}, {}, {}, {}, {}, {}, rows_, columns_};
  p.rows.resize(size(n_));
  p.columns.resize(size(n_));
  switch (verdict_.method) {
    case Method::cholesky: p.l = triangle(whole, false, false); break;
    case Method::ldl:
      p.order = indefinite_->order();
      p.l = p.d = Dense<T>(n_, n_);
      indefinite_->unpack(p.l.data.data(), p.d.data.data());
      break;
    case Method::lu:
      for (std::int64_t i = 0; i < n_; ++i) p.order.push_back(i);
      for (std::int64_t i = 0; i < n_; ++i) std::swap(p.order[size(i)], p.order[size(pivots_[size(i)])]);
      p.l = triangle(whole, false, true);
      p.u = triangle(whole, true, false);
      break;
    case Method::qr: {
      p.r = triangle(Dense<T>(n_, n_, {m, 1, n_}), true, false);
      Dense<T> q = Dense<T>::identity(n_);  // column-major, as LAPACK wants it
      lapack::apply_q<T>(lapack::Side::left, lapack::Op::none, n_, n_, n_, m, n_, reflectors_.data(), q.data.data(),
                         n_);
      p.q = q.transposed();
      break;
    }
    default:
      (verdict_.structure == Structure::upper ? p.u : p.l) =
          triangle(whole, verdict_.structure == Structure::upper, false);
  }
  return p;
}

#define WP_INSTANTIATE(T) template std::optional<System<T>::Parts> System<T>::parts() const;
WP_FOR_FLOATS(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::linalg
