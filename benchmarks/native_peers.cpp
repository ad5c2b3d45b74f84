// What C++ programs do with stacks of small matrices: Eigen, and LAPACK, matrix by matrix. The protocol of
// worker.cpp: op dtype shape checks milliseconds → nanoseconds per call.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "native_eigen.hpp"

extern "C" {
#define WP_LAPACK(t, T)                                                                                          \
  void t##getrf_(const int*, const int*, T*, const int*, int*, int*);                                            \
  void t##getri_(const int*, T*, const int*, const int*, T*, const int*, int*);                                  \
  void t##gesv_(const int*, const int*, T*, const int*, int*, T*, const int*, int*);                             \
  void t##potrf_(const char*, const int*, T*, const int*, int*);                                                 \
  void t##gels_(const char*, const int*, const int*, const int*, T*, const int*, T*, const int*, T*, const int*, \
                int*);                                                                                           \
  void t##geqrf_(const int*, const int*, T*, const int*, T*, T*, const int*, int*);                              \
  void t##orgqr_(const int*, const int*, const int*, T*, const int*, const T*, T*, const int*, int*);            \
  void t##gesdd_(const char*, const int*, const int*, T*, const int*, T*, T*, const int*, T*, const int*, T*,    \
                 const int*, int*, int*);                                                                        \
  void t##syevd_(const char*, const char*, const int*, T*, const int*, T*, T*, const int*, int*, const int*, int*);
WP_LAPACK(s, float)
WP_LAPACK(d, double)
#undef WP_LAPACK
}

namespace {

// The routine of LAPACK for T.
// clang-format off
#define WP_PICK(name)                                          \
  template <class T>                                           \
  constexpr auto name() {                                      \
    if constexpr (std::is_same_v<T, float>) return s##name##_; \
    else return d##name##_;                                    \
  }
WP_PICK(gels) WP_PICK(getrf) WP_PICK(getri) WP_PICK(gesv) WP_PICK(potrf) WP_PICK(geqrf) WP_PICK(orgqr) WP_PICK(gesdd) WP_PICK(syevd)
// clang-format on
#undef WP_PICK

    template <class T>
    Run lapack(const std::string& op, Stack<T>& s) {
  const int n = s.n, one = 1, length = 64 * n + 8 * n * n + 64;
  return [=, &s](std::int64_t begin, std::int64_t end) {
    std::vector<int> pivots(static_cast<std::size_t>(8 * n + 64));
    std::vector<T> work(static_cast<std::size_t>(length)), tau(static_cast<std::size_t>(n)),
        copy(static_cast<std::size_t>(n * n));
    int info = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      T *const x = s.x.data() + i * n * n, *const y = s.y.data() + i * n * n, *const w = s.values.data() + i * n;
      std::copy_n(s.a.data() + i * n * n, n * n, x);
      const int ints = static_cast<int>(pivots.size());
      if (op == "inv") {
        getrf<T>()(&n, &n, x, &n, pivots.data(), &info);
        getri<T>()(&n, x, &n, pivots.data(), work.data(), &length, &info);
      } else if (op == "solve") {
        std::copy_n(s.b.data() + i * n, n, w);
        gesv<T>()(&n, &one, x, &n, pivots.data(), w, &n, &info);
      } else if (op == "lstsq") {
        std::copy_n(s.b.data() + i * n, n, w);
        gels<T>()("T", &n, &n, &one, x, &n, w, &n, work.data(), &length, &info);
      } else if (op == "lu") {
        getrf<T>()(&n, &n, x, &n, pivots.data(), &info);
      } else if (op == "pinv") {  // V Σ⁻¹ Uᵀ
        std::copy_n(x, n * n, copy.data());
        gesdd<T>()("A", &n, &n, copy.data(), &n, w, x, &n, y, &n, work.data(), &length, pivots.data(), &info);
        using Matrix = Eigen::Map<Eigen::Matrix<T, -1, -1>>;
        const Matrix left(x, n, n), right(y, n, n);
        const Eigen::Map<const Eigen::Matrix<T, -1, 1>> sigma(w, n);
        Matrix(copy.data(), n, n) = left * sigma.cwiseInverse().asDiagonal() * right;
        std::copy_n(copy.data(), n * n, x);
      } else if (op == "det") {
        getrf<T>()(&n, &n, x, &n, pivots.data(), &info);
        w[0] = 1;
        for (int k = 0; k < n; ++k)
          w[0] *= pivots[static_cast<std::size_t>(k)] == k + 1 ? x[k * n + k] : -x[k * n + k];
      } else if (op == "cholesky") {
        potrf<T>()("U", &n, x, &n, &info);
      } else if (op == "qr") {
        geqrf<T>()(&n, &n, x, &n, tau.data(), work.data(), &length, &info);
        std::copy_n(x, n * n, y);
        orgqr<T>()(&n, &n, &n, x, &n, tau.data(), work.data(), &length, &info);
      } else if (op == "svd" || op == "svdvals") {
        std::copy_n(x, n * n, copy.data());
        gesdd<T>()(op == "svd" ? "A" : "N", &n, &n, copy.data(), &n, w, x, &n, y, &n, work.data(), &length,
                   pivots.data(), &info);
      } else {
        syevd<T>()(op == "eigh" ? "V" : "N", "L", &n, x, &n, w, work.data(), &length, pivots.data(), &ints, &info);
      }
    }
  };
}

