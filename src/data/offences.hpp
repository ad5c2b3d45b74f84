// What breaks a rule: how often, the first of it, and the worst.
#pragma once
#include <algorithm>
#include <utility>
#include <vector>

#include "data/tile.hpp"
#include "wellposed/validate.hpp"

namespace wp::data {

struct Hit {
  std::int64_t at;
  double excess;
  std::string value, why;
};

class Offences {
 public:
  explicit Offences(int keep) : keep_(static_cast<std::size_t>(keep < 0 ? 0 : keep)) {}
  // words(): the value and what is wrong with it, asked only for what is kept. Positions grow.
  template <class Words>
  void add(std::int64_t at, double excess, const Words& words) {
    ++count_;
    const bool early = first_.size() < keep_;
    const bool bad = worst_.size() < keep_ || (keep_ > 0 && excess > worst_.back().excess);
    if (!early && !bad) return;
    auto [value, why] = words();
    Hit hit{at, excess, std::move(value), std::move(why)};
    if (bad) rank(hit);
    if (early) first_.push_back(std::move(hit));
  }
  // Of what comes later.
  void join(const Offences& later) {
    count_ += later.count_;
    for (const Hit& h : later.first_)
      if (first_.size() < keep_) first_.push_back(h);
    for (const Hit& h : later.worst_)
      if (worst_.size() < keep_ || (keep_ > 0 && h.excess > worst_.back().excess)) rank(h);
  }
  std::int64_t count() const noexcept { return count_; }
  const std::vector<Hit>& first() const noexcept { return first_; }
  const std::vector<Hit>& worst() const noexcept { return worst_; }

 private:
  // The largest excess first; of equals the earlier.
  void rank(const Hit& hit) {
    const auto place = std::upper_bound(worst_.begin(), worst_.end(), hit.excess,
                                        [](double e, const Hit& h) { return e > h.excess; });
    worst_.insert(place, hit);
    if (worst_.size() > keep_) worst_.pop_back();
  }
  std::size_t keep_;
  std::int64_t count_ = 0;
  std::vector<Hit> first_, worst_;
};

// What hits are: elements of the field; lines (rows along the last axis); matrices (entries of the axes before the
// last two).
enum class Unit : std::uint8_t { value, row, matrix };
// Writes offenders and the message: "element [2, 0] = -0.1 is below 0; 1 of 6 values; row 2".
void tell(const Subject& s, const Offences& o, Unit unit, std::int64_t checked, RuleReport& r);

}  // namespace wp::data
