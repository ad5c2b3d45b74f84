// Stacks of small real matrices: all through lanes first (kernels/batched), then what those leave in doubt the
// careful way, as a stack of its own.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <vector>

#include "base/pool.hpp"
#include "kernels/batched/lanes.hpp"
#include "linalg/dense.hpp"
#include "linalg/kept.hpp"
#include "linalg/stack.hpp"
#include "linalg/verdict.hpp"

namespace wp::linalg {

using kernels::batched::Marks;
using kernels::batched::Range;

// Whether lanes take members × (m × n) matrices of a result in this dtype. What has more rows or columns, or is
// complex or narrower than f32, goes the careful way.
bool fits_lanes(DType result, std::int64_t members, std::int64_t m, std::int64_t n);
// And whether right-hand sides of so many columns do.
bool columns_fit_lanes(std::int64_t longest, std::int64_t columns);

// Whether the matrix that is meant is the one that is given, to be factored as it suits.
bool free_to_factor(const Options& options);
// And nothing is asked for but an answer and its digits.
bool plain(const Options& options, const Factors* factors);

// Calls f(float{}) or f(double{}).
template <class F>
decltype(auto) with_real(DType dtype, F&& f) {
  return dtype == f32 ? f(float{}) : f(double{});
}
// Null: there is no such tensor.
template <class T>
T* data_of(const Tensor& t) {
  return t.defined() ? reinterpret_cast<T*>(t.node()->data) : nullptr;
}

// Of how many members copies are made at once, `numbers` of each: about 128 KiB of doubles, and as many as fill
// lanes.
inline std::int64_t at_once(std::int64_t numbers) {
  constexpr std::int64_t kNumbers = 1 << 14, kLanes = 8;
  return std::max(kLanes, kNumbers / numbers / kLanes * kLanes);
}

// The members of a over a batch that it broadcasts to.
template <class T>
class LaneStack {
 public:
  LaneStack(const Tensor& a, const Dims& batch);
  // f(source, range) for all members of a range: where they stand at equal distances; else some copies at a time.
  template <class F>
  void over(Range range, F&& f) const {
    if (source_.step >= 0) return f(source_, range);
    const std::int64_t each = rows_ * columns_, some = at_once(each);
    kernels::Buffer<T> copies(some * each);
    for (Range part{range.begin, range.begin}; part.begin < range.end; part.begin = part.end) {
      part.end = std::min(range.end, part.begin + some);
      copy(part, copies.data());
      f(kernels::batched::Source<T>{copies.data(), each, columns_, 1, part.begin}, part);
    }
  }

