// Rows of a matrix of floats that depend on each other: null vectors modulo two primes, read as fractions.
#pragma once
#include <cmath>
#include <limits>

#include "kernels/echelon.hpp"
#include "kernels/modular.hpp"

namespace wp::kernels {

// The fraction that x stands for modulo `modulus` < 2¹²²: the one before the largest quotient of Euclid's algorithm,
// if that is large (Monagan 2004: maximal quotient rational reconstruction). None if it is not, or if numerator or
// denominator need more than 62 bits.
std::optional<Ratio> reconstruct(TwoWords x, TwoWords modulus);

template <class T>
class DependencySearch {
  static constexpr std::int64_t parts = RealOf<T>::parts;
  static constexpr std::size_t kCandidates = 16;

 public:
  DependencySearch(std::int64_t m, std::int64_t n, View<T> a, Word seed)
      : m_(m), n_(n), a_(a), primes_(seed), high_(static_cast<std::size_t>(m)), low_(high_) {
    for (std::int64_t i = 0; i < m; ++i) measure(i);
  }

  // Row r of A is Σ c_i · row i over pivots i < r: column r of the reduced echelon form of Aᵀ.
  std::optional<Dependency> run() {
    const PrimeField fields[2] = {PrimeField(primes_.next()), PrimeField(primes_.next())};
    Echelon<parts> first(fields[0], n_, m_), second(fields[1], n_, m_);
    fill(first, fields[0]);
    if (first.run(false) == m_) return std::nullopt;
    fill(second, fields[1]);
    second.run(false);
    const std::vector<Pivot> pivots[2] = {ordered(first), ordered(second)};
    for (std::size_t k = 0; k < std::max(pivots[0].size(), pivots[1].size()); ++k)
      if (pivots[0].size() != pivots[1].size() || pivots[0][k].column != pivots[1][k].column) return std::nullopt;
    struct Candidate {
      std::int64_t row, terms;
      std::vector<Gaussian> factors;
    };
    std::vector<Candidate> candidates;
    for (const std::int64_t r : dependent(pivots[0])) {
      Candidate c{r, 0, solve(fields[0], first, pivots[0], r)};
      for (const Gaussian f : c.factors) c.terms += !f.zero();
      candidates.push_back(std::move(c));
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.terms < b.terms; });
    for (const Candidate& c : candidates) {
      const std::vector<Gaussian> other = solve(fields[1], second, pivots[1], c.row);
      std::optional<Dependency> found = read(fields, c.row, pivots[0], c.factors, other);
      if (found && holds(*found)) return found;
    }
    return std::nullopt;
  }

 private:
  using Pivot = typename Echelon<parts>::Pivot;

  T at(std::int64_t i, std::int64_t j) const { return a_.data[i * a_.rows + j * a_.columns]; }

  // Elements of row i are below 2^high in size, and multiples of 2^low.
  void measure(std::int64_t i) {
    int high = std::numeric_limits<int>::min(), low = std::numeric_limits<int>::max();
    const auto see = [&](double v) {
      if (v == 0) return;
      high = std::max(high, std::ilogb(v) + 1);
      low = std::min(low, std::max(std::ilogb(v) - 52, -1074));
    };
    for (std::int64_t j = 0; j < n_; ++j) {
      see(real_part(at(i, j)));
      see(imaginary_part(at(i, j)));
    }
    const auto k = static_cast<std::size_t>(i);
    high_[k] = high < low ? 0 : high;
    low_[k] = high < low ? 0 : low;
  }

  // Aᵀ, each row of A scaled to about 1.
  void fill(Echelon<parts>& t, const PrimeField& field) const {
    t.fill([&](std::int64_t j, std::int64_t i) { return entry(field, i, j, -high_[static_cast<std::size_t>(i)]); });
  }
  Gaussian entry(const PrimeField& field, std::int64_t i, std::int64_t j, int exponent) const {
    const T v = at(i, j);
    return {field.of(real_part(v), exponent), parts == 2 ? field.of(imaginary_part(v), exponent) : 0};
  }

  static std::vector<Pivot> ordered(const Echelon<parts>& e) {
    std::vector<Pivot> pivots = e.pivots();
    std::sort(pivots.begin(), pivots.end(), [](const Pivot& a, const Pivot& b) { return a.column < b.column; });
    return pivots;
  }
  std::vector<std::int64_t> dependent(const std::vector<Pivot>& pivots) const {
    std::vector<std::int64_t> rows;
    std::size_t k = 0;
    for (std::int64_t r = 0; r < m_ && rows.size() < kCandidates; ++r)
      if (k < pivots.size() && pivots[k].column == r)
        ++k;
      else
        rows.push_back(r);
    return rows;
  }

