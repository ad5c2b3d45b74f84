// Special cases of arithmetic, comparison and casting that samples cannot show: refusals, signs of zero on every
// instruction set, shared memory, and where notes go.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "simd/isa.hpp"
#include "wellposed/wellposed.hpp"

namespace {

using wp::Tensor;
constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();

// The same text for equal bits: signs of zeros count, NaN is NaN.
std::string shown(double v) {
  return std::isnan(v) ? "nan" : v == 0 ? (std::signbit(v) ? "-0" : "0") : std::to_string(v);
}
template <class T>
void expect_values(const Tensor& got, const std::vector<T>& want, const char* what) {
  const wp::checks quiet("off");
  const std::vector<T> v = got.to_vector<T>();
  ASSERT_EQ(v.size(), want.size()) << what;
  for (std::size_t i = 0; i < v.size(); ++i)
    EXPECT_EQ(shown(static_cast<double>(v[i])), shown(static_cast<double>(want[i])))
        << what << " at " << i << " on " << wp::simd::name(wp::simd::isa());
}
// Runs f with the loops of every instruction set of this machine.
template <class F>
void on_every_isa(const F& f) {
  const wp::simd::Isa before = wp::simd::isa();
  for (int k = 0; k < wp::simd::kIsas; ++k) {
    if (!wp::simd::supported(static_cast<wp::simd::Isa>(k))) continue;
    wp::simd::set_isa(static_cast<wp::simd::Isa>(k));
    f();
  }
  wp::simd::set_isa(before);
}
// `pattern` repeated: long enough for whole vectors and a rest.
template <class T>
Tensor repeated(const std::vector<double>& pattern) {
  std::vector<T> v;
  for (int i = 0; i < 37; ++i)
    for (const double p : pattern) v.push_back(static_cast<T>(p));
  return Tensor::from(v, {static_cast<std::int64_t>(v.size())});
}
template <class T>
std::vector<T> repeated_values(const std::vector<double>& pattern) {
  return repeated<T>(pattern).template to_vector<T>();
}
template <class F>
std::string refusal(const F& f) {
  try {
    f();
  } catch (const wp::DomainError& e) {
    return e.what();
  }
  return "nothing was refused";
}
bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

template <class T>
void check_signed_zeros() {
  const wp::allow_nonfinite meant;
  const auto check2 = [](auto f, const std::vector<double>& a, const std::vector<double>& b,
                         const std::vector<double>& want, const char* what) {
    expect_values<T>(f(repeated<T>(a), repeated<T>(b)), repeated_values<T>(want), what);
  };
  const auto check1 = [](auto f, const std::vector<double>& a, const std::vector<double>& want, const char* what) {
    expect_values<T>(f(repeated<T>(a)), repeated_values<T>(want), what);
  };
  const std::vector<double> a{0, -0.0, -0.0, 0, nan, 1, 3, -2}, b{-0.0, 0, -0.0, 0, 1, nan, -7, -2};
  check2([](const Tensor& x, const Tensor& y) { return wp::maximum(x, y); }, a, b, {0, 0, -0.0, 0, nan, nan, 3, -2},
         "maximum");
  check2([](const Tensor& x, const Tensor& y) { return wp::minimum(x, y); }, a, b,
         {-0.0, -0.0, -0.0, 0, nan, nan, -7, -2}, "minimum");
  const std::vector<double> halves{-0.0, 0, -0.25, 0.5, 1.5, 2.5, -2.5, -0.75, inf, nan};
  check1([](const Tensor& x) { return wp::ceil(x); }, halves, {-0.0, 0, -0.0, 1, 2, 3, -2, -0.0, inf, nan}, "ceil");
  check1([](const Tensor& x) { return wp::floor(x); }, halves, {-0.0, 0, -1, 0, 1, 2, -3, -1, inf, nan}, "floor");
  check1([](const Tensor& x) { return wp::trunc(x); }, halves, {-0.0, 0, -0.0, 0, 1, 2, -2, -0.0, inf, nan}, "trunc");
  check1([](const Tensor& x) { return wp::round(x); }, halves, {-0.0, 0, -0.0, 0, 2, 2, -2, -1, inf, nan}, "round");
  check1([](const Tensor& x) { return wp::sign(x); }, {-0.0, 0, -3, inf, nan}, {0, 0, -1, 1, nan}, "sign");
  check1([](const Tensor& x) { return wp::sqrt(x); }, {-0.0, 0, -1, inf}, {-0.0, 0, nan, inf}, "sqrt");
  const std::vector<double> x{7, -7, 7, -7, 0, -0.0, 0, 5, -5, 5, inf, 1, 1, 0, -1e-30};
  const std::vector<double> y{2, 2, -2, -2, 3, 3, -3, inf, inf, -inf, 2, 0, -0.0, 0, 1e30};
  check2([](const Tensor& p, const Tensor& q) { return wp::floor_divide(p, q); }, x, y,
         {3, -4, -4, 3, 0, -0.0, -0.0, 0, -0.0, -0.0, inf, inf, -inf, nan, -1}, "floor_divide");
  check2([](const Tensor& p, const Tensor& q) { return wp::remainder(p, q); }, x, y,
         {1, 1, -1, -1, 0, 0, -0.0, 5, inf, -inf, nan, nan, nan, nan, 1e30}, "remainder");
  check2([](const Tensor& p, const Tensor& q) { return wp::pow(p, q); },
         {-0.0, -0.0, -0.0, -0.0, -inf, -inf, -inf, -inf, -1, 1, nan, -0.0, -inf, -8},
         {3, 2, -1, -2, 3, -3, 0.5, -2, inf, nan, 0, 0.5, 2, 1.0 / 3},
         {-0.0, 0, -inf, inf, -inf, -0.0, inf, 0, 1, 1, 1, 0, inf, nan}, "pow");
}

TEST(Arithmetic, KeepsSignsOfZerosAndTheStandardsSpecialCasesOnEveryInstructionSet) {
  on_every_isa([] {
    check_signed_zeros<float>();
    check_signed_zeros<double>();
  });
}

TEST(Arithmetic, IntegersWrapAround) {
  const auto least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();
  const Tensor x = Tensor::from<std::int64_t>(std::vector<std::int64_t>{least, most}, {2});
  using Values = std::vector<std::int64_t>;
  on_every_isa([&] {
    EXPECT_EQ((x - 1).to_vector<std::int64_t>(), (Values{most, most - 1}));
    EXPECT_EQ((x * 2).to_vector<std::int64_t>(), (Values{0, -2}));
    EXPECT_EQ((-x).to_vector<std::int64_t>(), (Values{least, -most}));
    EXPECT_EQ(wp::abs(x).to_vector<std::int64_t>(), (Values{least, most}));
    EXPECT_EQ(wp::floor_divide(x, -1).to_vector<std::int64_t>(), (Values{least, -most}));
    EXPECT_EQ((x % -1).to_vector<std::int64_t>(), (Values{0, 0}));
    EXPECT_EQ(wp::pow(x, 2).to_vector<std::int64_t>(), (Values{0, 1}));
    const Tensor small = Tensor::from<std::uint16_t>(std::vector<std::uint16_t>{65535}, {1});
    EXPECT_EQ((small * small).to_vector<std::uint16_t>(), (std::vector<std::uint16_t>{1}));
    EXPECT_EQ(wp::square(small).to_vector<std::uint16_t>(), (std::vector<std::uint16_t>{1}));
  });
}

TEST(Arithmetic, RefusesIntegerDivisionByZeroAndNamesTheElement) {
  const Tensor a{{1, 2, 3}, {4, 5, 6}}, b{{1, 1, 1}, {1, 0, 0}};
  on_every_isa([&] {
    EXPECT_TRUE(has(refusal([&] { (void)wp::floor_divide(a, b); }), "division by zero at element [1, 1]"));
    EXPECT_TRUE(has(refusal([&] { (void)(a % b); }), "division by zero at element [1, 1]"));
    EXPECT_TRUE(has(refusal([&] { (void)(a % 0); }), "division by zero at element [0, 0]"));
    EXPECT_TRUE(has(refusal([&] { (void)wp::pow(a, Tensor{2, -1, 2}); }), "element [0, 1] is -1"));
    EXPECT_TRUE(has(refusal([&] { (void)(a << Tensor{0, 1, -3}); }), "element [0, 2] is -3"));
    EXPECT_TRUE(has(refusal([&] { (void)(a >> -1); }), "element [0, 0] is -1"));
  });
  EXPECT_EQ((a / 2).dtype(), wp::f64);
}

TEST(Arithmetic, ShiftsByTheWidthOrMoreLeaveZeroOrTheSign) {
  const Tensor x = Tensor::from<std::int8_t>(std::vector<std::int8_t>{1, -1, 100, -100}, {4});
  using Values = std::vector<std::int8_t>;
  on_every_isa([&] {
    EXPECT_EQ((x << 7).to_vector<std::int8_t>(), (Values{-128, -128, 0, 0}));
    EXPECT_EQ((x << 8).to_vector<std::int8_t>(), (Values{0, 0, 0, 0}));
    EXPECT_EQ((x >> 1).to_vector<std::int8_t>(), (Values{0, -1, 50, -50}));
    EXPECT_EQ((x >> 100).to_vector<std::int8_t>(), (Values{0, -1, 0, -1}));
    EXPECT_EQ((Tensor{-5, 5} >> 64).to_vector<std::int64_t>(), (std::vector<std::int64_t>{-1, 0}));
  });
}

TEST(Arithmetic, FloorDivisionIsNeverAboveTheExactQuotient) {
  // 1 / 0.1 rounds to 10, but 0.1 in binary is above a tenth; 0.3 / 0.1 rounds to 2.999…
  EXPECT_EQ(wp::floor_divide(Tensor{1.0, 0.3, 6.0}, 0.1).to_vector<double>(), (std::vector<double>{9, 2, 59}));
  // x = 3·2^60 + 2^10, y = 3: the quotient 2^60 + 341.33… lies between numbers 256 apart.
  EXPECT_EQ(wp::floor_divide(Tensor{0x1.8p61 + 0x1p10}, 3.0).to_vector<double>(),
            (std::vector<double>{0x1p60 + 256}));
  // Python: 5.0 % -1e-9 and divmod agree on the sign of the divisor.
  EXPECT_EQ((Tensor{5.0} % -3.0).to_vector<double>(), (std::vector<double>{-1}));
  EXPECT_EQ((Tensor{1e300} % 7.0).to_vector<double>(), (std::vector<double>{std::fmod(1e300, 7.0)}));
}

TEST(Arithmetic, PowersWithSimpleExponentsAreExactInMixedCompanyToo) {
  std::vector<double> x, mixed;
  for (int i = 0; i < 1000; ++i) {
    x.push_back(0.1 + i * 0.37);
    mixed.push_back(i % 5 == 0 ? 2 : i % 5 == 1 ? 0.5 : i % 5 == 2 ? -1 : i % 5 == 3 ? 1 : 2.5);
  }
  const std::vector<double> got = wp::pow(Tensor::from(x, {1000}), Tensor::from(mixed, {1000})).to_vector<double>();
  const std::vector<double> squares = wp::pow(Tensor::from(x, {1000}), 2).to_vector<double>();
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(squares[i], x[i] * x[i]);
    const double want[] = {x[i] * x[i], std::sqrt(x[i]), 1 / x[i], x[i]};
    if (i % 5 < 4)
      EXPECT_EQ(got[i], want[i % 5]);
    else
      EXPECT_NEAR(got[i], std::pow(x[i], 2.5), 1e-15 * got[i]);
  }
}

