// Two runs that die in the middle of training, one of SIGSEGV, one of kill -9: what their recordings say.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <iostream>

#include "wellposed/wellposed.hpp"

// Trains on 64 rows per step; in step 7 something happens to the process. Tensors above 4 KiB are counted by scope.
void train(const wp::Tensor& data, const std::function<wp::Tensor(const wp::Tensor&, int step)>& augment) {
  const auto recorder = wp::record("run.wpr");
  const wp::Tensor rows = wp::with_rows(data, "data");
  wp::Tensor w = wp::named(wp::full({32, 64}, 0.1, {.dtype = wp::f32}), "w");
  const wp::scope training("train");
  for (int step = 0; step < 8; ++step) {
    wp::set_step(step);
    const wp::Tensor x = augment(rows[{wp::slice(64 * step, 64 * step + 64)}], step);
    wp::GradientTape tape;
    tape.watch(w);
    const wp::scope layer("layer1");
    const wp::Tensor loss = wp::mean(wp::square(wp::tanh(wp::matmul(x, w))));
    w = w - tape.gradient(loss, w) * 0.1F;
  }
}

void report(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  std::cout << wp::postmortem("run.wpr").text(2) << '\n';
}

int main() {
  const std::size_t bytes = 512 * 32 * sizeof(float);
  void* const shared = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const wp::Tensor data = wp::Tensor::borrow(shared, wp::f32, {512, 32});

  // The owner of the data takes it away while the model still reads it.
  if (const pid_t child = fork(); child == 0)
    train(data, [&](const wp::Tensor& x, int step) {
      if (step == 7) munmap(shared, bytes);
      return x;
    });
  else
    report(child);

  // An op of the user's own hangs, and somebody loses patience.
  int stuck[2];
  if (pipe(stuck) != 0) return 1;
  const auto hang = wp::custom_op({.name = "augment", .forward = [&](const std::vector<wp::Tensor>& x) {
                                     if (write(stuck[1], "!", 1) == 1) pause();
                                     return x;
                                   }});
  if (const pid_t child = fork(); child == 0) {
    train(data, [&](const wp::Tensor& x, int step) { return step == 7 ? hang({x})[0] : x; });
  } else {
    char c = 0;
    if (read(stuck[0], &c, 1) == 1) kill(child, SIGKILL);
    report(child);
  }
}
