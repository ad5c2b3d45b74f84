// What a tape keeps of calls whose operands are partly constants: only what the rules of the others read.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "autodiff/support.hpp"
#include "base/memory.hpp"
#include "base/text.hpp"
#include "listening.hpp"
#include "ops/derivative.hpp"
#include "table.hpp"
#include "wellposed/wellposed.hpp"

namespace {
using namespace wp;

std::vector<const Op*> differentiable() {
  std::vector<const Op*> all;
  for (const Op* op : op_table())
    if (op->vjp) all.push_back(op);
  return all;
}
bool sorts_out(const Op& op) {
  return op.for_others || op.for_itself || op.outputs_for != ~0U;
}
std::vector<const Op*> sorting_out() {
  std::vector<const Op*> all;
  for (const Op* op : differentiable())
    if (sorts_out(*op)) all.push_back(op);
  return all;
}
struct Name {
  std::string operator()(const testing::TestParamInfo<const Op*>& info) const {
    return table::qualified(*info.param);
  }
};

std::vector<Tensor> own(const std::vector<Tensor>& in) {
  std::vector<Tensor> all;
  for (const Tensor& t : in) all.push_back(t.defined() ? table::copy_of(t) : Tensor());
  return all;
}
std::vector<Tensor> called(const Op& op, const std::vector<Tensor>& x, const std::vector<Attr>& attrs) {
  std::vector<const Tensor*> p;
  for (const Tensor& t : x) p.push_back(&t);
  const Tensors y = call(op, Inputs(p.data(), p.size()), attrs, {});
  return {y.begin(), y.end()};
}
// Samples of two floating-point tensors and more that the op takes, each input a tensor of its own.
std::vector<Sample> samples_of(const Op& op) {
  std::vector<Sample> all;
  for (Sample& s : op.samples()) {
    std::int64_t floats = 0, size = 0;
    for (const Tensor& t : s.in)
      if (t.defined() && is_floating(t.dtype())) {
        ++floats;
        size += t.size();
      }
    if (floats < 2 || size > 400 || !table::run(op, s.in, s.attrs).ok()) continue;
    s.in = own(s.in);
    all.push_back(std::move(s));
  }
  return all;
}
std::vector<std::size_t> floats_of(const Sample& s) {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < s.in.size(); ++i)
    if (s.in[i].defined() && is_floating(s.in[i].dtype())) all.push_back(i);
  return all;
}
// Whether somebody else holds t: if not, its memory is free when t goes.
bool held(const Tensor& t) {
  return t.node()->refs.load() > 1;
}
Tensor loss(const std::vector<Tensor>& y) {
  Tensor all;
  for (const Tensor& t : y)
    if (is_floating(t.dtype())) {
      const Tensor both = is_complex(t.dtype()) ? real(t) + imag(t) * 0.5 : t;
      const Tensor bent = both * (1.0 + reshape(arange(t.size()), t.shape()) / 8.0);
      all = all.defined() ? all + sum(bent) : sum(bent);
    }
  return all;
}

class Kept : public testing::TestWithParam<const Op*> {};

// A mask of a choice asks for cotangents of constants too.
TEST_P(Kept, OfACallThatChoosesIsAllThatItsRuleReads) {
  EXPECT_FALSE(autodiff::chooses(*GetParam()));
}

TEST_P(Kept, OfACallWithConstantsIsWhatTheRulesOfTheOthersRead) {
  const Op& op = *GetParam();
  const checks off(CheckLevel::off);
  int freed = 0;
  for (const Sample& s : samples_of(op))
    for (const std::size_t i : floats_of(s)) {
      Sample mine{own(s.in), s.attrs};
      GradientTape tape;
      tape.watch(mine.in[i]);
      std::vector<Tensor> y = called(op, mine.in, mine.attrs);
      const auto bit = [](std::size_t k) { return 1U << std::min<std::size_t>(k, 31); };
      for (const std::size_t j : floats_of(s)) {
        const bool needed =
            (op.saves_inputs & bit(j)) && (j == i ? !(op.for_others & bit(j)) : !(op.for_itself & bit(j)));
        EXPECT_EQ(held(mine.in[j]), needed) << op.name << ", watched " << i << ", input " << j;
        freed += (op.saves_inputs & bit(j)) && !needed;
      }
      if (op.saves_outputs & 1U) {
        const bool needed = (op.outputs_for & bit(i)) != 0;
        EXPECT_EQ(held(y[0]), needed) << op.name << ", watched " << i;
        freed += !needed;
      }
    }
  EXPECT_GT(freed, 0) << op.name;
}

