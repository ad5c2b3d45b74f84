// A recording (.wpr), little-endian, version 2; docs/recording.md describes it for readers in other languages.
// Everything is written in place into a mapped file of fixed size, so that it is there whatever ends the process.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace wp::trace {

inline constexpr char kMagic[8] = {'W', 'P', 'F', 'L', 'I', 'G', 'H', 'T'};
inline constexpr std::uint32_t kVersion = 2;
inline constexpr std::uint16_t kNoName = 0;  // a string that was not given, or for which there was no room

// ---- page 0: what is known at the start (with a CRC), and what changes all the time -------------------------------
struct Area {
  std::uint64_t offset, count;  // bytes from the start of the file; rows (strings and maps: bytes)
};
struct Header {
  char magic[8];
  std::uint32_t version, crc;  // CRC-32C of the header with this field 0
  std::uint64_t file_bytes;
  Area threads, scopes, steps, strings, crash, ring;
  std::uint64_t pid, born;          // born: field 22 of /proc/PID/stat, so that a pid used again is not mistaken
  std::uint64_t ticks, real_ns;     // both at the start: the counter, and nanoseconds since 1970
  double ticks_per_second;          //
  std::uint64_t memory, oom_kills;  // what the process could take at the start; the kernel's count of OOM kills
  std::uint64_t parent;             // of a forked process: the pid that recorded before; else 0
  char boot[40], host[64], version_text[16];
  char command[1024];  // words end with zeros
};
enum class End : std::uint64_t { none = 0, stopped = 1, exited = 2 };
struct Live {                                    // each word is one store; there is no CRC
  std::uint64_t head;                            // records begun; record s stands in row (s − 1) mod rows
  std::uint64_t end, end_ticks;                  // End
  std::uint64_t string_bytes, strings_lost;      // used bytes of the string area; names for which there was no room
  std::uint64_t step_head, threads;              // rows begun; threads seen
  std::uint64_t live, peak, cached;              // bytes of tensors above 4 KiB; as memory::Stats
  std::uint64_t left, left_ticks, resident;      // what could still be taken, when it was asked; resident bytes then
  std::uint64_t taken, taken_names, taken_line;  // the last new block of 1 MiB or more: bytes, Names, line
  std::uint64_t refused, refused_left, refused_ticks, refused_names, refused_line;  // the last refusal
  std::uint64_t messages, sent, flops;  // of a rank of an MPI program: messages sent, their bytes, operations
  std::uint64_t mapped;                 // the address of the file in the process; exec() takes it away
};
inline constexpr std::size_t kLiveOffset = 2048, kPageBytes = 4096;
static_assert(sizeof(Header) <= kLiveOffset && kLiveOffset + sizeof(Live) <= kPageBytes);

// ---- names: indices into the string area, packed into one word
// -----------------------------------------------------
struct Names {
  std::uint16_t op, scope, file, zero;
};
// An entry of the string area, at a multiple of 8: then `length` bytes. The CRC covers length, id and bytes.
struct StringEntry {
  std::uint32_t crc;
  std::uint16_t length, id;
};
inline constexpr std::size_t kLongestString = 1000;

