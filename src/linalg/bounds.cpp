#include "linalg/bounds.hpp"

#include <algorithm>

#include "linalg/stack.hpp"
#include "ops/lines.hpp"
#include "wellposed/context.hpp"

namespace wp::linalg {

double growth_of_errors(std::int64_t n) {
  return 16 * std::sqrt(static_cast<double>(std::max<std::int64_t>(n, 1)));
}

void bound_spectrum(const double* v, std::int64_t n, const Bounds& b, Member& m) {
  std::vector<double> values, vectors;
  const bool zero = std::all_of(v, v + n, [](double value) { return value == 0; });
  for (std::int64_t i = 0; i < n; ++i) {
    const double size = std::fabs(v[i]);
    const double half = std::max(least_number(b.dtype) / 2, least_number(DType::f64));  // that of f64 is no number
    const double denormal = !zero && size < least_normal(b.dtype) ? half : 0;
    values.push_back(std::min(b.absolute, b.relative * size) + b.rounding * size + denormal);
  }
  const auto apart = [&](std::int64_t i, std::int64_t j) { return std::fabs(v[i] - v[j]); };
  const auto relative = [&](std::int64_t i, std::int64_t j) {
    const double gap = apart(i, j);
    return gap > 0 ? gap / (std::fabs(v[i]) + std::fabs(v[j])) : 0;
  };
  const auto together = [&](std::int64_t i, std::int64_t j) {
    return apart(i, j) <= 2 * (values[static_cast<std::size_t>(i)] + values[static_cast<std::size_t>(j)]);
  };
  const double of_vectors = std::max(b.absolute, b.of_vectors);
  for (std::int64_t i = 0; i < n; ++i) {
    double gap = b.beside_zero ? std::fabs(v[i]) : HUGE_VAL, relative_gap = b.beside_zero ? 1 : HUGE_VAL;
    for (const std::int64_t j : {i - 1, i + 1})
      if (j >= 0 && j < n) {
        gap = std::min(gap, apart(i, j));
        relative_gap = std::min(relative_gap, relative(i, j));
      }
    const auto quotient = [](double error, double of) { return of > 0 ? error / of : HUGE_VAL; };
    const double error =
        std::isinf(gap) ? 0 : std::min(quotient(of_vectors, gap), quotient(b.relative, relative_gap));
    vectors.push_back(std::min(error + b.rounding, 2.0));
    if (i > 0 && together(i - 1, i)) {
      Cluster& c = m.clusters.empty() || m.clusters.back().last != i - 1
                       ? m.clusters.emplace_back(Cluster{i - 1, i, v[i - 1], v[i - 1]})
                       : m.clusters.back();
      c = {c.first, i, std::min(c.low, v[i]), std::max(c.high, v[i])};
    }
  }
  m.value_error = Tensor::from(values, {n});
  m.vector_error = Tensor::from(vectors, {n});
}

Bounds StackBounds::of(std::int64_t member, const double* values, std::int64_t n) const {
  Bounds out;
  const auto at = std::lower_bound(which.begin(), which.end(), member);
  if (relative_to_largest == HUGE_VAL) {
    out = own[static_cast<std::size_t>(member)];
  } else if (at != which.end() && *at == member) {
    out = own[static_cast<std::size_t>(at - which.begin())];
  } else {
    double largest = 0;
    for (std::int64_t i = 0; i < n; ++i) largest = std::max(largest, std::fabs(values[i]));
    out.absolute = relative_to_largest * largest;
    if (relative.defined()) out.relative = reinterpret_cast<const double*>(relative.node()->data)[member];
  }
  out.rounding = rounding;
  out.dtype = dtype;
  out.beside_zero = beside_zero;
  return out;
}

StackBounds lane_bounds(std::vector<Bounds> own, std::vector<std::int64_t> which, std::int64_t longest) {
  return {std::move(own), std::move(which), 2 * growth_of_errors(longest) * 0x1p-53};
}

void bound_spectra(Diagnosis::State& state, const Tensor& given, StackBounds bounds) {
  const std::int64_t n = given.shape().back();
  bounds.dtype = given.dtype();
  state.spectrum = [values = packed(given, f64), n, bounds = std::move(bounds)](std::int64_t member, Member& m) {
    if (n == 0 || m.status != Status::ok) return;
    const auto* const v = reinterpret_cast<const double*>(values.node()->data) + member * n;
    bound_spectrum(v, n, bounds.of(member, v, n), m);
  };
}

void keep_bounds(const Call& c, Diagnosis::State& state, const Tensor& given, StackBounds bounds) {
  if (context().listeners) {
    const std::int64_t n = given.shape().back();
    const Tensor values = packed(given, f64);
    const auto* const v = reinterpret_cast<const double*>(values.node()->data);
    std::vector<Bounds> all;
    all.reserve(state.verdicts.size());
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(state.verdicts.size()); ++i)
      all.push_back(bounds.of(i, v + i * n, n));
    c.beside().residuals = {kept_bounds(state.batch, all)};
  }
  bound_spectra(state, given, std::move(bounds));
}

Tensor kept_bounds(const Dims& batch, const std::vector<Bounds>& bounds) {
  std::vector<double> all;
  all.reserve(3 * bounds.size());
  for (const Bounds& b : bounds) all.insert(all.end(), {b.absolute, b.relative, b.rounding});
  Dims shape = batch;
  shape.push_back(3);
  return Tensor::from(all, shape);
}

}  // namespace wp::linalg
