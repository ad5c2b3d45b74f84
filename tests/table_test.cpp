// Properties that every op has, checked on the samples of its room: a new op is tested the moment it exists.
#include "table.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "simd/isa.hpp"
#include "wellposed/threads.hpp"

namespace wp::table {
namespace {

class EveryOp : public ::testing::TestWithParam<const Op*> {
 protected:
  const Op& op = *GetParam();
  std::vector<Sample> samples = op.samples ? op.samples() : std::vector<Sample>{};
  std::string where(std::size_t s) const {
    std::string text = std::string(op.name) + " sample " + std::to_string(s) + ":";
    for (const Tensor& t : samples[s].in) text += t.defined() ? " " + std::string(name(t.dtype())) : " none";
    return text;
  }
};

TEST_P(EveryOp, LeavesItsInputsAsTheyWere) {
  for (std::size_t s = 0; s < samples.size(); ++s) {
    std::vector<Tensor> before;
    for (const Tensor& t : samples[s].in) before.push_back(t.defined() ? copy_of(t) : t);
    run(op, samples[s].in, samples[s].attrs);
    for (std::size_t i = 0; i < before.size(); ++i)
      EXPECT_TRUE(!before[i].defined() || same_bits(before[i], samples[s].in[i])) << where(s) << " input " << i;
  }
}

TEST_P(EveryOp, GivesTheSameBitsForEveryLayoutOfItsInputs) {
  for (std::size_t s = 0; s < samples.size(); ++s) {
    const Outcome plain = run(op, samples[s].in, samples[s].attrs);
    for (int layout = 0; layout < 6; ++layout) {
      std::vector<Tensor> in;
      for (const Tensor& t : samples[s].in)
        in.push_back(t.defined() ? with_layout(t, layout & 1, layout & 2, layout >= 4 ? 3 : 1) : t);
      EXPECT_TRUE(same(plain, run(op, in, samples[s].attrs))) << where(s) << " layout " << layout;
    }
  }
}

TEST_P(EveryOp, GivesTheSameBitsTwiceAndForAnyNumberOfThreads) {
  const int before = threads();
  for (std::size_t s = 0; s < samples.size(); ++s) {
    set_threads(1);
    const Outcome one = run(op, samples[s].in, samples[s].attrs);
    set_threads(3);
    EXPECT_TRUE(same(one, run(op, samples[s].in, samples[s].attrs))) << where(s);
  }
  set_threads(before);
}

// ---- flow ---------------------------------------------------------------------------------------------------------

// Other values for one element: near, far, of the other sign, non-finite.
std::vector<complex128> other_values(DType d, complex128 v) {
  if (d == DType::boolean) return {v.real() == 0 ? 1.0 : 0.0};
  if (is_integer(d)) {
    std::vector<complex128> out;
    const IntegerInfo limits = iinfo(d);
    for (const double w : {v.real() + 1, v.real() - 1, -v.real(), 0.0, 1.0, 2.0, 3.0, 100.0})
      if (w != v.real() && w >= static_cast<double>(limits.min) && w <= static_cast<double>(limits.max))
        out.emplace_back(w);
    return out;
  }
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<complex128> out{v + 0.25, v * 2.0 + 1.0, -v, 0.0, v + 1000.0, v - 1000.0, 0.5, inf, -inf, nan};
  if (is_complex(d)) out.push_back(v + complex128(0, 0.75));
  return out;
}

// Perturbs one input element in every way; collects which output elements change. False: the op refuses all of them.
bool perturb(const Op& op, const Sample& s, const Outcome& plain, std::size_t i, std::int64_t e,
             std::vector<std::set<std::int64_t>>& changed) {
  bool taken = false;
  for (const complex128& v : other_values(s.in[i].dtype(), value_at(s.in[i], e))) {
    std::vector<Tensor> in = s.in;
    in[i] = copy_of(s.in[i]);
    kernels::convert(in[i].node()->data + e * static_cast<std::int64_t>(size_of(in[i].dtype())), in[i].dtype(), &v,
                     c128, 1, 1);
    const Outcome other = run(op, in, s.attrs);
    if (!other.ok()) continue;
    taken = true;
    for (std::size_t k = 0; k < plain.out.size(); ++k) {
      // A data-dependent length: what is beyond the other's end has changed.
      const std::int64_t common = k < other.out.size() ? std::min(other.out[k].size(), plain.out[k].size()) : 0;
      for (std::int64_t o = 0; o < plain.out[k].size(); ++o)
        if (o >= common || !same_element(plain.out[k], other.out[k], o)) changed[k].insert(o);
    }
  }
  return taken;
}

TEST_P(EveryOp, HasOutputsThatDependOnJustTheElementsItsFlowDeclares) {
  if (op.params.empty()) return;  // creation: nothing to depend on
  ASSERT_NE(op.flow, nullptr);
  std::vector<std::vector<int>> reached(op.outputs.size() + 8, std::vector<int>(op.params.size() + 8, -1));
  for (std::size_t s = 0; s < samples.size(); ++s) {
    const Sample& sample = samples[s];
    const Outcome plain = run(op, sample.in, sample.attrs);
    if (!plain.ok()) continue;
    std::vector<const Tensor*> p;
    for (const Tensor& t : sample.in) p.push_back(&t);
    const Place nowhere;
    Call c(op, Inputs(p.data(), p.size()), sample.attrs, nowhere);
    op.infer(c);
    op.forward(c);
    for (std::size_t i = 0; i < sample.in.size(); ++i) {
      if (!sample.in[i].defined()) continue;
      // declared[k][e]: outputs that input element e may reach
      for (std::int64_t e = 0; e < std::min<std::int64_t>(sample.in[i].size(), 16); ++e) {
        std::vector<std::set<std::int64_t>> changed(plain.out.size());
        const bool taken = perturb(op, sample, plain, i, e, changed);
        for (std::size_t k = 0; k < plain.out.size(); ++k) {
          std::set<std::int64_t> declared;
          for (std::int64_t o = 0; o < c.out[k].size(); ++o) {
            const auto visit = [&](std::int64_t from) {
              EXPECT_TRUE(from >= 0 && from < sample.in[i].size());
              if (from == e) declared.insert(o);
            };
            op.flow({c, k, o, i}, visit);
          }
          for (const std::int64_t o : changed[k])
            EXPECT_TRUE(declared.count(o)) << where(s) << " output " << k << " element " << o << " depends on input "
                                           << i << " element " << e << ", undeclared";
          int& r = reached[std::min<std::size_t>(k, op.outputs.size() + 7)]
                          [std::min<std::size_t>(i, op.params.size() + 7)];
          if (!declared.empty()) {
            bool all = true;  // an element that can be no other (of a permutation) decides too
            for (const std::int64_t o : declared) all = all && (!taken || changed[k].count(o));
            r = std::max(r, all ? 1 : 0);
          }
        }
      }
    }
  }
  for (std::size_t k = 0; k < reached.size(); ++k)
    for (std::size_t i = 0; i < reached[k].size(); ++i)
      EXPECT_NE(reached[k][i], 0) << op.name << ": output " << k
                                  << " never changes where it is declared to depend on input " << i;
}

// ---- bad arguments ------------------------------------------------------------------------------------------------

// Runs a call that is probably misuse: it must give a valid result, or an error with words that names the op.
void expect_words(const Op& op, const std::vector<Tensor>& in, const std::vector<Attr>& attrs,
                  const std::string& what) {
  std::vector<const Tensor*> p;
  for (const Tensor& t : in) p.push_back(&t);
  try {
    for (const Tensor& t : call(op, Inputs(p.data(), p.size()), attrs, {})) EXPECT_TRUE(t.defined()) << what;
  } catch (const Error& e) {
    EXPECT_EQ(e.finding().op, op.name) << what << ": " << e.what();
    EXPECT_GT(e.finding().message.size(), 10U) << what;
    EXPECT_FALSE(e.finding().code.empty()) << what;
    EXPECT_EQ(dynamic_cast<const InternalError*>(&e), nullptr) << what << ": " << e.what();
  }
}

Tensor other_shape(const Tensor& t, const Dims& shape) {
  Tensor y = Tensor::adopt(detail::make_node(t.dtype(), shape));
  std::memset(y.node()->data, t.dtype() == DType::boolean ? 1 : 0, y.nbytes());
  return y;
}

TEST_P(EveryOp, RefusesBadTensorsWithWords) {
  for (std::size_t s = 0; s < samples.size(); ++s) {
    const Sample& sample = samples[s];
    for (std::size_t i = 0; i < sample.in.size(); ++i) {
      const Param& p = op.params[std::min(i, op.params.size() - 1)];
      const std::string what = where(s) + " input " + std::to_string(i);
      std::vector<Tensor> in = sample.in;
      in[i] = Tensor();
      if (p.optional)
        expect_words(op, in, sample.attrs, what + " missing");
      else
        EXPECT_FALSE(run(op, in, sample.attrs).ok()) << what << " missing";
      if (!sample.in[i].defined()) continue;
      for (int d = 0; d < kDTypes; ++d) {
        const auto dtype = static_cast<DType>(d);
        in[i] = other_shape(Tensor::adopt(detail::make_node(dtype, {})), sample.in[i].shape());
        if (!is(dtype, p.kinds))
          EXPECT_NE(run(op, in, sample.attrs).error.find(p.name), std::string::npos) << what << " as " << name(dtype);
        else
          expect_words(op, in, sample.attrs, what + " as another dtype");
      }
      for (const Dims& shape :
           {Dims{}, Dims{0}, Dims{3, 0, 2}, Dims{7}, Dims{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, Dims{5, 3, 4}}) {
        in[i] = other_shape(sample.in[i], shape);
        expect_words(op, in, sample.attrs, what + " of another shape");
      }
      in.assign(in.size(), sample.in[i]);  // aliased
      expect_words(op, in, sample.attrs, what + " aliased");
    }
  }
}

std::vector<Attr> bad_values(const AttrSpec& spec) {
  const std::int64_t huge = std::int64_t{1} << 50;
  switch (spec.type) {
    case AttrType::integer:
      return {std::int64_t{-1}, std::int64_t{99}, -huge, huge, std::numeric_limits<std::int64_t>::min()};
    case AttrType::ints:
      return {Dims{-1},         Dims{99},    Dims{0, 0}, Dims{huge},
              Dims{huge, huge}, Dims{-5, 3}, Dims{},     Dims{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}};
    case AttrType::real: return {-1.0, 0.0, 1e308, HUGE_VAL, std::nan("")};
    case AttrType::scalar:
      return {Scalar(-1), Scalar(HUGE_VAL), Scalar(complex128(1, 1)), Scalar(true), Scalar(~std::uint64_t{0})};
    case AttrType::text: return {Attr("no such thing")};
    case AttrType::setting: return {Setting(-1.0), Setting(std::nan("")), Setting("no such thing")};
    case AttrType::texts: return {std::vector<std::string>{}, std::vector<std::string>(7, "")};
    case AttrType::dtype: {
      std::vector<Attr> all;
      for (int d = 0; d < kDTypes; ++d) all.emplace_back(static_cast<DType>(d));
      return all;
    }
    case AttrType::boolean: return {true, false};
    case AttrType::none:
    case AttrType::object: break;
  }
  return {};
}

TEST_P(EveryOp, RefusesBadAttributesWithWords) {
  for (std::size_t s = 0; s < samples.size(); ++s)
    for (std::size_t a = 0; a < op.attrs.size(); ++a) {
      const std::string what = where(s) + " attribute " + std::string(op.attrs[a].name);
      for (const Attr& value : bad_values(op.attrs[a])) {
        std::vector<Attr> attrs = samples[s].attrs;
        attrs[a] = value;
        expect_words(op, samples[s].in, attrs, what + " = " + value.show());
      }
      std::vector<Attr> attrs = samples[s].attrs;
      attrs[a] = op.attrs[a].type == AttrType::text ? Attr(3) : Attr("text");
      EXPECT_FALSE(run(op, samples[s].in, attrs).ok()) << what << " of the wrong type";
      if (op.attrs[a].required) {
        attrs[a] = Attr();
        EXPECT_FALSE(run(op, samples[s].in, attrs).ok()) << what << " missing";
      }
    }
}

std::string name_of(const ::testing::TestParamInfo<const Op*>& info) {
  return qualified(*info.param);
}
INSTANTIATE_TEST_SUITE_P(Table, EveryOp, ::testing::ValuesIn(op_table().begin(), op_table().end()), name_of);

// ---- rooms --------------------------------------------------------------------------------------------------------

TEST(Table, HasUniqueNamesDocumentedParametersAndSentences) {
  std::set<std::string> names;
  for (const Op* op : op_table()) {
    EXPECT_TRUE(names.insert(qualified(*op)).second) << op->name;
    EXPECT_GT(op->doc.size(), 10U) << op->name;
    EXPECT_EQ(op->doc.back(), '.') << op->name << ": the doc is sentences";
    EXPECT_NE(op->infer, nullptr) << op->name;
    EXPECT_NE(op->forward, nullptr) << op->name;
    for (const AttrSpec& a : op->attrs) EXPECT_FALSE(a.doc.empty()) << op->name << ": attribute " << a.name;
    EXPECT_TRUE(op->domain.empty() || !op->advice.empty()) << op->name << ": a domain comes with advice";
  }
}

}  // namespace
}  // namespace wp::table
