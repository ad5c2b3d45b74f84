// wp_record_worker FILE MODE: records itself and ends as MODE says, for tests that read what is left.
//   train, train on four threads: trains until it is killed; says "ready" after the first steps
//   clean, throw, terminate, segv, abort, fpe, ill, bus, overflow, malloc, lender, fork, nan, growth, beyond,
//   hungry
//   segv on a second thread, overflow on a second thread
//   segv:siginfo, segv:plain, sent fpe:ignored: with a handler of the program's own, installed before the recording
//   cut: its own recording is cut meanwhile; exec: becomes another program, which says "ready"
//   segv twice:jumps: the handler jumps out of the first one; the second end is abort()
#include <fcntl.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "wellposed/wellposed.hpp"

namespace {

using wp::Tensor;

struct Model {
  Tensor x = wp::random::normal({16, 8}, 1, 0), y = wp::random::normal({16, 1}, 1, 1000);
  std::vector<Tensor> p = {wp::random::normal({8, 12}, 1, 2000) * 0.3, wp::random::normal({12, 1}, 1, 3000) * 0.3};
  void step(std::int64_t n) {
    const wp::scope train("train");
    wp::set_step(n);
    wp::set_rows(16 * n, 16);
    wp::GradientTape tape;
    tape.watch(p);
    Tensor h;
    {
      const wp::scope layer("hidden");
      h = wp::tanh(wp::matmul(x, p[0]));
    }
    const Tensor error = wp::matmul(h, p[1]) - y;
    const std::vector<Tensor> g = tape.gradient(wp::mean(error * error), p);
    for (std::size_t i = 0; i < p.size(); ++i) p[i] = p[i] - 0.05 * g[i];
  }
  void steps(std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) step(i);
  }
};

// An op whose forward does what is asked, so that a call is in flight when it happens.
void inside_op(void (*f)()) {
  const wp::scope here("doomed");
  const auto op = wp::custom_op({.name = "doomed_op", .forward = [f](const std::vector<Tensor>& x) {
                                   f();
                                   return x;
                                 }});
  (void)op({Tensor{{1.5, -2.0, 3.0}}});
}

// A page of a file that was cut meanwhile.
void read_cut_file() {
  const int fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);
  if (fd < 0 || ftruncate(fd, 4096) != 0) return;
  auto* const page = static_cast<volatile char*>(mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0));
  if (ftruncate(fd, 0) != 0) return;
  (void)page[100];
}

volatile int zero = 0;
int* volatile nowhere = nullptr;
[[gnu::noinline]] int recurse(int depth) {
  volatile char room[512];
  room[0] = static_cast<char>(depth);
  return depth < 0 ? 0 : recurse(depth + 1) + room[0];
}
// Everything behind a block up to the end of the heap: the next large request finds the rest's size wrong, inside
// malloc.
void corrupt_heap() {
  volatile char* at = static_cast<char*>(std::malloc(5000)) + 5000;
  volatile char* const end = static_cast<char*>(sbrk(0));  // behind it: malloc may have moved the end
  for (; at < end; ++at) *at = static_cast<char>(0xFF);
  for (int i = 0; i < 1000; ++i) {
    void* volatile more = std::malloc(100000);
    (void)more;
  }
}

// What the program does about signals: it writes a word and leaves with a code of its own.
void leave(const char* word, int code) {
  (void)!write(1, word, std::strlen(word));
  _exit(code);
}
sigjmp_buf back;
void install(const std::string& handler) {
  struct sigaction own {};
  if (handler == "siginfo") {
    own.sa_flags = SA_SIGINFO;
    own.sa_sigaction = [](int, siginfo_t* info, void*) { leave(info->si_addr ? "elsewhere" : "siginfo", 41); };
    sigaction(SIGSEGV, &own, nullptr);
  }
  if (handler == "plain") {
    own.sa_handler = [](int signal) { leave(signal == SIGSEGV ? "plain" : "another", 42); };
    sigaction(SIGSEGV, &own, nullptr);
  }
  if (handler == "jumps") {
    own.sa_flags = SA_NODEFER;
    own.sa_handler = [](int) { siglongjmp(back, 1); };
    sigaction(SIGSEGV, &own, nullptr);
  }
  if (handler == "ignored") {
    own.sa_handler = SIG_IGN;
    sigaction(SIGFPE, &own, nullptr);
  }
}