TEST(Arithmetic, ComplexDivisionKeepsItsScaleAndItsInfinities) {
  using C = wp::complex128;
  const Tensor x = Tensor::from<C>(std::vector<C>{{1e300, 1e300}, {1e-310, 1e-310}}, {2});
  EXPECT_EQ((x / x).to_vector<C>(), (std::vector<C>{1, 1}));
  const double most = std::numeric_limits<double>::max();
  EXPECT_EQ((Tensor::from<C>(std::vector<C>{{most, most}}, {1}) / C(2, 2)).to_vector<C>(),
            (std::vector<C>{{most / 2, 0}}));
  const wp::allow_nonfinite meant;
  const Tensor zero = Tensor::from<wp::complex64>(std::vector<wp::complex64>{{0, 0}}, {1});
  const auto v = (1.0 / zero).to_vector<wp::complex64>();
  EXPECT_TRUE(std::isinf(v[0].real()));
}

TEST(Arithmetic, SquareRootsOnTheCutFollowTheSignOfZero) {
  using C = wp::complex128;
  const Tensor x = Tensor::from<C>(std::vector<C>{{-4, 0.0}, {-4, -0.0}, {0, -8}}, {3});
  EXPECT_EQ(wp::sqrt(x).to_vector<C>(), (std::vector<C>{{0, 2}, {0, -2}, {2, -2}}));
}

