// What Trainer and logs cost: the hand-written training step of tape.cpp, the same model through Trainer, and Trainer
// with the whole model logged in every step, taking turns in one process. Processor time of the calling thread, and
// of the whole process (the thread that writes logs too). Medians of paired ratios with their quartiles.
//   wp_bench_training [ROUNDS] [FOLDER]      WELLPOSED_THREADS=1
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include "tape.hpp"
#include "wellposed/wellposed.hpp"

namespace {

using wp::Tensor;
namespace nn = wp::nn;

double now(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}
struct Times {
  double thread, process;
};
// `after` belongs to it: what other threads still have to do.
Times time_of(
    int calls, const std::function<void()>& work, const std::function<void()>& after = [] {}) {
  work();
  after();
  const Times start{now(CLOCK_THREAD_CPUTIME_ID), now(CLOCK_PROCESS_CPUTIME_ID)};
  for (int i = 0; i < calls; ++i) work();
  const double thread = now(CLOCK_THREAD_CPUTIME_ID) - start.thread;
  after();
  return {thread / calls, (now(CLOCK_PROCESS_CPUTIME_ID) - start.process) / calls};
}

struct Size {
  const char* name;
  std::int64_t batch, in, hidden;
  int calls;
};

// The model of tape.cpp.
struct Trained {
  nn::Model model{{.seed = 1}};
  nn::Optimizer optimizer = nn::sgd({.rate = 0.01});
  wp::Batch batch;
  nn::Trainer trainer;
  Trained(const Size& s, const nn::TrainerOptions& options)
      : trainer(
            model, optimizer,
            [hidden = s.hidden](nn::Pass& pass, const wp::Batch& b) {
              const Tensor h = nn::dense(pass, b["x"], hidden, {.name = "layer1", .activation = "relu"});
              const Tensor k = nn::dense(pass, h, hidden, {.name = "layer2", .activation = "relu"});
              return nn::softmax_cross_entropy(nn::dense(pass, k, 10, {.name = "layer3"}), b["y"]);
            },
            options) {
    batch.tensors = {{"x", wp::astype(wp::random::normal({s.batch, s.in}, 1, 0), wp::f32)},
                     {"y", wp::remainder(wp::arange(s.batch), 10)}};
    batch.rows.resize(static_cast<std::size_t>(s.batch));
  }
};

struct Spread {
  double low, middle, high;
};
Spread spread(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return {v[v.size() / 4], v[v.size() / 2], v[3 * v.size() / 4]};
}
void print(const char* what, const std::vector<double>& ratios) {
  const Spread s = spread(ratios);
  std::printf("  %-52s %+6.1f %% [%+.1f, %+.1f]\n", what, 100 * (s.middle - 1), 100 * (s.low - 1),
              100 * (s.high - 1));
}

void judge(const Size& s, int rounds, const std::string& folder) {
  const auto by_hand = *tape_work("tape.mlp", wp::f32, {s.batch, s.in, s.hidden});
  Trained plain(s, {}), scalars(s, {.summaries = folder}), logged(s, {.summaries = folder, .watch_every = 1});
  const auto step_of = [&](Trained& t) {
    return time_of(
        s.calls, [&] { t.trainer.step(t.batch); },
        [&] {
          if (t.trainer.summaries()) t.trainer.summaries()->flush();
        });
  };
  std::vector<double> noise, trainer, loss, caller, total, steps;
  for (int k = 0; k < rounds; ++k) {
    const Times hand = time_of(s.calls, by_hand), one = step_of(plain), all = step_of(logged),
                some = step_of(scalars), two = step_of(plain), again = time_of(s.calls, by_hand);
    const double plain_thread = (one.thread + two.thread) / 2, plain_process = (one.process + two.process) / 2;
    noise.push_back(again.thread / hand.thread);
    trainer.push_back(2 * plain_thread / (hand.thread + again.thread));
    loss.push_back(some.process / plain_process);
    caller.push_back(all.thread / plain_thread);
    total.push_back(all.process / plain_process);
    steps.push_back(hand.thread);
  }
  std::printf("%s: a step by hand takes %.3g ms\n", s.name, spread(steps).middle / 1e6);
  print("by hand against by hand", noise);
  print("Trainer against by hand", trainer);
  print("loss and rate logged in every step, all threads", loss);
  print("everything logged in every step, the caller's time", caller);
  print("everything logged in every step, all threads", total);
}

void judge_writer(const std::string& folder) {
  wp::SummaryWriter log(folder, {.most_bytes = std::size_t{1} << 30});
  const Tensor values = wp::random::normal({100000}, 1, 0);
  const auto one = [&](const char* what, int calls, const std::function<void(int)>& f) {
    const Times start{now(CLOCK_THREAD_CPUTIME_ID), now(CLOCK_PROCESS_CPUTIME_ID)};
    for (int i = 0; i < calls; ++i) f(i);
    const double caller = now(CLOCK_THREAD_CPUTIME_ID) - start.thread;
    log.flush();
    std::printf("%s: %.3g µs of the caller, %.3g µs in all\n", what, caller / calls / 1e3,
                (now(CLOCK_PROCESS_CPUTIME_ID) - start.process) / calls / 1e3);
  };
  one("a scalar", 200000, [&](int i) { log.scalar("loss", 1.0 / (i + 1), {.step = i}); });
  one("a histogram of 1e5 f64", 500, [&](int i) { log.histogram("w", values, {.step = i}); });
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 60;
  const std::string folder =
      argc > 2 ? argv[2] : (std::filesystem::temp_directory_path() / "wellposed-bench-training").string();
  judge_writer(folder + "/writer");
  for (const Size& s :
       {Size{"batch 64, 32-64-64-10", 64, 32, 64, 20}, Size{"batch 1024, 256-512-512-10", 1024, 256, 512, 1}})
    judge(s, rounds, folder + "/" + std::to_string(s.batch));
  std::filesystem::remove_all(folder);
}
