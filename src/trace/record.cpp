// When recordings begin and end: the program, the environment, fork, exit.
#include "wellposed/record.hpp"

#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "base/text.hpp"
#include "trace/recorder.hpp"

namespace wp::trace {
namespace {

struct Due {  // a recording that begins with the next op
  std::string path;
  RecordOptions options;
  std::uint64_t parent = 0;
};
struct Process {
  std::mutex mutex;
  std::vector<Recording*> all;  // none is ever destroyed
  std::unique_ptr<Due> due;
  bool owned = false;  // by a Recorder of the program
  bool prepared = false;
};
Process& process() {
  static Process* const p = new Process;
  return *p;
}

// run.wpr → run.123.wpr
std::string numbered(const std::string& path, std::int64_t number) {
  const std::size_t name = path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1;
  const std::size_t dot = path.rfind('.');
  const std::size_t at = dot == std::string::npos || dot <= name ? path.size() : dot;
  return say(path.substr(0, at), ".", number, path.substr(at));
}

std::string resolved(std::string path) {
  if (const std::size_t at = path.find("%p"); at != std::string::npos) path.replace(at, 2, std::to_string(getpid()));
  return writer_of(path) == Writer::alive ? numbered(path, getpid()) : path;
}

// A job that died and was started again must not overwrite what tells why: the last one of that kind stays as
// run.1.wpr.
void keep_the_dead(const std::string& path) noexcept try {
  if (const Writer w = writer_of(path); w == Writer::died || w == Writer::replaced)
    std::rename(path.c_str(), numbered(path, 1).c_str());
} catch (const std::bad_alloc&) {
}

void close_at_exit() {
  Process& p = process();
  const std::lock_guard lock(p.mutex);
  p.due.reset();
  end(End::exited);
}

// The child has one thread, no mapping of the parent's file, and a mutex that its parent may have held.
void in_child() {
  Process& p = process();
  Recording* const r = current.exchange(nullptr);
  if (r && r->options.children)
    p.due = std::make_unique<Due>(Due{numbered(r->path, getpid()), r->options, r->pid});
  else if (r)
    end(End::none);
  p.mutex.unlock();
}

void prepare(Process& p) {
  if (std::exchange(p.prepared, true)) return;
  std::atexit(close_at_exit);
  pthread_atfork([] { process().mutex.lock(); }, [] { process().mutex.unlock(); }, in_child);
}

void open(Process& p, const Due& due) {
  prepare(p);
  keep_the_dead(due.path);
  p.all.push_back(new Recording(due.path, due.options, due.parent));
  begin(p.all.back());
}

}  // namespace

void begin(Recording* r) {
  if (r->options.signals) catch_signals();
  current.store(r, std::memory_order_release);
  memory::watcher.store(&block_watcher(), std::memory_order_release);
  recorder.store(&recording_witness(), std::memory_order_release);
}

void end(End how) noexcept {
  recorder.store(nullptr, std::memory_order_release);
  memory::watcher.store(nullptr, std::memory_order_release);
  Recording* const r = current.exchange(nullptr);
  if (how != End::exited) release_signals();
  if (r) r->finish(how);
}

Recording* open_due() noexcept {
  Process& p = process();
  const std::lock_guard lock(p.mutex);
  if (Recording* const r = current.load(std::memory_order_acquire)) return r;
  const std::unique_ptr<Due> due = std::move(p.due);
  try {
    if (due) {
      due->path = resolved(due->path);
      open(p, *due);
      return current.load(std::memory_order_acquire);
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "wellposed: %s\n", e.what());
  }
  recorder.store(nullptr, std::memory_order_release);
  return nullptr;
}

// The file is made by the first op, so that a program that computes nothing (wellposed postmortem) leaves the last
// recording alone.
extern "C" [[gnu::constructor]] void wp_record_from_environment() {
  const char* const path = std::getenv("WELLPOSED_RECORD");
  if (!path || !*path) return;
  process().due = std::make_unique<Due>(Due{path, {}, 0});
  recorder.store(&recording_witness(), std::memory_order_release);
}

}  // namespace wp::trace

namespace wp {

Recorder::Recorder(std::string_view path, const RecordOptions& options) {
  trace::Process& p = trace::process();
  const std::lock_guard lock(p.mutex);
  if (p.owned)
    raise<ArgumentError>("WP-ARG-001", "record",
                         say("one recorder at a time; '", p.all.back()->path, "' is being written."),
                         "Let go of it first.");
  if (options.records <= 0)
    raise<ArgumentError>("WP-ARG-001", "record", say("records must be positive; got ", options.records, "."));
  p.due.reset();
  trace::end(trace::End::stopped);
  trace::open(p, {trace::resolved(std::string(path)), options, 0});
  path_ = p.all.back()->path;
  p.owned = true;
  trace::enter();
}

Recorder::~Recorder() {
  trace::Process& p = trace::process();
  const std::lock_guard lock(p.mutex);
  p.owned = false;
  trace::end(trace::End::stopped);
}

std::string recording() {
  trace::Process& p = trace::process();
  const std::lock_guard lock(p.mutex);
  return trace::current.load() ? p.all.back()->path : std::string();
}

}  // namespace wp
