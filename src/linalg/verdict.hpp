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
  std::int64_t kept = -1;  // how many singular values counted, where some may not have
  std::string reason;      // why the status is not ok, after "the matrix …"; empty: the words of the status
};

struct Diagnosis::State {
  std::string op;
  Dims batch;
  std::vector<Verdict> verdicts;  // one per member
  Tensor matrix;                  // [batch…, m, n], for what is asked later
  std::vector<std::string> names;
  std::function<void(std::int64_t member, Member&)> spectrum;  // bounds of values and vectors, where the op has them
  std::function<std::string(std::int64_t member)> nonfinite;   // which entry is not, where one is
  double threshold = 0;                                        // rcond below it is singular to working precision
  mutable std::mutex mutex;
  mutable std::map<std::int64_t, Member> members;  // those that were asked for
};

}  // namespace wp::linalg
