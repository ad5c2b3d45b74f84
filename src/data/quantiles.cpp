#include "data/quantiles.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/sort.hpp"

namespace wp::data {
namespace {

std::vector<double> sorted(const std::vector<double>& x) {
  std::vector<double> out(x.size());
  kernels::sort_line(f64, x.data(), out.data(), static_cast<std::int64_t>(x.size()), false);
  return out;
}

}  // namespace

void Quantiles::add(std::span<const double> finite) {
  count_ += static_cast<std::int64_t>(finite.size());
  while (!finite.empty()) {
    if (pending_.size() == kExact) thin();
    const std::size_t n = std::min(kExact - pending_.size(), finite.size());
    pending_.insert(pending_.end(), finite.begin(), finite.begin() + static_cast<std::ptrdiff_t>(n));
    finite = finite.subspan(n);
  }
}

void Quantiles::thin() {
  const std::vector<double> all = sorted(pending_);
  std::vector<double> carry(kBuffer);
  for (std::size_t i = 0; i < kBuffer; ++i) carry[i] = all[i * kThin + kThin / 2 - 1];
  error_ += kThin / 2;
  pending_.clear();
  std::int64_t weight = kThin;
  for (std::size_t h = 0;; ++h, weight *= 2) {
    if (h == levels_.size()) {
      levels_.emplace_back();
      turn_.push_back(false);
    }
    if (levels_[h].empty()) {
      levels_[h] = std::move(carry);
      return;
    }
    std::vector<double> both(2 * kBuffer);
    std::merge(carry.begin(), carry.end(), levels_[h].begin(), levels_[h].end(), both.begin());
    for (std::size_t i = 0; i < kBuffer; ++i) carry[i] = both[2 * i + turn_[h]];
    turn_[h] = !turn_[h];
    error_ += weight;
    levels_[h].clear();
  }
}

void Quantiles::settle() {
  settled_.clear();
  std::vector<std::pair<double, std::int64_t>> all;
  for (const double v : sorted(pending_)) all.emplace_back(v, 1);
  std::int64_t weight = kThin;
  for (const auto& level : levels_) {
    for (const double v : level) all.emplace_back(v, weight);
    weight *= 2;
  }
  std::sort(all.begin(), all.end());
  std::int64_t rank = 0;
  for (const auto& [value, w] : all) {
    rank += w;
    if (!settled_.empty() && settled_.back().value == value)
      settled_.back().rank = rank;
    else
      settled_.push_back({value, rank});
  }
}

double Quantiles::at(double p) const {
  if (settled_.empty()) return std::numeric_limits<double>::quiet_NaN();
  const double rank = std::ceil(p * static_cast<double>(count_) * (1 - 0x1p-50));  // 0.07 · 100 is 7
  const auto place = std::lower_bound(settled_.begin(), settled_.end(), rank,
                                      [](const Weighted& w, double r) { return static_cast<double>(w.rank) < r; });
  return place == settled_.end() ? settled_.back().value : place->value;
}

double Quantiles::below(double x) const {
  const auto place =
      std::lower_bound(settled_.begin(), settled_.end(), x, [](const Weighted& w, double v) { return w.value < v; });
  return place == settled_.begin() ? 0 : static_cast<double>(std::prev(place)->rank);
}

double Quantiles::up_to(double x) const {
  const auto place =
      std::upper_bound(settled_.begin(), settled_.end(), x, [](double v, const Weighted& w) { return v < w.value; });
  return place == settled_.begin() ? 0 : static_cast<double>(std::prev(place)->rank);
}

bool Quantiles::distinct(std::size_t most, std::vector<double>& out) const {
  if (error_ > 0 || settled_.size() > most) return false;
  for (const Weighted& w : settled_) out.push_back(w.value);
  return true;
}

}  // namespace wp::data
