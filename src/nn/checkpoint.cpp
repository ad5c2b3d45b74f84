// Checkpoints: one .safetensors file. Arrays model/NAME, optimizer/SLOT/NAME and best/NAME; the rest as text.
#include <charconv>
#include <limits>

#include "base/text.hpp"
#include "wellposed/trainer.hpp"

namespace wp::nn {
namespace {

constexpr std::string_view kFormat = "1";

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

// The rest, of which every word counts.
struct Words {
  const std::string& path;
  std::map<std::string, std::string> all;

  const std::string& operator[](const std::string& key) const {
    const auto at = all.find(key);
    if (at == all.end()) refuse(path, say("it has no '", key, "'."));
    return at->second;
  }
  template <class T>
  T number(const std::string& key, T least) const {
    const std::string& text = (*this)[key];
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < least)
      refuse(path, say("its '", key, "' must be a number from ", least, " on; got '", text, "'."));
    return value;
  }
  std::int64_t whole(const std::string& key, std::int64_t least = 0) const { return number(key, least); }
  std::uint64_t bits(const std::string& key) const { return number(key, std::uint64_t{0}); }
  double real(const std::string& key) const { return number(key, -std::numeric_limits<double>::infinity()); }
};

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
  Words text{path, {}};
  for (auto& [key, value] : load_metadata(path)) text.all[key] = value;
  if (text.all["wellposed.checkpoint"] != kFormat) refuse(path, "it says nothing of a training.");
  if (text["optimizer"] != optimizer_.name())
    refuse(path, say("it was written with the optimizer ", text["optimizer"], ", this is ", optimizer_.name(), "."));
  const Position at{text.whole("step"), text.whole("epoch"), text.whole("batch"),
                    text.real("sum"),   text.whole("rows"),  text.whole("order.epoch", -1),
                    text.bits("order"), text.real("best"),   std::max<std::int64_t>(0, text.whole("waited", -1))};
  Model model = model_;
  Optimizer optimizer = optimizer_;
  model.assign(part(all, "model/"), path);
  optimizer.restore(model, part(all, "optimizer/"), text.whole("optimizer.steps"), path);
  model.random().set_state({text.bits("random.key"), text.bits("random.counter")});
  model_ = std::move(model);
  optimizer_ = std::move(optimizer);
  best_ = part(all, "best/");
  at_ = at;
}

}  // namespace wp::nn
