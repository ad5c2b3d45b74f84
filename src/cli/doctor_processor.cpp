// Processor, BLAS, threads and speed.
#include <fmt/format.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmath>
#include <fstream>

#include "base/text.hpp"
#include "cli/doctor.hpp"
#include "cli/measure.hpp"
#include "kernels/blas.hpp"
#include "simd/isa.hpp"
#include "wellposed/threads.hpp"

namespace wp::cli {
namespace {

std::string cpu_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("model name") || line.starts_with("Model")) {
      const std::size_t colon = line.find(": ");
      if (colon != std::string::npos) return line.substr(colon + 2);
    }
  return "unknown";
}

int usable_cores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

// Processors that the control group grants (cpu.max of v2, cfs quota of v1); infinite without a limit.
double cpu_quota() {
  std::string quota;
  double period = 0;
  if (std::ifstream in("/sys/fs/cgroup/cpu.max"); in >> quota >> period && quota != "max")
    return std::strtod(quota.c_str(), nullptr) / period;
  double microseconds = 0;
  std::ifstream v1("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"), of("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  if (v1 >> microseconds && of >> period && microseconds > 0) return microseconds / period;
  return HUGE_VAL;
}

simd::Isa best_isa() {
  int best = simd::kIsas - 1;
  while (!simd::supported(static_cast<simd::Isa>(best))) --best;
  return static_cast<simd::Isa>(best);
}

Line blas_line() {
  Line l{"BLAS", ""};
  const std::string core = blas::core_name(), config = blas::config();
  if (core.empty()) {
    l.value = "not OpenBLAS: its kernels are its own affair";
    return l;
  }
  const std::size_t blank = config.find(' ', config.find(' ') + 1);
  l.value = say(config.substr(0, blank), ", kernels for ", core);
  l.numbers = {{"core", core}, {"config", config}};
  switch (blas::core_choice()) {
    case blas::CoreChoice::own: break;
    case blas::CoreChoice::user:
      l.value += " (OPENBLAS_CORETYPE)";
      if (blas::core_is_older()) l.fix = "OPENBLAS_CORETYPE holds it back. Unset it unless that is meant.";
      break;
    case blas::CoreChoice::corrected: l.value += " (told so: this OpenBLAS is older than the processor)"; break;
    case blas::CoreChoice::wrong:
      l.fix =
          "These kernels are older than the processor, and OpenBLAS was started by another library first. Set "
          "OPENBLAS_CORETYPE=Haswell (AVX2) or SkylakeX (AVX-512) in the environment.";
      break;
  }
  return l;
}

// Floating-point operations per cycle of the best instruction set: lanes × 2 (multiply and add) × 2 units.
int flops_per_cycle(int lane_bytes) {
  switch (best_isa()) {
    case simd::Isa::avx512: return 64 / lane_bytes * 4;
    case simd::Isa::avx2: return 32 / lane_bytes * 4;
    case simd::Isa::baseline: break;
  }
  return 16 / lane_bytes * 2;  // one multiplication and one addition, not fused
}

constexpr double kLeastShare = 0.4;  // AVX-512 units are often one, and clocks fall under load
constexpr double kLeastBandwidth = 4e9;

Line speed_line(std::string name, double measured, double peak) {
  Line l{std::move(name), fmt::format("{:.1f} GFLOP/s on one core, {:.0f} % of the peak {:.0f}", measured * 1e-9,
                                      100 * measured / peak, peak * 1e-9)};
  l.numbers = {{"measured", measured}, {"expected", peak}, {"unit", "FLOP/s"}};
  if (measured < kLeastShare * peak)
    l.fix = fmt::format(
        "At least {:.0f} % is expected. If the lines above are in order, the processor is throttled or shared: "
        "measure again when it is idle.",
        100 * kLeastShare);
  return l;
}

Line bandwidth_line(std::string name, double measured) {
  Line l{std::move(name), fmt::format("{:.1f} GB/s on one core", measured * 1e-9)};
  l.numbers = {{"measured", measured}, {"expected", kLeastBandwidth}, {"unit", "byte/s"}};
  if (measured < kLeastBandwidth)
    l.fix = fmt::format(
        "A core of today moves at least {:.0f} GB/s. Look for swapping, an emulated machine, or memory "
        "in one channel only.",
        kLeastBandwidth * 1e-9);
  return l;
}

Line threads_speed_line(double one_core) {
  double load = 0;
  getloadavg(&load, 1);
  const int n = std::min(threads(), usable_cores());
  Line l{"matmul f64, all", ""};
  l.numbers = {{"expected", one_core * n}, {"unit", "FLOP/s"}, {"load", load}};
  if (load > 0.3 * usable_cores()) {
    l.value = fmt::format("not measured: other work loads the machine ({:.1f} on {})", load,
                          plural(usable_cores(), "core"));
    return l;
  }
  const double measured = measure_matmul_threads();
  l.value = fmt::format("{:.1f} GFLOP/s on {}", measured * 1e-9, plural(n, "thread"));
  l.numbers["measured"] = measured;
  if (measured < 0.5 * one_core * n)
    l.fix = fmt::format(
        "{:.1f} GFLOP/s are expected. The cores may be halves of fewer real ones (hyper-threads): try "
        "WELLPOSED_THREADS={}.",
        one_core * n * 1e-9, std::max(1, n / 2));
  return l;
}

}  // namespace

