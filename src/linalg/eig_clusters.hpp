// Repeated and nearly repeated eigenvalues of matrices that need not be Hermitian, as derivatives see them.
#pragma once
#include "linalg/clusters.hpp"

namespace wp::linalg {

// Clusters of complex values, in any order. A tie is what the matrix acts on as on a multiple of the identity up to
// rounding: eigenvalues that coincide with fewer vectors than values are none. Along w a real matrix stays real: w of
// the conjugate value is the conjugate of w.
struct EigenClusters : Clusters {
  struct Tie {
    std::size_t member;
    std::vector<std::size_t> values;    // numbers of its eigenvalues
    std::vector<std::size_t> mirrored;  // of the conjugate ones, in the same order, if those are another tie
    std::vector<complex128> r;          // V R has an orthonormal basis of the tie in place of its vectors
    bool real;                          // that basis is real,
    std::vector<std::size_t> partner;   // but for pairs of conjugate vectors: the place of each one's partner
  };
  std::vector<Tie> all_ties;

  // R […, n, n], the identity outside of ties; `seed` > 0: for another, random basis of each.
  Tensor basis(const Dims& shape_of_values, DType dtype, std::uint64_t seed) const;
};
// A V = V diag(values); X = V⁻¹. `terms` of the series are used, of cotangents with digits
// down to `eps`. `wide`: w splits all values (widened).
EigenClusters eigen_clusters(const Tensor& a, const Tensor& values, const Tensor& v, const Tensor& x, int terms,
                             double eps, bool wide = false);

}  // namespace wp::linalg
