// The functions that go through lanes, members that are hard for them, and their bits.
#pragma once
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "ops/lines.hpp"
#include "small_stacks.hpp"

namespace small_functions {

using namespace wp;
using namespace small_stacks;

struct Function {
  const char* name;
  Want want;
  bool square;
  std::function<Tensors(const Tensor&)> call;
};
// 1, 2, 3, … with `columns` columns, for a matrix of m rows.
inline Tensor right_side(std::int64_t m, std::int64_t columns, DType dtype) {
  std::vector<double> b;
  for (std::int64_t i = 0; i < m * columns; ++i) b.push_back(static_cast<double>(i + 1));
  return astype(Tensor::from(b, {m, columns}), dtype);
}
// Without policies: NaN members come back as NaN.
inline const std::vector<Function>& functions() {
  using namespace linalg::diagnosed;
  static const std::vector<Function> all = {
      {"inv", Want::any, true, [](const Tensor& a) { return Tensors{inv(a).value}; }},
      {"solve", Want::any, true,
       [](const Tensor& a) { return Tensors{solve(a, right_side(a.shape(-1), 1, a.dtype())).value}; }},
      {"solve with many right-hand sides", Want::any, true,
       [](const Tensor& a) { return Tensors{solve(a, eye(a.shape().back(), {.dtype = a.dtype()})).value}; }},
      {"expm", Want::any, true, [](const Tensor& a) { return Tensors{expm(a).value}; }},
      {"matmul", Want::any, false, [](const Tensor& a) { return Tensors{matmul(a, matrix_transpose(a))}; }},
      {"matmul with one matrix", Want::any, false,
       [](const Tensor& a) {
         const std::int64_t n = a.shape().back();
         const Tensor b = reshape(astype(arange(n * 3), a.dtype()), {n, 3});
         return Tensors{matmul(a, b), matmul(a, b[{slice(), slice(1, 2)}])};
       }},
      {"det", Want::any, true, [](const Tensor& a) { return Tensors{det(a).value}; }},
      {"slogdet", Want::any, true,
       [](const Tensor& a) {
         const auto s = slogdet(a).value;
         return Tensors{s.sign, s.logabsdet};
       }},
      {"cholesky", Want::definite, true, [](const Tensor& a) { return Tensors{cholesky(a).value}; }},
      {"eigh", Want::symmetric, true,
       [](const Tensor& a) {
         const auto e = eigh(a).value;
         return Tensors{e.eigenvalues, e.eigenvectors};
       }},
      {"eigvalsh", Want::symmetric, true, [](const Tensor& a) { return Tensors{eigvalsh(a).value}; }},
      {"svd", Want::any, false,
       [](const Tensor& a) {
         const auto s = svd(a, {.full_matrices = false}).value;
         return Tensors{s.U, s.S, s.Vh};
       }},
      {"qr", Want::any, false,
       [](const Tensor& a) {
         const auto f = qr(a).value;
         return Tensors{f.Q, f.R};
       }},
      {"svd with all vectors", Want::any, false,
       [](const Tensor& a) {
         const auto s = svd(a).value;
         return Tensors{s.U, s.S, s.Vh};
       }},
      {"qr with all of Q", Want::any, false,
       [](const Tensor& a) {
         const auto f = qr(a, {.mode = "complete"}).value;
         return Tensors{f.Q, f.R};
       }},
      {"svdvals", Want::any, false, [](const Tensor& a) { return Tensors{svdvals(a).value}; }},
      {"lu", Want::any, false,
       [](const Tensor& a) {
         const auto f = lu(a).value;
         return Tensors{f.P, f.L, f.U};
       }},
      {"lstsq", Want::any, false,
       [](const Tensor& a) { return Tensors{lstsq(a, right_side(a.shape(-2), 1, a.dtype())).value}; }},
      {"lstsq with many right-hand sides", Want::any, false,
       [](const Tensor& a) { return Tensors{lstsq(a, right_side(a.shape(-2), 6, a.dtype())).value}; }},
      {"solve with more right-hand sides than lanes take", Want::any, true,
       [](const Tensor& a) { return Tensors{solve(a, right_side(a.shape(-1), 40, a.dtype())).value}; }},
      {"lstsq with more right-hand sides than lanes take", Want::any, false,
       [](const Tensor& a) { return Tensors{lstsq(a, right_side(a.shape(-2), 40, a.dtype())).value}; }},
      {"pinv", Want::any, false, [](const Tensor& a) { return Tensors{pinv(a).value}; }},
  };
  return all;
}

inline std::string bytes_of(const Tensor& t) {
  const Tensor c = packed(t, t.dtype());
  return std::string(reinterpret_cast<const char*>(c.node()->data),
                     static_cast<std::size_t>(c.size()) * (t.dtype() == f32 ? 4 : 8));
}
inline std::string all_bytes(const Tensors& t, std::int64_t member) {
  std::string out;
  for (const Tensor& x : t) {
    const Tensor all = packed(x, x.dtype());
    const auto each = static_cast<std::size_t>(all.nbytes()) / static_cast<std::size_t>(x.shape(0));
    out.append(reinterpret_cast<const char*>(all.node()->data) + static_cast<std::size_t>(member) * each, each);
  }
  return out;
}

// The members of a stack, or of those that `order` names.
using Members = std::vector<std::vector<double>>;
inline Members chosen(const Members& from, const std::vector<std::size_t>& order) {
  Members out;
  for (const std::size_t i : order) out.push_back(from[i]);
  return out;
}
// Good ones, and one of each that is not: NaN and infinity in the first or the last place, all zero, singular, nearly
// so, denormal, near overflow, far from 1, rows of different sizes.
inline constexpr std::size_t kGood = 12, kAll = kGood + 12;
inline Members difficult(std::int64_t m, std::int64_t n, Want want, DType dtype, std::mt19937_64& g) {
  Members out;
  for (std::size_t i = 0; i < kAll; ++i) out.push_back(draw(m, n, want, g));
  const auto scale = [&](std::size_t i, double by) {
    for (double& v : out[i]) v *= by;
  };
  auto bad = out.begin() + kGood;
  const bool single = dtype == f32;
  bad[0][0] = std::nan("");
  bad[1].back() = std::nan("");
  bad[2][0] = HUGE_VAL;
  bad[3].back() = -HUGE_VAL;
  bad[4].assign(bad[4].size(), 0.0);
  bad[5].assign(bad[5].size(), 1.0);
  bad[6].assign(bad[6].size(), 1.0);
  bad[6][0] += single ? 1e-6 : 1e-14;
  scale(kGood + 7, single ? 1e-40 : 1e-310);
  scale(kGood + 8, single ? 1e37 : 1e307);
  scale(kGood + 9, 1e-30);
  scale(kGood + 10, single ? 1e-30 : 1e-200);
  for (std::int64_t e = 0; e < m * n; ++e) {  // symmetric if it was
    const auto row = e / n, column = e % n;
    bad[11][static_cast<std::size_t>(e)] *= std::pow(1e-3, (row == m - 1) + (column == n - 1));
  }
  return out;
}

inline constexpr std::pair<std::int64_t, std::int64_t> kShapes[] = {
    {1, 1},   {2, 2},   {3, 3},   {4, 4},   {5, 5},   {6, 6}, {7, 7}, {8, 8},  {9, 9},  {11, 11}, {13, 13},
    {16, 16}, {17, 17}, {20, 20}, {31, 31}, {32, 32}, {5, 3}, {3, 8}, {12, 9}, {9, 20}, {31, 6},  {31, 32}};

}  // namespace small_functions
