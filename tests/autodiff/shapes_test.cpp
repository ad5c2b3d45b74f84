// Derivatives of every op of the table where operands broadcast, or have no elements: derived from the table,
// whatever the samples of its rooms are. (Tensors that are given twice: table_test.cpp.)
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "listening.hpp"
#include "ops/elementwise.hpp"
#include "table.hpp"
#include "wellposed/gradcheck.hpp"
#include "wellposed/wellposed.hpp"

namespace {
using namespace wp;
using Many = std::vector<Tensor>;

std::vector<const Op*> differentiable() {
  std::vector<const Op*> all;
  for (const Op* op : op_table())
    if (op->vjp && op->name != "stop_gradient") all.push_back(op);
  return all;
}
struct Name {
  std::string operator()(const testing::TestParamInfo<const Op*>& info) const {
    return table::qualified(*info.param);
  }
};

Many called(const Op& op, const Many& x, const std::vector<Attr>& attrs) {
  std::vector<const Tensor*> p;
  for (const Tensor& t : x) p.push_back(&t);
  const Tensors y = call(op, Inputs(p.data(), p.size()), attrs, {});
  return {y.begin(), y.end()};
}
std::string shapes(const Many& in) {
  std::string text;
  for (const Tensor& t : in) text += t.defined() ? say(t.dtype(), " ", t.shape(), " ") : "- ";
  return text;
}
bool floats(const Tensor& t) {
  return t.defined() && is_floating(t.dtype());
}
Dims prefixed(const Dims& first, const Dims& rest) {
  Dims all = first;
  for (const std::int64_t d : rest) all.push_back(d);
  return all;
}

// Samples in f64 and c128 whose floating-point inputs are two or more, finite and small.
std::vector<Sample> samples_of(const Op& op, std::size_t least, std::int64_t most, bool finite = true) {
  std::vector<Sample> all;
  for (Sample& s : op.samples()) {
    std::size_t count = 0;
    std::int64_t size = 0;
    bool good = true;
    for (const Tensor& t : s.in)
      if (floats(t)) {
        ++count;
        size += t.size();
        good = good && size_of(real_of(t.dtype())) == 8 && (!finite || bool(wp::all(isfinite(t))));
      }
    if (good && count >= least && size <= most && table::run(op, s.in, s.attrs).ok()) all.push_back(std::move(s));
  }
  return all;
}

// Both modes, first and second order. Gives whether differences could judge anything.
bool expect_right(const Op& op, const Many& in, const std::vector<Attr>& attrs) {
  const tests::Listening quiet;
  try {
    const GradcheckReport r = gradcheck([&](const Many& x) { return called(op, x, attrs); }, in, 2);
    EXPECT_EQ(r.wrong_count, 0) << op.name << " of " << shapes(in) << "\n" << r;
    return !r.judged_none;
  } catch (const GradientError& e) {  // a basis is arbitrary, or there is no derivative
    EXPECT_TRUE(e.finding().code == "WP-GRD-011" || dynamic_cast<const GaugeError*>(&e))
        << op.name << " of " << shapes(in) << ": " << e.what();
  } catch (const Error& e) {
    ADD_FAILURE() << op.name << " of " << shapes(in) << ": " << e.what();
  }
  return false;
}

// ---- element-wise ----
// Numbers at which every element-wise op of several operands is smooth: none is equal to another's, whole, or their
// multiple.
Tensor numbers(const Dims& shape, std::size_t operand, DType dtype) {
  static constexpr double first[] = {0.37, 1.31, 2.23, 0.59, 1.73, 0.83},
                          other[] = {0.71, 1.13, 1.91, 0.53, 2.57, 0.29};
  std::int64_t n = 1;
  for (const std::int64_t d : shape) n *= d;
  std::vector<complex128> v;
  for (std::int64_t e = 0; e < n; ++e) {
    const double x = (operand % 2 ? other : first)[e % 6] + 0.01 * static_cast<double>(operand / 2);
    v.emplace_back(x, is_complex(dtype) ? 0.5 - x / 3 : 0);
  }
  const Tensor all = Tensor::from(v, shape);
  return is_complex(dtype) ? all : real(all);
}

class Elementwise : public testing::TestWithParam<const Op*> {};
TEST_P(Elementwise, OfBroadcastOperandsHasTheDerivativesThatDifferencesShow) {
  const Op& op = *GetParam();
  const std::vector<Dims> pairs[] = {
      {{3, 1}, {1, 4}}, {{}, {2, 3}}, {{2, 3}, {}}, {{1, 2}, {2, 2, 1}}, {{1}, {1, 1}}};
  int asked = 0;
  for (const DType dtype : {f64, c128})
    for (const std::vector<Dims>& pair : pairs) {
      Many in;
      std::size_t k = 0, count = 0;
      for (const Param& p : op.params) {
        const Dims& shape = pair[k++ % 2];
        if (is(dtype, p.kinds)) {
          in.push_back(numbers(shape, k, dtype));
          if (p.name == "n") in.back() = astype(numbers(shape, k, f64) + 1, i64);  // an order does not vary
          ++count;
        } else if (is(DType::boolean, p.kinds)) {
          in.push_back(greater(numbers(shape, k, f64), 1.0));
        } else {
          in.push_back(astype(numbers(shape, k, f64) * 3, i64));
        }
      }
      std::vector<Attr> attrs;
      for (const AttrSpec& a : op.attrs) attrs.push_back(a.fallback);
      if (count == 0 || !table::run(op, in, attrs).ok()) continue;
      EXPECT_TRUE(expect_right(op, in, attrs)) << op.name << " of " << shapes(in);
      ++asked;
    }
  EXPECT_GE(asked, 5) << op.name;
}
std::vector<const Op*> elementwise_of_several() {
  std::vector<const Op*> all;
  for (const Op* op : differentiable())
    if (op->flow == flow_elementwise && op->params.size() > 1) all.push_back(op);
  return all;
}
INSTANTIATE_TEST_SUITE_P(, Elementwise, testing::ValuesIn(elementwise_of_several()), Name());

// ---- stacks ----
// x and 1.25 x, along a new first axis of a pair; along the other one x is the same for all.
Tensor stacked(const Tensor& x, const Dims& batch) {
  const std::int64_t n = batch[0] * batch[1];
  Tensors members{x};
  for (std::int64_t k = 1; k < n; ++k) members.push_back(x * (1 + 0.25 * static_cast<double>(k)));
  return reshape(stack(members, {.axis = 0}), prefixed(batch, x.shape()));
}
// Whether member [i, j] of op(in) is op of member i of the first and j of the second.
bool goes_by_members(const Op& op, const Many& in, const Many& one, const std::vector<Attr>& attrs) {
  const checks off(CheckLevel::off);
  const table::Outcome all = table::run(op, in, attrs), alone = table::run(op, one, attrs);
  if (!all.ok() || !alone.ok() || all.out.size() != alone.out.size()) return false;
  for (std::size_t o = 0; o < all.out.size(); ++o) {
    const Tensor &y = all.out[o], &first = alone.out[o];
    if (y.shape() != prefixed({2, 2}, first.shape())) return false;
    if (!is_floating(y.dtype())) continue;
    if (!bool(wp::all(isfinite(y)))) return false;
    if (bool(any(greater(abs(Tensor(y[{0, 0}]) - first), 1e-9 * (1 + abs(first)))))) return false;
  }
  return true;
}

class Batched : public testing::TestWithParam<const Op*> {};
int stacks_of(const Op& op, int most) {
  int asked = 0;
  for (const Sample& s : samples_of(op, 2, 40)) {
    Many in = s.in;
    std::size_t place = 0;
    for (Tensor& t : in)
      if (floats(t)) t = stacked(t, place++ % 2 ? Dims{1, 2} : Dims{2, 1});
    const auto empty = [](const Tensor& t) { return floats(t) && t.size() == 0; };
    if (std::any_of(in.begin(), in.end(), empty)) continue;  // see Empty
    if (!goes_by_members(op, in, s.in, s.attrs)) continue;
    asked += expect_right(op, in, s.attrs);
    if (asked == most) break;
  }
  return asked;
}
TEST_P(Batched, OfStacksThatBroadcastHasTheDerivativesThatDifferencesShow) {
  const Op& op = *GetParam();
  const int asked = stacks_of(op, 4);
  const bool says = std::any_of(op.branches.begin(), op.branches.end(),
                                [](std::string_view b) { return b == "batches broadcast"; });
  EXPECT_TRUE(asked > 0 || !says) << op.name << " broadcasts batches, and no sample of it was taken";
  RecordProperty("asked", asked);
}
std::vector<const Op*> structured_of_several() {
  std::vector<const Op*> all;
  for (const Op* op : differentiable())
    if (op->flow != flow_elementwise && (op->params.size() > 1 || op->params[0].variadic)) all.push_back(op);
  return all;
}
INSTANTIATE_TEST_SUITE_P(, Batched, testing::ValuesIn(structured_of_several()), Name());

// ---- nothing ----
// Derivatives that the values of a call have: of the shape and dtype of their tensors, zero where the results have no
// elements. Empty text: as it should be.
std::string judged(const Op& op, const Many& in, const std::vector<Attr>& attrs) {
  const tests::Listening quiet;
  const auto f = [&](const Many& x) { return called(op, x, attrs); };
  Many sources;
  for (const Tensor& t : in)
    if (floats(t)) sources.push_back(t);
  const auto placed = [&](const Many& x) {
    Many all = in;
    std::size_t k = 0;
    for (Tensor& t : all)
      if (floats(t)) t = x[k++];
    return all;
  };
  const auto loss = [&](const Many& x) {
    Tensor total = zeros({});
    for (const Tensor& y : f(placed(x)))
      if (is_floating(y.dtype())) total = total + sum(real(conj(y) * y));
    return total;
  };
  const auto slopes = [&](const Many& x) {
    GradientTape tape;
    tape.watch(x);
    return tape.gradient(loss(x), x, {.unconnected = "zero"});
  };
  const auto wrong = [&](const Many& g, std::string_view what) -> std::string {
    for (std::size_t k = 0; k < sources.size(); ++k) {
      if (g[k].shape() != sources[k].shape() || g[k].dtype() != sources[k].dtype())
        return say(what, " ", k, ": ", g[k].dtype(), " ", g[k].shape());
      if (!bool(wp::all(isfinite(g[k])))) return say(what, " ", k, " is not finite: ", g[k].to_string());
    }
    return {};
  };
  try {
    const Many y = f(in), g = slopes(sources);
    if (std::string text = wrong(g, "gradient"); !text.empty()) return text;
    const bool nothing = std::all_of(y.begin(), y.end(), [](const Tensor& t) { return t.size() == 0; });
    for (const Tensor& t : g)
      if (nothing && bool(any(not_equal(t, 0))))
        return say("a gradient of nothing that is not zero: ", t.to_string());
    GradientTape outer;
    outer.watch(sources);
    Tensor total = zeros({});
    for (const Tensor& t : slopes(sources)) total = total + sum(real(t));
    if (std::string text = wrong(outer.gradient(total, sources, {.unconnected = "zero"}), "second"); !text.empty())
      return text;
    const JvpResults along = jvp([&](const Many& x) { return f(placed(x)); }, sources, sources);
    for (std::size_t o = 0; o < along.values.size(); ++o)
      if (is_floating(along.values[o].dtype()) && (along.tangents[o].shape() != along.values[o].shape() ||
                                                   along.tangents[o].dtype() != along.values[o].dtype()))
        return say("tangent ", o, ": ", along.tangents[o].dtype(), " ", along.tangents[o].shape());
    return wrong(jvp(slopes, sources, sources).tangents, "forward over reverse");
  } catch (const Error& e) {
    return e.what();
  }
}

using Emptied = Dims (*)(const Dims&);
Dims with_zero(Dims d, std::size_t k) {
  if (k < d.size()) d[k] = 0;
  return d;
}
const Emptied ways[] = {
    [](const Dims& d) { return Dims(d.size(), 0); },
    [](const Dims& d) { return with_zero(d, 0); },
    [](const Dims& d) { return d.empty() ? d : with_zero(d, d.size() - 1); },
    [](const Dims& d) { return d.size() < 2 ? d : with_zero(d, d.size() - 2); },
    [](const Dims& d) { return prefixed({0}, d); },
    [](const Dims& d) {
      return prefixed({2, 0}, d);
    },
};

class Empty : public testing::TestWithParam<const Op*> {};
TEST_P(Empty, OperandsHaveDerivativesWithoutElements) {
  const Op& op = *GetParam();
  const checks off(CheckLevel::off);
  std::vector<std::string> seen;
  for (const Sample& s : samples_of(op, 1, 60))
    for (const Emptied way : ways)
      for (const bool others : {true, false}) {  // whether what is no float (masks, indices) goes with it
        Many in;
        bool empty = false;
        for (const Tensor& t : s.in) {
          in.push_back(t.defined() && (floats(t) || others) ? zeros(way(t.shape()), {.dtype = t.dtype()}) : t);
          empty = empty || (in.back().defined() && in.back().size() == 0);
        }
        std::string key = shapes(in);
        for (const Attr& a : s.attrs) key += a.show();
        if (!empty || std::find(seen.begin(), seen.end(), key) != seen.end()) continue;
        seen.push_back(key);
        const table::Outcome y = table::run(op, in, s.attrs);
        if (!y.ok() || std::none_of(y.out.begin(), y.out.end(), floats)) continue;
        if (std::any_of(y.out.begin(), y.out.end(),
                        [](const Tensor& t) { return floats(t) && !bool(wp::all(isfinite(t))); }))
          continue;  // the mean of nothing is nan
        const std::string text = judged(op, in, s.attrs);
        EXPECT_EQ(text, "") << op.name << " of " << key;
      }
  RecordProperty("asked", static_cast<int>(seen.size()));
}
TEST_P(Empty, ElementwiseOperandsBroadcastWithOthers) {
  const Op& op = *GetParam();
  if (op.flow != flow_elementwise) return;
  const checks off(CheckLevel::off);
  int asked = 0;
  for (const auto& [one, two] :
       {std::pair<Dims, Dims>{{0}, {0}}, {{2, 0}, {2, 0}}, {{2, 0}, {2, 1}}, {{2, 1}, {0}}, {{}, {2, 0}}})
    for (const Sample& s : samples_of(op, 1, 60, false)) {
      Many in;
      for (std::size_t k = 0; k < s.in.size(); ++k) {
        const Tensor& t = s.in[k];
        const bool some = t.defined() && t.size() > 0;
        in.push_back(some ? ones(k % 2 ? two : one, {.dtype = t.dtype()}) : t);
      }
      const table::Outcome y = table::run(op, in, s.attrs);
      if (!y.ok() || y.out[0].size() > 0) continue;
      const std::string text = judged(op, in, s.attrs);
      EXPECT_EQ(text, "") << op.name << " of " << shapes(in);
      ++asked;
      break;
    }
  EXPECT_GE(asked, op.params.size() > 1 ? 5 : 2) << op.name;
}
INSTANTIATE_TEST_SUITE_P(, Empty, testing::ValuesIn(differentiable()), Name());
}  // namespace
