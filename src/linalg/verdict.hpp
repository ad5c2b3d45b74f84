// What is known of one matrix and of the answer computed from it.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "wellposed/diagnosis.hpp"

namespace wp::linalg {

enum class Structure : std::uint8_t { general, symmetric, spd, banded, lower, upper, diagonal };
enum class Method : std::uint8_t { none, lu, cholesky, ldl, substitution, svd, pinv, ridge, qr, eigen, quad_lu };
std::string_view name(Structure s) noexcept;
std::string_view name(Method m) noexcept;

struct Verdict {
  Status status = Status::ok;
  bool exactly_singular = false, certified = false;
  Structure structure = Structure::general;
  Method method = Method::none;
  double rcond = Member::unknown, digits = Member::unknown, forward_error = Member::unknown,
         backward_error = Member::unknown, ridge = Member::unknown, freedom = Member::unknown,
         growth = Member::unknown;
  bool nonzero = false;                  // the answer is not 0, whatever became of it in its dtype
  std::int64_t pivot = -1;               // the first row that is not positive in elimination, where that was asked
  std::int64_t kept = -1;                // how many singular values counted, where some may not have
  std::int64_t found = -1, wanted = -1;  // of an iteration that did not converge: how far it came, if it says so
  std::string reason;  // why the status is not ok, after "the matrix …"; empty: the words of the status
};

// Whether exactly_singular was decided on: solvers of linear systems do, with rcond. Decompositions leave it to
// examine().
bool knows_singularity(const Verdict& v);

// One verdict per member: each its own, or, of stacks of small matrices, one that all good members share; what is
// particular to them is then found out when it is asked for.
class Verdicts {
 public:
  using Detail = std::function<void(std::int64_t member, Verdict& v)>;

  void resize(std::size_t n) {
    own_.resize(n);
    size_ = n;
  }
  void share(std::size_t n, const Verdict& common, Detail detail);
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  bool shared() const noexcept { return own_.size() != size_; }

  // verdicts[i] of member which[i].
  void take(const Verdicts& verdicts, const std::vector<std::int64_t>& which) {
    for (std::size_t i = 0; i < which.size(); ++i) (*this)[static_cast<std::size_t>(which[i])] = verdicts[i];
  }

  Verdict& operator[](std::size_t i);  // becomes its own
  Verdict operator[](std::size_t i) const;
  // Without what would have to be found out.
  Status status(std::size_t i) const { return known(i).status; }
  std::int64_t kept(std::size_t i) const { return known(i).kept; }
  // f(member, verdict) for members with a verdict of their own, in order.
  template <class F>
  void each_own(F&& f) const {
    for (std::size_t i = 0; i < own_.size(); ++i) f(i, own_[i]);
    for (const auto& [i, v] : others_) f(i, v);
  }
  template <class F>
  void each_own(F&& f) {
    for (std::size_t i = 0; i < own_.size(); ++i) f(i, own_[i]);
    for (auto& [i, v] : others_) f(i, v);
  }
  template <class F>
  bool any_own(F&& f) const {
    bool out = false;
    each_own([&](std::size_t, const Verdict& v) { out = out || f(v); });
    return out;
  }
  // The errors of shared members are at least this.
  double least_error = 0;

 private:
  const Verdict& known(std::size_t i) const;

  std::size_t size_ = 0;
  std::vector<Verdict> own_;  // of all, or of none
  std::map<std::size_t, Verdict> others_;
  Verdict common_;
  Detail detail_;
};

struct Diagnosis::State {
  std::string op;
  Dims batch;
  Verdicts verdicts;
  Tensor matrix;  // [batch…, m, n], for what is asked later
  std::vector<std::string> names;
  std::function<void(std::int64_t member, Member&)> spectrum;  // bounds of values and vectors, where the op has them
  std::function<std::string(std::int64_t member)> nonfinite;   // which entry is not, where one is
  struct {
    double rtol = -1, atol = 0;
  } cutoff;  // what singular values count as zero: up to rtol σ₁ or atol; rtol < 0: max(m, n) eps σ₁
  double threshold = 0;  // rcond below it is singular to working precision
  mutable std::mutex mutex;
  mutable std::map<std::int64_t, Member> members;  // those that were asked for
};

}  // namespace wp::linalg
