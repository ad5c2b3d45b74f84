#include "linalg/hermitian.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/text.hpp"
#include "kernels/numbers.hpp"

namespace wp::linalg {

AttrSpec uplo_attr() {
  return {.name = "uplo",
          .type = AttrType::text,
          .doc = "Read this triangle only; none: (x + conj(x)ᵀ)/2, with a finding if x is not symmetric.",
          .choices = {"lower", "upper"}};
}

template <class T>
Hermitian<T>::Hermitian(std::int64_t n, kernels::View<T> a, std::string_view uplo)
    : matrix(static_cast<std::size_t>(n * n)) {
  const auto size = [](T v) { return std::max(std::fabs(std::real(v)), std::fabs(std::imag(v))); };
  double apart = 0;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j <= i; ++j) {
      const T below = a.data[i * a.rows + j * a.columns], above = conjugate(a.data[j * a.rows + i * a.columns]);
      T v = uplo == "lower" || (uplo.empty() && below == above) ? below
            : uplo == "upper"                                   ? above
                                                                : below * Real(0.5) + above * Real(0.5);
      if (i == j) v = T(std::real(v));
      if (uplo.empty()) apart = std::max(apart, static_cast<double>(size(below - v)));
      largest = std::max(largest, static_cast<double>(size(v)));
      finite = finite && std::isfinite(std::real(v)) && std::isfinite(std::imag(v));
      matrix[static_cast<std::size_t>(i * n + j)] = v;
      matrix[static_cast<std::size_t>(j * n + i)] = conjugate(v);
    }
  asymmetry = finite && largest > 0 ? apart / largest : 0;
}
template struct Hermitian<float>;
template struct Hermitian<double>;
template struct Hermitian<complex64>;
template struct Hermitian<complex128>;

void flow_hermitian(const FlowQuery& q, const Attr& uplo, Visit visit) {
  const std::int64_t n = q.call.in[0].shape().back(), members = q.call.in[0].size() / (n * n);
  const std::int64_t member = q.element / (q.call.out[q.output].size() / members);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      if (!uplo || (uplo.text() == "lower" ? j <= i : j >= i)) visit((member * n + i) * n + j);
}

void report_asymmetry(const Call& c, const std::vector<double>& asymmetry, DType dtype) {
  const double threshold = 64 * round_off(dtype);
  const auto worst = std::max_element(asymmetry.begin(), asymmetry.end());
  if (c.diagnosed || worst == asymmetry.end() || !(*worst > threshold)) return;
  Finding f = misuse("WP-LIN-006", {}, {}, {});
  f.severity = Severity::warning;
  f.count = std::count_if(asymmetry.begin(), asymmetry.end(), [&](double v) { return v > threshold; });
  f.worst_member = worst - asymmetry.begin();
  f.measured = *worst;
  f.threshold = threshold;
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", *worst);
  f.message =
      say(asymmetry.size() > 1 ? say("matrix ", f.worst_member, " of ", asymmetry.size()) : std::string("the matrix"),
          " is not symmetric: elements differ from their mirror images by up to ", text,
          " of the largest. The answer is that of (x + conj(x)ᵀ)/2.");
  f.advice = "Make it symmetric before, or say which triangle is meant: uplo = \"lower\".";
  report(f);
}

}  // namespace wp::linalg
