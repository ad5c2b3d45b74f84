// Arithmetic, memory, versions and settings.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/groups.hpp"
#include "base/memory.hpp"
#include "base/text.hpp"
#include "cli/doctor.hpp"
#include "kernels/blas.hpp"
#include "simd/float_state.hpp"
#include "wellposed/version.hpp"

extern char** environ;

namespace wp::cli {
namespace {

// Every variable that wellposed reads, with the values it takes (docs/environment.md; a test compares).
struct Variable {
  const char* name;
  bool (*takes)(std::string_view);
  const char* values;
};
template <std::size_t N>
bool among(std::string_view text, const char* const (&words)[N]) {
  for (const char* w : words)
    if (text == w) return true;
  return text.empty();
}
constexpr std::array<Variable, 5> known{{
    {"WELLPOSED_CHECKS",
     [](std::string_view t) {
       return among(t, {"off", "escape", "warn", "raise"});
     },
     "off, escape, warn or raise"},
    {"WELLPOSED_COLOR",
     [](std::string_view t) {
       return among(t, {"auto", "always", "never"});
     },
     "auto, always or never"},
    {"WELLPOSED_ISA",
     [](std::string_view t) {
       return among(t, {"baseline", "avx2", "avx512"});
     },
     "baseline, avx2 or avx512"},
    {"WELLPOSED_RECORD", [](std::string_view) { return true; }, "a file name"},
    {"WELLPOSED_THREADS",
     [](std::string_view t) {
       const int n = std::atoi(std::string(t).c_str());
       return t.empty() || (t.find_first_not_of("0123456789") == std::string_view::npos && n >= 1 && n <= 256);
     },
     "a number from 1 to 256"},
}};

Line environment_line(std::string_view name, std::string_view value) {
  Line l{std::string(name), say("'", value, "'")};
  for (const Variable& v : known)
    if (name == v.name) {
      if (!v.takes(value)) l.fix = say("It takes ", v.values, "; this value is not used.");
      if (name == "WELLPOSED_CHECKS" && value == "off")
        l.fix = "Inf and NaN are not looked for. Unset it unless that is meant.";
      return l;
    }
  l.fix = "wellposed reads no such variable; see docs/environment.md for those it does.";
  return l;
}

std::string limit_text(double bytes) {
  return std::isfinite(bytes) ? bytes_text(bytes) : "none";
}

double total_memory() {
  return static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

double cgroup_limit() {
  const std::size_t limit = memory::group_memory().limit;
  return limit == ~std::size_t{0} ? HUGE_VAL : static_cast<double>(limit);
}

double address_space_limit() {
  rlimit limit{};
  const bool limited = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return limited ? static_cast<double>(limit.rlim_cur) : HUGE_VAL;
}

}  // namespace

void look_at_arithmetic(std::vector<Line>& lines) {
  const simd::FloatState s = simd::float_state();
  constexpr const char* culprit =
      "Foreign code changed it in this process: often a library linked with -ffast-math, or LD_PRELOAD. ";
  Line rounding{"rounding", std::string(name(s.rounding))};
  if (s.rounding != simd::Rounding::nearest)
    rounding.fix = say(culprit, "Every error bound assumes rounding to nearest: fesetround(FE_TONEAREST).");
  lines.push_back(std::move(rounding));
  Line tiny{"subnormal numbers", "kept"};
  tiny.numbers = {{"flush_to_zero", s.flush_to_zero}, {"denormals_are_zero", s.denormals_are_zero}};
  if (s.flush_to_zero || s.denormals_are_zero) {
    tiny.value = say("lost (", s.flush_to_zero ? "FTZ" : "", s.flush_to_zero && s.denormals_are_zero ? ", " : "",
                     s.denormals_are_zero ? "DAZ" : "", " set)");
    tiny.fix = say(culprit, "Find it, or clear bits 15 and 6 of MXCSR.");
  }
  lines.push_back(std::move(tiny));
}

void look_at_memory(std::vector<Line>& lines) {
  const auto left = static_cast<double>(memory::available());
  const double total = total_memory(), group = cgroup_limit(), space = address_space_limit();
  Line l{"memory", fmt::format("{} available of {}; control group limit {}, address space limit {}", bytes_text(left),
                               bytes_text(total), limit_text(group), limit_text(space))};
  l.numbers = {{"available", left}, {"total", total}};
  if (std::isfinite(group)) l.numbers["cgroup_limit"] = group;
  if (std::isfinite(space)) l.numbers["address_space_limit"] = space;
  if (left < 512.0 * 1024 * 1024)
    l.fix = "Less than 512 MiB: tensors beyond it are refused. End other programs, or raise the limit.";
  lines.push_back(std::move(l));
}

void look_at_versions(std::vector<Line>& lines) {
  const std::string config = blas::config();
  const std::size_t first = config.find(' '), second = config.find(' ', first + 1);
  const std::string openblas = config.empty() ? "none" : config.substr(first + 1, second - first - 1);
  const std::string fmt_version = say(FMT_VERSION / 10000, '.', FMT_VERSION / 100 % 100, '.', FMT_VERSION % 100);
  Line l{"versions", fmt::format("wellposed {}, g++ {}, OpenBLAS {}, SLEEF {}, fmt {}", version(), __VERSION__,
                                 openblas, simd::sleef_version(), fmt_version)};
  l.numbers = {{"wellposed", version()},
               {"compiler", __VERSION__},
               {"openblas", openblas},
               {"sleef", simd::sleef_version()},
               {"fmt", fmt_version}};
  lines.push_back(std::move(l));
}

void look_at_environment(std::vector<Line>& lines) {
  json names = json::array();
  for (const Variable& v : known) names.push_back(v.name);
  std::vector<Line> set;
  for (char** e = environ; e && *e; ++e) {
    const std::string_view entry(*e);
    if (!entry.starts_with("WELLPOSED_")) continue;
    const std::size_t equals = entry.find('=');
    set.push_back(environment_line(entry.substr(0, equals), entry.substr(equals + 1)));
  }
  Line l{"environment", set.empty() ? "no WELLPOSED_ variable is set"
                                    : plural(static_cast<std::int64_t>(set.size()), "WELLPOSED_ variable") + " set"};
  l.numbers = {{"known", names}};
  lines.push_back(std::move(l));
  for (Line& line : set) lines.push_back(std::move(line));
}

}  // namespace wp::cli