// The same bits as with all of them watched: first derivatives, second ones by an outer tape that watches all, and
// forward over reverse.
TEST_P(Kept, GivesTheDerivativesThatAllOfItGives) {
  const Op& op = *GetParam();
  const checks off(CheckLevel::off);
  int compared = 0;
  for (const Sample& s : samples_of(op)) {
    const std::vector<std::size_t> floats = floats_of(s);
    std::vector<Tensor> sources;
    for (const std::size_t k : floats) sources.push_back(s.in[k]);
    for (const std::size_t i : floats) {
      const auto slope = [&](const std::vector<Tensor>& in, bool all) {
        GradientTape tape;
        for (const std::size_t k : floats)
          if (all || k == i) tape.watch(in[k]);
        return tape.gradient(loss(called(op, in, s.attrs)), in[i], {.unconnected = "zero"});
      };
      const auto bend = [&](bool all) {
        GradientTape tape;
        for (const Tensor& t : sources) tape.watch(t);
        return tape.gradient(loss({slope(s.in, all)}), sources, {.unconnected = "zero"});
      };
      const auto forward = [&](bool all) {
        const auto f = [&](const std::vector<Tensor>& x) {
          std::vector<Tensor> in = s.in;
          for (std::size_t k = 0; k < floats.size(); ++k) in[floats[k]] = x[k];
          return std::vector<Tensor>{slope(in, all)};
        };
        return jvp(f, sources, sources).tangents;
      };
      EXPECT_TRUE(table::same_bits(slope(s.in, false), slope(s.in, true))) << op.name << ", input " << i;
      for (const auto& [some, whole] :
           {std::pair(bend(false), bend(true)), std::pair(forward(false), forward(true))}) {
        ASSERT_EQ(some.size(), whole.size());
        for (std::size_t k = 0; k < some.size(); ++k)
          EXPECT_TRUE(table::same_bits(some[k], whole[k]))
              << op.name << ", gradient of input " << i << ", source " << k << ":\n"
              << some[k] << "\n"
              << whole[k];
      }
      ++compared;
    }
  }
  EXPECT_GT(compared, 1) << op.name;
}
INSTANTIATE_TEST_SUITE_P(, Kept, testing::ValuesIn(sorting_out()), Name());

// A call, with what a rule may ask of it.
class Seen : public Observer {
 public:
  explicit Seen(const Op& op) : op_(op) {}
  void after(Call& c) override {
    if (&c.op != &op_ || !out.empty()) return;
    for (std::size_t i = 0; i < c.in.size(); ++i) in.push_back(c.in[i]);
    out.assign(c.out.begin(), c.out.end());
    if (c.aside) {
      residuals = c.aside->residuals;
      keepsake = c.aside->keepsake;
    }
    for (const std::vector<Tensor>* const all : {&in, &out})
      for (const Tensor& t : *all) facts.push_back(t.defined() ? Fact{t.shape(), t.dtype()} : Fact{});
    for (const Fact& f : facts) places.push_back(&f);
  }
  // The cotangents of input i, had place j (inputs, then outputs) been kept with these elements.
  std::vector<Tensor> asked(const std::vector<Attr>& attrs, std::size_t i, std::size_t j, const Tensor& other) const {
    std::vector<Tensor> xs = in, ys = out, g;
    if (other.defined()) (j < in.size() ? xs[j] : ys[j - in.size()]) = other;
    for (const Tensor& y : out)
      g.push_back(is_floating(y.dtype()) ? astype(cos(reshape(arange(y.size()), y.shape())) + 1.5, y.dtype())
                                         : Tensor());
    const std::unique_ptr<bool[]> wanted(new bool[in.size()]());
    wanted[i] = true;
    const Saved saved{op_, attrs, xs, ys, residuals, places.data(), {}, keepsake.get()};
    const Tensors all = op_.vjp(autodiff::Alone(saved, {g.data(), g.size()}, {wanted.get(), in.size()}));
    return {i < all.size() ? all[i] : Tensor()};
  }
  std::vector<Tensor> in, out, residuals;

 private:
  const Op& op_;
  std::vector<Fact> facts;
  std::vector<const Fact*> places;
  std::shared_ptr<const void> keepsake;
};

