// Sums, products, moments and what is made of exponentials of a line, in double-double.
#include <quadmath.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "ops/subscripts.hpp"
#include "trace/wide.hpp"

namespace wp::trace {
namespace {

// s + e = a·b and a + b, exactly (Dekker 1971; Knuth 1969).
struct Sum {
  double s = 0, e = 0;
  void add(double v) noexcept {
    const double t = s + v, z = t - s;
    e += (s - (t - z)) + (v - z);
    s = t;
  }
  void add_product(const Wide& a, std::int64_t i, const Wide& b, std::int64_t j) noexcept {
    const auto l = static_cast<std::size_t>(i), r = static_cast<std::size_t>(j);
    const double p = a.hi[l] * b.hi[r];
    e += std::fma(a.hi[l], b.hi[r], -p);
    add(p);
    e += a.hi[l] * b.lo[r] + a.lo[l] * b.hi[r];
  }
  Quad value() const noexcept { return static_cast<Quad>(s) + e; }
};

// Products of matrices [.., m, k]·[.., k, n]; a vector is a row on the left, a column on the right.
Wide product(const Wide& a, const Wide& b, const Dims& shape) {
  const bool row = a.shape.size() == 1, column = b.shape.size() == 1;
  const std::int64_t k = a.shape.back(), m = row ? 1 : a.shape[a.shape.size() - 2], n = column ? 1 : b.shape.back();
  const std::size_t batch = shape.size() - !row - !column;
  // The matrix of an operand that the batch member takes: axes of length 1 are used again.
  const auto member = [&](std::int64_t of, const Dims& its) {
    std::int64_t at = 0, stride = 1;
    for (std::size_t d = 0; d < batch; ++d) {
      const std::int64_t length = shape[batch - 1 - d], here = of % length;
      of /= length;
      if (d + 2 >= its.size()) continue;
      const std::int64_t own = its[its.size() - 3 - d];
      at += own == 1 ? 0 : here * stride;
      stride *= own;
    }
    return at;
  };
  Wide out(shape);
  for (std::int64_t e = 0; e < out.size(); ++e) {
    const std::int64_t of = e / (m * n), i = e / n % m, j = e % n;
    const std::int64_t left = member(of, a.shape) * m * k + i * k, right = member(of, b.shape) * k * n + j;
    Sum sum;
    for (std::int64_t p = 0; p < k; ++p) sum.add_product(a, left + p, b, right + p * n);
    out.set(e, sum.value());
  }
  return out;
}

// Sums of products, where the flow visits partners in one order: vecdot, tensordot.
Wide paired(const Call& c, const Wide& a, const Wide& b) {
  Wide out(c.out[0].shape());
  std::vector<std::int64_t> left;
  for (std::int64_t e = 0; e < out.size(); ++e) {
    left.clear();
    c.op.flow({c, 0, e, 0}, [&](std::int64_t from) { left.push_back(from); });
    Sum sum;
    std::size_t k = 0;
    c.op.flow({c, 0, e, 1}, [&](std::int64_t from) { sum.add_product(a, left[k++], b, from); });
    out.set(e, sum.value());
  }
  return out;
}

// One term for every value of the indices that are summed over. None: there are too many of them.
std::optional<Wide> contracted(const Call& c, const std::vector<const Wide*>& in) {
  constexpr double kMostTerms = 1e8;
  const Subscripts s = parse_subscripts(c.attr(0).text(), c.in);
  Wide out(c.out[0].shape());
  std::vector<std::size_t> summed;
  double terms = static_cast<double>(out.size());
  for (std::size_t l = 0; l < s.length.size(); ++l)
    if (s.length[l] >= 0 && s.sums(static_cast<std::int64_t>(l))) {
      summed.push_back(l);
      terms *= static_cast<double>(s.length[l]);
    }
  if (terms * static_cast<double>(in.size()) > kMostTerms) return std::nullopt;
  std::vector<std::int64_t> at(s.length.size(), 0);  // the value of each index
  const auto element = [&](std::size_t i) {
    std::int64_t e = 0;
    for (std::size_t k = 0; k < s.in[i].size(); ++k)
      e = e * in[i]->shape[k] + (in[i]->shape[k] == 1 ? 0 : at[static_cast<std::size_t>(s.in[i][k])]);
    return e;
  };
  const auto each = out.size() ? static_cast<std::int64_t>(terms / static_cast<double>(out.size())) : 0;
  for (std::int64_t e = 0; e < out.size(); ++e) {
    for (std::int64_t k = static_cast<std::int64_t>(s.out.size()) - 1, rest = e; k >= 0; --k) {
      const auto l = static_cast<std::size_t>(s.out[static_cast<std::size_t>(k)]);
      at[l] = rest % s.length[l];
      rest /= s.length[l];
    }
    Quad sum = 0;
    Sum of_pairs;
    for (std::int64_t term = 0; term < each; ++term) {
      std::int64_t rest = term;
      for (const std::size_t l : summed) {
        at[l] = rest % s.length[l];
        rest /= s.length[l];
      }
      if (in.size() == 2) {  // much faster
        of_pairs.add_product(*in[0], element(0), *in[1], element(1));
        continue;
      }
      Quad factor = 1;
      for (std::size_t i = 0; i < in.size(); ++i) factor *= in[i]->at(element(i));
      sum += factor;
    }
    out.set(e, in.size() == 2 ? of_pairs.value() : sum);
  }
  return out;
}

// f(what flows into it), for every element.
template <class F>
Wide folded(const Call& c, const Wide& x, const F& f) {
  Wide out(c.out[0].shape());
  std::vector<Quad> values;
  for (std::int64_t e = 0; e < out.size(); ++e) {
    values.clear();
    c.op.flow({c, 0, e, 0}, [&](std::int64_t from) { values.push_back(x.at(from)); });
    out.set(e, f(values));
  }
  return out;
}

Quad sum_of(const std::vector<Quad>& x) {
  Quad s = 0;
  for (const Quad v : x) s += v;
  return s;
}
Quad mean_of(const std::vector<Quad>& x) {
  return sum_of(x) / static_cast<Quad>(x.size());
}
Quad product_of(const std::vector<Quad>& x) {
  Quad p = 1;
  for (const Quad v : x) p *= v;
  return p;
}
// Σ (x − mean)²/(N − correction)
Quad variance_of(const std::vector<Quad>& x, double correction) {
  const Quad m = mean_of(x);
  Quad s = 0;
  for (const Quad v : x) s += (v - m) * (v - m);
  return s / (static_cast<Quad>(x.size()) - correction);
}
// log Σ exp x = m + log Σ exp(x − m), m the largest; −inf of nothing.
Quad log_sum_exp(const std::vector<Quad>& x) {
  Quad m = -HUGE_VALQ, s = 0;
  for (const Quad v : x) m = isnanq(v) || v > m ? v : m;
  if (isnanq(m) || isinfq(m)) return m;
  for (const Quad v : x) s += expq(v - m);
  return m + logq(s);
}

// What is known of the element before serves the next.
template <class Join>
Wide running(const Call& c, const Wide& x, Quad first, const Join& join) {
  Wide out(c.out[0].shape());
  for (std::int64_t e = 0; e < out.size(); ++e) {
    const std::int64_t before = c.op.flow_base({c, 0, e, 0});
    Quad v = before < 0 ? first : out.at(before);
    c.op.flow_rest({c, 0, e, 0}, [&](std::int64_t from) { v = join(v, x.at(from)); });
    out.set(e, v);
  }
  return out;
}

Wide softmax_of(const Call& c, const Wide& x, bool log) {
  Wide out(x.shape);
  std::unordered_map<std::int64_t, Quad> totals;  // of each line
  for (std::int64_t e = 0; e < out.size(); ++e) {
    const auto [at, fresh] = totals.try_emplace(c.op.flow_base({c, 0, e, 0}), 0);
    if (fresh) {
      std::vector<Quad> line;
      c.op.flow({c, 0, e, 0}, [&](std::int64_t from) { line.push_back(x.at(from)); });
      at->second = log_sum_exp(line);
    }
    out.set(e, log ? x.at(e) - at->second : expq(x.at(e) - at->second));
  }
  return out;
}

// Differences of differences of prepend, x, append, as often as attribute 1 says.
Wide differences(const Call& c, const std::vector<const Wide*>& in) {
  Wide out(c.out[0].shape());
  std::vector<Quad> line;
  for (std::int64_t e = 0; e < out.size(); ++e) {
    line.clear();
    for (const std::size_t i : {1U, 0U, 2U})
      if (i < in.size() && in[i])
        c.op.flow({c, 0, e, i}, [&](std::int64_t from) { line.push_back(in[i]->at(from)); });
    for (std::size_t n = line.size(); n > 1; --n)
      for (std::size_t k = 0; k + 1 < n; ++k) line[k] = line[k + 1] - line[k];
    out.set(e, line[0]);
  }
  return out;
}

}  // namespace

std::optional<Wide> wide_sum(const Call& c, const std::vector<const Wide*>& in) {
  const std::string_view name = c.op.name;
  const Wide& x = *in[0];
  if (c.op.ns == "linalg") return name == "trace" ? std::optional(folded(c, x, sum_of)) : std::nullopt;
  if (name == "sum") return folded(c, x, sum_of);
  if (name == "mean") return folded(c, x, mean_of);
  if (name == "prod") return folded(c, x, product_of);
  if (name == "logsumexp") return folded(c, x, log_sum_exp);
  if (name == "var" || name == "std")
    return folded(c, x, [&](const std::vector<Quad>& v) {
      const Quad variance = variance_of(v, c.attr(2).real());
      return name == "var" ? variance : sqrtq(variance);
    });
  if (name == "cumulative_sum") return running(c, x, 0, [](Quad a, Quad b) { return a + b; });
  if (name == "cumulative_prod") return running(c, x, 1, [](Quad a, Quad b) { return a * b; });
  if (name == "softmax" || name == "log_softmax") return softmax_of(c, x, name == "log_softmax");
  if (name == "diff") return differences(c, in);
  if (name == "matmul") return product(x, *in[1], c.out[0].shape());
  if (name == "vecdot" || name == "tensordot") return paired(c, x, *in[1]);
  if (name == "einsum") return contracted(c, in);
  return std::nullopt;
}

}  // namespace wp::trace
