// What all LAPACK calls share: refusals, fallbacks, and many threads at once.
#include "kernels/lapack.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "kernels/blas.hpp"
#include "kernels/gate.hpp"
#include "kernels/lapack_call.hpp"
#include "matrices.hpp"

namespace {
using matrices::Kind;
using matrices::make;
using matrices::Matrix;
namespace lapack = wp::lapack;
using lapack::kNotFinite;
using lapack::kTooLarge;
using lapack::Real;
using lapack::Size;

template <class T>
class Lapack : public testing::Test {};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(Lapack, Types);

TYPED_TEST(Lapack, RefusesNonFiniteInputAnywhereBeforeLapackCanHangOnIt) {
  using T = TypeParam;
  const Size n = 6;
  for (const Real<T> bad : {std::numeric_limits<Real<T>>::quiet_NaN(), std::numeric_limits<Real<T>>::infinity(),
                            -std::numeric_limits<Real<T>>::infinity()})
    for (Size at = 0; at < n; ++at) {
      Matrix<T> a = make<T>(Kind::random, n, n), u(n, n), v(n, n);
      a(n - 1, at) = T(bad);
      std::vector<Real<T>> s(n);
      std::vector<lapack::Complex<T>> w(n);
      std::vector<Size> columns(n);
      std::vector<lapack::Pivot> pivots(n);
      T* const p = a.data.data();
      for (const auto method : {lapack::SvdMethod::divide, lapack::SvdMethod::qr, lapack::SvdMethod::jacobi})
        EXPECT_EQ(lapack::svd_by(method, lapack::Vectors::thin, n, n, p, a.ld, s.data(), u.data.data(), u.ld,
                                 v.data.data(), v.ld),
                  kNotFinite);
      EXPECT_EQ(lapack::svd(lapack::Vectors::full, n, n, p, a.ld, s.data(), u.data.data(), u.ld, v.data.data(), v.ld),
                kNotFinite);
      EXPECT_EQ(lapack::eigh<T>(lapack::Triangle::lower, n, p, a.ld, s.data(), u.data.data(), u.ld), kNotFinite);
      EXPECT_EQ(lapack::eigh_generalised<T>(true, lapack::Triangle::lower, n, u.data.data(), u.ld, p, a.ld, s.data()),
                kNotFinite);
      EXPECT_EQ(lapack::eig<T>(lapack::Balance::both, n, p, a.ld, w.data(), {}), kNotFinite);
      EXPECT_EQ(lapack::schur<T>(n, p, a.ld, w.data(), nullptr, 0), kNotFinite);
      EXPECT_EQ(lapack::qr_pivoted(n, n, p, a.ld, columns.data(), u.data.data()), kNotFinite);
      EXPECT_EQ(lapack::ldl(lapack::Form::hermitian, n, p, a.ld, pivots.data()), kNotFinite);
      EXPECT_EQ(lapack::lu_banded(n - 1, 0, 0, p + n - 1, a.ld, pivots.data()), at < n - 1 ? kNotFinite : 0);
      EXPECT_EQ(lapack::qr(n, n, p, a.ld, u.data.data()), 0);  // no pivots, no iteration: NaN passes through
    }
}

TYPED_TEST(Lapack, SizesBeyondTheIntegersOfFortranAreRefusedBeforeMemoryIsTouched) {
  using T = TypeParam;
  T a(0), b(0);
  Real<T> s(0);
  lapack::Complex<T> w(0);
  lapack::Pivot pivot = 0;
  const Size huge = Size{1} << 31;
  for (const Size n : {huge, huge << 10, std::numeric_limits<Size>::max()}) {
    EXPECT_EQ(lapack::svd(lapack::Vectors::none, n, 1, &a, n, &s, &b, 1, &b, 1), kTooLarge);
    EXPECT_EQ(lapack::eigh(lapack::Triangle::lower, n, &a, n, &s, &b, n), kTooLarge);
    EXPECT_EQ(lapack::eig<T>(lapack::Balance::both, n, &a, n, &w, {}), kTooLarge);
    EXPECT_EQ(lapack::schur(n, &a, n, &w, &b, n), kTooLarge);
    EXPECT_EQ(lapack::qr(n, 1, &a, n, &b), kTooLarge);
    EXPECT_EQ(lapack::householder_product(n, 1, 1, &a, n, &b), kTooLarge);
    EXPECT_EQ(lapack::ldl(lapack::Form::hermitian, n, &a, n, &pivot), kTooLarge);
    EXPECT_EQ(lapack::lu_banded(n, 0, 0, &a, 1, &pivot), kTooLarge);
    EXPECT_EQ(lapack::lu_tridiagonal(n, &a, &a, &a, &a, &pivot), kTooLarge);
  }
  // Sizes that fit, whose workspace (2n² and more) does not.
  EXPECT_EQ(lapack::eigh_generalised(true, lapack::Triangle::lower, 50000, &a, 50000, &b, 50000, &s), kTooLarge);
  EXPECT_EQ(lapack::eigh_by(lapack::EighMethod::divide, lapack::Triangle::lower, 50000, &a, 50000, &s, &b, 50000),
            kTooLarge);
}

TEST(LapackCall, TheNextMethodRunsOnlyWhenTheOneBeforeFailed) {
  int used = 9, ran = 0;
  const auto gives = [&](int info) {
    return [&ran, info] {
      ++ran;
      return info;
    };
  };
  EXPECT_EQ(lapack::first_that_works(used, gives(3), gives(kTooLarge), gives(0), gives(5)), 0);
  EXPECT_EQ(used, 2);
  EXPECT_EQ(ran, 3);
  EXPECT_EQ(lapack::first_that_works(used, gives(kNotFinite), gives(0)), kNotFinite);
  EXPECT_EQ(used, 0);
  EXPECT_EQ(lapack::first_that_works(used, gives(1), gives(2)), 2);
  EXPECT_EQ(used, 1);
}
TEST(LapackCall, AWorkspaceRoundedDownByTheQueryIsNotTooShort) {
  const lapack::Int exact = (1 << 24) + 1;  // 2²⁴ in f32
  EXPECT_GE(lapack::best_length(static_cast<float>(exact), 1), exact);
  EXPECT_EQ(lapack::best_length(-1e9, 12), 12);
  EXPECT_EQ(lapack::best_length(1e12, 12), 12);
}

// Runs f on that many threads that begin together.
template <class F>
void on_threads(int count, F&& f) {
  std::atomic<int> ready{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t)
    threads.emplace_back([&, t] {
      ++ready;
      while (ready < count) std::this_thread::yield();
      f(t);
    });
  for (std::thread& t : threads) t.join();
}

TEST(Gate, LetsSixtyFourOfTwoHundredThreadsInAndEveryOneInTheEnd) {
  std::atomic<int> inside{0}, most{0}, passed{0};
  on_threads(200, [&](int) {
    for (int i = 0; i < 5; ++i) {
      const wp::blas::Gate outer;
      const int now = ++inside;
      for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      const wp::blas::Gate again;  // a thread inside does not wait for itself
      ++passed;
      --inside;
    }
  });
  EXPECT_EQ(passed, 1000);
  EXPECT_LE(most, wp::blas::Gate::kPlaces);
  EXPECT_GT(most, 1);
}

TEST(Gate, TwoHundredThreadsAtOnceGetTheSameBits) {
  const Size n = 40;
  const auto a = make<double>(Kind::random, n, n);
  const auto work = [&] {
    std::vector<double> out(n * n * 4 + 4 * n);
    double* const p = out.data();
    int info = lapack::svd(lapack::Vectors::thin, n, n, a.data.data(), a.ld, p, p + n, n, p + n + n * n, n);
    info |=
        lapack::eigh(lapack::Triangle::lower, n, a.data.data(), a.ld, p + n + 2 * n * n, p + 2 * n + 2 * n * n, n);
    std::vector<std::complex<double>> w(n);
    info |= lapack::eig<double>(lapack::Balance::both, n, a.data.data(), a.ld, w.data(), {});
    for (Size i = 0; i < n; ++i)
      p[3 * n * n + 2 * n + 2 * i] = w[i].real(), p[3 * n * n + 2 * n + 2 * i + 1] = w[i].imag();
    wp::blas::gemm<double>(n, n, 3, 1, {a.data.data(), 1, a.ld}, {a.data.data(), 1, a.ld}, 0,
                           {p + 3 * n * n + 4 * n, 1, n});
    EXPECT_EQ(info, 0);
    return out;
  };
  const std::vector<double> alone = work();
  std::atomic<int> same{0};
  on_threads(200, [&](int) { same += work() == alone; });
  EXPECT_EQ(same, 200);
}

}  // namespace
