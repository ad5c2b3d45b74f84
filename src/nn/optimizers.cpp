#include <cmath>
#include <limits>
#include <numbers>

#include "base/text.hpp"
#include "ops/dispatch.hpp"
#include "tensor/note.hpp"
#include "wellposed/linalg.hpp"
#include "wellposed/nn.hpp"
#include "wellposed/ops.hpp"

namespace wp::nn {
namespace {

void need(bool holds, std::string_view function, std::string message) {
  if (!holds) raise<ArgumentError>("WP-ARG-001", function, std::move(message));
}

bool is_limit(double v) {
  return v >= 0 && std::isfinite(v);
}
void need_rate(double rate, std::string_view function) {
  need(is_limit(rate), function, say("a learning rate is finite and not negative; got ", rate, "."));
}

constexpr double kInf = std::numeric_limits<double>::infinity();

// The 2-norm of all together, divided by `unit`. Inf if that of one is beyond its dtype.
double joint_norm(const std::vector<Tensor>& gradients, double unit) {
  const allow_nonfinite meant;
  double norm = 0;
  for (const Tensor& g : gradients)
    if (g.defined()) norm = std::hypot(norm, value_at(linalg::vector_norm(unit == 1 ? g : g / unit), 0).real());
  return norm;
}

void need_like(const Tensor& made, const Parameter& p, std::string_view rule, std::string_view what, Where where) {
  if (made.defined() && made.shape() == p.value.shape() && made.dtype() == p.value.dtype()) return;
  const std::string came = made.defined() ? say(made.dtype(), ' ', made.shape()) : "none";
  raise_at<ShapeError>(where, "WP-NNM-002", rule,
                       say("the update of '", p.name, "' must give a ", what, " that is ", p.value.dtype(), ' ',
                           p.value.shape(), " as it is; got ", came, "."));
}

Rule adam_rule(std::string name, double beta1, double beta2, double epsilon, double decay) {
  need(beta1 >= 0 && beta1 < 1 && beta2 >= 0 && beta2 < 1, name,
       say("beta1 and beta2 must be from 0 to below 1; got ", beta1, " and ", beta2, "."));
  need(epsilon >= 0 && decay >= 0, name,
       say("epsilon and weight_decay must not be negative; got ", epsilon, " and ", decay, "."));
  return {std::move(name),
          {"m", "v"},
          [=](const Tensor& w, const Tensor& g, std::span<Tensor> slots, double rate, std::int64_t t) {
            Tensor &m = slots[0], &v = slots[1];
            m = m * beta1 + g * (1 - beta1);
            v = v * beta2 + square(g) * (1 - beta2);
            const auto n = static_cast<double>(t);
            const double first = rate / -std::expm1(n * std::log(beta1)), second = -std::expm1(n * std::log(beta2));
            const Tensor kept = decay == 0 ? w : w * (1 - rate * decay);
            return kept - m * first / (sqrt(v / second) + epsilon);
          }};
}

}  // namespace

Schedule::Schedule(double rate) : at_([rate](std::int64_t) { return rate; }) {
  need_rate(rate, "Schedule");
}
double Schedule::operator()(std::int64_t step) const {
  const double rate = at_(step);
  need(is_limit(rate), "Schedule",
       say("a learning rate is finite and not negative; the function gave ", rate, " for step ", step, "."));
  return rate;
}
Schedule exponential_decay(double rate, double factor, std::int64_t every) {
  need_rate(rate, "exponential_decay");
  need(is_limit(factor), "exponential_decay", say("factor must be finite and not negative; got ", factor, "."));
  need(every > 0, "exponential_decay", say("every must be at least 1; got ", every, "."));
  return [=](std::int64_t step) {
    return rate * std::pow(factor, static_cast<double>(step) / static_cast<double>(every));
  };
}
Schedule cosine_decay(double rate, std::int64_t steps, double least) {
  need_rate(rate, "cosine_decay");
  need_rate(least, "cosine_decay");
  need(steps > 0, "cosine_decay", say("steps must be at least 1; got ", steps, "."));
  return [=](std::int64_t step) {
    const double part = std::min(1.0, static_cast<double>(step) / static_cast<double>(steps));
    return least + (rate - least) * (1 + std::cos(std::numbers::pi * part)) / 2;
  };
}
Schedule piecewise(std::vector<std::pair<std::int64_t, double>> pieces) {
  need(!pieces.empty() && pieces[0].first == 0 && std::is_sorted(pieces.begin(), pieces.end()), "piecewise",
       "pieces begin at step 0 and go up.");
  for (const auto& [first, rate] : pieces) need_rate(rate, "piecewise");
  return [pieces = std::move(pieces)](std::int64_t step) {
    double rate = pieces[0].second;
    for (const auto& [first, r] : pieces)
      if (first <= step) rate = r;
    return rate;
  };
}
Schedule warmup(std::int64_t steps, Schedule then) {
  need(steps > 0, "warmup", say("steps must be at least 1; got ", steps, "."));
  return [=, then = std::move(then)](std::int64_t step) {
    return then(step) * std::min(1.0, static_cast<double>(step + 1) / static_cast<double>(steps));
  };
}

std::pair<std::vector<Tensor>, double> clip_norm(const std::vector<Tensor>& gradients, double most) {
  need(most > 0 && std::isfinite(most), "clip_norm", say("most must be finite and above 0; got ", most, "."));
  double norm = joint_norm(gradients, 1);
  if (!(norm > most)) return {gradients, norm};
  double largest = 0;
  for (const Tensor& g : gradients)
    if (g.defined()) largest = std::max(largest, value_at(linalg::vector_norm(g, {.ord = kInf}), 0).real());
  if (!std::isfinite(largest)) return {gradients, norm};
  // In units of the largest element nothing overflows, and no factor is too small for the dtype.
  const double units = std::isfinite(norm) ? norm / largest : joint_norm(gradients, largest);
  norm = units * largest;
  if (!(norm > most)) return {gradients, norm};
  std::vector<Tensor> out = gradients;
  for (Tensor& g : out)
    if (g.defined()) g = g / largest * (most / units);
  return {std::move(out), norm};
}
std::vector<Tensor> clip_value(const std::vector<Tensor>& gradients, double most) {
  need(is_limit(most), "clip_value", say("most must be finite and not negative; got ", most, "."));
  std::vector<Tensor> out = gradients;
  for (Tensor& g : out)
    if (g.defined()) g = clip(g, -most, most);
  return out;
}

Optimizer::Optimizer(Rule rule, Schedule rate, const Clip& clip)
    : rule_(std::move(rule)), rate_(std::move(rate)), clip_(clip) {
  need(is_limit(clip.norm) && is_limit(clip.value), rule_.name,
       say("limits of gradients must be finite and not negative; got norm ", clip.norm, ", value ", clip.value, "."));
}

void Optimizer::step(Pass& pass, const Tensor& loss, Where where) {
  apply(pass.model(), pass.gradients(loss, where), where);
  pass.commit();
}

void Optimizer::apply(Model& model, std::vector<Tensor> gradients, Where where) {
  const std::vector<Parameter>& all = model.parameters();
  if (gradients.size() != all.size())
    raise_at<ArgumentError>(
        where, "WP-NNM-002", rule_.name,
        say("one gradient per parameter: ", all.size(), " were expected; got ", gradients.size(), "."));
  const Unseen constant;
  if (clip_.value > 0) gradients = clip_value(gradients, clip_.value);
  if (clip_.norm > 0) gradients = clip_norm(gradients, clip_.norm).first;
  const double rate = rate_(steps_);
  slots_.resize(all.size());
  std::vector<std::vector<Tensor>> slots = slots_;
  std::vector<Tensor> values(all.size());
  detail::Restore<&Context::saw_nonfinite> restore;
  context().saw_nonfinite = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!gradients[i].defined()) continue;
    while (slots[i].size() < rule_.slots.size()) slots[i].push_back(zeros_like(all[i].value));
    values[i] = rule_.update(all[i].value, gradients[i], slots[i], rate, steps_ + 1);
    need_like(values[i], all[i], rule_.name, "weight", where);
    for (std::size_t k = 0; k < rule_.slots.size(); ++k)
      need_like(slots[i][k], all[i], rule_.name, rule_.slots[k], where);
  }
  if (context().saw_nonfinite) [[unlikely]]
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (values[i].defined()) escape(values[i], say("update of '", all[i].name, "'"), Counts::made_and_given, where);
      for (const Tensor& s : slots[i])
        escape(s, say("state of ", rule_.name, " for '", all[i].name, "'"), Counts::made_and_given, where);
    }
  for (std::size_t i = 0; i < all.size(); ++i)
    if (values[i].defined()) model.parameters_[i].value = std::move(values[i]);
  slots_ = std::move(slots);
  ++steps_;
}

