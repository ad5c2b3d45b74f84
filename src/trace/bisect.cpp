#include "wellposed/bisect.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/text.hpp"
#include "wellposed/ops.hpp"

namespace wp {
namespace {

using Rows = std::vector<std::int64_t>;
constexpr std::size_t kRemembered = 64;  // answers about so few rows are asked for again

struct UsedUp {};

class Search {
 public:
  Search(const Tensor& data, const std::function<bool(const Tensor&)>& fails, const BisectOptions& options)
      : data_(data), fails_(fails), options_(options) {}

  Tensor part(const Rows& rows) const {
    return take(data_, Tensor::from(rows, {static_cast<std::int64_t>(rows.size())}), {.axis = 0});
  }
  bool fails(const Rows& rows) {
    const bool small = rows.size() <= kRemembered;
    if (small)
      if (const auto known = known_.find(rows); known != known_.end()) return known->second;
    if (tries_ == options_.most_tries) throw UsedUp();
    ++tries_;
    if (options_.on_try) options_.on_try(tries_, static_cast<std::int64_t>(rows.size()));
    const bool answer = fails_(part(rows));
    if (small) known_[rows] = answer;
    return answer;
  }
  std::int64_t tries() const noexcept { return tries_; }

  // ddmin: tries parts, then what is left without each part, then finer parts.
  void reduce(Rows& rows) {
    std::size_t parts = 2;
    while (rows.size() > 1) {
      const std::size_t n = rows.size();
      parts = std::min(parts, n);
      bool smaller = false;
      for (const bool without : {false, true}) {
        for (std::size_t k = 0; k < parts && !smaller; ++k) {
          const auto first = rows.begin() + static_cast<std::ptrdiff_t>(k * n / parts),
                     last = rows.begin() + static_cast<std::ptrdiff_t>((k + 1) * n / parts);
          Rows candidate(without ? rows.begin() : first, without ? first : last);
          if (without) candidate.insert(candidate.end(), last, rows.end());
          if (candidate.size() == n || candidate.empty() || !fails(candidate)) continue;
          rows = std::move(candidate);
          parts = without ? std::max<std::size_t>(parts - 1, 2) : 2;
          smaller = true;
        }
        if (smaller || parts == 2) break;  // halves: a part is what is left without the other
      }
      if (smaller) continue;
      if (parts == n) return;
      parts *= 2;
    }
  }

 private:
  const Tensor& data_;
  const std::function<bool(const Tensor&)>& fails_;
  const BisectOptions& options_;
  std::int64_t tries_ = 0;
  std::map<Rows, bool> known_;
};

}  // namespace

Bisection bisect(const Tensor& data, const std::function<bool(const Tensor&)>& fails, const BisectOptions& options,
                 std::source_location where) {
  if (!data.defined() || data.ndim() == 0)
    raise_at<ArgumentError>(where, "WP-ARG-001", "bisect", "the data must have rows.");
  Search search(data, fails, options);
  Bisection out;
  out.rows.resize(static_cast<std::size_t>(data.shape()[0]));
  std::iota(out.rows.begin(), out.rows.end(), 0);
  if (!search.fails(out.rows))
    raise_at<ArgumentError>(where, "WP-ARG-001", "bisect", "it does not fail with all rows.",
                            "Look for what else has changed.");
  try {
    search.reduce(out.rows);
  } catch (const UsedUp&) {
    out.minimal = false;
  }
  out.data = search.part(out.rows);
  out.tries = search.tries();
  return out;
}

}  // namespace wp
