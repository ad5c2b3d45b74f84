#include "dist/team.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <mutex>
#include <thread>
#include <utility>

#include "dist/matrix.hpp"
#include "dist/stage.hpp"
#include "dist/told.hpp"
#include "wellposed/context.hpp"
#include "wellposed/record.hpp"
#include "wellposed/threads.hpp"

extern "C" [[gnu::weak]] void openblas_set_num_threads(int count);

namespace wp::dist {
namespace {

struct Live {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0, size = 1;
  bool apart = false;   // ranks have lost each other: no more meetings
  bool agreed = false;  // what was thrown since the last meeting was thrown on all ranks
  bool alone = false;   // a function that must not communicate runs
};
Live* live = nullptr;
bool untold = false;  // run() has to say why a session cannot begin

const Live& session() {
  if (!live)
    raise<ArgumentError>("WP-MPI-001", "dist", "there is no session: MPI has not been started.",
                         "Make a wp::dist::Session first (or use wp::dist::run), and start the program with mpirun.");
  return *live;
}

// Ranks with the same words together: "ranks 0, 2: solve …".
std::string listed(const std::vector<std::string>& said) {
  std::string out;
  std::vector<char> done(said.size(), 0);
  for (std::size_t i = 0; i < said.size(); ++i) {
    if (done[i]) continue;
    std::string ranks;
    std::size_t count = 0;
    for (std::size_t k = i; k < said.size(); ++k)
      if (said[k] == said[i]) {
        done[k] = 1;
        if (++count <= 8) ranks += say(count > 1 ? ", " : "", k);
      }
    if (count > 8) ranks += say(", … (", count, " in all)");
    out += say("\n  ", count > 1 ? "ranks " : "rank ", ranks, ": ", said[i]);
  }
  return out;
}

constexpr std::string_view kEnd = "leaves the program", kFails = "fails: ";

bool all_say(std::string_view what) {
  const std::uint64_t h = hash_of(what);
  std::uint64_t both[2] = {h, ~h};
  MPI_Allreduce(MPI_IN_PLACE, both, 2, MPI_UINT64_T, MPI_MAX, live->comm);
  return both[0] == h && both[1] == ~h && both[0] == ~both[1];
}
// What each said, unless all said the same.
std::vector<std::string> differences(std::string_view what) {
  if (all_say(what)) return {};
  return all_texts(std::string(what));
}

}  // namespace

std::uint64_t hash_of(std::string_view text) {  // FNV-1a
  std::uint64_t h = 0xcbf29ce484222325U;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return h;
}

bool in_session() noexcept {
  return live != nullptr;
}
MPI_Comm world() {
  return session().comm;
}
int rank() {
  return session().rank;
}
int size() {
  return session().size;
}

void meet(std::string_view what) {
  const Stage stage("dist.meet");
  if (session().alone)
    refuse<ArgumentError>("WP-MPI-002",
                          say("all ranks must call this together (", what,
                              "); here each runs a function of its own, as in map or generate, and others may not "
                              "come."),
                          "Use wp::linalg within the function, or call this outside of it.");
  if (session().apart)
    refuse<ArgumentError>("WP-MPI-002", "the ranks have lost each other before.", "End the program.");
  live->agreed = false;
  const std::vector<std::string> said = differences(what);
  if (said.empty()) return;
  const bool left = std::any_of(said.begin(), said.end(), [](const std::string& s) {
    return s == kEnd || s.starts_with(kFails);  // these will not meet again
  });
  live->apart = left;
  const auto function = [](const std::string& s) { return s.substr(0, s.find(' ')); };
  const bool only_arguments =
      std::all_of(said.begin(), said.end(), [&](const std::string& s) { return function(s) == function(said[0]); });
  const std::string message = say("the ranks do not do the same:", listed(said));
  if (only_arguments && !left)
    refuse<ShapeError>("WP-MPI-002", message, "All ranks must call it with the same shapes, layouts and options.");
  refuse<ArgumentError>("WP-MPI-002", message,
                        left ? "A rank that fails must not go on alone: let exceptions leave the program."
                             : "All ranks must call the same functions in the same order.");
}

Alone::Alone() : outer_(session().alone) {
  live->alone = true;
}
Alone::~Alone() {
  live->alone = outer_;
}

void agree(std::exception_ptr error, bool with_rank) {
  const int own = session().rank;
  const int first = reduced(error ? own : session().size, MPI_MIN);
  if (first == session().size) return;
  const std::string mine = packed(told(error));
  const Place here = running_place();
  Told theirs = unpacked(broadcast_text(mine, first), here);
  live->agreed = true;
  if (with_rank && !all_say(mine)) theirs.finding.message = say("rank ", first, ": ", theirs.finding.message);
  throw_as(std::move(theirs));
}

void all_sum(double* values, std::int64_t count) {
  constexpr std::int64_t kPiece = 1 << 24;
  for (std::int64_t at = 0; at < count; at += kPiece) {
    const int n = static_cast<int>(std::min(kPiece, count - at));
    MPI_Reduce(rank() == 0 ? MPI_IN_PLACE : values + at, values + at, n, MPI_DOUBLE, MPI_SUM, 0, world());
    MPI_Bcast(values + at, n, MPI_DOUBLE, 0, world());
  }
}

void all_join(void* bytes, std::size_t count) {
  constexpr std::size_t kPiece = 1 << 27;
  for (std::size_t at = 0; at < count; at += kPiece)
    MPI_Allreduce(MPI_IN_PLACE, static_cast<char*>(bytes) + at, static_cast<int>(std::min(kPiece, count - at)),
                  MPI_UINT8_T, MPI_BOR, world());
}

void broadcast(void* bytes, std::size_t count, int root) {
  constexpr std::size_t kPiece = 1 << 27;
  for (std::size_t at = 0; at < count; at += kPiece)
    MPI_Bcast(static_cast<char*>(bytes) + at, static_cast<int>(std::min(kPiece, count - at)), MPI_BYTE, root,
              world());
}

std::string broadcast_text(const std::string& text, int root) {
  std::int64_t length = static_cast<std::int64_t>(text.size());
  broadcast(&length, sizeof length, root);
  std::string out = rank() == root ? text : std::string(static_cast<std::size_t>(length), '\0');
  broadcast(out.data(), out.size(), root);
  return out;
}

std::vector<std::string> all_texts(const std::string& own) {
  std::vector<std::string> out;
  for (int r = 0; r < size(); ++r) out.push_back(broadcast_text(own, r));
  return out;
}

struct Session::State {
  bool started = false;
  std::optional<Recorder> recorder;
  FindingHandler before;
  bool silenced = false;
  bool lives = false;  // it is the session
  ~State();
};

namespace {

// Every rank records into a file of its own, if a folder is named; a name with %p is one for each process already.
void record(std::optional<Recorder>& recorder) {
  const char* const folder = std::getenv("WELLPOSED_RECORD");
  if (!folder || !*folder || std::string_view(folder).find("%p") != std::string_view::npos) return;
  together([&] {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error || !std::filesystem::is_directory(folder))
      raise<FileError>("WP-FIL-001", "Session",
                       say("WELLPOSED_RECORD must name a folder that every rank can write to; '", folder, "' is ",
                           error ? error.message() : "not a folder", "."),
                       "A name with %p gives every process a file of its own.");
    std::string number = say(rank());
    number.insert(0, 4 - std::min<std::size_t>(4, number.size()), '0');
    recorder.emplace(say(folder, "/rank-", number, ".wpr"));
  });
}

}  // namespace

