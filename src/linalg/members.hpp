// Functions of matrices, one member of a batch after the other.
#pragma once
#include "base/pool.hpp"
#include "linalg/options.hpp"
#include "linalg/settle.hpp"
#include "linalg/stack.hpp"
#include "ops/lines.hpp"
#include "ops/moves.hpp"
#include "ops/products.hpp"

namespace wp::linalg {

// f(member) for every member: members of fewer than 64 rows are shared out among threads, larger ones use them
// inside.
template <class F>
void for_members(std::int64_t count, std::int64_t n, F&& f) {
  const std::int64_t grain = n > 64 ? count : 20000 / (n * n * n + 1);
  parallel_for(count, std::max<std::int64_t>(grain, 1), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) f(i);
  });
}

// A diagnosis to fill, for the stack in argument 0. `own`: with a verdict per member.
std::shared_ptr<Diagnosis::State> new_state(const Call& c, const Dims& batch, std::vector<std::string> names = {},
                                            bool own = true);

// Results in the working dtype, brought to the output's when it ends.
class Result {
 public:
  Result(Tensor& out, DType work)
      : out_(out), work_(work == out.dtype() ? out : Tensor::adopt(detail::make_node(work, out.shape()))) {}
  template <class T>
  T* data() const {
    return reinterpret_cast<T*>(work_.node()->data);
  }
  void finish() {
    if (work_.node() != out_.node()) scatter_into(out_, out_.strides(), 0, packed(work_, out_.dtype()));
  }

 private:
  Tensor& out_;
  Tensor work_;
};

// if_ill of functions that only fail on members that are not finite or do not converge.
AttrSpec policy_attr();
Policy policy_of(const Call& c, std::size_t attr);
// rtol: what singular values are compared with, relative to the largest; none: max(m, n)·eps of the dtype.
AttrSpec rtol_attr();
AttrSpec atol_attr();
// Below what singular values count as zero: rtol·σ₁ or atol, the larger; from two attributes.
struct Cutoff {
  double rtol, atol;
  double operator()(double largest) const { return std::max(rtol * largest, atol); }
};
Cutoff cutoff_of(const Call& c, std::size_t first, DType dtype, std::int64_t longest);

// Attributes of decompositions: policy_attr and accuracy, after the room's own.
std::vector<AttrSpec> decomposition_attrs(std::vector<AttrSpec> own = {});
struct DecompositionOptions {
  Policy if_ill;
  bool high;
};
DecompositionOptions decomposition_options(const Call& c, std::size_t first);

// names: labels of columns for messages, the last attribute of the rooms that have it; and what a call gave. Calls
// from inside may leave trailing attributes out.
AttrSpec names_attr();
std::vector<std::string> names_of(const Call& c, std::size_t attr);
AttrSpec certify_attr();
// A boolean attribute that may be left out likewise.
bool flag_of(const Call& c, std::size_t attr);

// Refuses what has fewer than two axes.
void need_matrices(const Tensor& a, std::string_view name);

// [batch…, m, n] and k = min(m, n).
struct MatrixSizes {
  Dims batch;
  std::int64_t m, n, k;
  explicit MatrixSizes(const Tensor& x);
  std::int64_t members() const { return count_of(batch); }
  std::int64_t longest() const { return std::max(m, n); }
  Dims with(std::initializer_list<std::int64_t> more) const;
  // A stack of some members.
  MatrixSizes of(const std::vector<std::int64_t>& which) const {
    MatrixSizes out = *this;
    out.batch = {static_cast<std::int64_t>(which.size())};
    return out;
  }
};
// Every element of argument 0's member: whether there is an answer rests on all.
void flow_matrices(const FlowQuery& q, Visit visit);

}  // namespace wp::linalg
