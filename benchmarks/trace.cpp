// What watching costs: the same work with and without it, alternating in one process, in processor time of its
// thread. Medians of paired ratios with their quartiles, beside pairs that both run without (the noise). Steps are
// those of a run that goes on: what watching costs when it begins (a file of 5 MB is reserved) is told apart.
//   wp_bench_trace [ROUNDS] [FILE]      WELLPOSED_THREADS=1; trace_peers.py for the other libraries
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "tape.hpp"
#include "wellposed/wellposed.hpp"

namespace {

using Work = std::function<void()>;

double now() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}
double time_of(const Work& work, int warm, int calls) {
  double start = 0;
  for (int i = 0; i < warm + calls; ++i) {
    if (i == warm) start = now();
    wp::set_step(i);
    work();
  }
  const double all = now() - start;
  wp::set_step(-1);
  return all / calls;
}

struct Spread {
  double low, middle, high;
};
Spread spread(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return {v[v.size() / 4], v[v.size() / 2], v[3 * v.size() / 4]};
}

struct Case {
  const char* name;
  Work work;
  int warm, calls;
  double ops;
};
// A way of watching; `watched` runs what it is given under it.
struct Way {
  const char* name;
  std::function<double(const std::function<double()>&)> watched, plain;
};

void judge(const Case& c, const Way& way, int rounds) {
  const std::function<double()> once = [&] { return time_of(c.work, c.warm, c.calls); };
  std::vector<double> ratios, noise, extra;
  for (int k = 0; k < rounds; ++k) {
    const double off = way.plain(once), on = way.watched(once), again = way.plain(once);
    const double plain = (off + again) / 2;
    ratios.push_back(on / plain);
    noise.push_back(again / off);
    extra.push_back((on - plain) / c.ops);
  }
  const Spread r = spread(ratios), n = spread(noise), e = spread(extra);
  std::printf("%-8s %-42s on/off %.3f [%.3f, %.3f]  off/off %.3f [%.3f, %.3f]", way.name, c.name, r.middle, r.low,
              r.high, n.middle, n.low, n.high);
  if (c.ops > 1) std::printf("  %.0f ns per op [%.0f, %.0f]", e.middle, e.low, e.high);
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 24;
  const std::string file = argc > 2 ? argv[2] : "bench.wpr";
  const auto plainly = [](const std::function<double()>& f) { return f(); };
  const Way ways[] = {
      {"recorder",
       [&](const std::function<double()>& f) {
         const auto recorder = wp::record(file);
         return f();
       },
       plainly},
      {"window",
       [](const std::function<double()>& f) {
         const wp::Trace trace;
         return f();
       },
       plainly},
      {"checks", plainly,  // at escape, the default
       [](const std::function<double()>& f) {
         const wp::checks off("off");
         return f();
       }},
  };
  const Case cases[] = {
      {"chain of 1000 ops on 16 elements", *tape_work("chain", wp::f32, {16}), 2, 20, 1000},
      {"training step, batch 64, 32-64-64-10", *tape_work("tape.mlp", wp::f32, {64}), 20, 500, 1},
      {"training step, batch 1024, 256-512-512-10", *tape_work("tape.mlp", wp::f32, {1024, 256, 512}), 2, 10, 1},
  };
  std::vector<double> opening;
  for (int k = 0; k < rounds; ++k) {
    const double start = now();
    const auto recorder = wp::record(file);
    opening.push_back((now() - start) / 1e6);
  }
  const Spread o = spread(opening);
  std::printf("recorder opening a recording: %.2f ms [%.2f, %.2f]\n", o.middle, o.low, o.high);
  for (const Way& way : ways)
    for (const Case& c : cases) judge(c, way, rounds);
}