Session::Session() : state_(std::make_unique<State>()) {
  if (live) raise<ArgumentError>("WP-MPI-001", "Session", "there is a session already.", "Make one per process.");
  int initialized = 0, finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (finalized) raise<ArgumentError>("WP-MPI-001", "Session", "MPI has been ended in this process.", "");
  if (!initialized) {
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    state_->started = true;
  }
  auto* const l = new Live;
  MPI_Comm_dup(MPI_COMM_WORLD, &l->comm);
  MPI_Comm_rank(l->comm, &l->rank);
  MPI_Comm_size(l->comm, &l->size);
  live = l;
  state_->lives = true;
  // Debian's ScaLAPACK loads a shared OpenBLAS too, whose start calls functions of ours and gives them threads again.
  if (openblas_set_num_threads) openblas_set_num_threads(1);
  // Ranks of one machine share its processors.
  if (!std::getenv("WELLPOSED_THREADS")) {
    MPI_Comm machine = MPI_COMM_NULL;
    int neighbours = 1;
    MPI_Comm_split_type(l->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
    MPI_Comm_size(machine, &neighbours);
    MPI_Comm_free(&machine);
    set_threads(std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / neighbours));
  }
  if (l->rank != 0) {
    state_->before = on_finding([](const Finding&) {});
    state_->silenced = true;
  }
  try {
    record(state_->recorder);
  } catch (const Error& e) {  // told while the ranks still wait for each other: one that has ended may end the others
    if (std::exchange(untold, false) && l->rank == 0) std::cerr << e.finding().text() << std::endl;
    throw;
  }
  Grid().state();  // its context is made by all ranks together; asking a grid for its shape then needs no other rank
}