TEST(Arithmetic, NeighboursOfHalfPrecisionAreItsOwn) {
  const Tensor one = wp::astype(Tensor{1.0, 0.0, 65504.0}, wp::f16);
  const wp::allow_nonfinite meant;
  EXPECT_EQ(wp::astype(wp::nextafter(one, inf), wp::f64).to_vector<double>(),
            (std::vector<double>{1 + 0x1p-10, 0x1p-24, inf}));
  const Tensor b = wp::astype(Tensor{1.0, 0.0}, wp::bf16);
  EXPECT_EQ(wp::astype(wp::nextafter(b, -inf), wp::f64).to_vector<double>(),
            (std::vector<double>{1 - 0x1p-8, -0x1p-133}));
}

TEST(Clip, TakesOptionalBoundsInTheDtypeOfX) {
  const Tensor x{-5, 0, 5};
  using Values = std::vector<std::int64_t>;
  EXPECT_EQ(wp::clip(x, -1, 3).to_vector<std::int64_t>(), (Values{-1, 0, 3}));
  EXPECT_EQ(wp::clip(x, std::nullopt, 3).to_vector<std::int64_t>(), (Values{-5, 0, 3}));
  EXPECT_EQ(wp::clip(x, 1).to_vector<std::int64_t>(), (Values{1, 1, 5}));
  EXPECT_EQ(wp::clip(x).to_vector<std::int64_t>(), (Values{-5, 0, 5}));
  EXPECT_EQ(wp::clip(Tensor{0.5F, 2.0F}, Tensor{0.0}, 1.0).dtype(), wp::f32);
  EXPECT_THROW((void)wp::clip(x, 0.5), wp::DtypeError);
  const Tensor bytes = wp::astype(Tensor{1, 200}, wp::u8);
  EXPECT_THROW((void)wp::clip(bytes, -1, 100), wp::DomainError);
  EXPECT_THROW((void)wp::clip(bytes, x), wp::DtypeError);
}