void look_at_processor(std::vector<Line>& lines) {
  const int usable = usable_cores();
  const long all = sysconf(_SC_NPROCESSORS_ONLN);
  const double quota = cpu_quota();
  lines.push_back({"processor", cpu_name()});
  Line cores{"cores", fmt::format("{} usable of {}", usable, all)};
  cores.numbers = {{"usable", usable}, {"online", all}};
  if (std::isfinite(quota)) {
    cores.value += fmt::format(", quota {:.2g}", quota);
    cores.numbers["quota"] = quota;
  }
  lines.push_back(std::move(cores));

  Line isa{"instruction set", say(simd::name(simd::isa()), " in use; the processor has")};
  json available = json::array();
  for (int i = 0; i < simd::kIsas; ++i)
    if (simd::supported(static_cast<simd::Isa>(i))) {
      isa.value += say(' ', simd::name(static_cast<simd::Isa>(i)));
      available.push_back(simd::name(static_cast<simd::Isa>(i)));
    }
  isa.numbers = {{"in_use", simd::name(simd::isa())}, {"available", available}};
  if (simd::isa() != best_isa()) isa.fix = "WELLPOSED_ISA holds it back. Unset it unless that is meant.";
  lines.push_back(std::move(isa));

  lines.push_back(blas_line());

  const double grant = std::min<double>(usable, quota);
  Line pool{"threads", say(threads())};
  pool.numbers = {{"threads", threads()}};
  if (threads() > std::ceil(grant))
    pool.fix = fmt::format(
        "More threads than processors this process may use ({:.2g}): they wait for each other. Set "
        "WELLPOSED_THREADS={:.0f}.",
        grant, std::max(1.0, std::floor(grant)));
  lines.push_back(std::move(pool));
}

void look_at_speed(std::vector<Line>& lines) {
  const double clock = measure_clock();
  Line l{"clock", fmt::format("{:.2f} GHz (measured)", clock * 1e-9)};
  l.numbers = {{"measured", clock}, {"unit", "Hz"}};
  if (clock < 1e9)
    l.fix =
        "Below 1 GHz: power saving or throttling. Set the governor to performance (cpupower frequency-set -g "
        "performance).";
  lines.push_back(std::move(l));
  const double f64_speed = measure_matmul(f64);
  lines.push_back(speed_line("matmul f64", f64_speed, clock * flops_per_cycle(8)));
  lines.push_back(speed_line("matmul f32", measure_matmul(f32), clock * flops_per_cycle(4)));
  if (std::min(threads(), usable_cores()) > 1) lines.push_back(threads_speed_line(f64_speed));
  Line gemm = speed_line("BLAS gemm f64", measure_gemm(), clock * flops_per_cycle(8));
  if (!gemm.fix.empty()) gemm.fix += " Factorisations use it: see the BLAS line.";
  lines.push_back(std::move(gemm));
  const Bandwidth b = measure_bandwidth();
  lines.push_back(bandwidth_line("memory read", b.read));
  lines.push_back(bandwidth_line("memory copy", b.copy));
}

}  // namespace wp::cli