Session::~Session() = default;

Session::State::~State() {
  if (!lives) return;
  if (!live->apart) {
    const Stage stage("dist.end", Place());
    if (const std::vector<std::string> said = differences(kEnd); !said.empty() && live->rank == 0)
      std::cerr << "wellposed: the ranks did not end together:" << listed(said) << std::endl;
  }
  if (silenced) on_finding(before);
  recorder.reset();
  MPI_Comm_free(&live->comm);
  delete live;
  live = nullptr;
  if (started) MPI_Finalize();
}

namespace {

[[noreturn]] void end_all(const std::string& words, int code) {
  std::cerr << "rank " << live->rank << ": " << words << "\n  The other ranks are ended." << std::endl;
  MPI_Abort(live->comm, code);
  std::_Exit(code);
}

// While it lives, the other ranks have this long to come; then all are ended.
class Patience {
 public:
  Patience(const std::string& words, int code)
      : watch_([this, words, code] {
          constexpr auto kLong = std::chrono::seconds(15);
          std::unique_lock lock(mutex_);
          if (!came_.wait_for(lock, kLong, [this] { return done_; })) end_all(words, code);
        }) {}
  ~Patience() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    came_.notify_all();
    watch_.join();
  }
  Patience(const Patience&) = delete;
  Patience& operator=(const Patience&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable came_;
  bool done_ = false;
  std::thread watch_;  // the last: it uses the others
};

template <class... E>
bool is(const Error& e) {
  return ((dynamic_cast<const E*>(&e) != nullptr) || ...);
}
int code_of(const Error& e) {
  return is<LinalgError, NonFiniteError>(e) ? 1 : is<InternalError, OutOfMemory>(e) ? 4 : 3;
}

}  // namespace

int run(const std::function<int()>& program) {
  std::optional<Session> session_of_run;
  untold = true;
  try {
    session_of_run.emplace();
  } catch (const Error& e) {
    if (untold) std::cerr << e.finding().text() << std::endl;
    return code_of(e);
  }
  int code = 0;
  std::string words;
  bool memory = false;
  try {
    code = program();
  } catch (const Error& e) {
    code = code_of(e);
    words = e.finding().text();
    memory = is<OutOfMemory>(e);
  } catch (const std::bad_alloc&) {
    code = 4;
    words = told(std::current_exception()).finding.text();
    memory = true;
  } catch (...) {
    code = 4;
    words = told(std::current_exception()).finding.message;
  }
  if (words.empty()) return code;
  // Memory that was missing in the midst of a collective: the others wait there for this rank, and no meeting is
  // safe.
  if (memory && !live->agreed && live->size > 1) end_all(words, code);
  const Patience patience(words, code);
  // All ranks have raised the same, or some have not: then what each does is told.
  if (!live->apart) {
    const std::vector<std::string> said = differences(say(kFails, words));
    live->apart = !said.empty();
    if (live->apart) words = say("the ranks did not end together:", listed(said));
  }
  if (live->rank == 0) std::cerr << words << std::endl;
  return code;
}

}  // namespace wp::dist
