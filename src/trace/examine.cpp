// What the facts of a recording add up to.
#include <algorithm>
#include <cmath>
#include <csignal>

#include "base/text.hpp"
#include "trace/report.hpp"

namespace wp::trace {
namespace {

void find_thread(Examined& p) {
  const Flight& f = p.flight;
  if (f.crash && p.verdict.fate == Fate::signal) p.thread = f.crash->thread;
  if (p.thread == 0 && !f.calls.empty()) p.thread = f.calls.back().thread;
  for (const ThreadFact& t : f.threads)
    if (t.number == p.thread && !t.running.empty()) p.in_flight = &t.running.back();
  if (!p.in_flight && !f.crash)  // killed between two calls: another thread may be inside one
    for (const ThreadFact& t : f.threads)
      if (!t.ended && !t.running.empty()) p.in_flight = &t.running.back();
  for (const CallFact& c : f.calls) {
    if (!p.first_bad && c.nonfinite()) p.first_bad = &c;
    if (c.thread == p.thread) p.step = c.step;
  }
  if (p.in_flight && !p.in_flight->overwritten && !p.in_flight->unwritten) p.step = p.in_flight->step;
}

void find_rates(Examined& p) {
  std::vector<const StepFact*> steps;
  for (const StepFact& s : p.flight.steps)
    if (s.thread == p.thread && s.step >= 0) steps.push_back(&s);
  const auto rate = [&](std::size_t from, std::size_t to) {
    const double time = steps[to]->begin - steps[from]->begin;
    return time > 0 ? static_cast<double>(steps[to]->step - steps[from]->step) / time : 0.0;
  };
  if (steps.size() < 8) return;
  const std::size_t last = steps.size() - 1, cut = last - last / 4;
  p.steps_per_second_before = rate(0, cut);
  p.steps_per_second = rate(cut, last);
}

void find_trends(Examined& p) {
  std::map<std::string, std::map<std::int64_t, double>> largest;
  for (const CallFact& c : p.flight.calls)
    for (const TensorFact& t : c.out)
      if (t.samples && std::isfinite(t.min) && std::isfinite(t.max)) {
        double& m = largest[c.scope][c.step];
        m = std::max({m, std::fabs(t.min), std::fabs(t.max)});
      }
  for (const auto& [scope, steps] : largest) {
    if (steps.size() < 4) continue;
    // The first step may be kept in part, and the last had not ended.
    const auto first = std::next(steps.begin()), last = std::prev(steps.end(), 2);
    if (first->second > 0 && last->second >= 10 * first->second)
      p.trends.push_back({scope, first->first, last->first, first->second, last->second});
  }
  std::stable_sort(p.trends.begin(), p.trends.end(),
                   [](const ScopeTrend& a, const ScopeTrend& b) { return a.last / a.first > b.last / b.first; });
}

std::string named(const CallFact& c) {
  std::string out = c.op;
  if (!c.place().empty()) out += say(" at ", c.place());
  if (!c.scope.empty()) out += say(" in ", c.scope);
  return out;
}

std::string about_memory(const Flight& f) {
  const auto size = [](std::int64_t b) { return bytes_text(static_cast<double>(b)); };
  if (f.scopes.empty() || f.scopes[0].live == 0)
    return say("Memory: tensors held ", size(f.memory.live), " of ", size(f.memory.resident), " resident.");
  const ScopeFact& s = f.scopes[0];
  return say("Memory: ", size(s.live), " in ", plural(s.blocks, "block"), " belong to ",
             s.scope.empty() ? "no scope" : say("scope ", s.scope), ", the most of all (", size(f.memory.live),
             " live).");
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

std::string about_signal(const Examined& p) {
  const CrashFact& c = *p.flight.crash;
  std::string function;
  for (const Frame& frame : p.stack)
    if (!frame.function.empty() && frame.object.find("/libc.so") == std::string::npos) {
      function = frame.function;
      break;
    }
  if (is_stack_overflow(c))
    return say("The stack overflowed", function.empty() ? "" : say(" in ", function),
               ": look for recursion without end.");
  if (!p.flight.last_words.empty()) return say("The exception that nobody caught: ", first_line(p.flight.last_words));
  if (p.in_flight)
    for (std::size_t i = 0; i < p.in_flight->in.size(); ++i)
      if (p.in_flight->in[i].flags & Fact::borrowed)
        return say("Input ", i, " of ", named(*p.in_flight), " is borrowed memory: does its lender still hold it?");
  if (p.in_flight) return say("The call that ran: ", named(*p.in_flight), ".");
  return function.empty() ? "The stack below: no op was running."
                          : say("No op was running; the fault is in ", function, ".");
}

std::string first_look(const Examined& p) {
  const Flight& f = p.flight;
  if (!f.last_words.empty() && f.end != End::none)
    return say("The exception that ended it: ", first_line(f.last_words));
  if (f.memory.refused.bytes > 0 && (p.verdict.fate == Fate::signal || p.verdict.fate == Fate::killed))
    return say("Memory: ", bytes_text(static_cast<double>(f.memory.refused.bytes)), " were refused to ",
               f.memory.refused.op.empty() ? "a call" : f.memory.refused.op,
               f.memory.refused.place.empty() ? "" : say(" at ", f.memory.refused.place), ". ", about_memory(f));
  if (p.verdict.fate == Fate::out_of_memory) return about_memory(f);
  if (p.in_flight)
    for (std::size_t i = 0; i < p.in_flight->in.size(); ++i)
      if (p.in_flight->in[i].nonfinite())
        return say("Input ", i, " of ", named(*p.in_flight), " was not finite",
                   p.first_bad ? say("; the first such result that is kept: ", named(*p.first_bad), ", step ",
                                     p.first_bad->step, ".")
                               : ".");
  if (f.crash && p.verdict.fate == Fate::signal) return about_signal(p);
  if (p.first_bad)
    return say("The first result that was not finite: ", named(*p.first_bad), ", step ", p.first_bad->step, ".");
  if (!p.trends.empty())
    return say("Values in ", p.trends[0].scope.empty() ? "no scope" : say("scope ", p.trends[0].scope), " grew from ",
               static_cast<float>(p.trends[0].first), " to ", static_cast<float>(p.trends[0].last), " over steps ",
               p.trends[0].first_step, " to ", p.trends[0].last_step, ".");
  switch (p.verdict.fate) {
    case Fate::killed:
      return p.in_flight ? say("Who killed it (dmesg, the job's log); it was in ", named(*p.in_flight), ".")
                         : "Who killed it (dmesg, the job's log): no op was running.";
    case Fate::unknown:
      return say("The machine it ran on", f.host.empty() ? "" : say(", ", f.host), ": ",
                 p.in_flight ? say("it was in ", named(*p.in_flight), ".") : "it was between two ops.");
    case Fate::running: return p.in_flight ? say("It is in ", named(*p.in_flight), ".") : "It is between two ops.";
    default: return "Nothing: it ended in order, and every result that was sampled was finite.";
  }
}

}  // namespace

Examined examine(Flight flight, const Surroundings& here, Lines lines) {
  Examined p{.flight = std::move(flight)};
  p.verdict = judge(p.flight, here);
  find_thread(p);
  find_rates(p);
  find_trends(p);
  if (p.flight.crash) {
    Symbols symbols(p.flight.crash->maps, p.flight.began);
    p.stack = symbols.resolve(p.flight.crash->frames, lines);
    p.remarks = symbols.remarks();
  }
  p.look_first = first_look(p);
  return p;
}

}  // namespace wp::trace
