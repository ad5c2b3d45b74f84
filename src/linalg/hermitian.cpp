#include "linalg/hermitian.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/text.hpp"
#include "kernels/numbers.hpp"
#include "linalg/small.hpp"

namespace wp::linalg {
namespace {

double asymmetry_threshold(DType dtype) {
  return 64 * round_off(dtype);
}

}  // namespace

AttrSpec uplo_attr() {
  return {.name = "uplo",
          .type = AttrType::text,
          .doc = "Read this triangle only; none: (x + conj(x)ᵀ)/2, with a finding if x is not symmetric.",
          .choices = {"lower", "upper"}};
}

kernels::Side side_of(std::string_view uplo) {
  return uplo == "lower" ? kernels::Side::lower : uplo == "upper" ? kernels::Side::upper : kernels::Side::both;
}

kernels::batched::Reads reads_of(std::string_view uplo) {
  using kernels::batched::Reads;
  return uplo == "lower" ? Reads::lower : uplo == "upper" ? Reads::upper : Reads::both;
}

template <class T>
Hermitian<T>::Hermitian(std::int64_t n, kernels::View<T> a, std::string_view uplo)
    : matrix(static_cast<std::size_t>(n * n)) {
  constexpr std::int64_t kBlock = 32;
  const kernels::Mirrored found = kernels::mirror<T>(n, a, side_of(uplo), matrix.data(), n);
  for (std::int64_t from = 0; from < n; from += kBlock)
    for (std::int64_t left = 0; left <= from; left += kBlock)
      for (std::int64_t i = from; i < std::min(n, from + kBlock); ++i)
        for (std::int64_t j = left; j < std::min(i, left + kBlock); ++j)
          matrix[static_cast<std::size_t>(j * n + i)] = conjugate(matrix[static_cast<std::size_t>(i * n + j)]);
  largest = found.largest;
  finite = found.finite;
  asymmetry = asymmetry_of(found);
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

void measure_asymmetry(const Tensor& a, const Dims& batch, const std::vector<std::int64_t>& more,
                       std::vector<double>& asymmetry, std::vector<std::int64_t>& which) {
  const std::int64_t n = a.shape().back();
  for (const std::int64_t i : more) {
    const Tensor one = members_of(a, batch, {i}, f64);
    asymmetry.push_back(Hermitian<double>(n, {data_of<const double>(one), n, 1}, {}).asymmetry);
    which.push_back(i);
  }
}

void report_asymmetry(const Call& c, const std::vector<double>& asymmetry, DType dtype,
                      const std::vector<std::int64_t>& which) {
  const auto worst = std::max_element(asymmetry.begin(), asymmetry.end());
  if (c.diagnosed || worst == asymmetry.end()) return;
  const std::int64_t members = count_of(batch_of(c.in[0]));
  std::int64_t member = worst - asymmetry.begin();
  if (!which.empty()) member = which[static_cast<std::size_t>(member)];
  const auto count =
      std::count_if(asymmetry.begin(), asymmetry.end(), [&](double v) { return v > asymmetry_threshold(dtype); });
  report_asymmetry(*worst, dtype, members > 1 ? say("matrix ", member, " of ", members) : std::string("the matrix"),
                   count, member);
}

void report_asymmetry(double asymmetry, DType dtype, std::string_view which, std::int64_t count, std::int64_t worst) {
  if (!(asymmetry > asymmetry_threshold(dtype))) return;
  Finding f = misuse("WP-LIN-006", {}, {}, {});
  f.severity = Severity::warning;
  f.count = count;
  f.worst_member = worst;
  f.measured = asymmetry;
  f.threshold = asymmetry_threshold(dtype);
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", asymmetry);
  f.message = say(which, " is not symmetric: elements differ from their mirror images by up to ", text,
                  " of the largest. The answer is that of (x + conj(x)ᵀ)/2.");
  f.advice = "Make it symmetric before, or say which triangle is meant: uplo = \"lower\".";
  report(f);
}

}  // namespace wp::linalg