// What is kept although the samples show nobody who reads it.
struct Spare {
  std::string_view op;
  std::size_t input;  // whose derivative does not read it
  std::size_t place;
  const char* why;
};
constexpr const char *kGiven = "whether it was given is read", *kEdge = "read at a point that has no such sample",
                     *kRight = "the rule computes all cotangents of a system together, also those of rare methods",
                     *kZero = "there is no derivative";
constexpr Spare kSpares[] = {
    {"diff", 0, 1, kGiven},
    {"diff", 0, 2, kGiven},
    {"diff", 1, 1, kGiven},
    {"diff", 1, 2, kGiven},
    {"diff", 2, 1, kGiven},
    {"diff", 2, 2, kGiven},
    {"pow", 1, 1, kEdge},
    {"linalg_chol_update", 0, 1, kEdge},
    {"linalg_chol_update", 1, 0, kEdge},
    {"linalg_solve", 1, 1, kRight},
    {"linalg_solve", 1, 2, kRight},
    {"linalg_lstsq", 1, 1, kRight},
    {"linalg_lstsq", 1, 2, kRight},
    {"polygamma", 0, 0, kZero},
    {"polygamma", 0, 1, kZero},
};
bool spare(const Op& op, std::size_t input, std::size_t place) {
  const std::string name = table::qualified(op);
  return std::any_of(std::begin(kSpares), std::end(kSpares),
                     [&](const Spare& s) { return s.op == name && s.input == input && s.place == place; });
}

// Place j is replaced by other numbers: if no rule of what is watched gives other bits at any sample, nobody read it.
class Read : public testing::TestWithParam<const Op*> {};
TEST_P(Read, IsWhatATapeKeeps) {
  const Op& op = *GetParam();
  if (autodiff::chooses(op)) return;
  const checks off(CheckLevel::off);
  const tests::Listening quiet;
  std::map<std::pair<std::size_t, std::size_t>, bool> read;  // of input i's derivative: place j
  for (const Sample& s : samples_of(op)) {
    if (s.in.size() > 3) continue;
    Seen seen(op);
    {
      GradientTape tape;
      for (const std::size_t i : floats_of(s)) tape.watch(s.in[i]);
      const Listen listen(seen);
      (void)called(op, s.in, s.attrs);
    }
    if (seen.out.empty()) continue;
    for (const std::size_t i : floats_of(s))
      for (std::size_t j = 0; j < seen.in.size() + seen.out.size(); ++j) {
        const bool input = j < seen.in.size();
        const Tensor& t = input ? seen.in[j] : seen.out[j - seen.in.size()];
        const std::uint32_t saves = input ? op.saves_inputs : op.saves_outputs;
        if (!(saves >> (input ? j : j - seen.in.size()) & 1U) || !t.defined() || !is_floating(t.dtype()) ||
            t.size() == 0)
          continue;
        bool& known = read[{i, j}];
        try {
          const Tensor as_kept = seen.asked(s.attrs, i, j, {})[0],
                       other = seen.asked(s.attrs, i, j, t * 1.375 + 0.625)[0];
          known =
              known || as_kept.defined() != other.defined() || (other.defined() && !table::same_bits(as_kept, other));
        } catch (const Error&) {
          known = true;
        }
      }
  }
  for (const auto& [at, known] : read) {
    const auto [i, j] = at;
    const std::size_t inputs = op.params.size();
    const bool kept = j >= inputs ? (op.outputs_for >> i & 1U) != 0
                      : j == i    ? !(op.for_others >> j & 1U)
                                  : !(op.for_itself >> j & 1U);
    EXPECT_EQ(kept, known || spare(op, i, j)) << op.name << ": watched input " << i << " keeps "
                                              << (j < inputs ? say("input ", j) : say("output ", j - inputs));
  }
}
std::vector<const Op*> of_several() {
  std::vector<const Op*> all;
  for (const Op* op : differentiable())
    if (op->params.size() > 1 && !op->params.back().variadic) all.push_back(op);
  return all;
}
INSTANTIATE_TEST_SUITE_P(, Read, testing::ValuesIn(of_several()), Name());

// ---- by the allocator ----
constexpr std::int64_t kSide = 512;  // 2 MiB in f64
Tensor large(double value) {
  return full({kSide, kSide}, value);
}
std::int64_t live() {
  return static_cast<std::int64_t>(memory::stats().live);
}
constexpr std::int64_t kOne = kSide * kSide * 8;

