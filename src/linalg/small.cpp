#include "linalg/small.hpp"

#include <algorithm>
#include <memory>

#include "kernels/cholesky.hpp"
#include "linalg/judgement.hpp"
#include "linalg/members.hpp"
#include "linalg/spectral.hpp"
#include "linalg/system.hpp"
#include "ops/lines.hpp"
#include "ops/products.hpp"
#include "wellposed/threads.hpp"

namespace wp::linalg {

bool fits_lanes(DType result, std::int64_t members, std::int64_t m, std::int64_t n) {
  using kernels::batched::kLargest;
  return (result == f32 || result == f64) && members > 0 && m > 0 && n > 0 && m <= kLargest && n <= kLargest;
}

// Each strip of columns is eliminated for anew: of few rows that is little, of many a single matrix would feel it.
bool columns_fit_lanes(std::int64_t longest, std::int64_t columns) {
  return columns > 0 && (longest <= 8 || columns <= 4 * kernels::batched::kLargest);
}

bool free_to_factor(const Options& o) {
  return o.shift == 0 && (o.assume == Assume::detect || o.assume == Assume::general) && o.method == Method::none;
}

bool plain(const Options& o, const Factors* factors) {
  constexpr double kDigitsOfLanes = 9;
  return free_to_factor(o) && o.ridge.rule == RidgeRule::none && o.refine == Options::Refine::when_it_pays &&
         !o.certify && !o.high && o.min_digits <= kDigitsOfLanes && !(factors && factors->adjoint);
}

template <class T>
LaneStack<T>::LaneStack(const Tensor& a, const Dims& batch)
    : stack_(a, batch), rows_(a.shape()[a.shape().size() - 2]), columns_(a.shape().back()) {
  const auto step = [&]() -> std::int64_t {  // −1: none
    const std::size_t own = a.shape().size() - 2, shift = batch.size() - own;
    std::int64_t unit = 0, expected = 0;
    bool first = true;
    for (std::size_t k = batch.size(); k-- > 0;) {
      if (batch[k] == 1) continue;
      const std::int64_t stride = k >= shift && a.shape()[k - shift] != 1 ? a.strides()[k - shift] : 0;
      if (!first && stride != expected) return -1;
      if (first) unit = stride;
      expected = stride * batch[k];
      first = false;
    }
    return unit;
  };
  const Dims& s = a.strides();
  source_ = {data_of<const T>(a), step(), s[s.size() - 2], s.back()};
}
template <class T>
void LaneStack<T>::copy(Range range, T* to) const {
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    const kernels::View<T> from = stack_[i];
    for (std::int64_t r = 0; r < rows_; ++r)
      for (std::int64_t c = 0; c < columns_; ++c) *to++ = from.data[r * from.rows + c * from.columns];
  }
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

void doubt_rank(std::int64_t n, double rtol, Range range, Marks marks) {
  const double least = (1 + 0x1p-20) * static_cast<double>(n) * rtol;
  for (std::int64_t i = range.begin; i < range.end; ++i)
    if (!(marks.rcond[i] > least)) marks.redo[i] = 1;
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

namespace {

// `each` numbers per member of `from` to their places in `to`.
template <class From, class To>
void put_members(const From* from, const std::vector<std::int64_t>& which, std::int64_t each, To* to) {
  for (const std::int64_t i : which)
    for (std::int64_t e = 0; e < each; ++e) to[i * each + e] = static_cast<To>(*from++);
}

}  // namespace

void redo(const std::vector<std::int64_t>& doubtful, std::int64_t given, const Tensors& outputs, Verdicts& all,
          const Careful& careful) {
  constexpr std::int64_t kMost = 1024;
  const auto members = static_cast<std::int64_t>(all.size());
  std::int64_t numbers = given;
  for (const Tensor& to : outputs) numbers += to.defined() ? to.size() / members : 0;
  const std::int64_t together = std::min(kMost, threads() * at_once(numbers));
  for (auto first = doubtful.begin(); first != doubtful.end();) {
    const auto last = first + std::min<std::ptrdiff_t>(together, doubtful.end() - first);
    const std::vector<std::int64_t> which(first, last);
    first = last;
    const auto count = static_cast<std::int64_t>(which.size());
    Tensors answers(outputs.size());
    for (std::size_t k = 0; k < outputs.size(); ++k)
      if (const Tensor& to = outputs[k]; to.defined())
        answers[k] = Tensor::adopt(detail::make_node(to.dtype() == i64 ? i64 : f64, {count, to.size() / members}));
    Verdicts verdicts;
    verdicts.resize(which.size());
    careful(which, answers, verdicts);
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const Tensor &from = answers[k], &to = outputs[k];
      if (!to.defined()) continue;
      const std::int64_t each = to.size() / members;
      if (to.dtype() == i64)
        put_members(data_of<const std::int64_t>(from), which, each, data_of<std::int64_t>(to));
      else
        with_real(to.dtype(),
                  [&]<class To>(To) { put_members(data_of<const double>(from), which, each, data_of<To>(to)); });
    }
    all.take(verdicts, which);
  }
}

namespace {

// 1/(‖A‖₁‖A⁻¹‖₁).
void inverse_conditions(const Tensor& a, const Dims& batch, double* rcond) {
  const std::int64_t n = a.shape().back();
  with_real(a.dtype(), [&]<class T>(T) {
    const LaneStack<T> stack(a, batch);
    run_lanes(count_of(batch), n, rcond, [&](Range range, Marks marks) {
      stack.over(range, [&](const kernels::batched::Source<T>& from, Range part) {
        kernels::batched::condition<T>(n, from, part, marks);
      });
    });
  });
}

// With Cholesky's word on whether a symmetric matrix is positive definite.
Structure member_structure(const Conditions& c, std::int64_t member) {
  const Tensor one = c.matrix(member);
  const std::int64_t n = one.shape().back();
  auto* const m = data_of<double>(one);
  const Structure s = structure_of<double>(n, m);
  return s == Structure::spd && kernels::cholesky_factor<double>(n, {m, n, 1}) >= 0 ? Structure::symmetric : s;
}

}  // namespace

double Conditions::operator[](std::int64_t member) const {
  std::call_once(once_, [&] {
    if (rcond_.defined()) return;
    rcond_ = Tensor::adopt(detail::make_node(f64, {count_of(batch_)}));
    measure_(a_, batch_, data_of<double>(rcond_));
  });
  return data_of<const double>(rcond_)[member];
}

void spectral_conditions(const Tensor& a, const Dims& batch, double* rcond) {
  const MatrixSizes s(a);
  const std::int64_t members = count_of(batch);
  with_real(a.dtype(), [&]<class T>(T) {
    const LaneStack<T> stack(a, batch);
    kernels::Buffer<T> values(members * s.k);
    const std::vector<std::int64_t> doubtful =
        run_lanes(members, s.longest(), nullptr, [&](Range range, Marks marks) {
          stack.over(range, [&](const kernels::batched::Source<T>& from, Range part) {
            kernels::batched::svd<T>(s.m, s.n, false, from, part, nullptr, values.data(), nullptr, marks);
          });
        });
    for (std::int64_t i = 0; i < members; ++i)
      rcond[i] = static_cast<double>(values.data()[(i + 1) * s.k - 1]) / static_cast<double>(values.data()[i * s.k]);
    for (const std::int64_t i : doubtful) {
      const Tensor one = members_of(a, batch, {i}, f64);
      const Spectral<double> svd(s.m, s.n, {data_of<const double>(one), s.n, 1}, Parts::values);
      rcond[i] = svd.status() == Status::ok ? svd.rcond(s.k) : Member::unknown;
    }
  });
}

double inverse_error(std::int64_t n, double rcond) {
  constexpr std::int64_t kOneByOne = 8;
  return n == 1 ? kUnit<double> : kUnit<double> * (static_cast<double>(std::min(n, kOneByOne)) + 2 / rcond);
}
double refined_error(std::int64_t, double) {
  return kUnit<double>;
}
double determinant_error(std::int64_t n, double rcond) {
  return n == 1 ? kUnit<double> : kUnit<double> * static_cast<double>(2 * n) / rcond;
}

Verdicts::Detail system_detail(const Tensor& a, const Dims& batch, const Tensor& rcond, ErrorByCondition* error) {
  const auto known = std::make_shared<const Conditions>(a, batch, inverse_conditions, rcond);
  return [known, error, n = a.shape().back()](std::int64_t member, Verdict& v) {
    v.rcond = (*known)[member];
    v.structure = member_structure(*known, member);
    conclude<double>(v, error(n, v.rcond), -1);
  };
}

}  // namespace wp::linalg
