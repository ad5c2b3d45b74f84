// Checkpoints: one .safetensors file. Arrays model/NAME, optimizer/SLOT/NAME and best/NAME; the rest as text.
#include <cstdlib>

#include "base/text.hpp"
#include "wellposed/trainer.hpp"

namespace wp::nn {
namespace {

constexpr std::string_view kFormat = "1";

std::uint64_t number(const std::string& text) {
  return std::strtoull(text.c_str(), nullptr, 10);
}
std::int64_t whole(const std::string& text) {
  return std::strtoll(text.c_str(), nullptr, 10);
}
std::string state_mark(const Parameter& p) {
  return p.trained ? "" : "#state";
}

// The arrays whose names begin so, without it.
NamedTensors part(const NamedTensors& all, std::string_view prefix) {
  NamedTensors out;
  for (const auto& [name, value] : all)
    if (name.starts_with(prefix)) out.emplace_back(name.substr(prefix.size()), value);
  return out;
}

[[noreturn]] void refuse(const std::string& path, std::string_view why) {
  raise<FormatError>("WP-NNM-002", "Trainer", say("'", path, "' is no checkpoint of this training: ", why),
                     "Use another file, or remove it to begin anew.");
}

}  // namespace

void Trainer::save_checkpoint(const std::string& path) const {
  NamedTensors all;
  for (const Parameter& p : model_.parameters()) all.emplace_back(say("model/", p.name, state_mark(p)), p.value);
  for (const auto& [name, value] : optimizer_.slots(model_)) all.emplace_back("optimizer/" + name, value);
  for (const auto& [name, value] : best_) all.emplace_back("best/" + name, value);
  const random::State& random = model_.random().state();
  save_all(path, all,
           {.metadata = {{"wellposed.checkpoint", std::string(kFormat)},
                         {"optimizer", optimizer_.name()},
                         {"optimizer.steps", say(optimizer_.steps())},
                         {"random.key", say(random.key)},
                         {"random.counter", say(random.counter)},
                         {"step", say(at_.step)},
                         {"epoch", say(at_.epoch)},
                         {"batch", say(at_.batch)},
                         {"sum", say(at_.sum)},
                         {"rows", say(at_.rows)},
                         {"order.epoch", say(at_.order_epoch)},
                         {"order", say(at_.order)},
                         {"best", say(at_.best)},
                         {"waited", say(at_.waited)}}});
}

void Trainer::load_checkpoint(const std::string& path) {
  const NamedTensors all = load_all(path, {.copy = true});
  std::map<std::string, std::string> text;
  for (auto& [key, value] : load_metadata(path)) text[key] = value;
  if (text["wellposed.checkpoint"] != kFormat) refuse(path, "it says nothing of a training.");
  if (text["optimizer"] != optimizer_.name())
    refuse(path, say("it was written with the optimizer ", text["optimizer"], ", this is ", optimizer_.name(), "."));
  Model model = model_;
  Optimizer optimizer = optimizer_;
  model.assign(part(all, "model/"), path);
  optimizer.restore(model, part(all, "optimizer/"), whole(text["optimizer.steps"]), path);
  model.random().set_state({number(text["random.key"]), number(text["random.counter"])});
  model_ = std::move(model);
  optimizer_ = std::move(optimizer);
  best_ = part(all, "best/");
  at_ = {whole(text["step"]),   whole(text["epoch"]),
         whole(text["batch"]),  std::strtod(text["sum"].c_str(), nullptr),
         whole(text["rows"]),   whole(text["order.epoch"]),
         number(text["order"]), std::strtod(text["best"].c_str(), nullptr),
         whole(text["waited"])};
}

}  // namespace wp::nn
