// What recording costs: the same work with and without a recorder, alternating in one process, in processor time of
// its thread. Medians of paired ratios with their quartiles, beside pairs that both run without (the noise).
//   wp_bench_trace [ROUNDS] [FILE]      WELLPOSED_THREADS=1
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
double time_of(const Work& work, int calls) {
  work();  // what was cold is warm
  const double start = now();
  for (int i = 0; i < calls; ++i) work();
  return (now() - start) / calls;
}

struct Spread {
  double low, middle, high;
};
Spread spread(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return {v[v.size() / 4], v[v.size() / 2], v[3 * v.size() / 4]};
}

void judge(const char* name, const Work& work, int calls, double ops, int rounds, const std::string& file) {
  std::vector<double> ratios, noise, extra;
  for (int k = 0; k < rounds; ++k) {
    const double off = time_of(work, calls), again = time_of(work, calls);
    double on = 0;
    {
      const auto recorder = wp::record(file);
      on = time_of(work, calls);
    }
    ratios.push_back(on / std::min(off, again));
    noise.push_back(again / off);
    extra.push_back((on - std::min(off, again)) / ops);
  }
  const Spread r = spread(ratios), n = spread(noise), e = spread(extra);
  std::printf("%-44s  on/off %.3f [%.3f, %.3f]  off/off %.3f [%.3f, %.3f]", name, r.middle, r.low, r.high, n.middle,
              n.low, n.high);
  if (ops > 1) std::printf("  %.0f ns per op [%.0f, %.0f]", e.middle, e.low, e.high);
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 24;
  const std::string file = argc > 2 ? argv[2] : "bench.wpr";
  judge("chain of 1000 ops on 16 elements", *tape_work("chain", wp::f32, {16}), 20, 1000, rounds, file);
  judge("training step, batch 64, 32-64-64-10", *tape_work("tape.mlp", wp::f32, {64}), 50, 1, rounds, file);
  judge("training step, batch 1024, 256-512-512-10", *tape_work("tape.mlp", wp::f32, {1024, 256, 512}), 2, 1, rounds,
        file);
}
