#include "autodiff/replay.hpp"

#include "autodiff/forward.hpp"

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
                             std::span<const std::int32_t> target_slots, std::span<const Tensor> targets) {
  const std::vector<char> useful = useful_slots(tape, from, end, target_slots);
  for (std::size_t k = from; k < end; ++k) {
    const Step& s = tape.steps()[k];
    bool moved = false, wanted = false;
    for (const std::int32_t i : s.in_slots()) moved |= i >= 0 && values[static_cast<std::size_t>(i)].defined();
    for (const std::int32_t o : s.out_slots()) wanted |= useful[static_cast<std::size_t>(o)] != 0;
    if (moved && wanted) repeat(s, values);
  }
  std::vector<Tensor> all(targets.begin(), targets.end());
  for (std::size_t k = 0; k < all.size(); ++k)
    if (target_slots[k] >= 0)
      if (const Tensor& y = values[static_cast<std::size_t>(target_slots[k])]; y.defined()) all[k] = y;
  return all;
}

Tensors cotangents_by_replay(const Tape& tape, std::size_t step, std::size_t end, std::span<const Tensor> outputs,
                             std::span<const Tensor> inputs, std::span<const std::int32_t> target_slots,
                             std::span<const Tensor> targets, std::span<const Tensor> seeds) {
  const Step& s = tape.steps()[step];
  std::vector<Tensor> values(tape.slots().size()), at;
  for (std::uint32_t i = 0; i < s.inputs && i < inputs.size(); ++i)
    if (inputs[i].defined() && s.slots[i] >= 0) values[static_cast<std::size_t>(s.slots[i])] = inputs[i];
  for (std::uint32_t o = 0; o < s.outputs; ++o) {
    const bool other = o < outputs.size() && outputs[o].defined();
    at.push_back(alias(other ? outputs[o] : s.saved[s.inputs + o]));
    values[static_cast<std::size_t>(s.slots[s.inputs + o])] = at.back();
  }
  Tape inner(false);
  const std::vector<Tensor> sources = watch_floating(inner, at);
  inner.start();
  const std::vector<Tensor> again = replayed(tape, step + 1, end, std::move(values), target_slots, targets);
  inner.stop();
  const std::vector<Tensor> found = inner.gradient({.targets = again,
                                                    .seeds = seeds,
                                                    .sources = sources,
                                                    .zero_unconnected = true,
                                                    .verify = false,
                                                    .place = s.place});
  const std::vector<Tensor> all = in_places_of(at, found);
  return {all.begin(), all.end()};
}

}  // namespace wp::autodiff
