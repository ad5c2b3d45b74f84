#include "autodiff/reverse.hpp"

#include <algorithm>
#include <bit>

#include "autodiff/forward.hpp"
#include "autodiff/replay.hpp"
#include "autodiff/sampled.hpp"
#include "autodiff/support.hpp"
#include "base/text.hpp"
#include "linalg/cancelled.hpp"
#include "linalg/rules.hpp"
#include "ops/shapes.hpp"
#include "tensor/note.hpp"
#include "wellposed/ops.hpp"

namespace wp::autodiff {

namespace {

// Within the handler of e, which tells why forward mode could not follow.
[[noreturn]] void refuse_rough(const GradientError& e) {
  const Finding& f = e.finding();
  if (f.code != "WP-GRD-011" && f.code != "WP-GRD-001") throw;
  refuse<GradientError>(
      "WP-GRD-011",
      say("what follows a decomposition with repeated or vanishing values has no derivative along the values in "
          "forward "
          "mode (",
          f.message, "), and is not smooth enough beside them to tell it from values there."),
      "Use functions of matrices (polar, projector, low_rank, sqrtm, logm, expm), or one decomposition.");
}

}  // namespace

// What a rule may ask.
class RuleCall : public OnWay {
 public:
  RuleCall(Reverse& pass, std::size_t step, const Saved& saved, std::span<const Tensor> cotangents,
           std::span<const bool> wanted)
      : OnWay(saved, cotangents, wanted), pass_(pass), step_(step) {
    chose = pass.chose_;
  }
  std::vector<Tensors> taylor(const Variation& at, const Variation& along, int order) const override {
    const std::size_t split = out.size();
    std::vector<Tensor> point(split + in.size()), direction(split + in.size());
    const auto given = [](const Tensors& t, std::size_t i) { return i < t.size() ? t[i] : Tensor(); };
    for (std::size_t i = 0; i < point.size(); ++i) {
      const bool output = i < split;
      const std::size_t k = output ? i : i - split;
      point[i] = given(output ? at.outputs : at.inputs, k);
      direction[i] = given(output ? along.outputs : along.inputs, k);
      if (!point[i].defined() && (output || direction[i].defined())) point[i] = output ? out[k] : in[k];
    }
    const auto f = [&](const std::vector<Tensor>& x) {
      const Tensors c = pass_.replayed_cotangents(step_, {x.data(), split}, {x.data() + split, x.size() - split});
      return std::vector<Tensor>(c.begin(), c.end());
    };
    const auto placed = [](const std::vector<std::vector<Tensor>>& found) {
      std::vector<Tensors> all;
      for (const std::vector<Tensor>& d : found) all.emplace_back(d.begin(), d.end());
      return all;
    };
    try {
      return placed(autodiff::taylor(f, point, direction, order));
    } catch (const GradientError& e) {
      // Forward mode does not pass repeated values further on, ways back do.
      if (order == 0) throw;
      const std::size_t axes = facts[0].shape.size();
      const auto found = sampled_taylor(f, point, direction, order, axes > 2 ? axes - 2 : 0);
      if (!found) refuse_rough(e);
      return placed(*found);
    }
  }
  std::optional<bool> verify() const noexcept override { return pass_.request_.verify; }
  double eps_after() const override { return pass_.eps_after(step_); }
  bool sampled() const override { return sampling(); }
  int depth() const noexcept override {
    int n = 0;
    for (const Listener* l = context().listeners; l; l = l->outer) n += l->observer != nullptr;
    return n;
  }
  bool of_derivative() const override { return pass_.leads_to_rule(step_); }
  Tensors pulled_back(const std::function<Tensor()>& f, std::span<const Tensor> x, const Tensor& g) const override {
    return autodiff::pulled_back(f, x, g, place);
  }
  void find(Finding f) const override { pass_.tape_.find(own(std::move(f))); }
  void suspect(Finding f, const std::array<Tensor, 3>& otherwise) const override {
    pass_.suspected_.push_back({step_, own(std::move(f)), otherwise});
  }

