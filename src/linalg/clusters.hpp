// Repeated and nearly repeated singular values or eigenvalues, as derivatives see them.
#pragma once
#include <vector>

#include "wellposed/tensor.hpp"

namespace wp::linalg {

// The power of two at or below the largest value, and how many times longer `w` is in a derivative that is
// differentiated again (Clusters).
double size_of_cluster(double most);
double reach_of(double size, DType dtype);

// The elements of a real tensor in row-major order.
std::vector<double> doubles_of(const Tensor& t);

// Below `near` the quotient K/(s_j − s_i) of a derivative loses more digits than the series of its limit; below `tie`
// two values are equal up to rounding. Along `w` every cluster splits; it is of the size of the largest value, and
// positive where a cluster is at zero. Where squares of the values underflow, and what is differentiated again needs
// them, it is `reach` times as long.
struct Clusters {
  Tensor near, tie;           // […, 1, 1]
  Tensor reach;               // […, 1, 1]; undefined: 1
  Tensor w;                   // like s
  bool any = false;           // some pair is near, or, where zero counts, some value
  bool ties = false;          // some pair is tied, or some value is zero up to rounding
  bool exact = true;          // every cluster is one tie
  bool wide = false;          // w splits all values, also those that are not near (widened)
  std::vector<double> s;      // the values, member by member; of complex ones the moduli
  std::vector<complex128> z;  // complex values
  std::vector<double> error;  // of each, as its bounds tell
  std::vector<int> group;     // the tie that a value belongs to, counted in its member; −1: none
  std::vector<char> at_zero;  // zero up to rounding

  // A derivative along w as if w were of the size of the values.
  Tensor per_size(const Tensor& along) const;
  // Of the series, where near values take `most`: tied ones need one less, whose factor is their distance.
  int terms(int most) const { return !any ? 0 : exact ? most - 1 : most; }
};
// `bounds`: of the errors of the values (kept_bounds). zero_counts: singular values. `terms` of the series are used,
// of cotangents with digits down to `eps`.
Clusters clusters_of(const Tensor& s, const Tensor& bounds, bool zero_counts, int terms, double eps);
// The same with all values of a member in one cluster, for derivatives whose quotients are rounding
// (Quotients::lost).
Clusters widened(const Clusters& c, bool zero_counts);

// v, one number per value, with ties made equal: their mean, zero where they vanish.
std::vector<double> level(const Clusters& c, std::size_t per_member, const std::vector<double>& v);

// A random orthogonal (unitary) matrix per member that mixes the values of a tie among themselves. `flips` changes
// the signs of the others: 0 none, 1 all, p > 1 those whose number has the bit 2^(p − 2); of complex vectors random
// phases.
Tensor rotation(const Clusters& c, const Dims& shape_of_s, DType dtype, int flips, std::uint64_t seed);

}  // namespace wp::linalg
