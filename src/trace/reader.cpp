#include "trace/reader.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/text.hpp"
#include "io/file.hpp"
#include "simd/crc.hpp"
#include "trace/layout.hpp"

namespace wp::trace {
namespace {

class Parser {
 public:
  Parser(const std::string& bytes, const std::string& path) : bytes_(bytes) { flight_.path = path; }
  Flight parse() {
    read_header();
    read_strings();
    read_live();
    read_ring();
    read_threads();
    read_scopes();
    read_steps();
    read_crash();
    return std::move(flight_);
  }

 private:
  // A row of an area; false: the file ends before it.
  template <class Row>
  bool row(const Area& area, std::uint64_t i, Row& to) const noexcept {
    const std::uint64_t size = bytes_.size();
    if (area.offset > size || i > (size - area.offset) / sizeof(Row)) return false;
    const std::uint64_t at = area.offset + i * sizeof(Row);
    if (at + sizeof(Row) > size) return false;
    std::memcpy(&to, bytes_.data() + at, sizeof(Row));
    return true;
  }
  template <class Row>
  static bool sound(Row r, std::size_t bytes = sizeof(Row)) noexcept {
    const std::uint32_t crc = r.crc;
    r.crc = 0;
    return simd::crc32c(&r, bytes) == crc;
  }
  template <std::size_t N>
  static std::string text(const char (&field)[N]) {
    return std::string(field, strnlen(field, N));
  }
  double seconds(std::uint64_t ticks) const noexcept {
    return ticks == 0 || !(header_.ticks_per_second > 0)
               ? 0
               : static_cast<double>(static_cast<std::int64_t>(ticks - header_.ticks)) / header_.ticks_per_second;
  }
  const std::string& name(std::uint16_t id) const {
    static const std::string none;
    const auto at = names_.find(id);
    return at == names_.end() ? none : at->second;
  }
  void miss(std::string what) { flight_.missing.push_back(std::move(what)); }

  void read_header();
  void read_live();
  void read_strings();
  void read_ring();
  void read_threads();
  void read_scopes();
  void read_steps();
  void read_crash();
  CallFact call_of(const CallRecord& r);
  TensorFact tensor_of(const Fact& f) const;
  MemoryFact::Event event(std::uint64_t bytes, std::uint64_t names, std::uint64_t line) const;
  void find_running(ThreadFact& t, const ThreadRow* row) const;

