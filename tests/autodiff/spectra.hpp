// Losses of svd and eigh that do not depend on the basis of repeated values, with their derivatives in closed form,
// and values at every gap from 1 to 0.
#pragma once
#include <cmath>

#include "draws.hpp"

namespace wp {

struct Loss {
  const char* name;
  std::function<Tensor(const Tensor& A)> of;                         // through the factors
  std::function<Tensor(const Tensor& A)> exact;                      // the gradient, in f64 or c128
  std::function<Tensor(const Tensor& A, const Tensor& B)> directed;  // its derivative along B
};

inline Tensor widened(const Tensor& x) {
  return astype(x, is_complex(x.dtype()) ? c128 : f64);
}

// Of thin factors, or of the leading columns of full ones.
inline std::vector<Loss> svd_losses(Draw& d, std::int64_t m, std::int64_t n, DType dtype = f64, bool full = false) {
  const Tensor M = d.normal({m, m}, dtype), N = d.normal({n, n}, dtype), K = d.normal({m, n}, dtype);
  const Tensor M2 = 2 * hermitian(widened(M)), N2 = 2 * hermitian(widened(N)), Kw = widened(K);
  const auto through = [=](const std::function<Tensor(const Tensor&, const Tensor&, const Tensor&)>& f) {
    return [=](const Tensor& A) {
      const std::int64_t k = std::min(m, n);
      const auto r = linalg::svd(A, {.full_matrices = full});
      if (!full) return f(r.U, r.S, r.Vh);
      const DType real = real_of(A.dtype());
      return f(matmul(r.U, eye(m, {.n_cols = k, .dtype = real})), r.S,
               matmul(eye(k, {.n_cols = n, .dtype = real}), r.Vh));
    };
  };
  const auto third = [](const Tensor& a, const Tensor& b, const Tensor& c) { return times(a, adjoint(b), c); };
  return {
      {"<M, A A'>", through([=](const Tensor& U, const Tensor& S, const Tensor&) {
         return against(M, matmul(U * row(S * S), adjoint(U)));
       }),
       [=](const Tensor& A) { return matmul(M2, A); }, [=](const Tensor&, const Tensor& B) { return matmul(M2, B); }},
      {"<N, A'A>", through([=](const Tensor&, const Tensor& S, const Tensor& Vh) {
         return against(N, matmul(adjoint(Vh) * row(S * S), Vh));
       }),
       [=](const Tensor& A) { return matmul(A, N2); }, [=](const Tensor&, const Tensor& B) { return matmul(B, N2); }},
      {"<K, AA'A> + <K, A>^2", through([=](const Tensor& U, const Tensor& S, const Tensor& Vh) {
         return against(K, matmul(U * row(S * S * S), Vh)) + square(against(K, matmul(U * row(S), Vh)));
       }),
       [=](const Tensor& A) { return third(Kw, A, A) + third(A, Kw, A) + third(A, A, Kw) + against(Kw, A) * 2 * Kw; },
       [=](const Tensor& A, const Tensor& B) {
         return third(Kw, B, A) + third(Kw, A, B) + third(B, Kw, A) + third(A, Kw, B) + third(B, A, Kw) +
                third(A, B, Kw) + against(Kw, B) * 2 * Kw;
       }}};
}

// Of eigenvalues between −5 and 5; A and B are Hermitian.
inline std::vector<Loss> eigh_losses(Draw& d, std::int64_t n, DType dtype = f64) {
  const Tensor M = d.normal({n, n}, dtype), H = hermitian(widened(M));
  const auto through = [](const std::function<Tensor(const Tensor&, const Tensor&)>& f) {
    return [=](const Tensor& A) {
      const auto e = linalg::eigh(A);
      return f(e.eigenvalues, e.eigenvectors);
    };
  };
  const auto function = [](const Tensor& values, const Tensor& V) { return matmul(V * row(values), adjoint(V)); };
  const auto resolvent = [n](const Tensor& A) { return linalg::inv(A + 6 * eye(n)); };
  return {{"<M, A^2>", through([=](const Tensor& l, const Tensor& V) { return against(M, function(l * l, V)); }),
           [=](const Tensor& A) { return matmul(H, A) + matmul(A, H); },
           [=](const Tensor&, const Tensor& B) { return matmul(H, B) + matmul(B, H); }},
          {"<M, A^3> + <M, A>^2", through([=](const Tensor& l, const Tensor& V) {
             return against(M, function(l * l * l, V)) + square(against(M, function(l, V)));
           }),
           [=](const Tensor& A) { return times(H, A, A) + times(A, H, A) + times(A, A, H) + against(H, A) * 2 * H; },
           [=](const Tensor& A, const Tensor& B) {
             return times(H, B, A) + times(H, A, B) + times(B, H, A) + times(A, H, B) + times(B, A, H) +
                    times(A, B, H) + against(H, B) * 2 * H;
           }},
          {"<M, (A + 6)^-1>",
           through([=](const Tensor& l, const Tensor& V) { return against(M, function(1 / (l + 6), V)); }),
           [=](const Tensor& A) { return negative(times(resolvent(A), H, resolvent(A))); },
           [=](const Tensor& A, const Tensor& B) {
             const Tensor X = resolvent(A), XBX = times(X, B, X);
             return times(XBX, H, X) + times(X, H, XBX);
           }}};
}

// `size` values 2, 2 + gap/size, 2 + 2 gap/size, …, and others apart from them.
inline std::vector<double> clustered(std::size_t size, double gap, std::size_t n = 6) {
  std::vector<double> s(n);
  for (std::size_t i = 0; i < n; ++i)
    s[i] = i < size ? 2 + gap * static_cast<double>(i) / static_cast<double>(size) : 1.5 / static_cast<double>(i + 1);
  return s;
}
// Six values each: ties, zeros, and every gap from 1 to 1e-15. Eigenvalues: also of both signs.
inline std::vector<std::vector<double>> spectra(bool eigenvalues = false) {
  std::vector<std::vector<double>> all{{3, 3, 1, 1, .5, .5}, {3, 3, 0, 0, 0, 0}, {2, 1, 0, 0, 0, 0},
                                       {0, 0, 0, 0, 0, 0},   {2, 2, 2, 2, 2, 2}, {3, 2.5, 2, 1.5, 1, 0.5}};
  for (int k = 0; k < 16; ++k) {
    const double g = std::pow(10.0, -k);
    all.push_back({3, 3 + g, 2, 2 - g / 3, 2 - g / 2, 1});
    all.push_back({3, 2, 1, g, g / 2, g / 3});
    if (eigenvalues) all.push_back({-2, -2 - g, -g, 0, g / 2, 2});
    for (std::size_t size = 2; size <= 6; ++size) all.push_back(clustered(size, g));
  }
  for (std::size_t size = 2; size <= 6; ++size) all.push_back(clustered(size, 0));
  if (eigenvalues) all.insert(all.end(), {{-2, -2, -2, 2, 2, 2}, {-1, -1, 0, 0, 1, 1}});
  return all;
}

}  // namespace wp