// ---- one call: what is known before it runs, and what came of it; each half has its own CRC
// ------------------------
struct Fact {  // of a tensor
  static constexpr std::uint8_t undefined = 0xFF;
  // Flags.
  static constexpr std::uint32_t nan = 1;           // among the sampled elements
  static constexpr std::uint32_t inf = 2;           // among the sampled elements
  static constexpr std::uint32_t noted = 4;         // some element was made non-finite by an op before
  static constexpr std::uint32_t made = 8;          // the loop saw a result that is not finite (outputs)
  static constexpr std::uint32_t strided = 16;      // not row-major without gaps
  static constexpr std::uint32_t borrowed = 32;     // memory of somebody else
  static constexpr std::uint32_t large_shape = 64;  // more than four axes, or a length beyond 32 bits
  static constexpr std::uint32_t beyond_f32 = 128;  // min or max is cut to the range of f32
  std::uint8_t dtype, flags, rank, samples;         // samples: how many elements min and max are taken from
  float min, max;                                   // without NaN; of real and imaginary parts
  std::uint32_t shape[4];
  std::uint32_t elements;  // at most 2³² − 1
};
inline constexpr std::size_t kInputs = 3, kOutputs = 2;  // of more, only the number is kept
struct CallPart {
  std::uint64_t sequence;  // 1, 2, …; 0: never written
  std::uint32_t crc;       // of the header and the facts that are there, with this field 0
  std::uint16_t thread;
  std::uint8_t depth, inputs;
  std::uint64_t ticks;
  std::int64_t step;
  Names names;
  std::uint32_t line, scattered;  // scattered, 1: the rows do not follow each other
  std::int64_t first_row, rows;   // the first of the rows of a data set, and how many; 0: not known
  Fact in[kInputs];
};
enum class State : std::uint8_t { running = 0, done = 1, left = 2 };  // left: by an exception
struct ResultPart {
  std::uint64_t sequence;
  std::uint32_t crc;
  std::uint8_t state, outputs, flags, zero;  // flags: of all outputs, as in Fact
  std::uint64_t zero2, live;                 // bytes of tensors above 4 KiB when it ended
  Fact out[kOutputs];
};
struct CallRecord {           // four lines of a cache; calls with up to two inputs and one output touch three of them
  std::uint64_t call[16];     // CallPart without its third input
  std::uint64_t result[8];    // ResultPart without its second output
  std::uint64_t last_in[4];   // CallPart::in[2]
  std::uint64_t last_out[4];  // ResultPart::out[1]
};
inline constexpr std::size_t kNearInputs = 2, kNearOutputs = 1;
static_assert(sizeof(Fact) == 32 && sizeof(CallPart) == 160 && sizeof(ResultPart) == 96 && sizeof(CallRecord) == 256);
inline constexpr std::size_t kCallHeader = offsetof(CallPart, in), kResultHeader = offsetof(ResultPart, out);
inline CallPart call_part(const CallRecord& r) noexcept {
  CallPart c;
  std::memcpy(&c, r.call, sizeof r.call);
  std::memcpy(&c.in[kNearInputs], r.last_in, sizeof r.last_in);
  return c;
}
inline ResultPart result_part(const CallRecord& r) noexcept {
  ResultPart p;
  std::memcpy(&p, r.result, sizeof r.result);
  std::memcpy(&p.out[kNearOutputs], r.last_out, sizeof r.last_out);
  return p;
}
inline std::size_t covered(const CallPart& c) noexcept {
  return kCallHeader + sizeof(Fact) * (c.inputs < kInputs ? c.inputs : kInputs);
}
inline std::size_t covered(const ResultPart& r) noexcept {
  return kResultHeader + sizeof(Fact) * (r.outputs < kOutputs ? r.outputs : kOutputs);
}

// ---- threads, scopes, steps
// ----------------------------------------------------------------------------------------
struct Running {
  std::uint64_t sequence;
  Names names;
  std::uint64_t line;
};
inline constexpr std::size_t kDepth = 18;  // calls inside calls that a row can hold
struct ThreadRow {
  std::uint64_t number, tid, state, depth;  // state: 0 free, 1 alive, 2 ended; depth: calls that run
  std::uint64_t calls, last;                // number of calls; sequence of the last one begun
  char name[16];
  Running running[kDepth];  // the outermost first
  std::uint64_t zero[2];
};
struct ScopeRow {     // tensors above 4 KiB by the scope that took them
  std::uint32_t crc;  // of the row with zeros in what follows the name: each of those is one store
  std::uint16_t scope, zero;
  std::uint64_t live, peak, blocks;
};
struct StepRow {  // written when a thread begins another step; says what the one before saw
  std::uint64_t sequence;
  std::uint32_t crc, thread;
  std::int64_t step;  // the one that begins
  std::uint64_t ticks, live, calls;
  float largest;            // |sampled output| of the steps before
  std::uint32_t nonfinite;  // calls with a result that is not finite
  std::int64_t first_row;
};
static_assert(sizeof(ThreadRow) == 512 && sizeof(ScopeRow) == 32 && sizeof(StepRow) == 64);

// ---- the end by a signal, and last words
// ---------------------------------------------------------------------------
inline constexpr std::size_t kFrames = 192, kWords = 2048, kMaps = 128 * 1024;
struct Crash {
  std::uint64_t state;  // 0: none, 1: begun, 2: the stack is there, 3: the objects too
  std::uint64_t signal, code, address, tid, thread, ticks;
  std::uint64_t pc, sp, frames;  // frames: program counters that follow, innermost first
  std::uint64_t frame[kFrames];
  std::uint64_t word_bytes;  // of what std::terminate was called for
  std::uint64_t map_bytes;   // of the executable lines of /proc/self/maps, at maps
  char words[kWords];
  char maps[kMaps];
};

}  // namespace wp::trace