// How much more is there after f(t, a), t a tensor of its own that varies, when t and the result are gone; in
// matrices.
double grown(const std::function<Tensor(const Tensor&, const Tensor&)>& f) {
  const Tensor x = large(0.5), a = large(1.25);
  GradientTape tape;
  tape.watch(x);
  const std::int64_t before = live();
  const Tensor y = sum(f(x + x, a));  // sums keep nothing
  return static_cast<double>(live() - before) / static_cast<double>(kOne);
}
TEST(KeptMemory, OfAProductWithAConstantIsTheConstant) {
  const double few = 0.1;
  EXPECT_NEAR(grown([](const Tensor& t, const Tensor& a) { return t * a; }), 0, few);
  EXPECT_NEAR(grown([](const Tensor& t, const Tensor& a) { return a * t; }), 0, few);
  EXPECT_NEAR(grown([](const Tensor& t, const Tensor& a) { return matmul(t, a); }), 0, few);
  EXPECT_NEAR(grown([](const Tensor& t, const Tensor& a) { return t / a; }), 0, few);
  EXPECT_NEAR(grown([](const Tensor& t, const Tensor&) { return t * 3.0; }), 0, few);
  EXPECT_NEAR(grown([](const Tensor& t, const Tensor& a) { return einsum("ij,jk->ik", {t, a}); }), 0, few);
  EXPECT_NEAR(grown([](const Tensor& t, const Tensor&) { return t * t; }), 1, few);  // both vary
  EXPECT_NEAR(grown([](const Tensor& t, const Tensor& a) { return a / t; }), 2, few);
  EXPECT_NEAR(grown([](const Tensor& t, const Tensor&) { return pow(t, 3.0); }), 1, few);
}
// y is kept by the call that is its own, not by the next one.
TEST(KeptMemory, OfAChainOfProductsAreTheConstantsAlone) {
  const Tensor x = large(0.5), a = large(1.25);
  GradientTape tape;
  tape.watch(x);
  Tensor y = x;
  const std::int64_t before = live();
  for (int k = 0; k < 10; ++k) y = y * a;
  EXPECT_NEAR(static_cast<double>(live() - before) / static_cast<double>(kOne), 1, 0.1);
  EXPECT_EQ(tape.bytes(), static_cast<std::size_t>(kOne));
  const Tensor g = tape.gradient(sum(y), x);
  EXPECT_EQ(min(g).item<double>(), std::pow(1.25, 10));
  EXPECT_EQ(max(g).item<double>(), std::pow(1.25, 10));
}

// ---- tapes that watch different operands ----
TEST(KeptMemory, ByAnInnerTapeIsNotWhatAnOuterOneNeeds) {
  const Tensor x{2.0, 3.0}, a{5.0, 7.0};
  for (const bool inside : {false, true}) {
    GradientTape outer, inner;
    outer.watch(inside ? a : x);
    inner.watch(inside ? x : a);
    const Tensor y = sum(x * x * a * a);
    const Tensor g = inner.gradient(y, inside ? x : a);  // 2 x a², or 2 x² a
    const Tensor mixed = outer.gradient(sum(g), inside ? a : x);
    EXPECT_EQ(mixed.to_vector<double>(), (std::vector<double>{40, 84}));
  }
}
TEST(KeptMemory, OfATensorThatIsWatchedAfterTheCallDoesNotMatter) {
  const Tensor x{2.0, 3.0}, a{5.0, 7.0};
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = sum(x * a);
  tape.watch(a);
  const Tensor z = sum(x * a);
  EXPECT_EQ(tape.gradient(y, x).to_vector<double>(), (std::vector<double>{5, 7}));
  EXPECT_FALSE(tape.gradient(y, a).defined());
  EXPECT_EQ(tape.gradient(z, a).to_vector<double>(), (std::vector<double>{2, 3}));
}
// What follows a decomposition is computed again, with its constants and variables.
TEST(KeptMemory, OfWhatFollowsADecompositionIsAllThatComputesItAgain) {
  const Tensor a{{2.0, 0.0}, {0.0, 2.0}}, k{{1.0, 2.0}, {3.0, 4.0}};
  GradientTape tape;
  tape.watch(a);
  Tensor g;
  {
    const auto f = linalg::svd(a * k * 0.0 + a);
    g = tape.gradient(sum(k * matmul(f.U * f.S, f.Vh) / 2.0), a);
  }
  const Tensor off = max(abs(g - k / 2));
  EXPECT_LT(off.item<double>(), 1e-14);
}
}  // namespace
