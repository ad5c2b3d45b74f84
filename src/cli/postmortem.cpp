// wellposed postmortem: what a recording says about the end of a process.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cli/command.hpp"
#include "io/file.hpp"
#include "trace/report.hpp"
#include "wellposed/plot.hpp"

namespace wp::cli {
namespace {

using json = nlohmann::ordered_json;
using trace::CallFact;
using trace::Fact;
using trace::Postmortem;

struct Told {
  std::string path, html;
  std::size_t last = 10;
  bool as_json = false;
};

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

json tensor_json(const trace::TensorFact& t) {
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
  if (c.rows > 0) out["rows"] = {{"first", c.first_row}, {"count", c.rows}};
  out["state"] = outcomes[static_cast<std::size_t>(c.outcome)];
  out["nonfinite"] = c.nonfinite();
  out["overwritten"] = c.overwritten;
  out["live_bytes"] = c.live;
  out["inputs"] = json::array();
  for (const trace::TensorFact& t : c.in) out["inputs"].push_back(tensor_json(t));
  out["outputs"] = json::array();
  for (const trace::TensorFact& t : c.out) out["outputs"].push_back(tensor_json(t));
  return out;
}

json event_json(const trace::MemoryFact::Event& e) {
  if (e.bytes == 0) return nullptr;
  return {{"bytes", e.bytes}, {"op", e.op}, {"scope", e.scope}, {"place", e.place}};
}

json memory_json(const trace::Flight& f) {
  const trace::MemoryFact& m = f.memory;
  json out = {{"live", m.live},         {"peak", m.peak}, {"cached", m.cached},           {"resident", m.resident},
              {"at_start", m.at_start}, {"left", m.left}, {"looked_at", number(m.looked)}};
  out["last_taken"] = event_json(m.taken);
  out["refused"] = event_json(m.refused);
  out["scopes"] = json::array();
  for (const trace::ScopeFact& s : f.scopes)
    out["scopes"].push_back({{"scope", s.scope}, {"live", s.live}, {"peak", s.peak}, {"blocks", s.blocks}});
  return out;
}

json signal_json(const Postmortem& p) {
  if (!p.flight.crash) return nullptr;
  const trace::CrashFact& c = *p.flight.crash;
  json out = {{"number", c.signal},    {"name", trace::signal_name(c.signal)},
              {"code", c.code},        {"address", c.address},
              {"thread", c.thread},    {"stack_overflow", trace::is_stack_overflow(c)},
              {"complete", c.complete}};
  out["stack"] = json::array();
  for (const trace::Frame& f : p.stack)
    out["stack"].push_back(
        {{"address", f.address}, {"function", f.function}, {"object", f.object}, {"offset", f.offset}});
  return out;
}

json flight_json(const Postmortem& p, std::size_t last) {
  static constexpr const char* fates[] = {"running", "exited", "stopped", "signal", "killed", "out_of_memory"};
  const trace::Flight& f = p.flight;
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
  for (const trace::ScopeTrend& t : p.trends)
    out["trends"].push_back({{"scope", t.scope},
                             {"first_step", t.first_step},
                             {"last_step", t.last_step},
                             {"first", t.first},
                             {"last", t.last}});
  out["memory"] = memory_json(f);
  out["threads"] = json::array();
  for (const trace::ThreadFact& t : f.threads) {
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

void add_charts(const Postmortem& p, std::vector<plot::Section>& to) {
  plot::Chart values{
      .title = "largest |sampled result| per step", .x_label = "step", .y_label = "|value|", .log_y = true};
  plot::Chart memory{.title = "live tensors", .x_label = "step", .y_label = "bytes"};
  plot::Series value{.mark = plot::Series::Mark::line}, live{.mark = plot::Series::Mark::line};
  for (const trace::StepFact& s : p.flight.steps) {
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

int run_postmortem(const Told& t) {
  std::vector<Postmortem> all;
  for (const std::string& file : recordings(t.path)) {
    trace::Flight flight = trace::read_flight(file);
    const trace::Surroundings here = trace::look_around(flight);
    all.push_back(trace::examine(std::move(flight), here));
  }
  bool good = true;
  std::vector<plot::Section> sections;
  json out = {{"schema_version", 1}, {"command", "postmortem"}, {"recordings", json::array()}};
  for (const Postmortem& p : all) {
    using trace::Fate;
    good = good &&
           (p.verdict.fate == Fate::running || p.verdict.fate == Fate::exited || p.verdict.fate == Fate::stopped);
    if (t.as_json)
      out["recordings"].push_back(flight_json(p, t.last));
    else
      std::cout << (&p == all.data() ? "" : "\n") << trace::report_text(p, t.last);
    if (t.html.empty()) continue;
    for (const trace::ReportPart& part : trace::report_parts(p, t.last))
      sections.push_back({all.size() > 1 ? say(p.flight.path, ": ", part.heading) : part.heading, part.words, ""});
    add_charts(p, sections);
  }
  if (t.as_json) std::cout << out.dump(1, ' ', false, json::error_handler_t::replace) << '\n';
  if (!t.html.empty()) {
    io::Sink sink(t.html);
    sink.write(plot::page(say("wellposed postmortem: ", t.path), sections));
    sink.commit();
  }
  return good ? fine : finding;
}

}  // namespace

extern const Command postmortem_command;
const Command postmortem_command = {
    "postmortem", "What a process was doing when it died, from its recording (wp::record, WELLPOSED_RECORD).",
    "  WELLPOSED_RECORD=run.wpr ./train         record every op\n"
    "  wellposed postmortem run.wpr             what died, how, and in which op; exit code 1 if it did not end well\n"
    "  wellposed postmortem run.wpr --html report.html --last 50\n"
    "  wellposed postmortem runs/ --json | jq '.recordings[].look_first'",
    [](CLI::App& app) -> std::function<int()> {
      auto t = std::make_shared<Told>();
      app.add_option("RECORDING", t->path, "A recording (.wpr), or a folder of them.")->required();
      app.add_option("--last", t->last, "How many calls to list per thread (10).");
      app.add_flag("--json", t->as_json, "Print JSON (schema_version inside).");
      app.add_option("--html", t->html, "Write a report with charts to this file.");
      return [t] { return run_postmortem(*t); };
    }};

}  // namespace wp::cli
