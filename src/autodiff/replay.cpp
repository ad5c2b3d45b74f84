#include "autodiff/replay.hpp"

#include "autodiff/forward.hpp"
#include "wellposed/ops.hpp"

namespace wp::autodiff {
namespace {

// Slots that a target rests on, by way of the steps from `from` on.
std::vector<char> useful_slots(const Tape& tape, std::size_t from, std::size_t end,
                               std::span<const std::int32_t> targets) {
  std::vector<char> useful(tape.slots().size(), 0);
  for (const std::int32_t t : targets)
    if (t >= 0) useful[static_cast<std::size_t>(t)] = 1;
  for (std::size_t k = end; k-- > from;) {
    const Step& s = tape.steps()[k];
    bool any = false;
    for (const std::int32_t o : s.out_slots()) any |= useful[static_cast<std::size_t>(o)] != 0;
    if (any)
      for (const std::int32_t i : s.in_slots())
        if (i >= 0) useful[static_cast<std::size_t>(i)] = 1;
  }
  return useful;
}

void hand_hooks(const Tape& tape, std::int32_t slot, const Tensor& value, Tape& inner) {
  if (inner.slots().find(value) < 0) return;
  for (const auto& f : *tape.hooks(slot)) inner.hook(value, f);
}

void repeat(const Step& s, std::vector<Tensor>& values) {
  std::vector<const Tensor*> in(s.inputs);
  for (std::uint32_t i = 0; i < s.inputs; ++i) {
    const std::int32_t slot = s.slots[i];
    const Tensor* const other = slot >= 0 ? &values[static_cast<std::size_t>(slot)] : nullptr;
    in[i] = other && other->defined() ? other : &s.saved[i];
  }
  const OnBehalf behalf(s);
  const Tensors out = call(*s.op, Inputs(in.data(), in.size()), {s.attr, s.attrs}, s.place);
  for (std::uint32_t o = 0; o < s.outputs; ++o) values[static_cast<std::size_t>(s.slots[s.inputs + o])] = out[o];
}

}  // namespace

std::vector<Tensor> replayed(const Tape& tape, std::size_t from, std::size_t end, std::vector<Tensor> values,
                             const Asked& asked, Tape& inner) {
  const detail::Restore<&Context::untold> told;
  context().untold = true;
  const std::span<const std::int32_t> target_slots = asked.target_slots;
  const std::span<const char> hooked = asked.hooked;
  const std::vector<char> useful = useful_slots(tape, from, end, target_slots);
  for (std::size_t k = 0; k < hooked.size(); ++k)
    if (hooked[k] && values[k].defined()) hand_hooks(tape, static_cast<std::int32_t>(k), values[k], inner);
  for (std::size_t k = from; k < end; ++k) {
    const Step& s = tape.steps()[k];
    bool moved = false, wanted = false;
    for (const std::int32_t i : s.in_slots()) moved |= i >= 0 && values[static_cast<std::size_t>(i)].defined();
    for (const std::int32_t o : s.out_slots()) wanted |= useful[static_cast<std::size_t>(o)] != 0;
    if (!moved || !wanted) continue;
    repeat(s, values);
    for (const std::int32_t o : s.out_slots())
      if (const auto slot = static_cast<std::size_t>(o); slot < hooked.size() && hooked[slot])
        hand_hooks(tape, o, values[slot], inner);
  }
  std::vector<Tensor> all(asked.targets.begin(), asked.targets.end());
  for (std::size_t k = 0; k < all.size(); ++k)
    if (target_slots[k] >= 0)
      if (const Tensor& y = values[static_cast<std::size_t>(target_slots[k])]; y.defined()) all[k] = y;
  return all;
}

namespace {

// A step's outputs, and its inputs that are given, at other values, each as a tensor of its own.
struct Moved {
  std::vector<Tensor> at, values;  // outputs, then inputs (undefined: as recorded); and by slot
  Moved(const Tape& tape, const Step& s, std::span<const Tensor> outputs, std::span<const Tensor> inputs)
      : values(tape.slots().size()) {
    for (std::uint32_t o = 0; o < s.outputs; ++o) {
      const bool other = o < outputs.size() && outputs[o].defined();
      at.push_back(alias(other ? outputs[o] : s.saved[s.inputs + o]));
      values[static_cast<std::size_t>(s.slots[s.inputs + o])] = at.back();
    }
    for (std::uint32_t i = 0; i < s.inputs; ++i) {
      const bool other = i < inputs.size() && inputs[i].defined() && s.slots[i] >= 0;
      at.push_back(other ? alias(inputs[i]) : Tensor());
      if (other) values[static_cast<std::size_t>(s.slots[i])] = at.back();
    }
  }
};

// The seeds of the targets at `again`, where slots have other values.
std::vector<Tensor> seeds_at(const Asked& asked, const std::vector<Tensor>& again,
                             const std::vector<Tensor>& values) {
  if (!asked.reseed) return {asked.seeds.begin(), asked.seeds.end()};
  std::vector<Tensor> sources;
  for (const std::int32_t slot : asked.source_slots) sources.push_back(values[static_cast<std::size_t>(slot)]);
  const Tensors found = (*asked.reseed)(again, sources);
  return {found.begin(), found.end()};
}

}  // namespace

Tensors cotangents_by_replay(const Tape& tape, std::size_t step, std::size_t end, std::span<const Tensor> outputs,
                             std::span<const Tensor> inputs, const Asked& asked) {
  const Step& s = tape.steps()[step];
  Moved moved(tape, s, outputs, inputs);
  Tape inner(false);
  const std::vector<Tensor> sources = watch_floating(inner, moved.at);
  inner.start();
  const std::vector<Tensor> again = replayed(tape, step + 1, end, moved.values, asked, inner);
  inner.stop();
  const std::vector<Tensor> seeds = seeds_at(asked, again, moved.values);
  const std::vector<Tensor> found = inner.gradient({.targets = again,
                                                    .seeds = seeds,
                                                    .sources = sources,
                                                    .zero_unconnected = true,
                                                    .verify = false,
                                                    .place = s.place});
  const std::vector<Tensor> all = in_places_of(moved.at, found);
  return {all.begin(), all.end()};
}

}  // namespace wp::autodiff
