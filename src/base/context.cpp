#include "wellposed/context.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "base/fork.hpp"
#include "base/scope.hpp"
#include "base/text.hpp"
#include "base/told.hpp"

namespace wp {
namespace {

constexpr std::array<std::string_view, 4> level_names{"off", "escape", "warn", "raise"};

CheckLevel level_from_environment() {
  const char* text = std::getenv("WELLPOSED_CHECKS");
  if (!text || !*text) return CheckLevel::escape;
  for (std::size_t i = 0; i < level_names.size(); ++i)
    if (level_names[i] == text) return static_cast<CheckLevel>(i);
  std::fprintf(stderr, "wellposed: WELLPOSED_CHECKS='%s' is not one of off, escape, warn, raise; using escape.\n",
               text);
  return CheckLevel::escape;
}

Context initial_context() {
  static const CheckLevel level = level_from_environment();
  Context c;
  c.level = level;
  return c;
}

// Scopes are interned for the life of the process, so that notes and records can point at them.
struct Scopes {
  std::mutex mutex;
  std::map<std::pair<const ScopeName*, std::string>, std::unique_ptr<ScopeName>> table;
};
Scopes& scopes() {
  static Scopes* s = new Scopes;  // outlives every thread
  return *s;
}
[[gnu::constructor]] void prepare_for_fork() {
  open_in_children(scopes().mutex);
}

struct Findings {
  static constexpr std::size_t kept = 1000;
  std::mutex mutex;
  std::deque<Finding> recent;
  FindingHandler handler;
  std::set<std::string> shown;  // "code op place": once per place on stderr
  std::recursive_mutex telling;
  std::list<FindingHandler> others;  // under `telling`
};
Findings& store() {
  static Findings* f = new Findings;
  return *f;
}

}  // namespace

CheckLevel parse_check_level(std::string_view text) {
  const auto* at = std::find(level_names.begin(), level_names.end(), text);
  if (at != level_names.end()) return static_cast<CheckLevel>(at - level_names.begin());
  raise<ArgumentError>("WP-ARG-001", "checks", say("'", text, "' is not a check level."),
                       "Levels: off, escape, warn, raise.");
}
std::string_view name(CheckLevel level) noexcept {
  return level_names[static_cast<std::size_t>(level)];
}

Context& context() noexcept {
  [[gnu::tls_model("initial-exec")]] static constinit thread_local Context c;
  [[gnu::tls_model("initial-exec")]] static constinit thread_local bool ready = false;
  if (!ready) [[unlikely]] {
    c = initial_context();
    ready = true;
  }
  return c;
}

scope::scope(std::string_view name) {
  Scopes& s = scopes();
  const std::lock_guard lock(s.mutex);
  Context& c = context();
  auto& slot = s.table[{c.scope, std::string(name)}];
  if (!slot)
    slot = std::make_unique<ScopeName>(c.scope ? c.scope->path + "/" + std::string(name) : std::string(name));
  c.scope = slot.get();
}
std::string current_scope() {
  return context().scope ? context().scope->path : std::string();
}

void set_step(std::int64_t step) noexcept {
  context().step = step;
}

FindingHandler on_finding(FindingHandler handler) {
  Findings& f = store();
  const std::lock_guard lock(f.mutex);
  std::swap(f.handler, handler);
  return handler;
}

std::vector<Finding> findings() {
  Findings& f = store();
  const std::lock_guard lock(f.mutex);
  return {f.recent.begin(), f.recent.end()};
}

void clear_findings() {
  Findings& f = store();
  const std::lock_guard lock(f.mutex);
  f.recent.clear();
  f.shown.clear();
}

void report(const Finding& finding) {
  if (context().untold) return;
  Findings& f = store();
  FindingHandler handler;
  bool show = false;
  {
    const std::lock_guard lock(f.mutex);
    f.recent.push_back(finding);
    if (f.recent.size() > Findings::kept) f.recent.pop_front();
    handler = f.handler;
    if (!handler && finding.severity != Severity::note)
      show = f.shown.insert(finding.code + finding.op + finding.place.text()).second;
  }
  if (handler)
    handler(finding);
  else if (show)
    std::fprintf(stderr, "wellposed: %s\n", finding.text().c_str());
  const std::lock_guard lock(f.telling);
  for (const FindingHandler& other : f.others) other(finding);
}

AlsoTold::AlsoTold(FindingHandler f) {
  const std::lock_guard lock(store().telling);
  at_ = store().others.insert(store().others.end(), std::move(f));
}
AlsoTold::~AlsoTold() {
  const std::lock_guard lock(store().telling);
  store().others.erase(at_);
}

}  // namespace wp
