#include "linalg/explain.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>

#include "base/text.hpp"
#include "kernels/modular.hpp"
#include "kernels/numbers.hpp"

namespace wp::linalg {
namespace {

constexpr std::int64_t kLargest = 600;  // rows and columns beyond which the search would take seconds
constexpr std::size_t kTerms = 6;       // terms that a person would read

template <class T>
using Row = std::vector<T>;

template <class T>
T inner(const Row<T>& a, const Row<T>& b) {  // aᴴ b
  T sum(0);
  for (std::size_t i = 0; i < a.size(); ++i) sum += conjugate(a[i]) * b[i];
  return sum;
}
template <class T>
double length(const Row<T>& a) {
  return std::sqrt(std::real(inner(a, a)));
}
template <class T>
void subtract(Row<T>& a, T factor, const Row<T>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] -= factor * b[i];
}

// x without its part in the span of the orthonormal rows; twice is enough (Parlett 1980, §6-9).
template <class T>
Row<T> outside(Row<T> x, const std::vector<Row<T>>& basis) {
  for (int pass = 0; pass < 2; ++pass)
    for (const Row<T>& q : basis) subtract(x, inner(q, x), q);
  return x;
}

// Rows scaled by powers of two to have their largest element near 1; the scales are kept.
template <class T>
struct Rows {
  std::vector<Row<T>> row;
  std::vector<int> scale;
  Rows(std::int64_t m, std::int64_t n, kernels::View<T> a) {
    for (std::int64_t i = 0; i < m; ++i) {
      Row<T> r;
      double largest = 0;
      for (std::int64_t j = 0; j < n; ++j) {
        r.push_back(a.data[i * a.rows + j * a.columns]);
        largest = std::max(largest, size_of_number(r.back()));
      }
      int e = 0;
      if (largest > 0) std::frexp(largest, &e);
      for (T& v : r) v = times_power(v, -e);
      row.push_back(std::move(r));
      scale.push_back(e);
    }
  }
};

template <class T>
struct Term {
  std::size_t row;
  T factor;
};

// target ≈ Σ factor · row over few of the first `count` rows: orthogonal matching pursuit (Pati et al. 1993), then
// the factors by back substitution. Empty if kTerms do not reach the tolerance.
template <class T>
std::vector<Term<T>> few_terms(const Rows<T>& rows, std::size_t count, const Row<T>& target, double tolerance) {
  std::vector<std::size_t> chosen;
  std::vector<Row<T>> basis;
  std::vector<std::vector<T>> r;  // column k: row chosen[k] in the basis
  std::vector<T> coordinates;     // of the target
  Row<T> rest = target;
  const double goal = tolerance * length(target);
  while (length(rest) > goal) {
    if (chosen.size() == std::min(kTerms, count)) return {};
    std::size_t best = count;
    double most = 0;
    for (std::size_t j = 0; j < count; ++j) {
      const double norm = length(rows.row[j]);
      const double part = norm > 0 ? std::abs(inner(rows.row[j], rest)) / norm : 0;
      if (part > most * (1 + 1e-12) && std::find(chosen.begin(), chosen.end(), j) == chosen.end()) {
        most = part;
        best = j;
      }
    }
    if (best == count) return {};
    Row<T> q = outside(rows.row[best], basis);
    const double norm = length(q);
    if (!(norm > 0)) return {};
    for (T& v : q) v /= norm;
    std::vector<T> column;
    for (const Row<T>& b : basis) column.push_back(inner(b, rows.row[best]));
    column.push_back(T(norm));
    r.push_back(std::move(column));
    coordinates.push_back(inner(q, target));
    subtract(rest, inner(q, rest), q);
    basis.push_back(std::move(q));
    chosen.push_back(best);
  }
  for (std::size_t k = chosen.size(); k-- > 0;) {
    coordinates[k] /= r[k][k];
    for (std::size_t i = 0; i < k; ++i) coordinates[i] -= coordinates[k] * r[k][i];
  }
  std::vector<Term<T>> out;
  for (std::size_t k = 0; k < chosen.size(); ++k) out.push_back({chosen[k], coordinates[k]});
  std::sort(out.begin(), out.end(), [](const Term<T>& a, const Term<T>& b) { return a.row < b.row; });
  return out;
}

// A fraction of small numbers as such, all else in decimals.
std::string amount_of(const kernels::Ratio& r) {
  const int e = r.exponent;
  const std::int64_t size = std::abs(r.numerator);
  const bool small = size < 10000 && r.denominator < 10000 && std::abs(e) < 14;
  if (r.denominator == 1 || !small) return brief(std::fabs(r.value()));
  return say(e > 0 ? size << e : size, "/", e < 0 ? r.denominator << -e : r.denominator);
}

// " + 2 × row 3"; the sign stands apart but in front of the first term.
std::string term_text(bool negative, const std::string& amount, const std::string& label, bool first) {
  const std::string out = first ? (negative ? "−" : "") : negative ? " − " : " + ";
  return out + (amount == "1" ? label : amount + " × " + label);
}
std::string term_text(double factor, const std::string& label, bool first) {
  return term_text(factor < 0, brief(std::fabs(factor)), label, first);
}
std::string term_text(complex128 factor, const std::string& label, bool first) {
  if (std::fabs(factor.imag()) <= 1e-12 * std::fabs(factor.real())) return term_text(factor.real(), label, first);
  return say(first ? "" : " + ", "(", brief(factor.real()), factor.imag() < 0 ? "" : "+", brief(factor.imag()),
             "j) × ", label);
}

}  // namespace

