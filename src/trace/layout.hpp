// Where the parts of a recording stand. Only the length of the ring, which is last, differs between files.
#pragma once
#include "trace/format.hpp"

namespace wp::trace {

inline constexpr std::uint64_t kThreadRows = 128, kScopeRows = 256, kStepRows = 4096, kStringBytes = 256 * 1024;

// Fills the areas and the size of a file with this many records; returns where the ring begins.
inline std::uint64_t standard_layout(Header& h, std::uint64_t records) noexcept {
  std::uint64_t at = kPageBytes;
  const auto place = [&at](Area& area, std::uint64_t count, std::uint64_t row) {
    area = {at, count};
    at += (count * row + kPageBytes - 1) / kPageBytes * kPageBytes;
  };
  place(h.threads, kThreadRows, sizeof(ThreadRow));
  place(h.scopes, kScopeRows, sizeof(ScopeRow));
  place(h.steps, kStepRows, sizeof(StepRow));
  place(h.strings, kStringBytes, 1);
  place(h.crash, 1, sizeof(Crash));
  place(h.ring, records, sizeof(CallRecord));
  h.file_bytes = at;
  return h.ring.offset;
}

}  // namespace wp::trace
