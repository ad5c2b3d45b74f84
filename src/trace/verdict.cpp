// What became of the process, from what its recording says and what this machine knows.
#include <csignal>

#include "base/text.hpp"
#include "trace/reader.hpp"
#include "trace/recording.hpp"
#include "trace/symbols.hpp"

namespace wp::trace {
namespace {

std::string fault_words(const CrashFact& c) {
  if (is_stack_overflow(c))
    return say(" (stack overflow: the fault at ", hex(c.address), " is where the stack ends)");
  if (c.signal == SIGABRT) return {};
  if (c.code <= 0) return say(" (sent by process ", c.address & 0xFFFFFFFFU, ")");
  if (c.signal == SIGSEGV || c.signal == SIGBUS)
    return c.address < 65536 ? say(" (address ", hex(c.address), ": a null pointer)")
                             : say(" (address ", hex(c.address), ")");
  if (c.signal == SIGFPE) return c.code == FPE_INTDIV ? " (an integer was divided by zero)" : " (arithmetic)";
  return say(" (at ", hex(c.address), ")");
}

// Little was left when it was last looked at, or what was taken since then used it up.
std::string memory_evidence(const Flight& f, const Surroundings& here) {
  const MemoryFact& m = f.memory;
  const auto size = [](std::int64_t b) { return bytes_text(static_cast<double>(b)); };
  std::string words;
  const bool counted = here.same_boot && here.oom_kills != ~std::uint64_t{0} && f.oom_kills != ~std::uint64_t{0};
  const bool little = m.looked > 0 && m.at_start > 0 && m.left < m.at_start / 16;
  if (counted && here.oom_kills > f.oom_kills)
    words = say("the kernel has ended ", here.oom_kills - f.oom_kills,
                here.oom_kills - f.oom_kills == 1 ? " process" : " processes", " for want of memory since it began");
  if (little) words += say(words.empty() ? "" : "; ", size(m.left), " of ", size(m.at_start), " were left to take");
  return words;
}

}  // namespace

std::string signal_name(int signal) {
  const char* const name = sigabbrev_np(signal);
  return name ? say("SIG", name) : say("signal ", signal);
}

bool is_stack_overflow(const CrashFact& c) noexcept {
  return c.signal == SIGSEGV && c.code > 0 && c.address + (1U << 20) > c.sp && c.address < c.sp + 65536;
}

Surroundings look_around(const Flight& f) {
  const Writer writer = writer_of(f.path);
  return {writer == Writer::alive, !f.boot.empty() && f.boot == boot_id(), oom_kills(), writer == Writer::replaced};
}

Verdict judge(const Flight& f, const Surroundings& here) {
  if (f.crash && f.end == End::none && !here.alive && !here.replaced)
    return {Fate::signal, say("died of ", signal_name(f.crash->signal), fault_words(*f.crash)), f.last_words};
  const std::string survived =
      f.crash ? say("it went on after ", signal_name(f.crash->signal), fault_words(*f.crash)) : "";
  const std::string_view by = f.last_words.empty() ? "" : ", by an exception";
  const std::string& evidence = f.last_words.empty() ? survived : f.last_words;
  if (f.end == End::exited) return {Fate::exited, say("ended by itself", by), evidence};
  if (f.end == End::stopped) return {Fate::stopped, say("the program closed the recording", by), evidence};
  if (here.alive) return {Fate::running, "is still running", survived};
  if (here.replaced) return {Fate::exited, "became another program (exec)", survived};
  if (!f.boot.empty() && !here.same_boot)
    return {Fate::unknown, say("unknown", f.host.empty() ? "" : say(", on ", f.host)),
            "it left no end mark, and this machine is another, or has been restarted since: look there"};
  const std::string memory = memory_evidence(f, here);
  if (!memory.empty()) return {Fate::out_of_memory, "killed without a word, probably for want of memory", memory};
  return {Fate::killed, "killed without a word (SIGKILL, or _exit)", ""};
}

}  // namespace wp::trace
