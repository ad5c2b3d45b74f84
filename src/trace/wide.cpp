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
      {"relu", [](Quad x) { return x > 0 || isnanq(x) ? x : Quad(0); }},
  };
  return all;
}
const std::unordered_map<std::string_view, Two>& arithmetic() {
  static const std::unordered_map<std::string_view, Two> all = {
      {"add", [](Quad a, Quad b) { return a + b; }},
      {"subtract", [](Quad a, Quad b) { return a - b; }},
      {"multiply", [](Quad a, Quad b) { return a * b; }},
      {"divide", [](Quad a, Quad b) { return a / b; }},
      {"maximum", [](Quad a, Quad b) { return a > b || isnanq(a) ? a : b; }},
      {"minimum", [](Quad a, Quad b) { return a < b || isnanq(a) ? a : b; }},
      {"logaddexp", [](Quad a, Quad b) { return a == b ? a + logq(2) : fmaxq(a, b) + log1pq(expq(-fabsq(a - b))); }},
      {"hypot", hypotq},
      {"atan2", atan2q},
      {"pow", powq},
  };
  return all;
}

// Of carriers that were equal (a maximum twice) the first.
std::optional<Wide> moved(const Call& c, const std::vector<const Wide*>& in) {
  const Flow flow = c.op.carriers ? c.op.carriers : c.op.flow;
  Wide out(c.out[0].shape());
  for (std::int64_t e = 0; e < out.size(); ++e) {
    int found = 0;
    for (std::size_t i = 0; i < in.size(); ++i)
      if (in[i])
        flow({c, 0, e, i}, [&](std::int64_t from) {
          if (found++ == 0) out.set(e, in[i]->at(from));
        });
    if (found == 0 || (found > 1 && flow != carriers_equal)) return std::nullopt;
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
    if (!in[i] && c.in[i].defined() && data(i)) return std::nullopt;
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
  if (name == "astype" || name == "stop_gradient") return *in[0];
  if (c.op.notes == Notes::moves || name == "where") return moved(c, in);
  return in.empty() || !in[0] ? std::nullopt : wide_sum(c, in);
}

}  // namespace wp::trace