 private:
  void copy(Range range, T* to) const;
  Stack<T> stack_;
  std::int64_t rows_, columns_;
  kernels::batched::Source<T> source_;  // step < 0: there is none
};

// The members with this mark, in order.
std::vector<std::int64_t> marked(const std::uint8_t* marks, std::int64_t members, std::uint8_t mark);

// fast(Range, Marks) for all members, on all threads; returns those in doubt. `size`: of a member's longer side.
// rcond: one per member, or null. to_tell: gets the members that are good, but with something to be told.
template <class Fast>
std::vector<std::int64_t> run_lanes(std::int64_t members, std::int64_t size, double* rcond, Fast&& fast,
                                    std::vector<std::int64_t>* to_tell = nullptr) {
  kernels::Buffer<std::uint8_t> redo(members);
  // Some 10 µs each: of larger ones seven made two threads 1.75 times as fast as one.
  const std::int64_t grain = std::max<std::int64_t>(64, 100'000 / (size * size * size + 20) / 64 * 64);
  parallel_for(members, grain, [&](std::int64_t begin, std::int64_t end) {
    fast(Range{begin, end}, Marks{redo.data(), rcond});
  });
  if (to_tell) *to_tell = marked(redo.data(), members, 2);
  return marked(redo.data(), members, 1);
}

// Members of a range whose rank is not proved full by rcond = 1/(‖A‖₁‖A⁻¹‖₁) are in doubt: σ_n/σ₁ ≥ rcond/n.
void doubt_rank(std::int64_t n, double rtol, Range range, Marks marks);
// Whether that is sharp enough to leave few of them.
inline bool rcond_tells_rank(std::int64_t n, double rtol, double atol) {
  return atol <= 0 && static_cast<double>(n) * rtol <= 2e-4;
}

// Members of a range whose values, `each` in order, are all among the denormals of T are in doubt: how many digits
// that leaves is asked of members one by one.
template <class T>
void doubt_denormal(const T* values, std::int64_t each, Range range, Marks marks) {
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    const T largest = std::max(std::fabs(values[i * each]), std::fabs(values[(i + 1) * each - 1]));
    if (largest > 0 && largest < std::numeric_limits<T>::min()) marks.redo[i] = 1;
  }
}

// Some members of a over a batch, one after the other, in `dtype`.
Tensor members_of(const Tensor& a, const Dims& batch, const std::vector<std::int64_t>& which, DType dtype);

// The members in doubt the careful way, as stacks of up to a thousand: careful(which, answers, verdicts) gives one
// after the other what goes to their places in `outputs` and `all`. Answers are in f64 (in i64 those of an i64
// output); undefined outputs are not asked for. `given`: numbers of a member's arguments, which are copied too.
using Careful =
    std::function<void(const std::vector<std::int64_t>& which, const Tensors& answers, Verdicts& verdicts)>;
void redo(const std::vector<std::int64_t>& doubtful, std::int64_t given, const Tensors& outputs, Verdicts& all,
          const Careful& careful);

// What goes through lanes: a stack, with right-hand sides if there are any, and what becomes of it.
struct LaneJob {
  Tensor a, b = {};  // b undefined: none
  Dims batch;
  std::int64_t size;             // of a member's longer side
  Tensors outputs;               // undefined ones are not asked for
  Verdict common;                // of all members that are not in doubt,
  Verdicts::Detail detail = {};  // and what is particular to each
  Tensor numbers = {};           // f64, one per member: the kernel's Marks::rcond; undefined: not asked for
  std::vector<std::int64_t>* to_tell = nullptr;  // members that are good, but with something to be told
};
template <class T>
struct Sources {
  kernels::batched::Source<T> a, b;
};
// kernel(Sources<T>, Range, Marks) for all members, T the dtype of a; then redo() for those in doubt, which are
// returned.
template <class Kernel>
std::vector<std::int64_t> through_lanes(const LaneJob& job, Verdicts& verdicts, Kernel&& kernel,
                                        const Careful& careful) {
  const std::int64_t members = count_of(job.batch);
  std::vector<std::int64_t> doubtful = with_real(job.a.dtype(), [&]<class T>(T) {
    const LaneStack<T> a(job.a, job.batch), b(job.b.defined() ? job.b : job.a, job.batch);
    return run_lanes(
        members, job.size, data_of<double>(job.numbers),
        [&](Range range, Marks marks) {
          a.over(range, [&](const kernels::batched::Source<T>& left, Range part) {
            if (!job.b.defined()) return kernel(Sources<T>{left, {}}, part, marks);
            b.over(part, [&](const kernels::batched::Source<T>& right, Range both) {
              kernel(Sources<T>{left, right}, both, marks);
            });
          });
        },
        job.to_tell);
  });
  verdicts.share(static_cast<std::size_t>(members), job.common, job.detail);
  const auto numbers = [](const Tensor& t) { return t.shape()[t.shape().size() - 2] * t.shape().back(); };
  redo(doubtful, numbers(job.a) + (job.b.defined() ? numbers(job.b) : 0), job.outputs, verdicts, careful);
  return doubtful;
}
// x = kernel(from, columns, range, x, marks) for right-hand sides of any number of `columns`, which kernels take up
// to kLargest of: strips of that many, of some members at a time. x: rows × columns of each member.
template <class T, class Kernel>
void by_strips(std::int64_t rows, std::int64_t columns, const Sources<T>& from, Range range, T* x, Marks marks,
               Kernel&& kernel) {
  using kernels::batched::kLargest;
  if (columns <= kLargest) return kernel(from, columns, range, x, marks);
  constexpr std::int64_t kMost = 64;
  const std::int64_t members = std::min(kMost, at_once(rows * kLargest));
  std::vector<T> strip(static_cast<std::size_t>(members * rows * kLargest));
  std::uint8_t redo[kMost];
  double numbers[kMost];
  for (std::int64_t first = range.begin; first < range.end; first += members) {
    const std::int64_t count = std::min(members, range.end - first);
    std::fill_n(marks.redo + first, count, std::uint8_t{0});
    double* const number = marks.rcond ? marks.rcond + first : nullptr;
    for (std::int64_t c = 0; c < columns; c += kLargest) {
      const std::int64_t here = std::min(kLargest, columns - c);
      Sources<T> some = from;
      some.a.first -= first;
      some.b.first -= first;
      some.b.data += c * from.b.columns;
      kernel(some, here, Range{0, count}, strip.data(),
             Marks{.redo = redo, .rcond = number ? numbers : nullptr, .as_given = marks.as_given});
      for (std::int64_t i = 0; i < count; ++i) {
        marks.redo[first + i] |= redo[i];
        if (number && (c == 0 || !(numbers[i] <= number[i]))) number[i] = numbers[i];
        for (std::int64_t r = 0; r < rows; ++r)
          std::copy_n(strip.data() + (i * rows + r) * here, here, x + ((first + i) * rows + r) * columns + c);
      }
    }
  }
}

// Members of a range that are in doubt once more: kernel(from, range, x, marks) of copies of them, some at a time, m
// × n with m × columns beside (0: nothing). What is good then goes to its place in x, `each` numbers per member; its
// number gets a minus.
template <class T, class Kernel>
void once_more(std::int64_t m, std::int64_t n, std::int64_t columns, const Sources<T>& from, Range range,
               std::int64_t each, T* x, Marks marks, Kernel&& kernel) {
  constexpr std::int64_t kMost = 64;
  const std::int64_t members = std::min(kMost, at_once(m * (n + columns) + each));
  kernels::Buffer<T> a(members * m * n), b(std::max<std::int64_t>(members * m * columns, 1)), to(members * each);
  std::int64_t which[kMost];
  std::uint8_t redo[kMost];
  double numbers[kMost];
  for (std::int64_t next = range.begin; next < range.end;) {
    std::int64_t count = 0;
    for (; next < range.end && count < members; ++next) {
      if (marks.redo[next] != 1) continue;
      const auto copy = [&](const kernels::batched::Source<T>& s, std::int64_t width, T* into) {
        const T* const member = s.data + (next - s.first) * s.step;
        for (std::int64_t i = 0; i < m; ++i)
          for (std::int64_t j = 0; j < width; ++j) *into++ = member[i * s.rows + j * s.columns];
      };
      copy(from.a, n, a.data() + count * m * n);
      copy(from.b, columns, b.data() + count * m * columns);
      which[count++] = next;
    }
    if (count == 0) return;
    kernel(Sources<T>{{a.data(), m * n, n, 1}, {b.data(), m * columns, columns, 1}}, Range{0, count}, to.data(),
           Marks{redo, numbers});
    for (std::int64_t k = 0; k < count; ++k) {
      if (redo[k]) continue;
      std::copy_n(to.data() + k * each, each, x + which[k] * each);
      marks.redo[which[k]] = 0;
      marks.rcond[which[k]] = -numbers[k];
    }
  }
}

// One number per member.
inline Tensor number_of_each(const Dims& batch) {
  return Tensor::adopt(detail::make_node(f64, {count_of(batch)}));
}

// rcond of every member of a stack, made when first asked for.
class Conditions {
 public:
  using Measure = void(const Tensor& a, const Dims& batch, double* rcond);
  Conditions(Tensor a, Dims batch, Measure* measure, Tensor known = {})
      : a_(std::move(a)), batch_(std::move(batch)), measure_(measure), rcond_(std::move(known)) {}
  double operator[](std::int64_t member) const;
  Tensor matrix(std::int64_t member) const { return members_of(a_, batch_, {member}, f64); }

 private:
  const Tensor a_;
  const Dims batch_;
  Measure* const measure_;
  mutable std::once_flag once_;
  mutable Tensor rcond_;
};
// The least over the largest singular value.
void spectral_conditions(const Tensor& a, const Dims& batch, double* rcond);

// The error of what lanes compute of an n × n matrix: of an inverse, or of solutions that are not corrected (near I,
// where rcond says nothing of the number of roundings, up to 6.2 u were seen; beyond eight rows they are summed
// first); of corrected ones; of a determinant.
double inverse_error(std::int64_t n, double rcond);
double refined_error(std::int64_t n, double rcond);
double determinant_error(std::int64_t n, double rcond);
// What can be said of a member that went through lanes as a linear system: rcond, structure, and that error. `rcond`:
// of all members, or undefined: computed when first asked for.
using ErrorByCondition = double(std::int64_t n, double rcond);
Verdicts::Detail system_detail(const Tensor& a, const Dims& batch, const Tensor& rcond, ErrorByCondition* error);

}  // namespace wp::linalg
