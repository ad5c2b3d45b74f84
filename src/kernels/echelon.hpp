// Row echelon form of a matrix of floats modulo a prime.
#pragma once
#include <algorithm>
#include <vector>

#include "base/pool.hpp"
#include "kernels/gemm.hpp"
#include "kernels/prime_field.hpp"

namespace wp::kernels {

template <class T>
[[gnu::always_inline]] inline double real_part(T v) {
  if constexpr (RealOf<T>::parts == 2)
    return static_cast<double>(v.real());
  else
    return static_cast<double>(v);
}
template <class T>
[[gnu::always_inline]] inline double imaginary_part(T v) {
  if constexpr (RealOf<T>::parts == 2)
    return static_cast<double>(v.imag());
  else
    return 0;
}

// A row of n numbers is n words, or n real parts and then n imaginary parts.
template <std::int64_t parts>
class Echelon {
 public:
  struct Pivot {
    std::int64_t column;
    Word* row;  // first entry that is not 0: a one, in that column
  };

  Echelon(const PrimeField& field, std::int64_t m, std::int64_t n)
      : field_(field), m_(m), n_(n), words_(std::max<std::int64_t>(1, m * n * parts)) {}

  // Element (i, j) is value(i, j).
  template <class Value>
  void fill(const Value& value) {
    parallel_for(m_, std::max<std::int64_t>(1, kGrain / (n_ * parts + 1)), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        Word* const row = words_.data() + i * n_ * parts;
        for (std::int64_t j = 0; j < n_; ++j) {
          const Gaussian v = value(i, j);
          row[j] = v.re;
          if constexpr (parts == 2) row[n_ + j] = v.im;
        }
      }
    });
  }
  Gaussian get(const Word* row, std::int64_t j) const {
    if constexpr (parts == 2)
      return {row[j], row[n_ + j]};
    else
      return {row[j], 0};
  }
  const std::vector<Pivot>& pivots() const { return pivots_; }

  // Takes rows in order, kBlock of them that are independent at a time: these are reduced among each other, and then
  // cleared from all rows below in one pass with one reduction per element. Returns the rank; with `all`, 0 as soon
  // as a row depends on those before.
  std::int64_t run(bool all) {
    pivots_.clear();
    for (std::int64_t next = 0; next < m_;) {
      const std::size_t first = pivots_.size();
      for (; next < m_ && pivots_.size() - first < kBlock; ++next)
        if (!insert(words_.data() + next * n_ * parts, first) && all) return 0;
      const std::int64_t from = next, grain = std::max<std::int64_t>(1, kGrain / (n_ * parts + 1));
      parallel_for(m_ - from, grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = from + begin; i < from + end; ++i)
          clear(words_.data() + i * n_ * parts, pivots_.data() + first, pivots_.size() - first);
      });
    }
    return static_cast<std::int64_t>(pivots_.size());
  }

 private:
  static constexpr std::size_t kBlock = 8 / parts;  // eight products are reduced at once
  static constexpr std::int64_t kGrain = 4096;      // words of rows per piece of parallel work

  // Makes a row the next pivot, unless it depends on those from `first` on (it is clear of those before).
  bool insert(Word* row, std::size_t first) {
    clear(row, pivots_.data() + first, pivots_.size() - first);
    std::int64_t column = 0;
    while (column < n_ && get(row, column).zero()) ++column;
    if (column == n_) return false;
    const Gaussian factor = inverse(field_, get(row, column));
    for (std::int64_t j = column; j < n_; ++j) {
      const Gaussian v = product(field_, get(row, j), factor);
      row[j] = v.re;
      if constexpr (parts == 2) row[n_ + j] = v.im;
    }
    const Pivot pivot{column, row};
    for (std::size_t k = first; k < pivots_.size(); ++k) clear(pivots_[k].row, &pivot, 1);
    pivots_.push_back(pivot);
    return true;
  }

  // row −= Σ row[column of pivot] · pivot, for pivots that are 0 in each other's columns.
  void clear(Word* row, const Pivot* pivots, std::size_t count) const {
    if (count == 0) return;
    const Word* from[kBlock];
    Gaussian factors[kBlock] = {};
    std::int64_t column = n_;
    for (std::size_t k = 0; k < kBlock; ++k) {
      const Pivot& pivot = pivots[k < count ? k : 0];
      from[k] = pivot.row;
      if (k < count) factors[k] = get(row, pivot.column);
      column = std::min(column, pivot.column);
    }
    if (count == 1)
      subtract<1>(row, from, factors, column);
    else if (count * 2 <= kBlock)
      subtract<kBlock / 2>(row, from, factors, column);
    else
      subtract<kBlock>(row, from, factors, column);
  }

  template <std::size_t count>
  void subtract(Word* row, const Word* const* from, const Gaussian* factors, std::int64_t column) const {
    const Modulus f = field_;  // a copy, as rows may alias a reference
    Word re[count], im[count], minus_re[count], minus_im[count];
    const Word* u[count];
    for (std::size_t k = 0; k < count; ++k) {
      u[k] = from[k];
      re[k] = factors[k].re, minus_re[k] = f.negative(re[k]);
      im[k] = factors[k].im, minus_im[k] = f.negative(im[k]);
    }
    for (std::int64_t j = column; j < n_; ++j) {
      TwoWords sum = 0, imaginary = 0;
#pragma GCC unroll 8
      for (std::size_t k = 0; k < count; ++k) {
        sum += TwoWords{minus_re[k]} * u[k][j];
        if constexpr (parts == 2) {
          sum += TwoWords{im[k]} * u[k][n_ + j];
          imaginary += TwoWords{minus_re[k]} * u[k][n_ + j] + TwoWords{minus_im[k]} * u[k][j];
        }
      }
      row[j] = f.sum(row[j], f.reduced(sum));
      if constexpr (parts == 2) row[n_ + j] = f.sum(row[n_ + j], f.reduced(imaginary));
    }
  }

  const PrimeField& field_;
  std::int64_t m_, n_;
  Buffer<Word> words_;
  std::vector<Pivot> pivots_;
};

}  // namespace wp::kernels