  const std::string& bytes_;
  Flight flight_;
  Header header_{};
  std::map<std::uint16_t, std::string> names_;
};

void Parser::read_header() {
  const auto refuse_file = [&](std::string reason) {
    raise<FormatError>("WP-FMT-001", "postmortem", say("'", flight_.path, "' is not a recording: ", reason));
  };
  if (bytes_.size() < kPageBytes) refuse_file(say("it holds ", bytes_.size(), " bytes, fewer than its first page."));
  std::memcpy(&header_, bytes_.data(), sizeof header_);
  if (std::memcmp(header_.magic, kMagic, sizeof kMagic) != 0) refuse_file("it does not begin with WPFLIGHT.");
  if (sound(header_)) {
    if (header_.version != kVersion)
      refuse_file(say("it has version ", header_.version, ", this program reads ", kVersion, "."));
  } else {
    miss("The header is damaged: the usual layout is assumed, and process and times are not known.");
    const std::uint64_t at = standard_layout(header_, 0);
    header_.ring.count = std::bit_floor((std::max<std::uint64_t>(bytes_.size(), at) - at) / sizeof(CallRecord));
    header_.ticks_per_second = 0;
    header_.pid = header_.born = header_.parent = header_.real_ns = header_.memory = 0;
    header_.oom_kills = ~std::uint64_t{0};
    std::memset(header_.command, 0, sizeof header_.command);
    header_.file_bytes = bytes_.size();
  }
  if (bytes_.size() < header_.file_bytes)
    miss(say("The file is cut: ", bytes_.size(), " of ", header_.file_bytes, " bytes are there."));
  flight_.pid = header_.pid;
  flight_.parent = header_.parent;
  flight_.born = header_.born;
  flight_.oom_kills = header_.oom_kills;
  flight_.began = static_cast<double>(header_.real_ns) * 1e-9;
  flight_.host = text(header_.host);
  flight_.boot = text(header_.boot);
  flight_.version = text(header_.version_text);
  std::string command(header_.command, sizeof header_.command);
  while (!command.empty() && command.back() == '\0') command.pop_back();
  std::replace(command.begin(), command.end(), '\0', ' ');
  flight_.command = command;
}

// An entry that is damaged is passed by looking for the next one whose CRC is right.
void Parser::read_strings() {
  const Area& area = header_.strings;
  const std::uint64_t end = std::min<std::uint64_t>(bytes_.size(), area.offset + area.count);
  bool lost = false;
  for (std::uint64_t at = area.offset; at + sizeof(StringEntry) <= end;) {
    StringEntry e;
    std::memcpy(&e, bytes_.data() + at, sizeof e);
    const bool fits = e.length > 0 && e.length <= kLongestString && at + sizeof e + e.length <= end;
    if (fits && simd::crc32c(bytes_.data() + at + 4, 4U + e.length) == e.crc) {
      names_[e.id] = std::string(bytes_.data() + at + sizeof e, e.length);
      at += (sizeof e + e.length + 7) / 8 * 8;
    } else {
      lost |= e.crc != 0 || e.length != 0;
      at += 8;
    }
  }
  if (lost) miss("Some names are damaged: what they named is shown as '?'.");
}

MemoryFact::Event Parser::event(std::uint64_t bytes, std::uint64_t names, std::uint64_t line) const {
  Names n;
  std::memcpy(&n, &names, sizeof n);
  const std::string& file = name(n.file);
  return {static_cast<std::int64_t>(bytes), name(n.op), name(n.scope),
          file.empty() ? "" : Place(file.c_str(), static_cast<std::uint32_t>(line)).text()};
}

void Parser::read_live() {
  Live l;
  std::memcpy(&l, bytes_.data() + kLiveOffset, sizeof l);
  flight_.recorded = l.head;
  flight_.end = l.end <= static_cast<std::uint64_t>(End::exited) ? static_cast<End>(l.end) : End::none;
  flight_.ended = seconds(l.end_ticks);
  const auto bytes = [](std::uint64_t v) {
    return static_cast<std::int64_t>(std::min<std::uint64_t>(v, 1ULL << 62));
  };
  MemoryFact& m = flight_.memory;
  m.live = bytes(l.live);
  m.peak = bytes(l.peak);
  m.cached = bytes(l.cached);
  m.resident = bytes(l.resident);
  flight_.traffic = {bytes(l.messages), bytes(l.sent), static_cast<double>(l.flops)};
  m.at_start = bytes(header_.memory);
  m.left = bytes(l.left);
  m.looked = seconds(l.left_ticks);
  m.taken = event(l.taken, l.taken_names, l.taken_line);
  m.refused = event(l.refused, l.refused_names, l.refused_line);
  m.refused_left = bytes(l.refused_left);
  if (l.strings_lost)
    miss(say(l.strings_lost <= l.head ? say(l.strings_lost) : "Some", " names had no room and are shown as '?'."));
}

TensorFact Parser::tensor_of(const Fact& f) const {
  TensorFact t;
  t.defined = f.dtype < kDTypes;
  if (!t.defined) return t;
  t.dtype = static_cast<DType>(f.dtype);
  t.rank = f.rank;
  for (int d = 0; d < std::min<int>(f.rank, 4); ++d) t.shape.push_back(f.shape[d]);
  t.flags = f.flags;
  t.samples = f.samples;
  t.min = static_cast<double>(f.min);
  t.max = static_cast<double>(f.max);
  t.elements = f.elements;
  return t;
}

CallFact Parser::call_of(const CallRecord& r) {
  const CallPart c = call_part(r);
  CallFact f;
  f.sequence = c.sequence;
  f.thread = c.thread;
  f.depth = c.depth;
  f.op = c.names.op == kNoName ? "?" : name(c.names.op).empty() ? "?" : name(c.names.op);
  f.scope = name(c.names.scope);
  f.file = name(c.names.file);
  f.line = c.line;
  f.step = c.step;
  f.first_row = c.first_row;
  f.scattered = c.scattered != 0;
  f.rows = c.rows;
  f.begin = seconds(c.ticks);
  f.inputs = c.inputs;
  for (std::size_t i = 0; i < std::min<std::size_t>(c.inputs, kInputs); ++i) f.in.push_back(tensor_of(c.in[i]));
  const ResultPart p = result_part(r);
  if (p.sequence != c.sequence) return f;
  f.outcome = CallFact::Outcome::unknown;
  if (!sound(p, covered(p)) || p.state > 2) return f;
  f.outcome = p.state == static_cast<std::uint8_t>(State::left) ? CallFact::Outcome::left : CallFact::Outcome::done;
  f.flags = p.flags;
  f.live = static_cast<std::int64_t>(p.live);
  f.outputs = p.outputs;
  for (std::size_t i = 0; i < std::min<std::size_t>(p.outputs, kOutputs); ++i) f.out.push_back(tensor_of(p.out[i]));
  return f;
}

void Parser::read_ring() {
  const std::uint64_t rows = header_.ring.count;
  CallRecord r;
  std::uint64_t lacking = 0;
  for (std::uint64_t i = 0; i < rows; ++i) {
    if (!row(header_.ring, i, r)) {
      lacking = rows - i;
      break;
    }
    const CallPart c = call_part(r);
    if (c.sequence == 0 && c.crc == 0) continue;
    if (!sound(c, covered(c)) || (c.sequence - 1) % rows != i)
      ++flight_.torn;
    else
      flight_.calls.push_back(call_of(r));
  }
  if (lacking) miss(say("The file ends before ", lacking, " of ", rows, " records."));
  std::sort(flight_.calls.begin(), flight_.calls.end(),
            [](const CallFact& a, const CallFact& b) { return a.sequence < b.sequence; });
  if (!flight_.calls.empty()) flight_.recorded = std::max(flight_.recorded, flight_.calls.back().sequence);
  if (flight_.recorded >= (1ULL << 62)) flight_.recorded = flight_.calls.empty() ? 0 : flight_.calls.back().sequence;
}

// Calls without a result, unless a later call of the thread shows that they had ended; and those of the thread's row
// whose record has been overwritten, or not been written.
void Parser::find_running(ThreadFact& t, const ThreadRow* row) const {
  std::vector<const CallFact*> open;
  for (const std::size_t i : t.calls_kept) {
    const CallFact& c = flight_.calls[i];
    while (!open.empty() && open.back()->depth >= c.depth) open.pop_back();
    if (c.outcome == CallFact::Outcome::running) open.push_back(&c);
  }
  if (row) {
    const std::uint64_t oldest = flight_.calls.empty() ? 0 : flight_.calls.front().sequence;
    for (std::uint64_t d = 0; d < std::min<std::uint64_t>(row->depth, kDepth); ++d) {
      const Running& r = row->running[d];
      if (r.sequence == 0 || flight_.find(r.sequence)) continue;
      CallFact f;
      f.sequence = r.sequence;
      f.thread = t.number;
      f.depth = static_cast<int>(d);
      f.op = name(r.names.op).empty() ? "?" : name(r.names.op);
      f.scope = name(r.names.scope);
      f.file = name(r.names.file);
      f.line = static_cast<std::uint32_t>(r.line);
      f.overwritten = r.sequence < oldest;
      f.unwritten = !f.overwritten;
      t.running.push_back(f);
    }
  }
  for (const CallFact* const c : open) t.running.push_back(*c);
  std::stable_sort(t.running.begin(), t.running.end(),
                   [](const CallFact& a, const CallFact& b) { return a.depth < b.depth; });
}

void Parser::read_threads() {
  std::map<int, ThreadFact> by_number;
  for (std::size_t i = 0; i < flight_.calls.size(); ++i) by_number[flight_.calls[i].thread].calls_kept.push_back(i);
  std::map<int, ThreadRow> rows;
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(header_.threads.count, 4096); ++i) {
    ThreadRow r;
    if (!row(header_.threads, i, r)) break;
    if (r.state == 1 || r.state == 2) rows[static_cast<int>(r.number & 0xFFFF)] = r;
  }
  for (const auto& [number, r] : rows) {
    ThreadFact& t = by_number[number];
    t.tid = r.tid;
    t.calls = r.calls;
    t.name = text(r.name);
    t.ended = r.state == 2;
  }
  for (auto& [number, t] : by_number) {
    t.number = number;
    const auto r = rows.find(number);
    find_running(t, r == rows.end() ? nullptr : &r->second);
    flight_.threads.push_back(std::move(t));
  }
}

void Parser::read_scopes() {
  std::uint64_t damaged = 0;
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(header_.scopes.count, 65536); ++i) {
    ScopeRow r;
    if (!row(header_.scopes, i, r)) break;
    if (r.crc == 0 && r.peak == 0) continue;
    if (!sound(ScopeRow{r.crc, r.scope, r.zero, 0, 0, 0})) {
      ++damaged;
      continue;
    }
    flight_.scopes.push_back({r.scope == kNoName      ? ""
                              : name(r.scope).empty() ? "?"
                                                      : name(r.scope),
                              static_cast<std::int64_t>(r.live), static_cast<std::int64_t>(r.peak),
                              static_cast<std::int64_t>(r.blocks)});
  }
  if (damaged) miss(say("The memory of ", damaged, damaged == 1 ? " scope" : " scopes", " is not known."));
  std::stable_sort(flight_.scopes.begin(), flight_.scopes.end(),
                   [](const ScopeFact& a, const ScopeFact& b) { return a.live > b.live; });
}