 private:
  Finding own(Finding f) const {
    f.op = op.name;
    f.place = place;
    f.scope = current_scope();
    return f;
  }
  Reverse& pass_;
  std::size_t step_;
};

namespace {

[[noreturn]] void refuse_step(const Step& s, std::string_view what, std::string_view reason = "") {
  refuse_derivative(*s.op, say(" (", s.place.text(), ")"), say(", and ", what), reason);
}

}  // namespace

Tensor fitted(Tensor g, const Fact& fact, const Op& op) {
  if (is_complex(g.dtype()) && !is_complex(fact.dtype)) g = real(g);
  if (!(g.shape() == fact.shape)) {
    if (!broadcasts_to(fact.shape, g.shape()))
      refuse<GradientError>("WP-GRD-005", say("the derivative rule of ", op.name, " gives a gradient ", g.shape(),
                                              " for an input ", fact.shape, "."));
    g = sum_to(g, fact.shape);
  }
  if (g.dtype() != fact.dtype) g = astype(g, fact.dtype);
  return g;
}

Reverse::Reverse(Tape& tape, const Request& request)
    : tape_(tape), request_(request), end_(tape.steps().size()), chose_(waiting_for_choice()) {
  const std::size_t n = tape.slots().size();
  cotangents_.resize(n);
  needed_.assign(n, 0);
  is_source_.assign(n, 0);
  made_.assign(n, 0);
  for (const Tensor& x : request.sources) {
    const std::int32_t slot = tape.slot_of(x, "x");
    sources_.push_back(slot);
    is_source_[static_cast<std::size_t>(slot)] = needed_[static_cast<std::size_t>(slot)] = 1;
  }
  for (const Tensor& y : request.targets) targets_.push_back(y.defined() ? tape.slots().find(y) : -1);
}

void Reverse::seed() {
  for (std::size_t k = 0; k < targets_.size(); ++k) {
    const Tensor& y = request_.targets[k];
    if (!y.defined()) refuse<ArgumentError>("WP-ARG-002", "the target y is undefined.");
    Tensor g = k < request_.seeds.size() ? request_.seeds[k] : Tensor();
    if (g.defined() && !(g.shape() == y.shape()))
      refuse<ShapeError>("WP-SHP-001", say("the output gradient ", g.shape(), " must have the shape of its target ",
                                           y.shape(), "."));
    if (is_floating(y.dtype())) {
      if (!g.defined() && is_complex(y.dtype()))
        refuse<DtypeError>("WP-DTY-003", say("the target is ", y.dtype(), ": a gradient needs a real loss."),
                           "Differentiate real(y), imag(y) or abs(y), or give output_gradients.");
      if (g.defined() && is_complex(g.dtype()) && !is_complex(y.dtype()))
        refuse<DtypeError>("WP-DTY-003", say("the output gradient is ", g.dtype(), ", its target ", y.dtype(), "."),
                           "The cotangent of a real target is real.");
      if (!g.defined()) g = ones(y.shape(), {.dtype = y.dtype()});
      if (g.dtype() != y.dtype()) g = astype(g, y.dtype());
    }
    seeds_.push_back(g);
    if (targets_[k] >= 0 && is_floating(y.dtype())) add_to(targets_[k], g);
  }
}

void Reverse::mark_needed() {
  Steps& steps = tape_.steps();
  Kinds met = 0;
  for (std::size_t k = 0; k < end_; ++k) {
    const Step& s = steps[k];
    bool any = false;
    for (const std::int32_t o : s.out_slots()) made_[static_cast<std::size_t>(o)] = 1;
    for (std::uint32_t i = 0; i < s.inputs; ++i)
      any |= s.slots[i] >= 0 && needed_[static_cast<std::size_t>(s.slots[i])] && is_floating(s.facts[i].dtype);
    if (!any) continue;
    of_derivative_ = of_derivative_ || s.in_rule;
    for (std::uint32_t i = 0; i < s.outputs; ++i)
      if (const DType dtype = s.facts[s.inputs + i].dtype; is_floating(dtype)) {
        needed_[static_cast<std::size_t>(s.slots[s.inputs + i])] = 1;
        met |= kind(real_of(dtype));
      }
  }
  if (std::popcount(met) > 1) mark_counting();
}

template <class F>
void Reverse::follow(std::size_t step, F&& visit) const {
  const Steps& steps = tape_.steps();
  std::vector<char> rests(made_.size(), 0);
  const auto any = [&](std::span<const std::int32_t> slots) {
    return std::any_of(slots.begin(), slots.end(), [&](std::int32_t i) { return i >= 0 && rests[std::size_t(i)]; });
  };
  for (std::size_t k = step; k < end_; ++k) {
    const Step& s = steps[k];
    if (k > step && (!any(s.in_slots()) || visit(s))) continue;
    for (const std::int32_t o : s.out_slots()) rests[static_cast<std::size_t>(o)] = 1;
  }
}

bool Reverse::leads_to_rule(std::size_t step) const {
  bool leads = false;
  follow(step, [&](const Step& s) { return leads |= s.in_rule; });
  return leads;
}

void Reverse::mark_counting() {
  counts_.assign(made_.size(), 0);
  const auto counts = [&](std::int32_t slot) { return slot >= 0 && counts_[static_cast<std::size_t>(slot)]; };
  for (const std::int32_t t : targets_)
    if (t >= 0) counts_[static_cast<std::size_t>(t)] = 1;
  for (std::size_t k = end_; k-- > 0;) {
    const Step& s = tape_.steps()[k];
    if (std::ranges::any_of(s.out_slots(), counts))
      for (const std::int32_t i : s.in_slots())
        if (i >= 0) counts_[static_cast<std::size_t>(i)] = 1;
  }
}

// A single number that is rounded scales its cotangent, and no digit of that is lost.
double Reverse::eps_after(std::size_t step) const {
  double eps = 0;
  if (counts_.empty()) return eps;
  follow(step, [&](const Step& s) {
    for (std::uint32_t i = 0; i < s.outputs; ++i) {
      const Fact& f = s.facts[s.inputs + i];
      const bool counts = counts_[static_cast<std::size_t>(s.slots[s.inputs + i])] != 0,
                 many = std::ranges::any_of(f.shape, [](std::int64_t n) { return n > 1; });
      if (counts && many && is_floating(f.dtype)) eps = std::max(eps, finfo(real_of(f.dtype)).eps);
    }
    return false;
  });
  return eps;
}

void Reverse::add_to(std::int32_t slot, Tensor g) {
  if (request_.rounding) [[unlikely]]
    g = linalg::rounded_otherwise(g, request_.rounding + 16 * ++draws_);
  Tensor& sum = cotangents_[static_cast<std::size_t>(slot)];
  sum = sum.defined() ? add(sum, g) : std::move(g);
}

Tensor Reverse::finished(std::int32_t slot, bool keep) {
  Tensor& g = cotangents_[static_cast<std::size_t>(slot)];
  if (const auto* const hooks = tape_.hooks(slot); hooks && g.defined())
    for (const auto& f : *hooks)
      if (Tensor other = f(g); other.defined()) {
        if (!(other.shape() == g.shape()))
          refuse<ShapeError>("WP-SHP-001",
                             say("a hook must return a gradient ", g.shape(), "; got ", other.shape(), "."));
        if (is_complex(other.dtype()) && !is_complex(g.dtype()))
          refuse<DtypeError>("WP-DTY-003",
                             say("a hook must return a real gradient ", g.dtype(), "; got ", other.dtype(), "."));
        g = astype(other, g.dtype());
        hooked_.resize(cotangents_.size());
        hooked_[static_cast<std::size_t>(slot)] = 1;
      }
  return keep ? g : std::move(g);
}

Tensors Reverse::ruled(const RuleCall& rule, std::size_t step) {
  const std::size_t before = suspected_.size();
  Tensors in = rule.op.vjp(rule);
  for (std::size_t k = before; k < suspected_.size(); ++k) [[unlikely]] {
      const linalg::Unrecorded here;
      for (Tensor& other : suspected_[k].off) other = subtract(other, in[0]);
    }
  for (const Suspicion& s : request_.shaken)
    if (s.step == step) in[0] = add(in[0], s.off[request_.rounding - 1]);
  return in;
}

Tensors Reverse::apply_rule(std::size_t step, std::span<const Tensor> cotangents, std::span<const bool> wanted) {
  const Step& s = tape_.steps()[step];
  tape_.check_unchanged(s);
  context().saw_nonfinite = false;
  const RuleCall rule(*this, step, s.view(), cotangents, wanted);
  Tensors in = ruled(rule, step);
  if (!context().saw_nonfinite || s.op->collective) [[likely]]
    return in;
  // Something is not finite. Zeros that come from a choice (where, relu, indexing, …) annihilate whatever they meet.
  if (!support_) support_ = std::make_unique<Support>(tape_, end_, targets_);
  return support_->masked(step, in, [&](const Saved& finite, std::span<const Tensor> rests) {
    RuleCall again(*this, step, finite, cotangents, wanted);
    again.rests = rests;
    return ruled(again, step);
  });
}

void Reverse::go_back(std::size_t step) {
  Step& s = tape_.steps()[step];
  Tensors cotangents(s.outputs);
  bool any = false, needed = false;
  for (std::uint32_t i = 0; i < s.outputs; ++i) {
    const std::int32_t slot = s.slots[s.inputs + i];
    needed |= needed_[static_cast<std::size_t>(slot)] != 0;
    if (!cotangents_[static_cast<std::size_t>(slot)].defined()) continue;
    any = true;
    cotangents[i] = finished(slot, is_source_[static_cast<std::size_t>(slot)] != 0);
  }
  if (!any || !needed) return;
  if (!s.op->vjp) refuse_step(s, "the target depends on its result");
  const OnBehalf behalf(s);
  bool few[8];
  const std::unique_ptr<bool[]> many(s.inputs > std::size(few) ? new bool[s.inputs] : nullptr);
  bool* const wanted = many ? many.get() : few;
  for (std::uint32_t i = 0; i < s.inputs; ++i)
    wanted[i] = s.slots[i] >= 0 && needed_[static_cast<std::size_t>(s.slots[i])] && is_floating(s.facts[i].dtype);
  Tensors in = apply_rule(step, {cotangents.begin(), cotangents.size()}, {wanted, s.inputs});
  for (std::uint32_t i = 0; i < s.inputs && i < in.size(); ++i)
    if (wanted[i] && in[i].defined()) add_to(s.slots[i], fitted(std::move(in[i]), s.facts[i], *s.op));
  if (tape_.forgets() && !of_derivative_ && !chooses(*s.op)) s.forget();
}

std::optional<Reverse::Obstacle> Reverse::first_obstacle(std::int32_t source, bool without_rule) {
  constexpr std::int32_t unreached = -2, open = -1;
  Steps& steps = tape_.steps();
  std::vector<std::int32_t> through(made_.size(), unreached);  // the first obstacle on the way here
  std::vector<Obstacle> obstacles;
  through[static_cast<std::size_t>(source)] = open;
  for (std::size_t k = 0; k < end_; ++k) {
    const Step& s = steps[k];
    if (stops_gradients(*s.op) || (s.in_rule && request_.zero_unconnected)) continue;
    std::int32_t way = unreached;
    for (const std::int32_t i : s.in_slots())
      if (i >= 0) way = std::max(way, through[static_cast<std::size_t>(i)]);
    if (way == unreached) continue;
    for (std::uint32_t o = 0; o < s.outputs; ++o) {
      const DType d = s.facts[s.inputs + o].dtype;
      std::int32_t& here = through[static_cast<std::size_t>(s.slots[s.inputs + o])];
      here = way;
      if (way != open || (without_rule ? s.op->vjp != nullptr : is_floating(d))) continue;
      here = static_cast<std::int32_t>(obstacles.size());
      obstacles.push_back({k, d});
    }
  }
  for (const std::int32_t t : targets_)
    if (t >= 0 && through[static_cast<std::size_t>(t)] >= 0)
      return obstacles[static_cast<std::size_t>(through[static_cast<std::size_t>(t)])];
  return std::nullopt;
}

void Reverse::explain_blocked(std::int32_t source) {
  const auto refuse_at = [&](const Obstacle& o, std::string_view reason) {
    refuse_step(tape_.steps()[o.step], "the only way from the target to x passes it", reason);
  };
  if (const auto found = first_obstacle(source, true)) refuse_at(*found, "");
  if (const auto found = first_obstacle(source, false))
    refuse_at(*found, say("its result is ", found->dtype, ": it changes by jumps only."));
}

Tensors Reverse::replayed_cotangents(std::size_t step, std::span<const Tensor> outputs,
                                     std::span<const Tensor> inputs) {
  return cotangents_by_replay(tape_, step, end_, outputs, inputs,
                              {targets_, sources_, request_.targets, seeds_, hooked_, request_.reseed});
}

std::vector<Tensor> Reverse::run() {
  seed();
  mark_needed();
  for (std::size_t k = end_; k-- > 0;) go_back(k);
  std::vector<Tensor> all;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const auto slot = static_cast<std::size_t>(sources_[i]);
    // Hooks of tensors that a step made have run there; a tensor that is named twice has one gradient.
    const bool first = std::find(sources_.begin(), sources_.begin() + static_cast<std::ptrdiff_t>(i), sources_[i]) ==
                       sources_.begin() + static_cast<std::ptrdiff_t>(i);
    if (cotangents_[slot].defined() && !made_[slot] && first) finished(sources_[i], true);
    Tensor g = cotangents_[slot];
    if (!g.defined() && (request_.refuse_blocked || !request_.zero_unconnected)) explain_blocked(sources_[i]);
    if (!g.defined() && request_.zero_unconnected)
      g = zeros_for({request_.sources[i].shape(), request_.sources[i].dtype()});
    all.push_back(std::move(g));
  }
  return all;
}