int run(const std::string& mode) {
  Model model;
  model.steps(5);
  if (mode == "segv") inside_op([] { *nowhere = 1; });
  if (mode == "abort") inside_op([] { std::abort(); });
  if (mode == "fpe") inside_op([] { zero = 7 / zero; });
  if (mode == "sent fpe") inside_op([] { std::raise(SIGFPE); });
  if (mode == "bus") inside_op(read_cut_file);
  if (mode == "segv on a second thread") std::thread([] { inside_op([] { *nowhere = 1; }); }).join();
  if (mode == "overflow on a second thread") std::thread([] { inside_op([] { zero = recurse(0); }); }).join();
  if (mode == "segv twice") {
    if (sigsetjmp(back, 1) == 0) *nowhere = 1;
    (void)!write(1, "jumped", 6);
    inside_op([] { std::abort(); });
  }
  if (mode == "ill") inside_op([] { __builtin_trap(); });
  if (mode == "overflow") inside_op([] { zero = recurse(0); });
  if (mode == "malloc") inside_op(corrupt_heap);
  if (mode == "terminate") wp::reshape(Tensor{{1.0, 2.0}}, {3});
  if (mode.starts_with("lender")) {  // the owner takes all of its memory back, or only what nobody samples
    const std::size_t bytes = 4096 * sizeof(double), page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    auto* const memory =
        static_cast<char*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    const Tensor lent = Tensor::borrow(memory, wp::f64, {4096});
    if (mode == "lender")
      munmap(memory, bytes);
    else
      munmap(memory + page / 2 / page * page + page, page);
    (void)wp::sum(lent);
  }
  if (mode == "beyond") {
    try {
      (void)wp::zeros({100 << 20});
    } catch (const wp::OutOfMemory& e) {
      std::puts(e.what());
    }
  }
  if (mode == "hungry") {  // of a memory that tensors know nothing of
    const wp::scope here("cache");
    std::vector<Tensor> kept;
    for (int i = 0; i < 100; ++i) kept.push_back(wp::ones({256, 256}));
    for (;;) std::memset(std::malloc(1 << 20), 1, 1 << 20);
  }
  if (mode == "nan") {
    const wp::allow_nonfinite meant;
    const Tensor bad = wp::log(Tensor{{-1.0, 1.0}});
    wp::set_step(6);
    (void)(bad + 1.0);
    std::raise(SIGKILL);
  }
  if (mode == "growth") {
    Tensor w{{1.0, 2.0}};
    const wp::scope here("growing");
    for (std::int64_t n = 0; n < 20; ++n) {
      wp::set_step(n);
      w = w * 3.0;
    }
    std::raise(SIGKILL);
  }
  if (mode == "cut") {
    if (truncate(wp::recording().c_str(), 0) != 0) return 1;
    model.steps(5);
    Model again;
    again.steps(5);
    again.steps(5);
    (void)!write(1, model.p[0].to_vector<double>() == again.p[0].to_vector<double>() ? "the same" : "another", 8);
  }
  if (mode == "exec") {
    execlp("sh", "sh", "-c", "echo ready; exec sleep 60", nullptr);
  }
  if (mode == "throw") {
    try {
      (void)wp::linalg::inv(Tensor{{1.0, 1.0}, {1.0, 1.0}});
    } catch (const wp::Error&) {
    }
  }
  if (mode == "fork") {
    const pid_t child = fork();
    Model own;
    own.steps(child == 0 ? 7 : 3);
    if (child == 0) std::raise(SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
  }
  if (mode == "train on four threads") {
    std::vector<std::thread> threads;
    std::atomic<int> ready{0};
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([t, &ready] {
        const wp::scope here("thread" + std::to_string(t));
        Model own;
        own.steps(20);
        if (++ready == 4) {
          std::puts("ready");
          std::fflush(stdout);
        }
        for (std::int64_t n = 20;; ++n) own.step(n);
      });
    for (std::thread& t : threads) t.join();
  }
  if (mode == "train") {
    std::puts("ready");
    std::fflush(stdout);
    for (std::int64_t n = 5;; ++n) model.step(n);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 3) return 2;
  const std::string file = argv[1];
  std::string mode = argv[2];
  if (const std::size_t at = mode.find(':'); at != std::string::npos) {
    install(mode.substr(at + 1));
    mode.resize(at);
  }
  if (file == "-") return run(mode);  // WELLPOSED_RECORD says where
  const auto recorder = wp::record(file, {.records = 1024});
  if (mode == "terminate") [&]() noexcept { run(mode); }();
  return run(mode);
} catch (const wp::Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 3;
}