TEST(Astype, RefusesWhatAnIntegerCannotHoldAtEveryLevelAndSaysWhereItCameFrom) {
  const Tensor x{{1.0, 2.5}, {nan, 1e10}};
  for (const char* level : {"off", "escape", "warn", "raise"}) {
    const wp::checks at(level);
    const std::string text = refusal([&] { (void)wp::astype(x, wp::i32); });
    EXPECT_TRUE(has(text, "nan at element [1, 0] of [2, 2] does not fit i32")) << text;
    EXPECT_TRUE(has(text, "2 of 4 elements")) << text;
    EXPECT_THROW((void)wp::astype(Tensor{inf}, wp::i64), wp::DomainError);
    EXPECT_THROW((void)wp::astype(Tensor{-1.0}, wp::u8), wp::DomainError);
    EXPECT_THROW((void)wp::astype(Tensor{0x1p63}, wp::i64), wp::DomainError);
    EXPECT_THROW((void)wp::astype(Tensor{300}, wp::u8), wp::DomainError);
    EXPECT_THROW((void)wp::astype(Tensor{-1}, wp::u64), wp::DomainError);
  }
  const std::string made = refusal([&] { (void)wp::astype(wp::log(Tensor{0.0}), wp::i32); });
  EXPECT_TRUE(has(made, "Source: log: made -inf")) << made;
}

TEST(Astype, CutsFractionsUpToTheEndsOfTheRange) {
  EXPECT_EQ(wp::astype(Tensor{-128.9, 127.9, -0.5}, wp::i8).to_vector<std::int8_t>(),
            (std::vector<std::int8_t>{-128, 127, 0}));
  EXPECT_EQ(wp::astype(Tensor{-0.9, 255.9}, wp::u8).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{0, 255}));
  EXPECT_EQ(wp::astype(Tensor{-0x1p63}, wp::i64).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::min()}));
  EXPECT_THROW((void)wp::astype(Tensor{-129.0}, wp::i8), wp::DomainError);
  EXPECT_THROW((void)wp::astype(Tensor{256.0}, wp::u8), wp::DomainError);
  // Far into a large, transposed array.
  std::vector<double> many(100000, 1.0);
  many[77777] = nan;
  const Tensor wide = wp::permute_dims(Tensor::from(many, {100, 1000}), {1, 0});
  EXPECT_TRUE(has(refusal([&] { (void)wp::astype(wide, wp::i16); }), "element [777, 77] of [1000, 100]"));
}

