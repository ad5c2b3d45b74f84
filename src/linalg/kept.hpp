// Decompositions of a stack of matrices that outlive a call: what linalg::Factored hands to solve, inv, det, lstsq
// and pinv with the matrix.
#pragma once
#include <atomic>
#include <memory>
#include <tuple>
#include <vector>

#include "linalg/members.hpp"
#include "linalg/quad.hpp"
#include "linalg/spectral.hpp"
#include "linalg/system.hpp"

namespace wp::linalg {

// Made when first asked for. Threads that ask at the same time may each make one, and the first is kept: nobody waits
// for a thread that may itself wait for the pool.
template <class X>
class Lazy {
 public:
  Lazy() = default;
  Lazy(const Lazy&) = delete;
  Lazy& operator=(const Lazy&) = delete;
  ~Lazy() { delete value_.load(); }
  template <class Make>
  const X& get(Make&& make) const {
    if (const X* const there = value_.load(std::memory_order_acquire)) return *there;
    std::unique_ptr<const X> fresh = make();
    const X* first = nullptr;
    if (value_.compare_exchange_strong(first, fresh.get())) return *fresh.release();
    return *first;
  }

 private:
  mutable std::atomic<const X*> value_ = nullptr;
};

// Computed in T. m × n matrices.
template <class T>
class KeptIn {
 public:
  KeptIn(Tensor a, const Options& options, std::atomic<std::int64_t>& made);
  const System<T>& system(std::int64_t member) const;
  const Spectral<T>& spectral(std::int64_t member) const;
  const Balanced<T>& balanced(std::int64_t member) const;
  const QuadLu<T>& quad(std::int64_t member) const;
  std::int64_t members() const { return static_cast<std::int64_t>(pieces_.size()); }

 private:
  struct Piece {
    Lazy<System<T>> system;
    Lazy<Spectral<T>> spectral;
    Lazy<Balanced<T>> balanced;
    Lazy<QuadLu<T>> quad;
  };
  template <class X, class... Rest>
  std::unique_ptr<const X> made(Rest&&... rest) const {
    made_.fetch_add(1, std::memory_order_relaxed);
    return std::make_unique<const X>(std::forward<Rest>(rest)...);
  }

  const Tensor a_;
  const MatrixSizes sizes_;
  const Stack<T> stack_;
  const Options& options_;
  std::atomic<std::int64_t>& made_;
  std::vector<Piece> pieces_;
};

class Kept {
 public:
  Kept(Tensor a, Options options) : a_(std::move(a)), options_(std::move(options)) {}
  const Tensor& matrix() const noexcept { return a_; }
  const Options& options() const noexcept { return options_; }
  // For a call that computes in T: a real matrix meets complex right-hand sides in complex arithmetic.
  template <class T>
  const KeptIn<T>& in() const {
    return std::get<Lazy<KeptIn<T>>>(kept_).get(
        [&] { return std::make_unique<const KeptIn<T>>(brought(a_, dtype_v<T>), options_, made_); });
  }
  std::int64_t made() const noexcept { return made_.load(); }  // decompositions so far

 private:
  const Tensor a_;
  const Options options_;
  mutable std::atomic<std::int64_t> made_ = 0;
  std::tuple<Lazy<KeptIn<float>>, Lazy<KeptIn<double>>, Lazy<KeptIn<complex64>>, Lazy<KeptIn<complex128>>> kept_;
};

// What goes with a call whose first argument is the matrix, or its adjoint.
struct Factors final : Prepared {
  std::shared_ptr<const Kept> kept;
  bool adjoint;
  Factors(std::shared_ptr<const Kept> k, bool turned) : kept(std::move(k)), adjoint(turned) {}
};
// Null: none were handed over.
const Factors* factors_of(const Call& c);

// What a call finds kept in T, for members of a batch that the matrix broadcasts to. Without: nothing.
template <class T>
class KeptFor {
 public:
  KeptFor(const Factors* factors, const Dims& batch) : factors_(factors), batch_(batch) {
    if (!factors) return;
    own_ = batch_of(factors->kept->matrix());
    kept_ = &factors->kept->template in<T>();
  }
  explicit operator bool() const noexcept { return kept_ != nullptr; }
  bool adjoint() const noexcept { return factors_ && factors_->adjoint; }
  const System<T>& system(std::int64_t member) const { return kept_->system(own(member)); }
  const QuadLu<T>& quad(std::int64_t member) const { return kept_->quad(own(member)); }
  // f(Spectral) of the m × n matrix that the call sees: kept, or of a. `high`: made anew, with high accuracy.
  template <class F>
  decltype(auto) spectral(std::int64_t member, std::int64_t m, std::int64_t n, kernels::View<T> a, bool high,
                          F&& f) const {
    if (high) return f(Spectral<T>(m, n, a, Parts::thin, true));
    if (!kept_) return f(Spectral<T>(m, n, a));
    const Spectral<T>& there = kept_->spectral(own(member));
    return adjoint() ? f(there.adjoint()) : f(there);
  }
  template <class F>
  decltype(auto) balanced(std::int64_t member, std::int64_t m, std::int64_t n, kernels::View<T> a, F&& f) const {
    return kept_ && !adjoint() ? f(kept_->balanced(own(member))) : f(Balanced<T>(m, n, a));
  }

 private:
  std::int64_t own(std::int64_t member) const;
  const Factors* factors_;
  Dims batch_, own_;
  const KeptIn<T>* kept_ = nullptr;
};

}  // namespace wp::linalg