std::string brief(double v) {
  char text[40];
  for (int digits = 1; digits <= 17; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, v);
    if (std::fabs(std::strtod(text, nullptr) - v) <= 1e-12 * std::fabs(v)) break;
  }
  return text;
}

template <class T>
std::string nearly_dependent_rows(std::int64_t m, std::int64_t n, kernels::View<T> a, double tolerance,
                                  std::string_view kind, const std::vector<std::string>& labels) {
  if (m * n > kLargest * kLargest) return {};
  const Rows<T> rows(m, n, a);
  const auto label = [&](std::size_t i) { return i < labels.size() ? labels[i] : say(kind, ' ', i); };
  std::vector<Row<T>> basis;
  for (std::size_t k = 0; k < rows.row.size(); ++k) {
    const double norm = length(rows.row[k]);
    if (norm == 0) return label(k) + " is zero";
    Row<T> q = outside(rows.row[k], basis);
    const double left = length(q);
    if (left > tolerance * norm) {
      for (T& v : q) v /= left;
      basis.push_back(std::move(q));
      continue;
    }
    const std::vector<Term<T>> terms = few_terms(rows, k, rows.row[k], tolerance);
    if (terms.empty()) return say(label(k), " is nearly a combination of the ", kind, "s before it");
    std::string text;
    for (const Term<T>& t : terms)
      text += term_text(times_power(t.factor, rows.scale[k] - rows.scale[t.row]), label(t.row), text.empty());
    return say(label(k), " ≈ ", text);
  }
  return {};
}

template <class T>
std::string exactly_dependent_rows(std::int64_t m, std::int64_t n, kernels::View<T> a, std::string_view kind,
                                   const std::vector<std::string>& labels) {
  if (m * n > kLargest * kLargest) return {};
  const auto found = kernels::exact_dependency<T>(m, n, a);
  if (!found || found->terms.size() > kTerms) return {};
  const auto label = [&](std::int64_t row) {
    const auto i = static_cast<std::size_t>(row);
    return i < labels.size() ? labels[i] : say(kind, ' ', i);
  };
  if (found->terms.empty()) return label(found->row) + " is zero";
  std::string text;
  for (const auto& [row, re, im] : found->terms)
    text += im.numerator == 0 ? term_text(re.numerator < 0, amount_of(re), label(row), text.empty())
                              : term_text(complex128(re.value(), im.value()), label(row), text.empty());
  return say(label(found->row), " = ", text);
}

#define WP_INSTANTIATE(T)                                                                                            \
  template std::string nearly_dependent_rows(std::int64_t, std::int64_t, kernels::View<T>, double, std::string_view, \
                                             const std::vector<std::string>&);                                       \
  template std::string exactly_dependent_rows(std::int64_t, std::int64_t, kernels::View<T>, std::string_view,        \
                                              const std::vector<std::string>&);
WP_INSTANTIATE(double)
WP_INSTANTIATE(complex128)
#undef WP_INSTANTIATE

std::string few_digits(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", v);
  return text;
}

}  // namespace wp::linalg
