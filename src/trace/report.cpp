#include "trace/report.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>

#include "base/text.hpp"
#include "wellposed/error.hpp"

namespace wp::trace {
namespace {

std::string digits(double v, const char* format = "%.4g") {
  char text[32];
  std::snprintf(text, sizeof text, format, v);
  return text;
}

std::string size(std::int64_t bytes) {
  return bytes_text(static_cast<double>(bytes));
}

std::string moment(double seconds) {
  if (!(seconds > 0)) return "at a time that is not known";
  const auto whole = static_cast<std::time_t>(seconds);
  std::tm parts{};
  char text[40];
  if (!gmtime_r(&whole, &parts)) return "at a time that is not known";
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text;
}

std::string outcome(const CallFact& c) {
  switch (c.outcome) {
    case CallFact::Outcome::running: return "running";
    case CallFact::Outcome::left: return "left by an exception";
    case CallFact::Outcome::unknown: return "result damaged";
    default: break;
  }
  std::string out;
  for (std::size_t i = 0; i < c.out.size(); ++i) out += say(i ? "; " : "", c.out[i].text());
  if (c.outputs > static_cast<int>(c.out.size()))
    out += say("; ", c.outputs - static_cast<int>(c.out.size()), " more");
  if (c.flags & Fact::made) out += "; a result is not finite";
  return out.empty() ? "done" : out;
}

std::string where(const CallFact& c) {
  std::string out;
  if (!c.place().empty()) out += say(" at ", c.place());
  if (!c.scope.empty()) out += say(" in ", c.scope);
  return out;
}

std::string flight_words(const CallFact& c) {
  std::string out = say(c.op, where(c));
  if (c.overwritten) return out + "\n  (begun long before the end: its record has been overwritten)\n";
  if (c.unwritten) return out + "\n  (it had just begun: of its inputs nothing is known)\n";
  if (c.step >= 0) out += say(", step ", c.step);
  if (c.rows > 0 && c.scattered)
    out += say(", ", plural(c.rows, "row"), ", the first is ", c.first_row);
  else if (c.rows > 0)
    out += say(", rows ", c.first_row, " to ", c.first_row + c.rows - 1);
  out += '\n';
  for (std::size_t i = 0; i < c.in.size(); ++i) out += say("  input ", i, "  ", c.in[i].text(), '\n');
  if (c.inputs > static_cast<int>(c.in.size()))
    out += say("  ", c.inputs - static_cast<int>(c.in.size()), " more inputs\n");
  return out;
}

std::string thread_words(const Examined& p, const ThreadFact& t, std::size_t last) {
  std::string out = say("thread ", t.number);
  if (!t.name.empty()) out += say(" '", t.name, "'");
  if (t.tid) out += say(" (tid ", t.tid, ")");
  out += say(t.ended ? ", ended" : "", t.number == p.thread ? ", the one that matters" : "", '\n');
  const std::size_t from = t.calls_kept.size() > last ? t.calls_kept.size() - last : 0;
  for (std::size_t i = from; i < t.calls_kept.size(); ++i) {
    const CallFact& c = p.flight.calls[t.calls_kept[i]];
    out += say("  ", digits(c.begin, "%9.4f"), " s  ",
               std::string(2 * static_cast<std::size_t>(std::min(c.depth, 20)), ' '), c.op, where(c),
               c.step >= 0 ? say(", step ", c.step) : "", "  → ", outcome(c), '\n');
  }
  return out;
}

std::string memory_words(const Flight& f) {
  const MemoryFact& m = f.memory;
  std::string out =
      say("tensors ", size(m.live), " live, ", size(m.peak), " at most, ", size(m.cached), " kept for reuse\n");
  if (m.resident > 0)
    out += say("process ", size(m.resident), " resident; ", size(m.left), " left to take at ", digits(m.looked),
               " s (", size(m.at_start), " at the start)\n");
  if (m.refused.bytes > 0)
    out +=
        say("refused ", size(m.refused.bytes), " to ", m.refused.op.empty() ? "?" : m.refused.op,
            m.refused.place.empty() ? "" : say(" at ", m.refused.place),
            m.refused.scope.empty() ? "" : say(" in ", m.refused.scope), ", ", size(m.refused_left), " were left\n");
  std::int64_t told = 0;
  for (const ScopeFact& s : f.scopes) {
    if (told++ == 12) break;
    out += say("  ", size(s.live), " in ", plural(s.blocks, "block"), ", ", size(s.peak),
               " at most: ", s.scope.empty() ? "(no scope)" : s.scope, '\n');
  }
  return out;
}

std::string step_words(const Examined& p) {
  std::string out;
  if (p.step >= 0) out += say("step ", p.step, '\n');
  if (p.steps_per_second > 0)
    out += say(digits(p.steps_per_second), " steps/s at the end, ", digits(p.steps_per_second_before), " before\n");
  for (std::size_t i = 0; i < std::min<std::size_t>(p.trends.size(), 5); ++i) {
    const ScopeTrend& t = p.trends[i];
    out += say("values in ", t.scope.empty() ? "(no scope)" : t.scope, " grew from ", digits(t.first), " (step ",
               t.first_step, ") to ", digits(t.last), " (step ", t.last_step, ")\n");
  }
  if (p.first_bad)
    out += say("first result that is not finite: ", p.first_bad->op, where(*p.first_bad), ", step ",
               p.first_bad->step, '\n');
  return out;
}

}  // namespace

std::string CallFact::place() const {
  return file.empty() ? "" : Place(file.c_str(), line).text();
}

std::string TensorFact::text() const {
  if (!defined) return "not given";
  std::string out = say(name(dtype), " [");
  for (std::size_t d = 0; d < shape.size(); ++d) out += say(d ? ", " : "", shape[d]);
  out += rank > static_cast<int>(shape.size()) ? ", …]" : "]";
  if (samples > 0) {
    const std::string more = flags & Fact::beyond_f32 ? " or beyond" : "";
    out += samples >= elements ? ", in [" : say(", ", samples, " sampled in [");
    out += say(digits(min), ", ", digits(max), "]", more);
  }
  if (flags & Fact::nan) out += ", NaN in it";
  if (flags & Fact::inf) out += ", Inf in it";
  if (flags & Fact::noted) out += ", made non-finite before";
  if (flags & Fact::borrowed) out += ", borrowed";
  return out;
}

std::vector<ReportPart> report_parts(const Examined& p, std::size_t last) {
  const Flight& f = p.flight;
  std::string head = say("process ", f.pid, ' ', p.verdict.words, '\n');
  if (!p.verdict.evidence.empty()) head += say(p.verdict.evidence, '\n');
  if (!f.command.empty()) head += say("command ", f.command, '\n');
  head += say("began ", moment(f.began), f.host.empty() ? "" : say(" on ", f.host), "; ", f.recorded,
              " calls, the last ", f.calls.size(), " are kept\n");
  if (f.parent) head += say("forked from process ", f.parent, '\n');
  std::vector<ReportPart> parts{{"What happened", head}, {"What to look at first", p.look_first + "\n"}};
  if (p.in_flight) parts.push_back({"The call in flight", flight_words(*p.in_flight)});
  if (!p.stack.empty()) {
    std::string words;
    for (std::size_t i = 0; i < p.stack.size() && i < 40; ++i) words += say("#", i, ' ', p.stack[i].text(), '\n');
    if (p.stack.size() > 40) words += say("… ", p.stack.size() - 40, " more frames\n");
    words += lines_of(p.remarks);
    parts.push_back({"The stack", words});
  }
  if (const std::string words = step_words(p); !words.empty()) parts.push_back({"Steps", words});
  parts.push_back({"Memory", memory_words(f)});
  std::string threads;
  for (const ThreadFact& t : f.threads) threads += thread_words(p, t, last);
  if (!threads.empty()) parts.push_back({"The last calls", threads});
  if (!f.missing.empty() || f.torn > 0) {
    std::string words = lines_of(f.missing);
    if (f.torn > 0)
      words += say(f.torn, f.torn == 1 ? " record was" : " records were", " being written, or damaged.\n");
    parts.push_back({kMissing, words});
  }
  return parts;
}

std::string lines_of(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& w : words) out += w + '\n';
  return out;
}

std::string part_text(const ReportPart& part) {
  std::string out = part.heading + '\n';
  for (std::size_t at = 0; at < part.words.size();) {
    const std::size_t end = std::min(part.words.find('\n', at), part.words.size());
    out += say("  ", part.words.substr(at, end - at), '\n');
    at = end + 1;
  }
  return out;
}

std::string report_text(const Examined& p, std::size_t last) {
  std::string out = say(p.flight.path, '\n');
  for (const ReportPart& part : report_parts(p, last)) out += '\n' + part_text(part);
  return out;
}

}  // namespace wp::trace
