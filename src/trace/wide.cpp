#include "trace/wide.hpp"

#include <quadmath.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "ops/elementwise.hpp"
#include "ops/shapes.hpp"
#include "tensor/note.hpp"

namespace wp::trace {
namespace {

using One = Quad (*)(Quad);
using Two = Quad (*)(Quad, Quad);

const std::unordered_map<std::string_view, One>& functions() {
  static const std::unordered_map<std::string_view, One> all = {
      {"negative", [](Quad x) { return -x; }},
      {"abs", fabsq},
      {"square", [](Quad x) { return x * x; }},
      {"reciprocal", [](Quad x) { return 1 / x; }},
      {"sqrt", sqrtq},
      {"cbrt", cbrtq},
      {"exp", expq},
      {"expm1", expm1q},
      {"exp2", exp2q},
      {"log", logq},
      {"log1p", log1pq},
      {"log2", log2q},
      {"log10", log10q},
      {"sin", sinq},
      {"cos", cosq},
      {"tan", tanq},
      {"asin", asinq},
      {"acos", acosq},
      {"atan", atanq},
      {"sinh", sinhq},
      {"cosh", coshq},
      {"tanh", tanhq},
      {"asinh", asinhq},
      {"acosh", acoshq},
      {"atanh", atanhq},
      {"erf", erfq},
      {"erfc", erfcq},
      {"sigmoid", [](Quad x) { return 1 / (1 + expq(-x)); }},
      {"silu", [](Quad x) { return x / (1 + expq(-x)); }},
      {"softplus", [](Quad x) { return x > 0 ? x + log1pq(expq(-x)) : log1pq(expq(x)); }},
      {"relu", [](Quad x) { return x > 0 ? x : Quad(0); }},
  };
  return all;
}
const std::unordered_map<std::string_view, Two>& arithmetic() {
  static const std::unordered_map<std::string_view, Two> all = {
      {"add", [](Quad a, Quad b) { return a + b; }},
      {"subtract", [](Quad a, Quad b) { return a - b; }},
      {"multiply", [](Quad a, Quad b) { return a * b; }},
      {"divide", [](Quad a, Quad b) { return a / b; }},
      {"maximum", [](Quad a, Quad b) { return a > b ? a : b; }},
      {"minimum", [](Quad a, Quad b) { return a < b ? a : b; }},
      {"hypot", hypotq},
      {"atan2", atan2q},
      {"pow", powq},
  };
  return all;
}

// s + e = a·b and a + b, exactly (Dekker 1971; Knuth 1969).
struct Sum {
  double s = 0, e = 0;
  void add(double v) noexcept {
    const double t = s + v, z = t - s;
    e += (s - (t - z)) + (v - z);
    s = t;
  }
  void add_product(double a, double b) noexcept {
    const double p = a * b;
    e += std::fma(a, b, -p);
    add(p);
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
    for (std::int64_t p = 0; p < k; ++p) {
      const auto l = static_cast<std::size_t>(left + p), r = static_cast<std::size_t>(right + p * n);
      sum.add_product(a.hi[l], b.hi[r]);
      sum.e += a.hi[l] * b.lo[r] + a.lo[l] * b.hi[r];
    }
    out.set(e, sum.value());
  }
  return out;
}

// Sums of what flows into each element of the result; mean: divided by their number.
Wide sums(const Call& c, const Wide& x, bool mean) {
  Wide out(c.out[0].shape());
  for (std::int64_t e = 0; e < out.size(); ++e) {
    Quad s = 0;
    std::int64_t n = 0;
    c.op.flow({c, 0, e, 0}, [&](std::int64_t from) {
      s += x.at(from);
      ++n;
    });
    out.set(e, mean ? s / static_cast<Quad>(n) : s);
  }
  return out;
}

std::optional<Wide> moved(const Call& c, const std::vector<const Wide*>& in) {
  Wide out(c.out[0].shape());
  for (std::int64_t e = 0; e < out.size(); ++e) {
    int found = 0;
    for (std::size_t i = 0; i < in.size(); ++i)
      if (in[i])
        (c.op.carriers ? c.op.carriers : c.op.flow)({c, 0, e, i}, [&](std::int64_t from) {
          out.set(e, in[i]->at(from));
          ++found;
        });
    if (found != 1) return std::nullopt;
  }
  return out;
}

}  // namespace

Wide::Wide(const Dims& its_shape) : shape(its_shape) {
  std::size_t n = 1;
  for (const std::int64_t d : shape) n *= static_cast<std::size_t>(d);
  hi.resize(n);
  lo.resize(n);
}
Wide::Wide(const Tensor& t) : Wide(t.shape()) {
  for (std::int64_t e = 0; e < size(); ++e) hi[static_cast<std::size_t>(e)] = value_at(t, e).real();
}
void Wide::set(std::int64_t e, Quad v) noexcept {
  const auto high = static_cast<double>(v);
  hi[static_cast<std::size_t>(e)] = high;
  lo[static_cast<std::size_t>(e)] = std::isfinite(high) ? static_cast<double>(v - high) : 0;
}
Tensor Wide::rounded() const {
  return Tensor::from(hi, shape);
}

std::optional<Wide> widely(const Call& c, const std::vector<const Wide*>& in) {
  const auto data = [&](std::size_t i) { return !c.op.param(i).separate; };
  for (std::size_t i = 0; i < in.size(); ++i)
    if (!in[i] && data(i)) return std::nullopt;
  const std::string_view name = c.op.ns.empty() ? c.op.name : std::string_view();
  const Dims& shape = c.out[0].shape();
  if (const auto f = functions().find(name); f != functions().end() && in.size() == 1) {
    Wide out(shape);
    for (std::int64_t e = 0; e < out.size(); ++e) out.set(e, f->second(in[0]->at(e)));
    return out;
  }
  if (const auto f = arithmetic().find(name); f != arithmetic().end() && in.size() == 2) {
    Wide out(shape);
    for (std::int64_t e = 0; e < out.size(); ++e) {
      Quad operand[2] = {};
      for (std::size_t i = 0; i < 2; ++i)
        flow_elementwise({c, 0, e, i}, [&](std::int64_t from) { operand[i] = in[i]->at(from); });
      out.set(e, f->second(operand[0], operand[1]));
    }
    return out;
  }
  if (name == "sum" || name == "mean") return sums(c, *in[0], name == "mean");
  if (name == "matmul") return product(*in[0], *in[1], shape);
  if (name == "astype" || name == "stop_gradient") return *in[0];
  if (c.op.notes == Notes::moves || name == "where") return moved(c, in);
  return std::nullopt;
}

}  // namespace wp::trace
