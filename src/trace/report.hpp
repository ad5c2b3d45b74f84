// The post-mortem: what a recording says about the end of a process.
#pragma once
#include "trace/reader.hpp"
#include "trace/symbols.hpp"

namespace wp::trace {

struct ScopeTrend {  // largest |sampled output| of a scope in the first and in the last of the steps that are kept
  std::string scope;
  std::int64_t first_step = 0, last_step = 0;
  double first = 0, last = 0;
};

struct Examined {
  Flight flight;
  Verdict verdict;
  int thread = 0;  // the one that matters: that of the signal, else that of the last call; 0: none
  const CallFact* in_flight = nullptr;  // its innermost call that had not ended
  const CallFact* first_bad = nullptr;  // the first call that is kept whose result was not finite
  std::int64_t step = -1;
  double steps_per_second = 0,
         steps_per_second_before = 0;  // in the last quarter of the steps kept, and before; 0: not known
  std::vector<ScopeTrend> trends;      // that grew at least tenfold, most first
  std::vector<Frame> stack;
  std::vector<std::string> remarks;
  std::string look_first;
};
Examined examine(Flight flight, const Surroundings& here, Lines lines = Lines::none);

// The report that a person reads: `last` calls per thread.
std::string report_text(const Examined& p, std::size_t last);
// Its parts, for a page.
struct ReportPart {
  std::string heading, words;
};
std::vector<ReportPart> report_parts(const Examined& p, std::size_t last);
inline constexpr const char* kMissing = "What is missing";
std::string lines_of(const std::vector<std::string>& words);  // each on a line
std::string part_text(const ReportPart& part);

}  // namespace wp::trace