Tape::Passes::Passes(Tape& tape, const Request& r)
    : tape_(tape), running_{r.function.data(), &r.place}, outermost_(!tape.in_passes_) {
  context().running = &running_;
  if (tape.used_up_)
    refuse<GradientError>("WP-GRD-004", "this tape has given its gradient: what it recorded is gone.",
                          "Make the tape persistent for several gradients: GradientTape, persistent = true.");
  if (!tape.persistent_) tape.stop();
  tape.in_passes_ = true;
}
Tape::Passes::~Passes() {
  if (!outermost_) return;
  tape_.in_passes_ = false;
  if (tape_.persistent_) return;
  tape_.used_up_ = true;
  tape_.steps_.clear();
}

std::vector<Tensor> Tape::passes(const Request& r) {
  std::vector<Tensor> all;
  {
    const detail::Restore<&Context::level> level;
    if (context().level != CheckLevel::off)
      context().level = CheckLevel::escape;  // what is made on the way is noted, and judged at the end
    Reverse way(*this, r);
    all = way.run();
    judge_rounding(r, way, all);
  }
  for (const Tensor& g : all)
    if (g.defined()) escape(g, r.function, Counts::made_and_given, r.place);
  return all;
}

// Terms of a second derivative that cancel leave what rounding makes of them: three other ways back, with other last
// digits, measure it, where the caller asks, or a rule suspects it of its own part.
void Tape::judge_rounding(const Request& r, const Reverse& way, std::span<const Tensor> found) {
  const bool asked = r.verify.value_or(false) && way.of_derivative() && hooks_.empty() && !context().listeners;
  if (!asked && way.suspected().empty()) return;
  std::optional<Finding> lost;
  if (hooks_.empty()) {
    const linalg::Unrecorded here;
    Request other = r;
    other.verify = false;
    other.shaken = way.suspected();
    std::vector<std::array<Tensor, 3>> again(found.size());
    for (other.rounding = 1; other.rounding <= 3; ++other.rounding) {
      const std::vector<Tensor> rounded = Reverse(*this, other).run();
      for (std::size_t i = 0; i < found.size(); ++i) again[i][other.rounding - 1] = rounded[i];
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (!found[i].defined() || found[i].size() == 0) continue;
      std::optional<Finding> f = linalg::cancelled(linalg::derivative_size(found[i]), again[i]);
      if (f && (!lost || f->measured > lost->measured)) lost = std::move(f);
    }
    if (!lost) return;
  }
  for (const Suspicion& s : way.suspected()) find(s.finding);
  if (!way.suspected().empty() || !asked) return;
  lost->op = r.function;
  lost->place = r.place;
  find(std::move(*lost));
}

std::vector<Tensor> Tape::gradient(const Request& r) {
  const Passes passes(*this, r);
  if (!r.verify.value_or(false)) in_passes_ = false;  // one way only: what was used may go
  return this->passes(r);
}

}  // namespace wp::autodiff