TEST(Astype, NotesTheOverflowOfANarrowerFloat) {
  const Tensor x{1.0, 1e39};
  const Tensor y = wp::astype(x, wp::f32);
  try {
    (void)y.to_vector<float>();
    FAIL() << "a made inf left the computation in silence";
  } catch (const wp::NonFiniteError& e) {
    EXPECT_TRUE(has(e.what(), "x[1] = 1e+39")) << e.what();
  }
  // A given infinity stays given.
  EXPECT_NO_THROW((void)wp::astype(Tensor{inf}, wp::f32).to_vector<float>());
}

TEST(Astype, SharesMemoryOnlyWhenAskedNotToCopy) {
  const Tensor x{1.0, 2.0};
  EXPECT_EQ(wp::astype(x, wp::f64, {.copy = false}).data<double>(), x.data<double>());
  EXPECT_NE(wp::astype(x, wp::f64).data<double>(), x.data<double>());
  EXPECT_EQ(wp::astype(x, wp::f32, {.copy = false}).dtype(), wp::f32);
  EXPECT_THROW((void)wp::astype(wp::astype(x, wp::c128), wp::f64), wp::DtypeError);
}

TEST(Notes, WhatWhereMaximumAndClipDropHasNotLeft) {
  const Tensor made = wp::log(Tensor{0.0, 1.0}), given{-inf, 3.0};
  const Tensor keep{true, false};
  EXPECT_NO_THROW((void)wp::where(keep, Tensor{5.0, 6.0}, made).to_vector<double>());
  EXPECT_NO_THROW((void)wp::where(wp::isfinite(made), made, 0.0).to_vector<double>());
  EXPECT_NO_THROW((void)wp::maximum(made, -1.0).to_vector<double>());
  EXPECT_NO_THROW((void)wp::clip(made, -1.0).to_vector<double>());
  EXPECT_NO_THROW((void)wp::maximum(wp::minimum(made, 1.0), Tensor{inf, inf}).to_vector<double>());
  EXPECT_NO_THROW((void)(-given).to_vector<double>());
  EXPECT_THROW((void)wp::where(keep, made, 0.0).to_vector<double>(), wp::NonFiniteError);
  EXPECT_THROW((void)wp::minimum(made, given).to_vector<double>(), wp::NonFiniteError);
  EXPECT_THROW((void)(-made).to_vector<double>(), wp::NonFiniteError);
}

TEST(Notes, ComparingAMadeNaNCarriesItsNoteThroughLogicButAskingDoesNot) {
  const Tensor r = wp::sqrt(Tensor{-1.0});
  EXPECT_THROW((void)static_cast<bool>(r > 1e-6), wp::NonFiniteError);
  EXPECT_THROW((void)static_cast<bool>(wp::logical_not(r > 1e-6)), wp::NonFiniteError);
  EXPECT_THROW((void)static_cast<bool>((r > 1e-6) & Tensor{true}), wp::NonFiniteError);
  EXPECT_THROW((void)static_cast<bool>(wp::astype(r, wp::boolean)), wp::NonFiniteError);
  EXPECT_TRUE(static_cast<bool>(r != r));
  EXPECT_TRUE(static_cast<bool>(wp::isnan(r)));
  EXPECT_FALSE(static_cast<bool>(wp::isfinite(r)));
}

TEST(Notes, DomainsAreNamedWithTheirAdvice) {
  const wp::checks at("raise");
  const auto text = [](auto f) {
    try {
      (void)f();
    } catch (const wp::NonFiniteError& e) {
      return std::string(e.what());
    }
    return std::string("nothing was raised");
  };
  EXPECT_TRUE(has(text([] { return Tensor{1.0} / 0.0; }), "divide needs x2 != 0"));
  EXPECT_TRUE(has(text([] { return wp::sqrt(Tensor{-1.0}); }), "sqrt(where(x >= 0, x, 0))"));
  EXPECT_TRUE(has(text([] { return wp::pow(Tensor{-2.0}, 0.5); }), "x2 a whole number"));
  EXPECT_TRUE(has(text([] { return wp::pow(Tensor{0.0}, -1.0); }), "x1 = 0 and x2 >= 0"));
  EXPECT_TRUE(has(text([] { return wp::reciprocal(Tensor{0.0}); }), "reciprocal needs x != 0"));
  EXPECT_TRUE(has(text([] { return Tensor{1e200} * 1e200; }), "beyond"));
}

}  // namespace
