// wp_bench_dist CASE DTYPE N ROUNDS [steady]: one case of the distributed part and the bare ScaLAPACK calls that it
// rests on, alternating in one run; every rank takes part, rank 0 prints one line of JSON. Started by mpirun
// (benchmarks/dist/run).
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "dist/matrix.hpp"
#include "dist/scalapack.hpp"
#include "dist/team.hpp"
#include "linalg/stack.hpp"
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
  bool definite = false;   // A is symmetric positive definite
  std::int64_t sides = 0;  // right-hand sides; 0: one, as a vector
};

template <class T>
const std::map<std::string, Case>& cases() {
  namespace sl = dist::scalapack;
  const auto l = [](const Matrix& m) { return dist::local<T>(m); };
  const auto solve = [](const Matrix& a, const Matrix& b) { dist::solve(a, b); };
  const auto bare_solve = [=](const Matrix& a, const Matrix& b) {
    Matrix f = dist::copy_of(a), x = dist::copy_of(b);
    std::vector<int> pivots;
    sl::getrf<T>(l(f), pivots);
    sl::getrs<T>(false, l(f), pivots, l(x));
  };
  const auto bare_inv = [=](const Matrix& a, const Matrix&) {
    Matrix f = dist::copy_of(a);
    std::vector<int> pivots;
    sl::getrf<T>(l(f), pivots);
    sl::getri<T>(l(f), pivots);
  };
  const auto bare_lstsq = [=](const Matrix& a, const Matrix& b) {
    Matrix f = dist::copy_of(a), x = dist::copy_of(b);
    std::vector<T> tau;
    sl::geqrf<T>(l(f), tau);
    sl::apply_q<T>(true, a.columns(), l(f), tau, l(x));
    sl::trtrs<T>(true, false, false, l(f), l(x), a.columns());
  };
  static const std::map<std::string, Case> all{
      {"solve", {solve, bare_solve}},
      {"solve64", {solve, bare_solve, false, 64}},
      {"diagnosed_solve", {[](const Matrix& a, const Matrix& b) { dist::diagnosed::solve(a, b); }, bare_solve}},
      {"inv", {[](const Matrix& a, const Matrix&) { dist::inv(a); }, bare_inv}},
      {"diagnosed_inv", {[](const Matrix& a, const Matrix&) { dist::diagnosed::inv(a); }, bare_inv}},
      {"lu",
       {[](const Matrix& a, const Matrix&) { dist::lu(a); },
        [=](const Matrix& a, const Matrix&) {
          Matrix f = dist::copy_of(a);
          std::vector<int> pivots;
          sl::getrf<T>(l(f), pivots);
        }}},
      {"cholesky",
       {[](const Matrix& a, const Matrix&) { dist::cholesky(a); },
        [=](const Matrix& a, const Matrix&) {
          Matrix f = dist::copy_of(a);
          sl::potrf<T>(l(f));
        },
        true}},
      {"qr",
       {[](const Matrix& a, const Matrix&) { dist::qr(a); },
        [=](const Matrix& a, const Matrix&) {
          Matrix f = dist::copy_of(a);
          std::vector<T> tau;
          sl::geqrf<T>(l(f), tau);
          sl::make_q<T>(a.columns(), l(f), tau);
        }}},
      {"lstsq", {[](const Matrix& a, const Matrix& b) { dist::lstsq(a, b); }, bare_lstsq}},
      {"diagnosed_lstsq", {[](const Matrix& a, const Matrix& b) { dist::diagnosed::lstsq(a, b); }, bare_lstsq}},
      {"svd",
       {[](const Matrix& a, const Matrix&) { dist::svd(a); },
        [=](const Matrix& a, const Matrix&) {
          Matrix f = dist::copy_of(a), u = dist::make_like(a), vh = dist::make_like(a);
          std::vector<sl::Real<T>> s;
          dist::Local<T> lu = l(u), lv = l(vh);
          sl::gesvd<T>(l(f), s, &lu, &lv);
        }}},
      {"pinv",
       {[](const Matrix& a, const Matrix&) { dist::pinv(a); },
        [=](const Matrix& a, const Matrix&) {
          Matrix f = dist::copy_of(a), u = dist::make_like(a), vh = dist::make_like(a);
          std::vector<sl::Real<T>> s;
          dist::Local<T> lu = l(u), lv = l(vh);
          sl::gesvd<T>(l(f), s, &lu, &lv);
          sl::gemm<T>(true, true, 1, lv, lu, 0, l(f));
        }}},
      {"eigh",
       {[](const Matrix& a, const Matrix&) { dist::eigh(a); },
        [=](const Matrix& a, const Matrix&) {
          Matrix f = dist::copy_of(a), z = dist::make_like(a);
          std::vector<sl::Real<T>> w;
          dist::Local<T> lz = l(z);
          sl::eigh<T>(l(f), w, lz);
        },
        true}},
      {"matmul",
       {[](const Matrix& a, const Matrix&) { dist::matmul(a, a); },
        [=](const Matrix& a, const Matrix&) {
          Matrix c = dist::make_like(a);
          sl::gemm<T>(false, false, 1, l(a), l(a), 0, l(c));
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

// noise: at some n ill-conditioned, where an inverse is refined. steady: with a permutation beside it that is twice
// as large as its norm, so that all n go the same way. definite: symmetric.
enum class Kind : std::uint8_t { noise, steady, definite };
Matrix matrix_of(std::int64_t n, DType dtype, Kind kind) {
  const double above = 4 * std::sqrt(static_cast<double>(n) / 3);
  std::vector<std::int64_t> column(static_cast<std::size_t>(n));  // by chance: pivots are on all ranks
  std::iota(column.begin(), column.end(), 0);
  std::sort(column.begin(), column.end(), [&](auto i, auto j) { return noise(i, n) < noise(j, n); });
  return Matrix::generate(n, n, dtype, [=](std::int64_t i, std::int64_t j) {
    if (kind == Kind::definite)
      return complex128(noise(std::min(i, j), std::max(i, j)) + (i == j ? 2.0 * static_cast<double>(n) : 0.0));
    return complex128(noise(i, j) + (kind == Kind::steady && column[static_cast<std::size_t>(i)] == j ? above : 0.0));
  });
}

template <class T>
void run(const std::string& name, std::int64_t n, int rounds, bool steady) {
  const Case& c = cases<T>().at(name);
  const Kind kind = c.definite ? Kind::definite : steady ? Kind::steady : Kind::noise;
  const auto sides_of = [&](std::int64_t rows) {
    if (c.sides)
      return Matrix::generate(rows, c.sides, dtype_v<T>,
                              [](std::int64_t i, std::int64_t j) { return complex128(noise(i, -1 - j)); });
    return Matrix::from(ones({rows}, {.dtype = dtype_v<T>}));
  };
  {  // buffers of MPI and code that is loaded on first use are not the matrix's
    const Matrix small = matrix_of(128, dtype_v<T>, kind);
    c.ours(small, sides_of(128));
  }
  const double before = peak();
  const Matrix a = matrix_of(n, dtype_v<T>, kind);
  const Matrix b = sides_of(n);
  const dist::Traffic sent = dist::traffic();
  c.ours(a, b);
  const dist::Traffic after = dist::traffic();
  const double grown = peak() - before;
  std::vector<double> ours, bare, ratios, same;
  if (rounds > 0) c.bare(a, b);
  for (int r = 0; r < rounds; ++r) {
    const double first = seconds([&] { c.bare(a, b); }), mine = seconds([&] { c.ours(a, b); }),
                 second = seconds([&] { c.bare(a, b); });
    ours.push_back(mine);
    bare.push_back((first + second) / 2);
    ratios.push_back(2 * mine / (first + second));
    same.push_back(second / first);
  }
  const double share = static_cast<double>(sizeof(T)) * static_cast<double>(a.local_rows() * a.local_columns());
  const double worst = dist::reduced(grown / share, MPI_MAX);
  std::int64_t counts[2] = {after.messages - sent.messages, after.bytes - sent.bytes};
  dist::all_reduce(counts, 2, MPI_MAX);
  nlohmann::ordered_json out = {{"case", name},
                                {"dtype", wp::name(dtype_v<T>)},
                                {"n", n},
                                {"ranks", dist::size()},
                                {"grid", {a.layout().grid.rows(), a.layout().grid.columns()}},
                                {"block", a.layout().block},
                                {"memory", worst},
                                {"messages", counts[0]},
                                {"bytes", counts[1]},
                                {"flops", after.flops - sent.flops}};
  if (rounds > 0)
    out.update({{"ours", median(ours)},
                {"least", *std::min_element(ours.begin(), ours.end())},
                {"bare", median(bare)},
                {"ratio", median(ratios)},
                {"same", median(same)}});
  if (dist::rank() == 0) std::cout << out.dump() << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  return dist::run([&] {
    if (argc < 5) raise<ArgumentError>("WP-ARG-002", "wp_bench_dist", "CASE DTYPE N ROUNDS [steady] are needed.");
    const std::string name = argv[1], dtype = argv[2];
    const bool steady = argc > 5 && argv[5] == std::string("steady");
    dist::meet("begin");
    linalg::with_float(dtype == "f32"    ? f32
                       : dtype == "c64"  ? c64
                       : dtype == "c128" ? c128
                                         : f64,
                       [&]<class T>(T) { run<T>(name, std::stoll(argv[3]), std::stoi(argv[4]), steady); });
    return 0;
  });
}