NamedTensors Optimizer::slots(const Model& model) const {
  NamedTensors out;
  for (std::size_t i = 0; i < slots_.size(); ++i)
    for (std::size_t k = 0; k < slots_[i].size(); ++k)
      out.emplace_back(say(rule_.slots[k], '/', model.parameters()[i].name), slots_[i][k]);
  return out;
}

void Optimizer::restore(const Model& model, const NamedTensors& slots, std::int64_t steps, std::string_view source) {
  std::vector<std::vector<Tensor>> found(model.parameters().size());
  std::size_t used = 0;
  for (std::size_t i = 0; i < found.size(); ++i)
    for (const std::string& slot : rule_.slots)
      for (const auto& [name, value] : slots)
        if (name == say(slot, '/', model.parameters()[i].name) &&
            value.shape() == model.parameters()[i].value.shape()) {
          found[i].push_back(value);
          ++used;
        }
  const bool whole = std::all_of(found.begin(), found.end(),
                                 [&](const auto& f) { return f.empty() || f.size() == rule_.slots.size(); });
  if (used != slots.size() || !whole)
    raise<FormatError>("WP-NNM-002", rule_.name,
                       say("what '", source, "' keeps of an optimizer is not of this model and ", rule_.name, "."));
  slots_ = std::move(found);
  steps_ = steps;
}