void Parser::read_steps() {
  std::vector<std::pair<std::uint64_t, StepFact>> found;
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(header_.steps.count, 1 << 20); ++i) {
    StepRow r;
    if (!row(header_.steps, i, r)) break;
    if (r.sequence == 0 && r.crc == 0) continue;
    if (!sound(r)) {
      ++flight_.torn;
      continue;
    }
    found.push_back(
        {r.sequence,
         {static_cast<int>(r.thread), r.step, static_cast<std::int64_t>(r.live), static_cast<std::int64_t>(r.calls),
          r.nonfinite, r.first_row, seconds(r.ticks), static_cast<double>(r.largest)}});
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [sequence, step] : found) flight_.steps.push_back(step);
}

void Parser::read_crash() {
  Crash c;
  if (!row(header_.crash, 0, c)) {
    miss("The file ends before the part that tells of signals.");
    return;
  }
  flight_.last_words = std::string(c.words, std::min<std::uint64_t>(c.word_bytes, kWords));
  if (c.state == 0 || c.state > 3 || c.signal == 0 || c.signal > 64) return;
  CrashFact f;
  f.signal = static_cast<int>(c.signal);
  f.code = static_cast<int>(static_cast<std::int64_t>(c.code));
  f.thread = static_cast<int>(c.thread & 0xFFFF);
  f.tid = c.tid;
  f.address = c.address;
  f.pc = c.pc;
  f.sp = c.sp;
  f.at = seconds(c.ticks);
  f.frames.assign(c.frame, c.frame + std::min<std::uint64_t>(c.frames, kFrames));
  f.maps = std::string(c.maps, std::min<std::uint64_t>(c.map_bytes, kMaps));
  f.complete = c.state == 3;
  if (!f.complete) miss("The process ended before its stack was written down in full.");
  flight_.crash = std::move(f);
}

}  // namespace

const CallFact* Flight::find(std::uint64_t sequence) const noexcept {
  const auto at = std::lower_bound(calls.begin(), calls.end(), sequence,
                                   [](const CallFact& c, std::uint64_t s) { return c.sequence < s; });
  return at != calls.end() && at->sequence == sequence ? &*at : nullptr;
}

Flight parse_flight(const std::string& bytes, const std::string& path) {
  return Parser(bytes, path).parse();
}

Flight read_flight(const std::string& path) {
  return parse_flight(io::Source(path).text(), path);
}

}  // namespace wp::trace
