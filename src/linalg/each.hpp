// The frame of functions of matrices: every member of a stack by itself, in the working dtype.
#pragma once
#include <cstdio>
#include <functional>

#include "base/text.hpp"
#include "kernels/condition.hpp"
#include "linalg/dense.hpp"
#include "linalg/members.hpp"
#include "linalg/solving.hpp"
#include "linalg/system.hpp"

namespace wp::linalg {

// One member: the matrix, where its results go, and what is known of it.
template <class T>
struct Job {
  using Real = typename kernels::RealOf<T>::type;
  std::int64_t member, m, n;
  kernels::View<T> a;
  Verdict& verdict;
  const std::vector<Result>& results;
  const std::vector<std::int64_t>& each;
  bool keep = false;  // results of a bad member are kept as they are; else they become NaN

  Dense<T> matrix() const { return Dense<T>(m, n, a); }
  template <class V = T>
  V* to(std::size_t output = 0) const {
    return results[output].data<V>() + member * each[output];
  }
  void put(const Dense<T>& x, std::size_t output = 0) const {
    std::copy(x.data.begin(), x.data.end(), to<T>(output));
  }
};

struct Advice {
  Policy policy;
  std::string_view text;
  bool finite_answers = true;           // an infinite answer of a good member is a finding
  std::function<void()> before = {};    // what else there is to report, before a bad member raises
  std::vector<std::string> names = {};  // labels of columns
};

// f(Job<T>&) for every member of argument 0 that is finite. Outputs are made before and hold the members one after
// the other; those of real dtype hold Job::Real.
template <class F>
void for_each_matrix(Call& c, const Advice& advice, F&& f) {
  const Tensor& x = c.in[0];
  const std::int64_t m = x.shape()[x.shape().size() - 2], n = x.shape().back(), longest = std::max(m, n);
  const DType work = working_dtype(c.key, longest);
  const Tensor a = brought(x, work);
  auto state = new_state(c, batch_of(x), advice.names);
  const auto members = static_cast<std::int64_t>(state->verdicts.size());
  std::vector<Result> results;
  std::vector<std::int64_t> each;
  for (Tensor& out : c.out) {
    results.emplace_back(out, is_complex(out.dtype()) ? work : real_of(work));
    each.push_back(members ? out.size() / members : 0);
  }
  with_float(work, [&]<class T>(T) {
    using R = typename kernels::RealOf<T>::type;
    const Stack<T> stack(a, state->batch);
    state->threshold = 2 * std::numeric_limits<R>::epsilon();
    for_members(members, longest, [&](std::int64_t i) {
      Verdict& v = state->verdicts[static_cast<std::size_t>(i)];
      Job<T> job{i, m, n, stack[i], v, results, each};
      if (kernels::all_finite<T>(m, n, job.a))
        f(job);
      else
        v.status = Status::nonfinite_input;
      if (v.status < Status::singular || job.keep) return;
      for (std::size_t k = 0; k < results.size(); ++k)
        if (is_complex(c.out[k].dtype()))
          std::fill_n(job.template to<T>(k), each[k], T(std::numeric_limits<R>::quiet_NaN()));
        else
          std::fill_n(job.template to<R>(k), each[k], std::numeric_limits<R>::quiet_NaN());
    });
  });
  for (Result& r : results) r.finish();
  if (advice.before) advice.before();
  settle(c, std::move(state), advice.policy, advice.text, advice.finite_answers);
}

// The verdict by an estimate of the relative error of `what` ("square root"), whose condition is `condition`.
inline void conclude(Verdict& v, std::string_view what, double condition, double error, double u) {
  v.rcond = condition > 0 ? 1 / condition : 1;
  v.forward_error = std::isnan(error) ? 1 : std::min(error, 1.0);
  v.digits = digits_of(v.forward_error, u);
  v.status = status_of(v.digits, -1, u);
  if (v.status == Status::ok) return;
  char text[96];
  std::snprintf(text, sizeof text, ": relative condition %.2g; %s digits of it can be vouched for.", condition,
                v.digits >= 1 ? say("about ", std::lround(std::floor(v.digits))).c_str() : "no");
  v.reason = say("has an ill-conditioned ", what, text);
}

// An eigenvalue lies on the negative real axis but for rounding: which side it is on decides the answer.
inline void on_the_cut(Verdict& v) {
  if (v.status != Status::ok) return;
  v.status = Status::ill_conditioned;
  v.forward_error = 1;
  v.digits = 0;
  v.reason =
      "has an eigenvalue on the negative real axis to within rounding: which side it is on decides the answer, "
      "and the upper one was taken.";
}

// What rooms of functions of one stack of matrices have in common.
inline Op of_matrices(Op op) {
  op.ns = "linalg";
  op.group = "linear algebra";
  op.params = {{"x", kinds::numeric}};
  op.diagnoses = true;
  op.notes = Notes::gives;
  op.flow = [](const FlowQuery& q, Visit visit) {
    const Dims& s = q.call.in[0].shape();
    const std::int64_t in_each = s[s.size() - 2] * s.back();
    const std::int64_t members = std::max<std::int64_t>(count_of(batch_of(q.call.in[0])), 1);
    flow_members(q, in_each, std::max<std::int64_t>(q.call.out[q.output].size() / members, 1), visit);
  };
  return op;
}

// A square matrix to one like it.
inline void infer_square(Call& c) {
  square_size(c.in[0], "x");
  c.key = float_result(c.in[0].dtype());
  c.output(c.key, c.in[0].shape());
}

}  // namespace wp::linalg