Optimizer sgd(const SgdOptions& o) {
  need(o.momentum >= 0 && o.momentum < 1, "sgd", say("momentum must be from 0 to below 1; got ", o.momentum, "."));
  need(!o.nesterov || o.momentum > 0, "sgd", "nesterov needs a momentum above 0.");
  need(o.weight_decay >= 0, "sgd", say("weight_decay must not be negative; got ", o.weight_decay, "."));
  Rule rule{o.nesterov ? "nesterov" : o.momentum > 0 ? "momentum" : "sgd", {}, {}};
  if (o.momentum > 0) rule.slots = {"velocity"};
  rule.update = [mu = o.momentum, nesterov = o.nesterov, decay = o.weight_decay](
                    const Tensor& w, const Tensor& given, std::span<Tensor> slots, double rate, std::int64_t) {
    const Tensor g = decay == 0 ? given : given + w * decay;
    if (mu == 0) return w - g * rate;
    Tensor& v = slots[0];
    v = v * mu + g;
    return w - (nesterov ? g + v * mu : v) * rate;
  };
  return {std::move(rule), o.rate, o.clip};
}
Optimizer adam(const AdamOptions& o) {
  return {adam_rule("adam", o.beta1, o.beta2, o.epsilon, 0), o.rate, o.clip};
}
Optimizer adamw(const AdamWOptions& o) {
  return {adam_rule("adamw", o.beta1, o.beta2, o.epsilon, o.weight_decay), o.rate, o.clip};
}

}  // namespace wp::nn
