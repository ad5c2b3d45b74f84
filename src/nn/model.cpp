#include <algorithm>
#include <limits>

#include "base/scope.hpp"
#include "base/text.hpp"
#include "data/names.hpp"
#include "ops/dispatch.hpp"
#include "trace/window.hpp"
#include "wellposed/blame.hpp"
#include "wellposed/context.hpp"
#include "wellposed/nn.hpp"

namespace wp::nn {
namespace {

constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
constexpr char now = 1, before = 2;  // when a pass was asked for a parameter

// FNV-1a: the draws of a parameter are its own, whatever else the model has.
std::uint64_t key_of(std::uint64_t seed, std::string_view name) noexcept {
  std::uint64_t h = 0xcbf29ce484222325U;
  const auto mix = [&](unsigned char byte) { h = (h ^ byte) * 0x100000001b3U; };
  for (int k = 0; k < 64; k += 8) mix(static_cast<unsigned char>(seed >> k));
  for (const char c : name) mix(static_cast<unsigned char>(c));
  return h;
}

std::vector<std::string> names_of(const std::vector<Parameter>& all) {
  std::vector<std::string> out;
  for (const Parameter& p : all) out.push_back(p.name);
  return out;
}

std::string kind_of(const Tensor& t) {
  return say(t.dtype(), ' ', t.shape());
}

}  // namespace

Model::Model(const ModelOptions& options) : options_(options), random_(key_of(options.seed, "")) {
  if (!is(options.dtype, kinds::real_floating))
    raise<DtypeError>("WP-DTY-003", "Model",
                      say("parameters are real floating-point numbers; got ", options.dtype, "."));
}

std::size_t Model::find(std::string_view name) const noexcept {
  const auto at = index_.find(name);
  return at == index_.end() ? none : at->second;
}
std::size_t Model::add(Parameter parameter) {
  index_[parameter.name] = parameters_.size();
  parameters_.push_back(std::move(parameter));
  return parameters_.size() - 1;
}

const Tensor& Model::operator[](std::string_view name) const {
  const std::size_t i = find(name);
  if (i == none)
    raise<ArgumentError>("WP-NNM-002", "Model",
                         say("the model has no parameter '", name, "'.", data::nearest(name, names_of(parameters_))));
  return parameters_[i].value;
}

void Model::set(std::string_view name, const Tensor& value) {
  const Tensor& old = (*this)[name];
  if (value.dtype() != old.dtype())
    raise<DtypeError>("WP-DTY-003", "Model", say("'", name, "' is ", old.dtype(), "; got ", value.dtype(), "."));
  if (value.shape() != old.shape())
    raise<ShapeError>("WP-NNM-002", "Model", say("'", name, "' is ", old.shape(), "; got ", value.shape(), "."));
  parameters_[find(name)].value = value;
}

std::int64_t Model::size() const noexcept {
  std::int64_t n = 0;
  for (const Parameter& p : parameters_) n += p.trained ? p.value.size() : 0;
  return n;
}

// Running statistics carry a mark in files: a fresh model learns from it what is trained.
void Model::save(const std::string& path, Where where) const {
  NamedTensors all;
  for (const Parameter& p : parameters_) all.emplace_back(p.trained ? p.name : p.name + "#state", p.value);
  save_all(path, all, {}, where);
}
void Model::load(const std::string& path, Where where) {
  assign(load_all(path, {.copy = true}, where), path);
}

void Model::assign(const NamedTensors& values, std::string_view source) {
  std::vector<Parameter> given;
  for (const auto& [name, value] : values) {
    const bool state = name.ends_with("#state");
    given.push_back({name.substr(0, name.size() - (state ? 6 : 0)), value, !state});
  }
  if (parameters_.empty()) {
    for (Parameter& p : given) add(std::move(p));
    complete_ = true;
    return;
  }
  std::string wrong;
  std::vector<char> there(parameters_.size());
  for (const Parameter& p : given) {
    const std::size_t i = find(p.name);
    if (i == none) {
      wrong +=
          say("\n  '", p.name, "' is in the file, not in the model.", data::nearest(p.name, names_of(parameters_)));
      continue;
    }
    there[i] = 1;
    const Tensor& own = parameters_[i].value;
    if (own.shape() != p.value.shape() || own.dtype() != p.value.dtype())
      wrong += say("\n  '", p.name, "' is ", kind_of(p.value), " in the file, ", kind_of(own), " in the model.");
  }
  for (std::size_t i = 0; i < there.size(); ++i)
    if (!there[i]) wrong += say("\n  '", parameters_[i].name, "' is in the model, not in the file.");
  if (!wrong.empty())
    raise<FormatError>(
        "WP-NNM-002", "Model", say("'", source, "' holds the parameters of another model:", wrong),
        "Load it into the model that wrote it; the scopes and sizes of layers make the names and shapes.");
  for (const Parameter& p : given) parameters_[find(p.name)].value = p.value;
}

Pass::Pass(Model& model, bool training) : model_(model) {
  const ScopeName* const here = context().scope;
  outside_ = here ? here->path.size() + 1 : 0;
  if (training) tape_.emplace();
}

std::string_view Pass::path() const noexcept {
  const ScopeName* const here = context().scope;
  return here && here->path.size() > outside_ ? std::string_view(here->path).substr(outside_) : std::string_view();
}
std::string Pass::full(std::string_view name) const {
  const std::string_view scopes = path();
  return scopes.empty() ? std::string(name) : say(scopes, '/', name);
}
std::size_t Pass::find(std::string_view name) {
  const std::string_view scopes = path();
  if (next_ < model_.parameters_.size()) {
    const std::string_view guess = model_.parameters_[next_].name;
    const std::size_t before_name = scopes.empty() ? 0 : scopes.size() + 1;
    if (guess.size() == before_name + name.size() && guess.starts_with(scopes) && guess.ends_with(name) &&
        (scopes.empty() || guess[scopes.size()] == '/'))
      return next_++;
  }
  const std::size_t i = model_.find(full(name));
  if (i != none) next_ = i + 1;
  return i;
}

const Parameter& Pass::ask(std::string_view short_name, const Dims& shape, const Initializer& first, bool trained) {
  std::size_t i = find(short_name);
  if (i == none) {
    const std::string name = full(short_name);
    if (model_.complete_)
      raise<FormatError>("WP-NNM-002", "Pass",
                         say("the file that was loaded has no parameter '", name, "'.",
                             data::nearest(name, names_of(model_.parameters_))));
    const Unseen constant;
    random::Generator draws(key_of(model_.options_.seed, name));
    const Tensor value = first(shape, model_.options_.dtype, draws);
    if (value.shape() != shape)
      raise<ShapeError>("WP-NNM-002", "Pass",
                        say("'", name, "' is ", shape, "; the initializer gave ", value.shape(), "."));
    i = model_.add({name, value, trained});
    next_ = i + 1;
  }
  Parameter& p = model_.parameters_[i];
  if (p.value.shape() != shape)
    raise<ShapeError>("WP-NNM-002", "Pass",
                      say("'", p.name, "' is ", p.value.shape(), "; this pass asks for ", shape, "."),
                      "A parameter keeps its shape: give layers of different sizes different names or scopes.");
  if (used_.size() <= i) used_.resize(model_.parameters_.size());
  if (std::exchange(used_[i], now) == now)
    raise<ArgumentError>("WP-NNM-001", "Pass", say("'", p.name, "' is asked for twice in one pass."),
                         "Give the layers scopes or names of their own; to share weights call pass.again() before.");
  if (trace::Window::innermost() && !p.value.node()->labelled) p.value = named(p.value, p.name);  // for blame
  return p;
}

Tensor Pass::parameter(std::string_view name, const Dims& shape, const Initializer& first) {
  const Parameter& p = ask(name, shape, first, true);
  if (tape_) tape_->watch(p.value);
  return p.value;
}
Tensor Pass::state(std::string_view name, const Dims& shape, const Initializer& first) {
  return ask(name, shape, first, false).value;
}
void Pass::again() {
  std::replace(used_.begin(), used_.end(), now, before);
  next_ = 0;
}
void Pass::set_state(std::string_view name, const Tensor& value) {
  const std::size_t i = model_.find(full(name));
  if (i == none) (void)model_[full(name)];  // throws
  states_.emplace_back(i, value);
}
void Pass::commit() {
  for (auto& [i, value] : states_) model_.set(model_.parameters_[i].name, value);
  states_.clear();
}

void Pass::see(std::string_view name, const Tensor& value) {
  seen_.emplace_back(full(name), value);
}

std::vector<Tensor> Pass::gradients(const Tensor& loss, Where where) {
  if (!tape_)
    raise_at<GradientError>(where, "WP-NNM-004", "Pass", "only a training pass has gradients.",
                            "Make it a pass that trains: Pass, training = true.");
  if (loss.size() != 1)
    raise_at<ShapeError>(where, "WP-SHP-005", "Pass", say("a loss is one number; got ", loss.shape(), "."),
                         "Take the mean over rows.");
  std::vector<Tensor> asked, out(model_.parameters_.size());
  std::vector<std::size_t> place;
  for (std::size_t i = 0; i < out.size(); ++i)
    if (model_.parameters_[i].trained && i < used_.size() && used_[i]) {
      asked.push_back(model_.parameters_[i].value);
      place.push_back(i);
    }
  std::vector<Tensor> found = tape_->gradient(loss, asked, {}, where);
  for (std::size_t k = 0; k < place.size(); ++k) out[place[k]] = std::move(found[k]);
  for (std::size_t i = 0; i < out.size(); ++i)
    if (Parameter& p = model_.parameters_[i]; p.trained && !out[i].defined() && !std::exchange(p.told, true))
      report({.code = "WP-NNM-003",
              .op = "Pass",
              .message = say("the loss does not depend on '", p.name, "': it stays as it is."),
              .advice = "Use it, or leave it out of the model.",
              .place = where,
              .step = context().step});
  return out;
}

}  // namespace wp::nn