  // One factor per pivot before row r, by substitution from the last one back.
  static std::vector<Gaussian> solve(const PrimeField& field, const Echelon<parts>& e,
                                     const std::vector<Pivot>& pivots, std::int64_t r) {
    std::size_t count = 0;
    while (count < pivots.size() && pivots[count].column < r) ++count;
    std::vector<Gaussian> factors(count);
    for (std::size_t k = count; k-- > 0;) {
      Gaussian sum = e.get(pivots[k].row, r);
      for (std::size_t l = k + 1; l < count; ++l)
        if (!factors[l].zero())
          sum = difference(field, sum, product(field, e.get(pivots[k].row, pivots[l].column), factors[l]));
      factors[k] = sum;
    }
    return factors;
  }

  // The number that is x modulo the first prime and y modulo the second, as a fraction.
  static std::optional<Ratio> join(const PrimeField (&fields)[2], Word x, Word y) {
    const Word p = fields[0].prime(), a = fields[0].to_integer(x);
    const Word step = fields[1].product(fields[1].difference(y, fields[1].of_integer(a)),
                                        fields[1].inverse(fields[1].of_integer(p)));
    return reconstruct(a + TwoWords{p} * fields[1].to_integer(step), TwoWords{p} * fields[1].prime());
  }
  std::optional<Dependency> read(const PrimeField (&fields)[2], std::int64_t r, const std::vector<Pivot>& pivots,
                                 const std::vector<Gaussian>& x, const std::vector<Gaussian>& y) const {
    Dependency found{r, {}};
    for (std::size_t k = 0; k < x.size(); ++k) {
      if (x[k].zero() && y[k].zero()) continue;
      std::optional<Ratio> re = join(fields, x[k].re, y[k].re), im = join(fields, x[k].im, y[k].im);
      if (!re || !im) return std::nullopt;
      const std::int64_t row = pivots[k].column;
      const int shift = high_[static_cast<std::size_t>(r)] - high_[static_cast<std::size_t>(row)];
      if (re->numerator) re->exponent += shift;
      if (im->numerator) im->exponent += shift;
      found.terms.push_back({row, *re, *im});
    }
    return found;
  }

  // D·(row r − Σ c_i · row i), D the product of all denominators, is an integer times a power of two, of at most
  // `bits` bits: it is 0 if it is 0 modulo primes of more bits together.
  bool holds(const Dependency& d) {
    const auto r = static_cast<std::size_t>(d.row);
    int top = high_[r], bottom = low_[r], bits = 2 + static_cast<int>(std::bit_width(2 * d.terms.size() + 1));
    for (const Dependency::Term& t : d.terms)
      for (const Ratio* c : {&t.re, &t.im}) {
        const auto i = static_cast<std::size_t>(t.row);
        top = std::max(top, 64 + c->exponent + high_[i]);
        bottom = std::min(bottom, c->exponent + low_[i]);
        bits += 65 - std::countl_zero(static_cast<Word>(c->denominator));
      }
    bits += top - bottom;
    for (int have = 0; have < bits;) {
      const PrimeField field(primes_.next());
      if (!invertible(field, d)) continue;
      if (!holds_modulo(field, d)) return false;
      have += 60;
    }
    return true;
  }
  static bool invertible(const PrimeField& field, const Dependency& d) {
    for (const Dependency::Term& t : d.terms)
      if (static_cast<Word>(t.re.denominator) % field.prime() == 0 ||
          static_cast<Word>(t.im.denominator) % field.prime() == 0)
        return false;
    return true;
  }
  static Word value(const PrimeField& field, const Ratio& c) {
    const Word size = field.of_integer(static_cast<Word>(std::abs(c.numerator)));
    const Word v =
        field.product(field.product(size, field.inverse(field.of_integer(static_cast<Word>(c.denominator)))),
                      field.power_of_two(c.exponent));
    return c.numerator < 0 ? field.negative(v) : v;
  }
  bool holds_modulo(const PrimeField& field, const Dependency& d) const {
    std::vector<Gaussian> rest(static_cast<std::size_t>(n_));
    for (std::int64_t j = 0; j < n_; ++j) rest[static_cast<std::size_t>(j)] = entry(field, d.row, j, 0);
    for (const Dependency::Term& t : d.terms) {
      const Gaussian c{value(field, t.re), value(field, t.im)};
      for (std::int64_t j = 0; j < n_; ++j) {
        Gaussian& to = rest[static_cast<std::size_t>(j)];
        to = difference(field, to, product(field, c, entry(field, t.row, j, 0)));
      }
    }
    return std::all_of(rest.begin(), rest.end(), [](Gaussian v) { return v.zero(); });
  }

  std::int64_t m_, n_;
  View<T> a_;
  Primes primes_;
  std::vector<int> high_, low_;
};

}  // namespace wp::kernels
