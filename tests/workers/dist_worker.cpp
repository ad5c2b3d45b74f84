// Ranks that go wrong on purpose: dist_worker die | mismatch | throw | leave | hang. The last rank is the one.
#include <chrono>
#include <csignal>
#include <iostream>
#include <thread>

#include "wellposed/dist.hpp"
#include "wellposed/wellposed.hpp"

using namespace wp;

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
    solve(40);
    if (mode == "die" && last) std::raise(SIGKILL);
    if (mode == "throw" && last) throw std::runtime_error("the data of this rank are bad");
    if (mode == "leave" && last) return 0;
    if (mode == "hang" && last) {
      std::cerr << "hanging" << std::endl;
      std::this_thread::sleep_for(std::chrono::seconds(60));
    }
    solve(mode == "mismatch" && last ? 41 : 40);
    std::cout << "rank " << dist::rank() << " is done" << std::endl;
    return 0;
  });
}
