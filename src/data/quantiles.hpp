// Quantiles in one pass: exact up to 131,072 values, then a sketch with a proved bound of its error in ranks.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace wp::data {

// Munro & Paterson (1980) as a binary counter of sorted buffers: of every 131,072 values in the order they came each
// sixteenth is kept (the eighth of every sixteen: ranks are off by at most 8); two buffers of one weight w are merged
// and every other element kept, the first and the second in turn, which moves a rank by at most w. The sum of these
// is `error()`: a bound that holds, not one that is likely. It is a function of the sequence alone.
class Quantiles {
 public:
  static constexpr std::size_t kExact = 1 << 17, kThin = 16, kBuffer = kExact / kThin;
  void add(std::span<const double> finite);
  std::int64_t count() const noexcept { return count_; }
  // Ranks are off by at most this many of count().
  std::int64_t error() const noexcept { return error_; }
  // To be called once before the questions.
  void settle();
  // The least value that at least p of the values do not exceed (the inverse of the distribution function); NaN of
  // none.
  double at(double p) const;
  // How many values are < x, and ≤ x.
  double below(double x) const;
  double up_to(double x) const;
  // All different values, if they are known exactly and there are at most `most`.
  bool distinct(std::size_t most, std::vector<double>& out) const;

 private:
  struct Weighted {
    double value;
    std::int64_t rank;  // of values up to and with this one
  };
  void thin();
  std::vector<double> pending_;
  std::vector<std::vector<double>> levels_;  // levels_[h]: sorted, weight 16 · 2^h; empty: none
  std::vector<bool> turn_;
  std::vector<Weighted> settled_;
  std::int64_t count_ = 0, error_ = 0;
};

}  // namespace wp::data
