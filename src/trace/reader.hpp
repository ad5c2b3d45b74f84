// Reads a recording, whole or damaged, of a process that runs or is gone.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "trace/format.hpp"
#include "wellposed/dtype.hpp"

namespace wp::trace {

struct TensorFact {
  bool defined = false;
  DType dtype = f64;
  std::vector<std::int64_t> shape;  // the first four axes
  int rank = 0, samples = 0;
  std::uint8_t flags = 0;  // as in Fact
  double min = 0, max = 0;
  std::int64_t elements = 0;

  bool nonfinite() const noexcept { return (flags & (Fact::nan | Fact::inf | Fact::made)) != 0; }
  std::string text() const;  // "f32 [64, 10], 8 sampled in [-1.5, 2]"
};

struct CallFact {
  enum class Outcome : std::uint8_t { running, done, left, unknown };  // unknown: that half of the record is damaged
  std::uint64_t sequence = 0;
  int thread = 0, depth = 0;
  std::string op, scope, file;
  std::uint32_t line = 0;
  std::int64_t step = -1, first_row = 0, rows = 0;
  bool scattered = false;  // the rows do not follow each other
  double begin = 0;        // seconds since the recording began
  Outcome outcome = Outcome::running;
  int inputs = 0, outputs = 0;
  std::uint8_t flags = 0;  // of all outputs
  std::int64_t live = 0;
  std::vector<TensorFact> in, out;
  // Only the names are known: the record is gone, or had not been written when the process ended.
  bool overwritten = false, unwritten = false;

  bool nonfinite() const noexcept { return (flags & (Fact::nan | Fact::inf | Fact::made)) != 0; }
  std::string place() const;  // "model.cpp:41", or empty
};

struct ThreadFact {
  int number = 0;
  std::uint64_t tid = 0, calls = 0;
  std::string name;
  bool ended = false;
  std::vector<std::size_t> calls_kept;  // indices into Flight::calls, oldest first
  std::vector<CallFact> running;        // the outermost first
};

struct ScopeFact {
  std::string scope;
  std::int64_t live = 0, peak = 0, blocks = 0;
};

struct StepFact {
  int thread = 0;
  std::int64_t step = 0, live = 0, calls = 0, nonfinite = 0, first_row = 0;
  double begin = 0, largest = 0;
};

struct MemoryFact {
  std::int64_t live = 0, peak = 0, cached = 0, resident = 0;
  std::int64_t at_start = 0, left = 0;  // what the process could still take
  double looked = 0;                    // when; 0: never
  struct Event {
    std::int64_t bytes = 0;
    std::string op, scope, place;
  };
  Event taken, refused;  // the last new large block; the last refusal
  std::int64_t refused_left = 0;
};

struct TrafficFact {  // of a rank
  std::int64_t messages = 0, bytes = 0;
  double flops = 0;
};

struct CrashFact {
  int signal = 0, code = 0, thread = 0;
  std::uint64_t tid = 0, address = 0, pc = 0, sp = 0;
  double at = 0;
  std::vector<std::uint64_t> frames;
  std::string maps;
  bool complete = false;
};

struct Flight {
  std::string path, command, host, boot, version;
  std::uint64_t pid = 0, parent = 0, born = 0, oom_kills = 0;
  double began = 0;  // seconds since 1970
  End end = End::none;
  double ended = 0;
  std::uint64_t recorded = 0;   // calls in all; `calls` are those that are still there
  std::vector<CallFact> calls;  // by sequence
  std::vector<ThreadFact> threads;
  std::vector<ScopeFact> scopes;  // most bytes first
  std::vector<StepFact> steps;    // oldest first
  MemoryFact memory;
  TrafficFact traffic;
  std::optional<CrashFact> crash;
  std::string last_words;  // of the exception that ended it
  std::uint64_t torn = 0;  // records that were being written, or are damaged
  std::vector<std::string> missing;

  const CallFact* find(std::uint64_t sequence) const noexcept;
};

// Throws FileError if the file cannot be read, and FormatError if it is not a recording.
Flight read_flight(const std::string& path);
// The same from bytes; path is for messages.
Flight parse_flight(const std::string& bytes, const std::string& path);

// What became of the process.
// unknown: it left no end mark on another machine, or before this one was restarted; it may run there.
enum class Fate : std::uint8_t { running, exited, stopped, signal, killed, out_of_memory, unknown };
struct Verdict {
  Fate fate = Fate::killed;
  std::string words, evidence;
};
struct Surroundings {  // of the machine that reads
  bool alive = false;  // the process runs
  bool same_boot = false;
  std::uint64_t oom_kills = ~std::uint64_t{0};
  bool replaced = false;  // the process runs another program now
};
Surroundings look_around(const Flight& f);
Verdict judge(const Flight& f, const Surroundings& here);
std::string signal_name(int signal);
// The fault lies where the stack ends: recursion without end, or large arrays on it.
bool is_stack_overflow(const CrashFact& c) noexcept;

}  // namespace wp::trace
