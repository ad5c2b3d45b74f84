// Matrices that every rank makes alike, and layouts to spread them in.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <string>
#include <vector>

#include "dist/team.hpp"
#include "tensor/note.hpp"
#include "wellposed/dist.hpp"
#include "wellposed/wellposed.hpp"

namespace wp::dist {

// A fixed number in [−1, 1) for every pair: SplitMix64.
inline double noise(std::int64_t i, std::int64_t j, std::uint64_t seed = 1) {
  std::uint64_t z = static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15U +
                    static_cast<std::uint64_t>(j) * 0xC2B2AE3D27D4EB4FU + seed * 0x165667B19E3779F9U;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  z ^= z >> 31;
  return static_cast<double>(z >> 11) * 0x1p-52 - 1;
}

inline Tensor noise_matrix(std::int64_t m, std::int64_t n, DType dtype = f64, std::uint64_t seed = 1) {
  std::vector<complex128> v;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      v.emplace_back(noise(i, j, seed), is_complex(dtype) ? noise(i, j, seed + 77) : 0);
  const Tensor t = Tensor::from(v, {m, n});
  return is_complex(dtype) ? astype(t, dtype) : astype(real(t), dtype);
}

// Every shape of grid that these ranks form, with small, odd and large blocks.
inline std::vector<Layout> layouts(const std::vector<std::int64_t>& blocks = {3, 8, 64}) {
  std::vector<Layout> out;
  for (int rows = 1; rows <= size(); ++rows)
    if (size() % rows == 0)
      for (const std::int64_t block : blocks) out.push_back({Grid(rows, size() / rows), block});
  return out;
}
// One of them.
inline Layout some_layout(std::int64_t block = 5) {
  return {Grid(), block};
}

inline constexpr DType kAll[] = {f32, f64, c64, c128};
inline double unit(DType d) {
  return real_of(d) == f32 ? 0x1p-24 : 0x1p-53;
}

// max |a − b| / max |b|.
inline double distance(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.shape(), b.shape());
  if (a.shape() != b.shape()) return HUGE_VAL;
  double worst = 0, scale = 0;
  for (std::int64_t i = 0; i < a.size(); ++i) {
    const double off = std::abs(value_at(a, i) - value_at(b, i));
    worst = std::isnan(off) ? HUGE_VAL : std::max(worst, off);
    scale = std::max(scale, std::abs(value_at(b, i)));
  }
  return scale > 0 ? worst / scale : worst;
}
inline Tensor adjoint_of(const Tensor& x) {
  return matrix_transpose(is_complex(x.dtype()) ? conj(x) : x);
}
inline Tensor spd_matrix(std::int64_t n, DType dtype, double shift = 1) {
  const Tensor a = noise_matrix(n, n, dtype);
  return matmul(a, adjoint_of(a)) + shift * eye(n, {.dtype = dtype});
}
// What both diagnoses vouch for.
inline double promised(const linalg::Diagnosis& a, const linalg::Diagnosis& b) {
  return std::pow(10, -std::floor(a[0].digits)) + std::pow(10, -std::floor(b[0].digits));
}
// To the last bit, also of what is worked out only when it is asked for. Collective.
inline void expect_one_diagnosis_on_all_ranks(const linalg::Diagnosis& d) {
  const std::string own = d.json();
  for (const std::string& theirs : all_texts(own)) EXPECT_EQ(theirs, own) << "on rank " << rank();
}

// The code of what f raises; empty: nothing. Ranks that would go apart do not come back from the next collective.
template <class F>
std::string raised(F&& f) {
  std::string code;
  try {
    f();
  } catch (const Error& e) {
    code = e.finding().code;
  }
  Matrix::identity(3);
  return code;
}

}  // namespace wp::dist
