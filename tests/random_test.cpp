// Random draws: known answers, independence of threads, chunks and instruction sets, generators, misuse.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>

#include "draws.hpp"
#include "simd/philox.hpp"
#include "wellposed/threads.hpp"

namespace wp::random {
namespace {

// Large draws of every op, by name.
std::map<std::string, Tensor> everything(std::int64_t n, std::int64_t key = 5) {
  const Tensor logits{{0.0, 1.0, -2.0}, {3.0, 0.5, 0.0}};
  std::map<std::string, Tensor> out{
      {"bernoulli", bernoulli({n}, 0.3, key, 9)},
      {"integers", integers({n}, 0, 3 * (std::int64_t{1} << 61), key, 9)},
      {"permutation", permutation(n, key, 9)},
      {"permuted", permuted(permutation(n, 1, 0), key, 9)},
      {"categorical", categorical(logits, key, 9, {.draws = n})},
      {"poisson, small", poisson({n}, 2.5, key, 9)},
      {"poisson, large", poisson({n}, 40, key, 9)},
  };
  for (const DType d : {f16, bf16, f32, f64}) {
    const std::string type = ", " + std::string(name(d));
    out["uniform" + type] = uniform({n}, key, 9, {.dtype = d});
    out["normal" + type] = normal({n}, key, 9, {.dtype = d});
    out["exponential" + type] = exponential({n}, key, 9, {.dtype = d});
    out["gamma" + type] = gamma({n}, 1.5, key, 9, {.dtype = d});
    out["gamma, small" + type] = gamma({n}, 0.4, key, 9, {.dtype = d});
    out["beta" + type] = beta({n}, 0.7, 2.0, key, 9, {.dtype = d});
    out["truncated" + type] = truncated_normal({n}, key, 9, {.dtype = d});
    out["tail" + type] = truncated_normal({n}, key, 9, {.low = 3, .high = HUGE_VAL, .dtype = d});
  }
  return out;
}

// ---- Philox
// -----------------------------------------------------------------------------------------------------------

TEST(Philox, GivesTheKnownAnswersOfRandom123) {
  const auto words = [](std::uint64_t key, std::uint64_t number, std::uint64_t lane) {
    const simd::Block b = simd::philox_block(key, number, lane);
    return std::array<std::uint32_t, 4>{b.word[0], b.word[1], b.word[2], b.word[3]};
  };
  using Words = std::array<std::uint32_t, 4>;
  EXPECT_EQ(words(0, 0, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(words(~0ULL, ~0ULL, ~0ULL), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(words(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, HasLoopsThatGiveTheBlocksOneByOneOnEveryInstructionSet) {
  for (int isa = 0; isa < simd::kIsas; ++isa) {
    if (!simd::supported(static_cast<simd::Isa>(isa))) continue;
    for (const std::uint64_t number : {std::uint64_t{0}, ~std::uint64_t{0} - 20, std::uint64_t{0xfffffff0}})
      for (const std::int64_t n : {1, 2, 11, 12, 13, 24, 25, 100}) {
        std::vector<std::uint64_t> out(static_cast<std::size_t>(2 * n + 2), 77);
        simd::philox_blocks[isa](0x123456789abcdef, number, 3ULL << 32 | 5, out.data(), n);
        for (std::int64_t i = 0; i < n; ++i) {
          const simd::Block b =
              simd::philox_block(0x123456789abcdef, number + static_cast<std::uint64_t>(i), 3ULL << 32 | 5);
          ASSERT_EQ(out[static_cast<std::size_t>(2 * i)], b.low()) << simd::name(static_cast<simd::Isa>(isa));
          ASSERT_EQ(out[static_cast<std::size_t>(2 * i + 1)], b.high());
        }
        EXPECT_EQ(out[static_cast<std::size_t>(2 * n)], 77U) << "wrote beyond the end";
      }
  }
}

// ---- what a draw depends on
// -------------------------------------------------------------------------------------------

TEST(Draws, AreTheSameBitsForAnyNumberOfThreads) {
  const int before = threads();
  set_threads(1);
  const auto one = everything(70001);
  set_threads(2);
  const auto two = everything(70001);
  set_threads(before);
  for (const auto& [what, t] : one) EXPECT_TRUE(same_bits(t, two.at(what))) << what;
}

TEST(Draws, AreTheSameBitsOnEveryInstructionSet) {
  const simd::Isa before = simd::isa();
  simd::set_isa(simd::Isa::baseline);
  const auto expected = everything(40001);
  for (const simd::Isa isa : {simd::Isa::avx2, simd::Isa::avx512}) {
    if (!simd::supported(isa)) continue;
    simd::set_isa(isa);
    for (const auto& [what, t] : everything(40001))
      EXPECT_TRUE(same_bits(t, expected.at(what))) << what << " on " << simd::name(isa);
  }
  simd::set_isa(before);
}

TEST(Draws, DependOnTheirElementNotOnHowManyThereAre) {
  const auto few = everything(1001), many = everything(9000);
  for (const auto& [what, t] : few) {
    if (what == "permutation" || what == "permuted") continue;  // one draw as a whole
    const std::size_t first_row = what == "categorical" ? t.nbytes() / 2 : t.nbytes();
    EXPECT_EQ(std::memcmp(t.node()->data, many.at(what).node()->data, first_row), 0) << what;
  }
}

TEST(Draws, GoOnWhereTheCounterSays) {
  const auto joined = [](const Tensor& a, const Tensor& b) {
    std::vector<double> v = values(a);
    const std::vector<double> w = values(b);
    v.insert(v.end(), w.begin(), w.end());
    return v;
  };
  EXPECT_EQ(values(uniform({24}, 3, 10)), joined(uniform({12}, 3, 10), uniform({12}, 3, 16)));
  EXPECT_EQ(values(normal({24}, 3, 10, {.dtype = f32})),
            joined(normal({12}, 3, 10, {.dtype = f32}), normal({12}, 3, 13, {.dtype = f32})));
  EXPECT_EQ(values(gamma({24}, 0.5, 3, -12)), joined(gamma({12}, 0.5, 3, -12), gamma({12}, 0.5, 3, 0)));
}

TEST(Draws, OfDifferentKeysCountersAndElementsAreUncorrelated) {
  const std::vector<double> a = values(normal({kMany}, 0, 0)), b = values(normal({kMany}, 1, 0)),
                            c = values(normal({kMany}, 0, kMany));
  const auto correlation = [](const std::vector<double>& x, const std::vector<double>& y, std::size_t lag) {
    double sum = 0;
    for (std::size_t i = 0; i + lag < x.size(); ++i) sum += x[i] * y[i + lag];
    return sum / std::sqrt(static_cast<double>(x.size() - lag));
  };
  EXPECT_LT(std::abs(correlation(a, b, 0)), kSigmas);
  EXPECT_LT(std::abs(correlation(a, c, 0)), kSigmas);
  for (const std::size_t lag : {1U, 2U, 3U, 4U, 8U}) EXPECT_LT(std::abs(correlation(a, a, lag)), kSigmas) << lag;
  // Squares too: the radius of a pair is not shared with its neighbours.
  std::vector<double> squares = a;
  for (double& v : squares) v = (v * v - 1) / std::sqrt(2.0);
  for (const std::size_t lag : {1U, 2U, 3U, 4U})
    EXPECT_LT(std::abs(correlation(squares, squares, lag)), kSigmas) << lag;
}

// ---- Generator
// --------------------------------------------------------------------------------------------------------

TEST(Generator, AdvancesByWhatEachCallUsed) {
  Generator g(3);
  const auto used = [&](auto&& draw) {
    const std::uint64_t before = g.state().counter;
    draw();
    return g.state().counter - before;
  };
  EXPECT_EQ(used([&] { g.uniform({5}); }), 3U);
  EXPECT_EQ(used([&] { g.uniform({5}, {.dtype = f32}); }), 2U);
  EXPECT_EQ(used([&] { g.normal({2, 4}, {.dtype = bf16}); }), 2U);
  EXPECT_EQ(used([&] { g.exponential({1}); }), 1U);
  EXPECT_EQ(used([&] { g.bernoulli({5}, 0.5); }), 3U);
  EXPECT_EQ(used([&] { g.integers({6}, 0, 10); }), 3U);
  EXPECT_EQ(used([&] { g.gamma({6}, 2); }), 6U);
  EXPECT_EQ(used([&] { g.beta({6}, 2, 2); }), 6U);
  EXPECT_EQ(used([&] { g.poisson({6}, 2); }), 6U);
  EXPECT_EQ(used([&] { g.truncated_normal({6}); }), 6U);
  EXPECT_EQ(used([&] { g.permutation(7); }), 4U);
  EXPECT_EQ(used([&] { g.permuted(Tensor{{1, 2, 3}, {4, 5, 6}}, {.axis = 1}); }), 2U);
  EXPECT_EQ(used([&] { g.categorical(Tensor{{1.0, 2.0}, {1.0, 2.0}}, {.draws = 3}); }), 3U);
  EXPECT_EQ(used([&] { g.uniform({0}); }), 0U);
}

TEST(Generator, DrawsWhatTheFunctionsDrawAndNeverTwiceTheSame) {
  Generator g(3);
  EXPECT_TRUE(same_bits(g.normal({6}), normal({6}, 3, 0)));
  EXPECT_TRUE(same_bits(g.normal({6}), normal({6}, 3, 3)));
  EXPECT_TRUE(same_bits(g.integers({6}, 0, 10), integers({6}, 0, 10, 3, 6)));
}

TEST(Generator, GoesOnAfterACheckpoint) {
  Generator g(17);
  g.normal({5});
  const State saved = g.state();
  const Tensor expected = g.gamma({100}, 0.3);
  Generator h(0);
  h.set_state(saved);
  EXPECT_TRUE(same_bits(h.gamma({100}, 0.3), expected));
  EXPECT_EQ(g.state(), h.state());
}

TEST(Generator, SplitsIntoGeneratorsThatShareNothing) {
  Generator g(1);
  std::vector<Generator> all = g.split(3);
  for (Generator& h : g.split(2)) all.push_back(h);
  all.push_back(g);
  std::vector<std::vector<double>> draws;
  for (Generator& h : all) draws.push_back(values(h.normal({100000})));
  for (std::size_t i = 0; i < draws.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const double sum = std::inner_product(draws[i].begin(), draws[i].end(), draws[j].begin(), 0.0);
      EXPECT_LT(std::abs(sum) / std::sqrt(100000.0), kSigmas) << i << " " << j;
    }
}

TEST(Generator, StaysWhereItWasWhenACallIsRefused) {
  Generator g(1);
  EXPECT_THROW(g.normal({3}, {.std = -1}), ArgumentError);
  EXPECT_THROW(g.uniform({std::int64_t{1} << 55}), OutOfMemory);
  EXPECT_EQ(g.state().counter, 0U);
}

// ---- misuse
// -----------------------------------------------------------------------------------------------------------

// The call throws E, and the message holds what was given.
template <class E, class F>
void refuses(F&& draw, const std::string& part) {
  try {
    draw();
    FAIL() << "accepted: " << part;
  } catch (const E& e) {
    EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    EXPECT_FALSE(e.finding().advice.empty()) << e.what();
  }
}

TEST(BadParameters, AreRefusedWithTheRuleTheValueAndAdvice) {
  const double inf = HUGE_VAL, nan = std::nan("");
  refuses<ArgumentError>([&] { normal({3}, 1, 0, {.std = -1}); }, "std must be a finite number >= 0; got -1");
  refuses<ArgumentError>([&] { normal({3}, 1, 0, {.mean = nan}); }, "mean must be finite; got nan");
  refuses<ArgumentError>([&] { normal({3}, 1, 0, {.mean = 6e4, .std = 1e4, .dtype = f16}); }, "65504");
  refuses<ArgumentError>([&] { uniform({3}, 1, 0, {.low = 1, .high = 1}); }, "high must be greater than low");
  refuses<ArgumentError>([&] { uniform({3}, 1, 0, {.low = -inf}); }, "low must be finite; got -inf");
  refuses<ArgumentError>([&] { uniform({3}, 1, 0, {.low = -1e308, .high = 1.5e308}); }, "high - low");
  refuses<ArgumentError>([&] { uniform({3}, 1, 0, {.low = 1.001, .high = 1.002, .dtype = bf16}); }, "no bf16 number");
  refuses<ArgumentError>([&] { bernoulli({3}, 1.5, 1, 0); }, "p must be a probability, from 0 to 1; got 1.5");
  refuses<ArgumentError>([&] { bernoulli({3}, nan, 1, 0); }, "got nan");
  refuses<ArgumentError>([&] { integers({3}, 5, 5, 1, 0); }, "high must be greater than low; got low = 5, high = 5");
  refuses<ArgumentError>([&] { integers({3}, 0, 300, 1, 0, {.dtype = u8}); }, "must fit u8 (0 to 255)");
  refuses<ArgumentError>([&] { integers({3}, 0, 2.5, 1, 0); }, "high must be an integer; got 2.5");
  refuses<ArgumentError>([&] { exponential({3}, 1, 0, {.rate = 0}); }, "rate must be a finite number > 0; got 0");
  refuses<ArgumentError>([&] { exponential({3}, 1, 0, {.rate = 1e-308}); }, "draws must fit f64");
  refuses<ArgumentError>([&] { gamma({3}, -1, 1, 0); }, "concentration must be");
  refuses<ArgumentError>([&] { gamma({3}, 1e30, 1, 0, {.dtype = f16}); }, "draws must fit f16");
  refuses<ArgumentError>([&] { beta({3}, 1, 0, 1, 0); }, "b must be");
  refuses<ArgumentError>([&] { poisson({3}, -2, 1, 0); }, "rate must be from 0 to 1e15; got -2");
  refuses<ArgumentError>([&] { poisson({3}, 200, 1, 0, {.dtype = i8}); }, "counts must fit i8");
  refuses<ArgumentError>([&] { truncated_normal({3}, 1, 0, {.low = 2, .high = -2}); }, "low must be less than high");
  refuses<ArgumentError>([&] { permutation(-1, 1, 0); }, "n must be a length, at least 0; got -1");
  refuses<ArgumentError>([&] { categorical(Tensor{1.0, nan}, 1, 0); }, "class 1 of row 0 is nan");
  refuses<ArgumentError>([&] { categorical(Tensor{-inf, -inf}, 1, 0); }, "all 2 logits of row 0 are -inf");
  refuses<DtypeError>([&] { normal({3}, 1, 0, {.dtype = i32}); }, "dtype must be real floating-point; got i32");
  refuses<DtypeError>([&] { integers({3}, 0, 2, 1, 0, {.dtype = f32}); }, "dtype must be integer; got f32");
  EXPECT_THROW(permuted(Tensor{1.0, 2.0}, 1, 0, {.axis = 1}), IndexError);
  EXPECT_THROW(uniform({-3}, 1, 0), ShapeError);
}

TEST(BadParameters, AtTheEdgeOfWhatIsAllowedGiveFiniteDraws) {
  const auto all_finite = [](const Tensor& t) {
    for (const double v : values(t))
      if (!std::isfinite(v)) return false;
    return true;
  };
  EXPECT_TRUE(all_finite(gamma({1000}, 1e-300, 1, 0)));
  EXPECT_TRUE(all_finite(gamma({1000}, 1e308, 1, 0)));
  EXPECT_TRUE(all_finite(gamma({1000}, 1e4, 1, 0, {.dtype = f16})));
  EXPECT_TRUE(all_finite(normal({100000}, 1, 0, {.std = 9000, .dtype = f16})));
  EXPECT_TRUE(all_finite(exponential({100000}, 1, 0, {.rate = 4e-4, .dtype = f16})));
  EXPECT_TRUE(all_finite(uniform({1000}, 1, 0, {.low = -8e307, .high = 8e307})));
  EXPECT_TRUE(all_finite(truncated_normal({1000}, 1, 0, {.low = 1e100, .high = HUGE_VAL})));
}

}  // namespace
}  // namespace wp::random
