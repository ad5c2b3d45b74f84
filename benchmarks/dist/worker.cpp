// wp_bench_dist CASE N ROUNDS: one case of the distributed part and the bare ScaLAPACK calls that it rests on,
// alternating in one run; every rank takes part, rank 0 prints one line of JSON. Started by mpirun
// (benchmarks/dist/run).
#include <sys/resource.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "dist/matrix.hpp"
#include "dist/scalapack.hpp"
#include "dist/team.hpp"
#include "wellposed/dist.hpp"
#include "wellposed/wellposed.hpp"

namespace {

using namespace wp;
using dist::Matrix;

// A fixed number in [−1, 1) for every pair: SplitMix64.
double noise(std::int64_t i, std::int64_t j) {
  std::uint64_t z =
      static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15U + static_cast<std::uint64_t>(j) * 0xC2B2AE3D27D4EB4FU;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1;
}

struct Case {
  std::function<void(const Matrix&a, const Matrix&b)> ours, bare;
};

const std::map<std::string, Case>& cases() {
  namespace sl = dist::scalapack;
  const auto l = [](const Matrix& m) { return dist::local<double>(m); };
  static const std::map<std::string, Case> all{
      {"solve",
       {[](const Matrix& a, const Matrix& b) { dist::solve(a, b); },
        [=](const Matrix& a, const Matrix& b) {
          Matrix f = dist::copy_of(a), x = dist::copy_of(b);
          std::vector<int> pivots;
          sl::getrf<double>(l(f), pivots);
          sl::getrs<double>(false, l(f), pivots, l(x));
        }}},
      {"inv",
       {[](const Matrix& a, const Matrix&) { dist::inv(a); },
        [=](const Matrix& a, const Matrix&) {
          Matrix f = dist::copy_of(a);
          std::vector<int> pivots;
          sl::getrf<double>(l(f), pivots);
          sl::getri<double>(l(f), pivots);
        }}},
      {"lu",
       {[](const Matrix& a, const Matrix&) { dist::lu(a); },
        [=](const Matrix& a, const Matrix&) {
          Matrix f = dist::copy_of(a);
          std::vector<int> pivots;
          sl::getrf<double>(l(f), pivots);
        }}},
      {"qr",
       {[](const Matrix& a, const Matrix&) { dist::qr(a); },
        [=](const Matrix& a, const Matrix&) {
          Matrix f = dist::copy_of(a);
          std::vector<double> tau;
          sl::geqrf<double>(l(f), tau);
          sl::make_q<double>(a.columns(), l(f), tau);
        }}},
      {"matmul",
       {[](const Matrix& a, const Matrix&) { dist::matmul(a, a); },
        [=](const Matrix& a, const Matrix&) {
          Matrix c = dist::make_like(a);
          sl::gemm<double>(false, false, 1, l(a), l(a), 0, l(c));
        }}},
  };
  return all;
}

double seconds(const std::function<void()>& f) {
  MPI_Barrier(dist::world());
  const double began = MPI_Wtime();
  f();
  MPI_Barrier(dist::world());
  return MPI_Wtime() - began;
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v.size() % 2 ? v[v.size() / 2] : (v[v.size() / 2 - 1] + v[v.size() / 2]) / 2;
}

// Peak resident bytes of this process.
double peak() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

}  // namespace

int main(int argc, char** argv) {
  return dist::run([&] {
    if (argc < 4) raise<ArgumentError>("WP-ARG-002", "wp_bench_dist", "CASE N ROUNDS are needed.");
    const std::string name = argv[1];
    const std::int64_t n = std::stoll(argv[2]);
    const int rounds = std::stoi(argv[3]);
    const Case& c = cases().at(name);
    dist::meet("begin");
    const double before = peak();
    const Matrix a =
        Matrix::generate(n, n, f64, [](std::int64_t i, std::int64_t j) { return complex128(noise(i, j)); });
    const Matrix b = Matrix::from(ones({n}), a.layout());
    dist::Traffic sent = dist::traffic();
    c.ours(a, b);
    const dist::Traffic after = dist::traffic();
    const double grown = peak() - before;
    std::vector<double> ours, bare, ratios, same;
    c.bare(a, b);
    for (int r = 0; r < rounds; ++r) {
      const double first = seconds([&] { c.bare(a, b); }), mine = seconds([&] { c.ours(a, b); }),
                   second = seconds([&] { c.bare(a, b); });
      ours.push_back(mine);
      bare.push_back((first + second) / 2);
      ratios.push_back(2 * mine / (first + second));
      same.push_back(second / first);
    }
    double share = 8.0 * static_cast<double>(a.local_rows() * a.local_columns()), worst = grown / share;
    worst = dist::reduced(worst, MPI_MAX);
    nlohmann::ordered_json out = {{"case", name},
                                  {"n", n},
                                  {"ranks", dist::size()},
                                  {"grid", {a.layout().grid.rows(), a.layout().grid.columns()}},
                                  {"block", a.layout().block},
                                  {"ours", median(ours)},
                                  {"least", *std::min_element(ours.begin(), ours.end())},
                                  {"bare", median(bare)},
                                  {"ratio", median(ratios)},
                                  {"same", median(same)},
                                  {"memory", worst}};
    std::int64_t counts[2] = {after.messages - sent.messages, after.bytes - sent.bytes};
    dist::all_reduce(counts, 2, MPI_MAX);
    out["messages"] = counts[0];
    out["bytes"] = counts[1];
    out["flops"] = after.flops - sent.flops;
    if (dist::rank() == 0) std::cout << out.dump() << std::endl;
    return 0;
  });
}
