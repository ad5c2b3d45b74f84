#include "trace/ranks.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "base/text.hpp"

namespace wp::trace {
namespace {

// N of "rank-N.wpr"; −1 of other names.
int number_of(const std::string& path) {
  const std::string name = std::filesystem::path(path).stem().string();
  constexpr std::string_view prefix = "rank-";
  if (!name.starts_with(prefix) || name.size() == prefix.size()) return -1;
  int n = 0;
  for (const char c : name.substr(prefix.size())) {
    if (c < '0' || c > '9' || n > 100000000) return -1;
    n = 10 * n + (c - '0');
  }
  return n;
}

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string seconds_text(double s) {
  char text[32];
  std::snprintf(text, sizeof text, s < 10 ? "%.1f s" : "%.0f s", std::max(0.0, s));
  return text;
}

// "; 1200 messages of 3.4 MiB, 5.1e+09 operations".
std::string traffic_text(const TrafficFact& t) {
  if (t.messages == 0 && t.flops == 0) return {};
  char flops[32];
  std::snprintf(flops, sizeof flops, "%.2g", t.flops);
  return say("; ", t.messages, " messages of ", bytes_text(static_cast<double>(t.bytes)), ", ", flops, " operations");
}

bool is_mpi(const std::string& op) {
  return op.starts_with("MPI_");
}

}  // namespace

std::string RankFact::doing() const {
  std::string out;
  for (const CallFact* c : running) {
    out += say(out.empty() ? "in " : " > ", c->op);
    if (c == running.front() && !c->place().empty()) out += say(" (", c->place(), ")");
  }
  if (!out.empty()) return out;
  const std::vector<CallFact>& calls = of->flight.calls;
  return calls.empty() ? "in no call yet" : say("in no call; the last was ", calls.back().op);
}

bool RankFact::waits() const {
  return !running.empty() && is_mpi(running.back()->op);
}

std::vector<RankFact> ranks_of(const std::vector<std::shared_ptr<const Examined>>& all) {
  std::vector<RankFact> out;
  for (const auto& e : all) {
    RankFact r;
    r.rank = number_of(e->flight.path);
    if (r.rank < 0) return {};
    r.of = e.get();
    const Fate fate = e->verdict.fate;
    r.dead = fate == Fate::signal || fate == Fate::killed || fate == Fate::out_of_memory;
    for (const ThreadFact& t : e->flight.threads)
      if (t.running.size() > r.running.size()) {
        r.running.clear();
        for (const CallFact& c : t.running) r.running.push_back(&c);
      }
    for (const CallFact& c : e->flight.calls) r.last = std::max(r.last, c.begin);
    for (const CallFact* c : r.running) r.last = std::max(r.last, c->begin);
    r.last += e->flight.began;
    out.push_back(std::move(r));
  }
  if (out.size() < 2) return {};
  std::sort(out.begin(), out.end(), [](const RankFact& a, const RankFact& b) { return a.rank < b.rank; });
  return out;
}

std::string first_to_stop(const std::vector<RankFact>& ranks) {
  // A signal of its own says it; else the rank that did not wait for others; else the one that was silent longest.
  const RankFact* first = nullptr;
  const auto better = [](const RankFact& a, const RankFact& b) {
    const auto key = [](const RankFact& r) {
      return std::tuple(r.of->verdict.fate != Fate::signal, r.waits(), r.last);
    };
    return key(a) < key(b);
  };
  for (const RankFact& r : ranks)
    if (r.dead && (!first || better(r, *first))) first = &r;
  if (!first) return {};
  const auto waiting =
      std::count_if(ranks.begin(), ranks.end(), [&](const RankFact& r) { return &r != first && r.waits(); });
  std::string out = say("Rank ", first->rank, " stopped first, ", first->doing(), ": ", first->of->verdict.words);
  if (waiting > 0) out += say(" ", plural(waiting, "rank"), " waited for others then.");
  return out;
}

std::string ranks_text(const std::vector<RankFact>& ranks) {
  std::string out = say(plural(static_cast<std::int64_t>(ranks.size()), "rank"), "\n");
  const double moment = now();
  for (const RankFact& r : ranks) {
    const Fate fate = r.of->verdict.fate;
    const bool runs = fate == Fate::running;
    const std::string state = runs ? "runs" : r.dead ? "dead" : fate == Fate::unknown ? r.of->verdict.words : "ended";
    out += say("  rank ", r.rank, r.rank < 10 ? "  " : " ", state, ", ", r.doing());
    if (runs && !r.running.empty())
      out += say(" since ", seconds_text(moment - r.of->flight.began - r.running.back()->begin));
    out += traffic_text(r.of->flight.traffic) + '\n';
  }
  if (const std::string first = first_to_stop(ranks); !first.empty()) out += "  " + first + "\n";
  return out + "\n";
}

}  // namespace wp::trace
