// Functions of symmetric and Hermitian matrices act on (A + Aᴴ)/2, or on the triangle that uplo names.
#pragma once
#include "kernels/batched/lanes.hpp"
#include "kernels/mirror.hpp"
#include "linalg/members.hpp"

namespace wp::linalg {

AttrSpec uplo_attr();
kernels::Side side_of(std::string_view uplo);
kernels::batched::Reads reads_of(std::string_view uplo);
inline double asymmetry_of(const kernels::Mirrored& m) {
  return m.finite && m.largest > 0 ? m.apart / m.largest : 0;
}

// The matrix that is meant, row-major, and how far the given one was from it: max |A − Aᴴ|/2 relative to the largest
// element; 0 when a triangle is named.
template <class T>
struct Hermitian {
  using Real = typename kernels::RealOf<T>::type;
  std::vector<T> matrix;
  double largest = 0, asymmetry = 0;
  bool finite = true;
  Hermitian(std::int64_t n, kernels::View<T> a, std::string_view uplo);
};

// Every element of the same member, or of the triangle that `uplo` names: whether there is an answer rests on all.
void flow_hermitian(const FlowQuery& q, const Attr& uplo, Visit visit);

// Reports members that are not symmetric beyond rounding (WP-LIN-006): asymmetry[i] is that of member i, or which[i].
void report_asymmetry(const Call& c, const std::vector<double>& asymmetry, DType dtype,
                      const std::vector<std::int64_t>& which = {});
// The same of one matrix, or of the one that `which` names.
void report_asymmetry(double asymmetry, DType dtype, std::string_view which = "the matrix", std::int64_t count = 1,
                      std::int64_t worst = 0);
// How far from symmetric some members of a real stack are, added to those of others.
void measure_asymmetry(const Tensor& a, const Dims& batch, const std::vector<std::int64_t>& more,
                       std::vector<double>& asymmetry, std::vector<std::int64_t>& which);

}  // namespace wp::linalg
