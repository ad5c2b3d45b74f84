// Ranks that go wrong on purpose, the last of them: dist_worker die | mismatch | throw | leave | hang | oom |
// load-dtype FILE, all of them: throw-empty | throw-number, or, while the others wait inside p?getrf, hang-inside |
// oom-inside | throw-inside; die-within: in the midst of a long p?getrf.
#include <sys/resource.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <iostream>
#include <thread>

#include "base/text.hpp"
#include "dist/scalapack.hpp"
#include "wellposed/dist.hpp"
#include "wellposed/wellposed.hpp"

using namespace wp;

namespace {

void hang() {
  std::cerr << "hanging" << std::endl;
  std::this_thread::sleep_for(std::chrono::seconds(60));
}

// 64 MiB more than it has, and no more.
void limit_memory() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t most = pages * 4096 + (64U << 20);
  const rlimit limit{most, most};
  setrlimit(RLIMIT_AS, &limit);
}

// Reads a file and writes it; says by how much this rank's memory grew.
int copy(const char* from, const char* to) {
  const auto peak = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) * 1024;
  };
  const double before = peak();
  dist::Matrix::load(from).save(to);
  std::cout << say("rank ", dist::rank(), " ", peak() - before, "\n") << std::flush;
  return 0;
}

// All but the last rank enter p?getrf.
void inside(const std::string& mode, bool last) {
  const dist::Matrix a = dist::Matrix::generate(
      200, 200, f64, [](std::int64_t i, std::int64_t j) { return complex128(i == j ? 2 : 0); }, {{}, 8});
  if (last && mode == "hang-inside") hang();
  if (last && mode == "oom-inside") throw std::bad_alloc();
  if (last && mode == "throw-inside") throw std::runtime_error("the data of this rank are bad");
  std::vector<int> pivots;
  dist::scalapack::getrf<double>(dist::local<double>(a), pivots);
}

// All ranks factor for seconds; the last is killed soon after it has begun.
void within(bool last) {
  const dist::Matrix a = dist::Matrix::generate(4000, 4000, f64, [](std::int64_t i, std::int64_t j) {
    return complex128(i == j ? 2.0 : 1.0 / static_cast<double>(1 + i + j));
  });
  std::thread end([last] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    if (last) std::raise(SIGKILL);
  });
  std::vector<int> pivots;
  dist::scalapack::getrf<double>(dist::local<double>(a), pivots);
  end.join();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  return dist::run([&] {
    const bool last = dist::rank() == dist::size() - 1;
    const auto solve = [](std::int64_t n) {
      const auto element = [](std::int64_t i, std::int64_t j) {
        return complex128(i == j ? 9.0 : static_cast<double>((i * 7 + j * 3) % 5));
      };
      const dist::Matrix a = dist::Matrix::generate(n, n, f64, element, {{}, 8});
      return dist::solve(a, dist::Matrix::from(ones({n}), {{}, 8}));
    };
    if (mode == "copy") return copy(argv[2], argv[3]);
    if (mode == "throw-empty") throw std::runtime_error("");
    if (mode == "throw-number") throw 7;
    solve(40);
    if (mode == "die" && last) std::raise(SIGKILL);
    if (mode == "throw" && last) throw std::runtime_error("the data of this rank are bad");
    if (mode == "leave" && last) return 0;
    if (mode == "hang" && last) hang();
    if (mode == "oom") {
      if (last) limit_memory();
      solve(6000);
    }
    if (mode == "load-dtype") dist::Matrix::load(argv[2], {.dtype = last ? f32 : f64});
    if (mode.ends_with("-inside")) inside(mode, last);
    if (mode == "die-within") within(last);
    solve(mode == "mismatch" && last ? 41 : 40);
    std::cout << "rank " << dist::rank() << " is done" << std::endl;
    return 0;
  });
}
