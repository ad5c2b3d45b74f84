#include "wellposed/postmortem.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "io/file.hpp"
#include "trace/ranks.hpp"
#include "trace/report.hpp"
#include "wellposed/plot.hpp"

namespace wp {
namespace trace {
namespace {

using json = nlohmann::ordered_json;

std::vector<std::string> recordings(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code none;
  if (!fs::is_directory(path, none)) return {path};
  std::vector<std::string> found;
  for (const fs::directory_entry& e : fs::directory_iterator(path, none))
    if (e.path().extension() == ".wpr") found.push_back(e.path().string());
  std::sort(found.begin(), found.end());
  if (found.empty()) raise<FileError>("WP-FIL-001", "postmortem", say("'", path, "' holds no recording (*.wpr)."));
  return found;
}

json number(double v) {
  return std::isfinite(v) ? json(v) : json(std::isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
}

json tensor_json(const TensorFact& t) {
  if (!t.defined) return nullptr;
  json out = {{"dtype", name(t.dtype)}, {"shape", t.shape}, {"rank", t.rank}, {"elements", t.elements}};
  out["nan"] = (t.flags & Fact::nan) != 0;
  out["inf"] = (t.flags & Fact::inf) != 0;
  out["made_nonfinite_before"] = (t.flags & Fact::noted) != 0;
  out["borrowed"] = (t.flags & Fact::borrowed) != 0;
  out["samples"] = t.samples;
  if (t.samples > 0) {
    out["min"] = number(t.min);
    out["max"] = number(t.max);
  }
  return out;
}

json call_json(const CallFact& c) {
  static constexpr const char* outcomes[] = {"running", "done", "left by an exception", "unknown"};
  json out = {{"sequence", c.sequence},    {"thread", c.thread}, {"depth", c.depth}, {"op", c.op},
              {"scope", c.scope},          {"file", c.file},     {"line", c.line},   {"step", c.step},
              {"seconds", number(c.begin)}};
  if (c.rows > 0) out["rows"] = {{"first", c.first_row}, {"count", c.rows}, {"in_order", !c.scattered}};
  out["state"] = outcomes[static_cast<std::size_t>(c.outcome)];
  out["nonfinite"] = c.nonfinite();
  out["overwritten"] = c.overwritten;
  out["unwritten"] = c.unwritten;
  out["live_bytes"] = c.live;
  out["inputs"] = json::array();
  for (const TensorFact& t : c.in) out["inputs"].push_back(tensor_json(t));
  out["outputs"] = json::array();
  for (const TensorFact& t : c.out) out["outputs"].push_back(tensor_json(t));
  return out;
}

json event_json(const MemoryFact::Event& e) {
  if (e.bytes == 0) return nullptr;
  return {{"bytes", e.bytes}, {"op", e.op}, {"scope", e.scope}, {"place", e.place}};
}

json memory_json(const Flight& f) {
  const MemoryFact& m = f.memory;
  json out = {{"live", m.live},         {"peak", m.peak}, {"cached", m.cached},           {"resident", m.resident},
              {"at_start", m.at_start}, {"left", m.left}, {"looked_at", number(m.looked)}};
  out["last_taken"] = event_json(m.taken);
  out["refused"] = event_json(m.refused);
  out["scopes"] = json::array();
  for (const ScopeFact& s : f.scopes)
    out["scopes"].push_back({{"scope", s.scope}, {"live", s.live}, {"peak", s.peak}, {"blocks", s.blocks}});
  return out;
}

json signal_json(const Examined& p) {
  if (!p.flight.crash) return nullptr;
  const CrashFact& c = *p.flight.crash;
  json out = {
      {"number", c.signal}, {"name", signal_name(c.signal)},          {"code", c.code},        {"address", c.address},
      {"thread", c.thread}, {"stack_overflow", is_stack_overflow(c)}, {"complete", c.complete}};
  out["stack"] = json::array();
  for (const Frame& f : p.stack)
    out["stack"].push_back({{"address", f.address},
                            {"function", f.function},
                            {"object", f.object},
                            {"offset", f.offset},
                            {"line", f.line}});
  return out;
}

json flight_json(const Examined& p, std::size_t last) {
  static constexpr const char* fates[] = {"running", "exited",        "stopped", "signal",
                                          "killed",  "out_of_memory", "unknown"};
  const Flight& f = p.flight;
  json out = {{"file", f.path}, {"pid", f.pid}, {"parent", f.parent}, {"command", f.command}, {"host", f.host}};
  out["began"] = number(f.began);
  out["fate"] = fates[static_cast<std::size_t>(p.verdict.fate)];
  out["words"] = p.verdict.words;
  out["evidence"] = p.verdict.evidence;
  out["look_first"] = p.look_first;
  out["last_words"] = f.last_words;
  out["calls_recorded"] = f.recorded;
  out["calls_kept"] = f.calls.size();
  out["step"] = p.step;
  out["steps_per_second"] = p.steps_per_second;
  out["in_flight"] = p.in_flight ? call_json(*p.in_flight) : json();
  out["first_nonfinite"] = p.first_bad ? call_json(*p.first_bad) : json();
  out["signal"] = signal_json(p);
  out["trends"] = json::array();
  for (const ScopeTrend& t : p.trends)
    out["trends"].push_back({{"scope", t.scope},
                             {"first_step", t.first_step},
                             {"last_step", t.last_step},
                             {"first", t.first},
                             {"last", t.last}});
  out["memory"] = memory_json(f);
  out["threads"] = json::array();
  for (const ThreadFact& t : f.threads) {
    json thread = {{"number", t.number}, {"tid", t.tid}, {"name", t.name}, {"ended", t.ended}, {"calls", t.calls}};
    thread["running"] = json::array();
    for (const CallFact& c : t.running) thread["running"].push_back(call_json(c));
    thread["last"] = json::array();
    for (std::size_t i = t.calls_kept.size() > last ? t.calls_kept.size() - last : 0; i < t.calls_kept.size(); ++i)
      thread["last"].push_back(call_json(f.calls[t.calls_kept[i]]));
    out["threads"].push_back(std::move(thread));
  }
  out["torn"] = f.torn;
  out["missing"] = f.missing;
  return out;
}

void add_charts(const Examined& p, std::vector<plot::Section>& to) {
  plot::Chart values{
      .title = "largest |sampled result| per step", .x_label = "step", .y_label = "|value|", .log_y = true};
  plot::Chart memory{.title = "live tensors", .x_label = "step", .y_label = "bytes"};
  plot::Series value{.mark = plot::Series::Mark::line}, live{.mark = plot::Series::Mark::line};
  for (const StepFact& s : p.flight.steps) {
    if (s.thread != p.thread || s.step < 0) continue;
    const auto step = static_cast<double>(s.step);
    if (s.step > 0) {
      value.x.push_back(step - 1);
      value.y.push_back(s.largest);
    }
    live.x.push_back(step);
    live.y.push_back(static_cast<double>(s.live));
  }
  if (live.x.size() < 2) return;
  values.series.push_back(std::move(value));
  memory.series.push_back(std::move(live));
  to.push_back({"Values", "", plot::svg(values)});
  to.push_back({"Memory by step", "", plot::svg(memory)});
}

bool ended_well(const Examined& e) noexcept {
  if (!e.flight.last_words.empty() && e.flight.end != End::none) return false;
  return e.verdict.fate == Fate::running || e.verdict.fate == Fate::exited || e.verdict.fate == Fate::stopped;
}

}  // namespace
}  // namespace trace

Postmortem::Postmortem(const std::string& path) : path_(path) {
  const std::vector<std::string> files = trace::recordings(path);
  for (const std::string& file : files) try {
      trace::Flight flight = trace::read_flight(file);
      const trace::Surroundings here = trace::look_around(flight);
      all_.push_back(
          std::make_shared<const trace::Examined>(trace::examine(std::move(flight), here, trace::Lines::known)));
    } catch (const Error& e) {
      if (all_.empty() && unread_.size() + 1 == files.size()) throw;  // there is nothing else to tell
      unread_.push_back(e.finding().message);
    }
}

bool Postmortem::fine() const noexcept {
  return unread_.empty() &&
         std::all_of(all_.begin(), all_.end(), [](const auto& e) { return trace::ended_well(*e); });
}

std::string Postmortem::text(std::size_t last) const {
  const std::vector<trace::RankFact> ranks = trace::ranks_of(all_);
  std::string out = ranks.empty() ? "" : trace::ranks_text(ranks);
  for (const auto& e : all_) out += (out.empty() ? "" : "\n") + trace::report_text(*e, last);
  if (!unread_.empty()) out += '\n' + trace::part_text({trace::kMissing, trace::lines_of(unread_)});
  return out;
}

std::string Postmortem::json(std::size_t last) const {
  trace::json out = {{"schema_version", 1}, {"command", "postmortem"}, {"recordings", trace::json::array()}};
  if (const std::vector<trace::RankFact> ranks = trace::ranks_of(all_); !ranks.empty()) {
    out["first_to_stop"] = trace::first_to_stop(ranks);
    for (const trace::RankFact& r : ranks) {
      trace::json running = trace::json::array();
      for (const trace::CallFact* c : r.running) running.push_back(c->op);
      const trace::TrafficFact& traffic = r.of->flight.traffic;
      out["ranks"].push_back({{"rank", r.rank},
                              {"dead", r.dead},
                              {"waits", r.waits()},
                              {"running", running},
                              {"doing", r.doing()},
                              {"host", r.of->flight.host},
                              {"messages", traffic.messages},
                              {"bytes", traffic.bytes},
                              {"flops", traffic.flops}});
    }
  }
  for (const auto& e : all_) out["recordings"].push_back(trace::flight_json(*e, last));
  out["unread"] = unread_;
  return out.dump(1, ' ', false, trace::json::error_handler_t::replace);
}

void Postmortem::html(const std::string& file, std::size_t last) const {
  std::vector<plot::Section> sections;
  if (const std::vector<trace::RankFact> ranks = trace::ranks_of(all_); !ranks.empty())
    sections.push_back({"Ranks", trace::ranks_text(ranks), ""});
  for (const auto& e : all_) {
    for (const trace::ReportPart& part : trace::report_parts(*e, last))
      sections.push_back({all_.size() > 1 ? say(e->flight.path, ": ", part.heading) : part.heading, part.words, ""});
    trace::add_charts(*e, sections);
  }
  if (!unread_.empty()) sections.push_back({trace::kMissing, trace::lines_of(unread_), ""});
  io::write_text(file, plot::page(say("wellposed postmortem: ", path_), sections));
}

}  // namespace wp
