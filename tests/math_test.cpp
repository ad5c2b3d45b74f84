// Vector math against MPFR: every exponent, denormals, huge arguments, branch points, zeros of the functions and
// special values, on every instruction set of this CPU. WELLPOSED_LONG_TESTS=1 visits fifty times as many points.
#include "simd/math.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <numbers>

#include "long_tests.hpp"
#include "ulps.hpp"

namespace wp {
namespace {

using simd::Fn;
using ulps::Exact;

constexpr double pi = std::numbers::pi;

struct Case1 {
  const char* name;
  simd::Loops loops;
  ulps::Unary exact;
  double lo, hi;             // a dense interval
  std::vector<double> near;  // points whose neighbourhoods are visited
  double f32_bound = 2, f64_bound = 2;
  std::size_t points = 200000;
  // Where an absolute bound is the right one: the size that errors are measured against.
  double (*scale)(double x) = [](double) { return 0.0; };
};

void PrintTo(const Case1& c, std::ostream* out) {
  *out << c.name;
}

struct Worst {
  double ulps = 0;
  std::string at;
  template <class T>
  void see(double distance, std::initializer_list<T> args, T got) {
    if (distance <= ulps) return;
    ulps = distance;
    char text[120];
    at.clear();
    for (const T a : args) {
      std::snprintf(text, sizeof text, "%.17g ", static_cast<double>(a));
      at += text;
    }
    std::snprintf(text, sizeof text, "got %.17g", static_cast<double>(got));
    at += text;
  }
};

std::size_t many(std::size_t n) {
  return long_tests() ? n * 50 : n;
}

template <class T>
void judge(const char* name, int isa, const Worst& worst, double bound) {
  const char* const type = sizeof(T) == 4 ? "f32" : "f64";
  std::printf("%-10s %s %-8s worst %6.3f ulp at %s\n", name, type, simd::name(static_cast<simd::Isa>(isa)).data(),
              worst.ulps, worst.at.c_str());
  EXPECT_LE(worst.ulps, bound) << name << " " << type << " " << simd::name(static_cast<simd::Isa>(isa)) << " at "
                               << worst.at;
}

template <class T>
void run(const Case1& c, double bound) {
  std::vector<T> x = ulps::points<T>(c.lo, c.hi, c.near, many(c.points));
  std::vector<T> y[simd::kIsas];
  for (int k = 0; k < simd::kIsas; ++k) {
    if (!simd::supported(static_cast<simd::Isa>(k))) continue;
    y[k].resize(x.size());
    void* p[] = {x.data(), y[k].data()};
    simd::Status status;
    c.loops[static_cast<std::size_t>(dtype_v<T>)].fn[k](p, static_cast<std::int64_t>(x.size()), &status);
    EXPECT_EQ(status.bits, simd::Status::nonfinite);  // NaN is among the points
  }
  Worst worst[simd::kIsas];
  Exact in, out;
  for (std::size_t i = 0; i < x.size(); ++i) {
    mpfr_set_d(in.v, static_cast<double>(x[i]), MPFR_RNDN);
    c.exact(out.v, in.v);
    const double scale = c.scale(static_cast<double>(x[i]));
    for (int k = 0; k < simd::kIsas; ++k)
      if (!y[k].empty()) worst[k].see(ulps::distance(y[k][i], out.v, scale), {x[i]}, y[k][i]);
  }
  for (int k = 0; k < simd::kIsas; ++k)
    if (!y[k].empty()) judge<T>(c.name, k, worst[k], bound);
}

#define MPFR1(f) [](mpfr_ptr y, mpfr_srcptr x) { mpfr_##f(y, x, MPFR_RNDN); }
#define LOOPS(f) simd::math_loops<Fn::f>()

void lgamma_exact(mpfr_ptr y, mpfr_srcptr x) {
  int sign = 0;
  mpfr_lgamma(y, &sign, x, MPFR_RNDN);
}
void sigmoid_exact(mpfr_ptr y, mpfr_srcptr x) {
  mpfr_neg(y, x, MPFR_RNDN);
  mpfr_exp(y, y, MPFR_RNDN);
  mpfr_add_ui(y, y, 1, MPFR_RNDN);
  mpfr_ui_div(y, 1, y, MPFR_RNDN);
}
void softplus_exact(mpfr_ptr y, mpfr_srcptr x) {
  Exact t;
  mpfr_abs(t.v, x, MPFR_RNDN);
  mpfr_neg(t.v, t.v, MPFR_RNDN);
  mpfr_exp(t.v, t.v, MPFR_RNDN);
  mpfr_log1p(y, t.v, MPFR_RNDN);
  if (mpfr_sgn(x) > 0) mpfr_add(y, y, x, MPFR_RNDN);
}
// x / (1 + e^(−w)); −0 at −inf, the limit.
void times_sigmoid(mpfr_ptr y, mpfr_srcptr x, mpfr_srcptr w) {
  Exact t;
  sigmoid_exact(t.v, w);
  if (mpfr_inf_p(x) && mpfr_signbit(x))
    mpfr_set_zero(y, -1);
  else
    mpfr_mul(y, x, t.v, MPFR_RNDN);
}
void silu_exact(mpfr_ptr y, mpfr_srcptr x) {
  Exact w;
  mpfr_set(w.v, x, MPFR_RNDN);
  times_sigmoid(y, x, w.v);
}
void gelu_exact(mpfr_ptr y, mpfr_srcptr x) {
  Exact t;
  mpfr_sqrt_ui(t.v, 2, MPFR_RNDN);
  mpfr_div(t.v, x, t.v, MPFR_RNDN);
  mpfr_neg(t.v, t.v, MPFR_RNDN);
  mpfr_erfc(t.v, t.v, MPFR_RNDN);
  mpfr_div_ui(t.v, t.v, 2, MPFR_RNDN);
  if (mpfr_inf_p(x) && mpfr_signbit(x))
    mpfr_set_zero(y, -1);
  else
    mpfr_mul(y, x, t.v, MPFR_RNDN);
}
void gelu_tanh_exact(mpfr_ptr y, mpfr_srcptr x) {
  Exact w, t;
  mpfr_sqr(w.v, x, MPFR_RNDN);
  mpfr_set_str(t.v, "0.044715", 10, MPFR_RNDN);
  mpfr_mul(w.v, w.v, t.v, MPFR_RNDN);
  mpfr_add_ui(w.v, w.v, 1, MPFR_RNDN);
  mpfr_mul(w.v, w.v, x, MPFR_RNDN);
  mpfr_const_pi(t.v, MPFR_RNDN);
  mpfr_ui_div(t.v, 8, t.v, MPFR_RNDN);
  mpfr_sqrt(t.v, t.v, MPFR_RNDN);
  mpfr_mul(w.v, w.v, t.v, MPFR_RNDN);
  times_sigmoid(y, x, w.v);
}
// Left of 0, log|Γ| and ψ are differences of terms of the size of their values at 1 − x: near their zeros there the
// error is bounded in units of that.
double lgamma_scale(double x) {
  return x < 0 ? 1 + std::fabs(std::lgamma(1 - x)) : 0;
}
double digamma_scale(double x) {
  return x < 0 ? 1 + std::log1p(-x) : 0;
}

const std::vector<double> far = {1e5, 1e15, 1e22, 1e300};
std::vector<double> operator+(std::vector<double> a, const std::vector<double>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

const Case1 unary[] = {
    {"exp",
     LOOPS(exp),
     MPFR1(exp),
     -110,
     100,
     {0, 709.78271289338397, 88.722839, -745.133, -708.396, -103.97, -87.33, -86, 86, 707, -707},
     1.5,
     1.5},
    {"exp2", LOOPS(exp2), MPFR1(exp2), -1100, 1100, {0, 1024, 128, -1022, -1074, -126, -149}},
    {"expm1", LOOPS(expm1), MPFR1(expm1), -40, 100, {0, 709.78, 88.7, -37}},
    {"log", LOOPS(log), MPFR1(log), 0, 4, {1, 0.70710678118654752, 1.4142135623730951}, 1.5, 1.5},
    {"log2", LOOPS(log2), MPFR1(log2), 0, 4, {1}},
    {"log10", LOOPS(log10), MPFR1(log10), 0, 4, {1}},
    {"log1p", LOOPS(log1p), MPFR1(log1p), -1, 4, {0, -1, 0x1p30, 0x1p60}},
    {"sin", LOOPS(sin), MPFR1(sin), -20, 20, far + std::vector<double>{0, pi, 2 * pi, 100 * pi}},
    {"cos", LOOPS(cos), MPFR1(cos), -20, 20, far + std::vector<double>{0, pi / 2, 3 * pi / 2}},
    {"tan", LOOPS(tan), MPFR1(tan), -20, 20, far + std::vector<double>{0, pi / 2, pi}},
    {"asin", LOOPS(asin), MPFR1(asin), -1, 1, {0, 1, -1, 0.5, -0.5}},
    {"acos", LOOPS(acos), MPFR1(acos), -1, 1, {0, 1, -1, 0.5, -0.5}},
    {"atan", LOOPS(atan), MPFR1(atan), -10, 10, {0, 1, -1}},
    {"sinh", LOOPS(sinh), MPFR1(sinh), -100, 100, {0, 710.4758, 709.78, 700, 89.4, 88.7, 79, -710.4758}},
    {"cosh", LOOPS(cosh), MPFR1(cosh), -100, 100, {0, 710.4758, 709.78, 700, 89.4, 88.7, 79, -710.4758}},
    {"tanh", LOOPS(tanh), MPFR1(tanh), -20, 20, {0, 0.55, -0.55, 9, 19}, 1.5, 1.5},
    {"asinh", LOOPS(asinh), MPFR1(asinh), -10, 10, {0, 1e154, 1e19, 0x1p30, 0x1p60}},
    {"acosh", LOOPS(acosh), MPFR1(acosh), 1, 10, {1, 1e154, 1e19, 0x1p30, 0x1p60}},
    {"atanh", LOOPS(atanh), MPFR1(atanh), -1, 1, {0, 1, -1}},
    {"erf", LOOPS(erf), MPFR1(erf), -6, 6, {0, 1}, 2, 2, 60000},
    {"erfc", LOOPS(erfc), MPFR1(erfc), -6, 28, {0, 1, 10, 26.5}, 2, 2, 60000},
    {"cbrt", LOOPS(cbrt), MPFR1(cbrt), -10, 10, {0, 1}},
    {"lgamma",
     LOOPS(lgamma),
     lgamma_exact,
     -10,
     50,
     {0, 1, 2, 2.5, -1, -2, -2.4570247382208006, -2.7476826467274127, -3.143580888349980, -100.5, 1e20, 4.0850034e36,
      2.5569e305},
     2,
     2,
     10000,
     lgamma_scale},
    {"digamma",
     LOOPS(digamma),
     MPFR1(digamma),
     -10,
     50,
     {0, 1, 2, 1.4616321449683622, -1, -2, -0.50408300826445541, -1.5734984731623905, -100.5},
     1,
     4,
     10000,
     digamma_scale},
    {"sigmoid", LOOPS(sigmoid), sigmoid_exact, -110, 40, {0, -86, -100, -707, -740}, 4, 4},
    {"silu", LOOPS(silu), silu_exact, -115, 40, {0, -86, -100, -707, -740, -750}, 4, 4},
    {"softplus", LOOPS(softplus), softplus_exact, -110, 40, {0, -86, -100, -707, -740}, 4, 4},
    {"gelu", LOOPS(gelu), gelu_exact, -15, 10, {0, -14, -37, -38.4, -12.3, -37.3}, 4, 4, 60000},
    {"gelu_tanh", LOOPS(gelu_tanh), gelu_tanh_exact, -12, 10, {0, -10, -10.4, -21, -21.5}, 4, 4},
};

class Unary : public testing::TestWithParam<Case1> {};
TEST_P(Unary, StaysWithinItsBoundInF32) {
  run<float>(GetParam(), GetParam().f32_bound);
}
TEST_P(Unary, StaysWithinItsBoundInF64) {
  run<double>(GetParam(), GetParam().f64_bound);
}
INSTANTIATE_TEST_SUITE_P(VectorMath, Unary, testing::ValuesIn(unary),
                         [](const auto& test) { return std::string(test.param.name); });

// ---- functions of two arguments
// ------------------------------------------------------------------------------------
struct Case2 {
  const char* name;
  simd::Loops loops;
  ulps::Binary exact;
  double lo1, hi1, lo2, hi2;
  double (*scale)(double x, double y) = [](double, double) { return 0.0; };
};

void PrintTo(const Case2& c, std::ostream* out) {
  *out << c.name;
}

void logaddexp_exact(mpfr_ptr z, mpfr_srcptr x, mpfr_srcptr y) {
  if (mpfr_nan_p(x) || mpfr_nan_p(y)) return mpfr_set_nan(z);
  Exact d;
  mpfr_sub(d.v, x, y, MPFR_RNDN);
  mpfr_abs(d.v, d.v, MPFR_RNDN);
  if (mpfr_equal_p(x, y)) mpfr_set_zero(d.v, 1);
  mpfr_neg(d.v, d.v, MPFR_RNDN);
  mpfr_exp(d.v, d.v, MPFR_RNDN);
  mpfr_log1p(d.v, d.v, MPFR_RNDN);
  mpfr_max(z, x, y, MPFR_RNDN);
  mpfr_add(z, z, d.v, MPFR_RNDN);
}

#define MPFR2(f) [](mpfr_ptr z, mpfr_srcptr x, mpfr_srcptr y) { mpfr_##f(z, x, y, MPFR_RNDN); }
const Case2 binary[] = {
    {"pow", LOOPS(pow), MPFR2(pow), 0, 3, -600, 600},
    {"atan2", LOOPS(atan2), MPFR2(atan2), -3, 3, -3, 3},
    {"hypot", LOOPS(hypot), MPFR2(hypot), -3, 3, -3, 3},
    // max + log(1 + e^(−d)) cancels where max < 0: measured against its terms.
    {"logaddexp", LOOPS(logaddexp), logaddexp_exact, -30, 30, -30, 30,
     [](double x, double y) {
       if (!(x < 0 && y < 0) || std::isinf(x) || std::isinf(y)) return 0.0;
       return std::fmax(std::fabs(std::fmax(x, y)), std::log1p(std::exp(-std::fabs(x - y))));
     }},
};

// All pairs of special values and edges, then pairs of random bits, of a dense box, and of one number beside the
// other.
template <class T>
void pairs(const Case2& c, std::vector<T>& x, std::vector<T>& y) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> edges = {Limits::infinity(), Limits::quiet_NaN(),  Limits::max(),
                          Limits::min(),      Limits::denorm_min(), T(0)};
  for (const double v : {0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 10.0, 1023.0, 1e5, 1e15, 1e30, 1e-30, 1e-5})
    edges.push_back(static_cast<T>(v));
  edges.push_back(std::nextafter(T(1), T(2)));
  edges.push_back(std::nextafter(T(1), T(0)));
  for (std::size_t i = edges.size(); i-- > 0;) edges.push_back(-edges[i]);
  for (const T a : edges)
    for (const T b : edges) {
      x.push_back(a);
      y.push_back(b);
    }
  const std::size_t n = many(60000);
  std::vector<T> u = ulps::points<T>(c.lo1, c.hi1, {1}, n), v = ulps::points<T>(c.lo2, c.hi2, {1}, n);
  std::mt19937_64 random(7);
  for (std::size_t i = 0; i < n; ++i) {
    const T a = u[random() % u.size()],
            b = i % 3 ? v[random() % v.size()] : std::ldexp(a, static_cast<int>(random() % 60) - 30);
    x.push_back(a);
    y.push_back(b);
    // Dense box: the last halves of the lists.
    x.push_back(u[u.size() - 1 - random() % (n / 2)]);
    y.push_back(v[v.size() - 1 - random() % (n / 2)]);
  }
}

template <class T>
void run(const Case2& c) {
  std::vector<T> x, y, z[simd::kIsas];
  pairs(c, x, y);
  for (int k = 0; k < simd::kIsas; ++k) {
    if (!simd::supported(static_cast<simd::Isa>(k))) continue;
    z[k].resize(x.size());
    void* p[] = {x.data(), y.data(), z[k].data()};
    simd::Status status;
    c.loops[static_cast<std::size_t>(dtype_v<T>)].fn[k](p, static_cast<std::int64_t>(x.size()), &status);
  }
  Worst worst[simd::kIsas];
  Exact a, b, exact;
  for (std::size_t i = 0; i < x.size(); ++i) {
    mpfr_set_d(a.v, static_cast<double>(x[i]), MPFR_RNDN);
    mpfr_set_d(b.v, static_cast<double>(y[i]), MPFR_RNDN);
    c.exact(exact.v, a.v, b.v);
    const double scale = c.scale(static_cast<double>(x[i]), static_cast<double>(y[i]));
    for (int k = 0; k < simd::kIsas; ++k)
      if (!z[k].empty()) worst[k].see(ulps::distance(z[k][i], exact.v, scale), {x[i], y[i]}, z[k][i]);
  }
  for (int k = 0; k < simd::kIsas; ++k)
    if (!z[k].empty()) judge<T>(c.name, k, worst[k], 2);
}

class Binary : public testing::TestWithParam<Case2> {};
TEST_P(Binary, StaysWithinTwoUlpsInF32) {
  run<float>(GetParam());
}
TEST_P(Binary, StaysWithinTwoUlpsInF64) {
  run<double>(GetParam());
}
INSTANTIATE_TEST_SUITE_P(VectorMath, Binary, testing::ValuesIn(binary),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace wp