template <class T>
Run eigen_of(const std::string& op, Stack<T>& s) {
  switch (s.n) {
    case 2: return eigen<T, 2>(op, s);
    case 3: return eigen<T, 3>(op, s);
    case 4: return eigen<T, 4>(op, s);
    case 8: return eigen<T, 8>(op, s);
    case 16: return eigen<T, 16>(op, s);
    case 32: return eigen<T, 32>(op, s);
    default: return {};
  }
}

template <class T>
struct Case {
  Stack<T> stack;
  Run run;
  Case(const std::string& peer, const std::string& op, std::int64_t count, int n) {
    stack = {n, count, {}, {}, {}, {}, {}};
    std::mt19937 g(1);
    std::uniform_real_distribution<T> uniform(T(0.1), T(1));
    stack.a.resize(static_cast<std::size_t>(count * n * n));
    stack.b.resize(static_cast<std::size_t>(count * n));
    for (T& v : stack.a) v = uniform(g);
    for (T& v : stack.b) v = uniform(g);
    stack.x = stack.y = stack.a;
    stack.values = stack.b;
    if (op == "cholesky" || op == "eigh" || op == "eigvalsh")
      for (std::int64_t i = 0; i < count; ++i) {
        Eigen::Map<Eigen::Matrix<T, -1, -1>> a(stack.a.data() + i * n * n, n, n);
        a = ((a + a.transpose()) / 2).eval();
        a.diagonal().array() += static_cast<T>(n);
      }
    run = peer == "eigen" ? eigen_of<T>(op, stack) : lapack<T>(op, stack);
  }
};

}  // namespace

int main(int, char** argv) {
  const std::string peer = argv[1];
  const int threads = std::max(1, std::atoi(std::getenv("OMP_NUM_THREADS") ? std::getenv("OMP_NUM_THREADS") : "1"));
  std::cout << (peer == "eigen"
                    ? "Eigen " + std::to_string(EIGEN_WORLD_VERSION) + "." + std::to_string(EIGEN_MAJOR_VERSION)
                    : std::string("LAPACK of OpenBLAS"))
            << std::endl;
  std::string key;
  std::function<void()> call;
  std::shared_ptr<void> held;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream in(line);
    std::string op, dtype, shape, checks;
    double milliseconds = 0;
    in >> op >> dtype >> shape >> checks >> milliseconds;
    if (key != op + dtype + shape) {
      key = op + dtype + shape;
      std::int64_t count = 0;
      int n = 0;
      std::sscanf(shape.c_str(), "%ldx%dx%*d", &count, &n);
      const std::string name = op.substr(op.find('.') + 1);
      const auto prepare = [&]<class T>(T) {
        auto c = std::make_shared<Case<T>>(peer, name, count, n);
        held = c;
        call = [c = c.get(), threads, count] {
          std::vector<std::thread> others;
          for (int t = 1; t < threads; ++t)
            others.emplace_back([=] { c->run(count * t / threads, count * (t + 1) / threads); });
          c->run(0, count / threads);
          for (std::thread& t : others) t.join();
        };
        return static_cast<bool>(c->run);
      };
      if (!(dtype == "f32" ? prepare(float{}) : prepare(double{}))) call = nullptr;
    }
    if (!call) {
      std::cout << "missing" << std::endl;
      continue;
    }
    std::vector<double> times;
    double total = 0;
    while (total < milliseconds * 1e6) {
      const auto start = std::chrono::steady_clock::now();
      call();
      times.push_back(std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count());
      total += times.back();
    }
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
    std::cout << times[times.size() / 2] << std::endl;
  }
}
