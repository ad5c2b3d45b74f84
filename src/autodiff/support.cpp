#include "autodiff/support.hpp"

#include <algorithm>

#include "ops/elementwise.hpp"
#include "ops/moves.hpp"
#include "wellposed/ops.hpp"

namespace wp::autodiff {

bool chooses(const Op& op) noexcept {
  return op.vjp && (op.selects || op.notes == Notes::moves || op.carriers);
}

namespace {

// What the rule of an op that chooses makes of masks of its outputs.
Tensors chosen(const Step& s, std::span<const Tensor> of_outputs, std::span<const bool> wanted) {
  Tensors ones(s.outputs);
  for (std::uint32_t o = 0; o < s.outputs; ++o)
    if (of_outputs[o].defined()) ones[o] = astype(of_outputs[o], s.facts[s.inputs + o].dtype);
  return s.op->vjp(Alone(s.view(), {ones.begin(), ones.size()}, wanted));
}

// A tensor of this shape, for flow to look at.
Tensor stand_in(const Fact& fact) {
  const Tensor one = zeros_for({{}, fact.dtype});
  return view_of(one, fact.shape, Dims(fact.shape.size(), 0));
}

// Masks of the inputs of a step from the masks of its outputs: bool tensors, undefined: nothing. Constants have
// values to be repaired too.
std::vector<Tensor> masks_of_inputs(const Step& s, std::span<const Tensor> of_outputs, bool constants_too) {
  std::vector<Tensor> all(s.inputs);
  const std::unique_ptr<bool[]> wanted(new bool[s.inputs]);
  for (std::uint32_t i = 0; i < s.inputs; ++i)
    wanted[i] = (constants_too || s.slots[i] >= 0) && s.given(i) && is_floating(s.facts[i].dtype);
  if (s.op->collective) {  // what other processes have of the outputs may rest on any element
    for (std::uint32_t i = 0; i < s.inputs; ++i)
      if (wanted[i]) all[i] = ones(s.facts[i].shape, {.dtype = DType::boolean});
    return all;
  }
  if (chooses(*s.op)) {
    const Tensors in = chosen(s, of_outputs, {wanted.get(), s.inputs});
    for (std::uint32_t i = 0; i < s.inputs && i < in.size(); ++i)
      if (wanted[i] && in[i].defined()) all[i] = not_equal(sum_to(in[i], s.facts[i].shape), 0);
    return all;
  }
  if (s.op->flow == flow_elementwise) {
    for (std::uint32_t i = 0; i < s.inputs; ++i)
      if (wanted[i])
        all[i] = !of_outputs[0].defined() ? zeros_for({s.facts[i].shape, DType::boolean})
                 : s.facts[i].shape == of_outputs[0].shape()
                     ? of_outputs[0]
                     : not_equal(sum_to(astype(of_outputs[0], f64), s.facts[i].shape), 0);
    return all;
  }
  std::vector<Tensor> in(s.inputs);
  std::vector<const Tensor*> pointers(s.inputs);
  for (std::uint32_t i = 0; i < s.inputs; ++i) {
    if (s.given(i)) in[i] = s.saved[i].defined() ? s.saved[i] : stand_in(s.facts[i]);
    pointers[i] = &in[i];
  }
  Call c(*s.op, Inputs(pointers.data(), pointers.size()), {s.attr, s.attrs}, s.place);
  for (std::uint32_t o = 0; o < s.outputs; ++o)
    c.out.push_back(s.saved[s.inputs + o].defined() ? s.saved[s.inputs + o] : stand_in(s.facts[s.inputs + o]));
  for (std::uint32_t i = 0; i < s.inputs; ++i) {
    if (!wanted[i]) continue;
    all[i] = zeros_for({s.facts[i].shape, DType::boolean});
    bool* const to = reinterpret_cast<bool*>(all[i].node()->data);
    std::int64_t left = all[i].size();
    for (std::uint32_t o = 0; o < s.outputs && left > 0; ++o) {
      if (!of_outputs[o].defined()) continue;
      const std::vector<bool> mask = of_outputs[o].to_vector<bool>();
      for (std::size_t e = 0; e < mask.size() && left > 0; ++e)
        if (mask[e])
          s.op->flow({c, o, static_cast<std::int64_t>(e), i}, [&](std::int64_t at) {
            left -= !to[at];
            to[at] = true;
          });
    }
  }
  return all;
}

Tensor joined(const Tensor& a, const Tensor& b) {
  return a.defined() ? logical_or(a, b) : b;
}

}  // namespace

std::vector<Tensor> Support::of_outputs(const Step& s) const {
  std::vector<Tensor> masks;
  for (std::uint32_t o = 0; o < s.outputs; ++o) {
    const std::int32_t slot = s.slots[s.inputs + o];
    const bool target = std::find(targets_.begin(), targets_.end(), slot) != targets_.end();
    masks.push_back(target ? ones(s.facts[s.inputs + o].shape, {.dtype = DType::boolean})
                           : by_slot_[static_cast<std::size_t>(slot)]);
  }
  return masks;
}

Support::Masks Support::at(std::size_t step) {
  for (; next_ > step + 1; --next_) {
    const Step& s = tape_.steps()[next_ - 1];
    const std::vector<Tensor> outputs = of_outputs(s);
    if (std::none_of(outputs.begin(), outputs.end(), [](const Tensor& m) { return m.defined(); })) continue;
    const std::vector<Tensor> inputs = masks_of_inputs(s, outputs, false);
    for (std::uint32_t i = 0; i < s.inputs; ++i)
      if (inputs[i].defined()) {
        Tensor& sum_of = by_slot_[static_cast<std::size_t>(s.slots[i])];
        sum_of = joined(sum_of, inputs[i]);
      }
  }
  const Step& s = tape_.steps()[step];
  std::vector<Tensor> outputs = of_outputs(s), inputs = masks_of_inputs(s, outputs, true);
  return {std::move(outputs), std::move(inputs)};
}

// Other values would be another choice: what the rule drops of the mask it drops of everything, infinities too.
Tensors Support::without_dropped(const Step& s, const Masks& m, Tensors found) {
  const std::unique_ptr<bool[]> wanted(new bool[s.inputs]);
  for (std::uint32_t i = 0; i < s.inputs; ++i) wanted[i] = i < found.size() && found[i].defined();
  std::vector<Tensor> marks(s.inputs);
  {
    const Unseen unseen;
    const checks off(CheckLevel::off);
    const Tensors of = chosen(s, m.outputs, {wanted.get(), s.inputs});
    for (std::uint32_t i = 0; i < s.inputs && i < of.size(); ++i)
      if (wanted[i] && of[i].defined() && of[i].shape() == found[i].shape()) marks[i] = not_equal(of[i], 0);
  }
  for (std::uint32_t i = 0; i < s.inputs; ++i)
    if (marks[i].defined()) found[i] = where(marks[i], found[i], 0);
  return found;
}

Tensors Support::masked(std::size_t step, const Tensors& found, const Rule& rule) {
  const Step& s = tape_.steps()[step];
  const Masks m = [&] {
    const Unseen unseen;
    const checks off(CheckLevel::off);
    return at(step);
  }();
  if (chooses(*s.op)) return without_dropped(s, m, found);
  const auto dropped = [](const Tensor& mask) { return mask.defined() && !bool(wp::all(mask)); };
  bool any = false;
  for (const Tensor& mask : m.outputs) any = any || !mask.defined() || dropped(mask);
  for (const Tensor& mask : m.inputs) any = any || dropped(mask);
  if (!any) return found;
  std::vector<Tensor> kept(s.saved, s.saved + s.inputs + s.outputs);
  const auto repair = [](Tensor& t, const Tensor& mask) {
    if (t.defined() && mask.defined() && is_floating(t.dtype())) t = where(logical_or(mask, isfinite(t)), t, 0.5);
  };
  for (std::uint32_t i = 0; i < s.inputs; ++i) repair(kept[i], m.inputs[i]);
  for (std::uint32_t o = 0; o < s.outputs; ++o) repair(kept[s.inputs + o], m.outputs[o]);
  Saved finite = s.view();
  finite.in = {kept.data(), s.inputs};
  finite.out = {kept.data() + s.inputs, s.outputs};
  Tensors in = rule(finite, m.outputs);
  for (std::uint32_t i = 0; i < s.inputs && i < in.size(); ++i) {
    if (!in[i].defined()) continue;
    const Tensor* mask = nullptr;
    if (s.op->flow == flow_elementwise && in[i].shape() == s.facts[s.inputs].shape && m.outputs[0].defined())
      mask = &m.outputs[0];
    else if (m.inputs[i].defined() && in[i].shape() == s.facts[i].shape)
      mask = &m.inputs[i];
    if (mask) in[i] = where(*mask, in[i], 0);
  }
  return in;
}

}  // namespace wp::autodiff
