#include "linalg/small.hpp"

#include <algorithm>
#include <memory>
#include <mutex>

#include "kernels/cholesky.hpp"
#include "linalg/judgement.hpp"
#include "linalg/system.hpp"
#include "ops/lines.hpp"
#include "ops/products.hpp"

namespace wp::linalg {

bool fits_lanes(DType result, std::int64_t members, std::int64_t m, std::int64_t n) {
  using kernels::batched::kLargest;
  return (result == f32 || result == f64) && members > 0 && m > 0 && n > 0 && m <= kLargest && n <= kLargest;
}

bool as_given(const Options& o) {
  return o.shift == 0 && (o.assume == Assume::detect || o.assume == Assume::general) && o.method == Method::none;
}

bool plain(const Options& o, const Factors* factors) {
  constexpr double kDigitsOfLanes = 9;
  return as_given(o) && o.ridge.rule == RidgeRule::none && o.refine == Options::Refine::when_it_pays && !o.certify &&
         !o.high && o.min_digits <= kDigitsOfLanes && !(factors && factors->adjoint);
}

template <class T>
LaneStack<T>::LaneStack(const Tensor& a, const Dims& batch) : held_(a) {
  const auto step = [&](const Tensor& t) -> std::int64_t {  // −1: none
    const std::size_t own = t.shape().size() - 2, shift = batch.size() - own;
    std::int64_t unit = 0, expected = 0;
    bool first = true;
    for (std::size_t k = batch.size(); k-- > 0;) {
      if (batch[k] == 1) continue;
      const std::int64_t stride = k >= shift && t.shape()[k - shift] != 1 ? t.strides()[k - shift] : 0;
      if (!first && stride != expected) return -1;
      if (first) unit = stride;
      expected = stride * batch[k];
      first = false;
    }
    return unit;
  };
  std::int64_t by = step(held_);
  if (by < 0) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(count_of(batch)));
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
    held_ = members_of(a, batch, all, a.dtype());
    by = held_.strides()[0];
  }
  const Dims& s = held_.strides();
  source_ = {data_of<const T>(held_), by, s[s.size() - 2], s.back()};
}
template class LaneStack<float>;
template class LaneStack<double>;

std::vector<std::int64_t> marked(const std::uint8_t* marks, std::int64_t members, std::uint8_t mark) {
  std::vector<std::int64_t> out;
  const std::uint8_t* const end = marks + members;
  for (const void* at = marks;
       (at = std::memchr(at, mark, static_cast<std::size_t>(end - static_cast<const std::uint8_t*>(at))));) {
    const auto* const here = static_cast<const std::uint8_t*>(at);
    out.push_back(here - marks);
    at = here + 1;
  }
  return out;
}

Tensor members_of(const Tensor& a, const Dims& batch, const std::vector<std::int64_t>& which, DType dtype) {
  const std::int64_t m = a.shape()[a.shape().size() - 2], n = a.shape().back();
  Tensor out = Tensor::adopt(detail::make_node(dtype, {static_cast<std::int64_t>(which.size()), m, n}));
  with_real(a.dtype(), [&]<class From>(From) {
    with_real(dtype, [&]<class To>(To) {
      const Stack<From> stack(a, batch);
      To* to = data_of<To>(out);
      for (const std::int64_t i : which) {
        const kernels::View<From> from = stack[i];
        for (std::int64_t r = 0; r < m; ++r)
          for (std::int64_t c = 0; c < n; ++c) *to++ = static_cast<To>(from.data[r * from.rows + c * from.columns]);
      }
    });
  });
  return out;
}

void put_members(const Tensor& from, const std::vector<std::int64_t>& which, std::int64_t each, const Tensor& to) {
  with_real(to.dtype(), [&]<class To>(To) {
    const double* at = data_of<const double>(from);
    for (const std::int64_t i : which)
      for (std::int64_t e = 0; e < each; ++e) data_of<To>(to)[i * each + e] = static_cast<To>(*at++);
  });
}

namespace {

// rcond of every member, made when first asked for.
class Conditions {
 public:
  Conditions(Tensor a, Dims batch, Tensor known)
      : a_(std::move(a)), batch_(std::move(batch)), rcond_(std::move(known)) {}
  double operator[](std::int64_t member) const {
    std::call_once(once_, [&] {
      if (!rcond_.defined()) compute();
    });
    return data_of<const double>(rcond_)[member];
  }
  const Tensor& matrix() const { return a_; }
  const Dims& batch() const { return batch_; }

 private:
  void compute() const {
    const std::int64_t members = count_of(batch_), n = a_.shape().back();
    rcond_ = Tensor::adopt(detail::make_node(f64, {members}));
    with_real(a_.dtype(), [&]<class T>(T) {
      const LaneStack<T> stack(a_, batch_);
      run_lanes(members, n, data_of<double>(rcond_),
                [&](Range range, Marks marks) { kernels::batched::condition<T>(n, stack.source(), range, marks); });
    });
  }
  const Tensor a_;
  const Dims batch_;
  mutable std::once_flag once_;
  mutable Tensor rcond_;
};

// With Cholesky's word on whether a symmetric matrix is positive definite.
Structure member_structure(const Conditions& c, std::int64_t member) {
  const Tensor one = members_of(c.matrix(), c.batch(), {member}, f64);
  const std::int64_t n = one.shape().back();
  auto* const m = data_of<double>(one);
  const Structure s = structure_of<double>(n, m);
  return s == Structure::spd && kernels::cholesky_factor<double>(n, {m, n, 1}) >= 0 ? Structure::symmetric : s;
}

}  // namespace

Verdicts::Detail system_detail(const Tensor& a, const Dims& batch, const Tensor& rcond, double factor) {
  const auto known = std::make_shared<const Conditions>(a, batch, rcond);
  return [known, factor](std::int64_t member, Verdict& v) {
    v.rcond = (*known)[member];
    v.structure = member_structure(*known, member);
    conclude<double>(v, kUnit<double> * std::max(1.0, factor / v.rcond), -1);
  };
}

}  // namespace wp::linalg
