// Each line of the escape rule: what is made, what is given, what leaves.
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "tensor/note.hpp"
#include "wellposed/wellposed.hpp"

namespace wp {
namespace {

const double inf = INFINITY, nan = std::nan("");

class Checks : public ::testing::Test {
 protected:
  void SetUp() override {
    clear_findings();
    before_ = on_finding([this](const Finding& f) { seen_.push_back(f); });
  }
  void TearDown() override { on_finding(before_); }
  std::vector<Finding> seen_;
  FindingHandler before_;
};

// The text of the error that leaving raises; empty: nothing was raised.
template <class F>
std::string raised(F&& f) {
  try {
    f();
  } catch (const NonFiniteError& e) {
    return e.what();
  }
  return {};
}
std::string leaving(const Tensor& t) {
  return raised([&] { (void)t.to_vector<double>(); });
}

// ---- made
// -----------------------------------------------------------------------------------------------------------

TEST_F(Checks, AnInfMadeFromFiniteOperandsRaisesWhereItLeaves) {
  const scope outer("train");
  const scope inner("layer2");
  const Tensor y = log(Tensor{1.0, 2.0, 0.0, 4.0});
  const std::string text = leaving(y * 2.0 + 1.0);
  EXPECT_NE(text.find("log"), std::string::npos) << text;
  EXPECT_NE(text.find("x[2] = 0"), std::string::npos) << text;
  EXPECT_NE(text.find("checks_test.cpp:"), std::string::npos) << text;
  EXPECT_NE(text.find("train/layer2"), std::string::npos) << text;
  EXPECT_NE(text.find("where(x > 0, x, 1)"), std::string::npos) << text;
}

TEST_F(Checks, ANanMadeFromNanFreeOperandsIsMadeEvenWhenTheyAreInfinite) {
  const Tensor x{inf, 1.0};
  EXPECT_NE(leaving(x - x).find("subtract"), std::string::npos);
}

TEST_F(Checks, AMadeInfAmongTheOperandsOfANanIsItsOrigin) {
  const Tensor y = log(Tensor{0.0});
  const std::string text = leaving(y - y);
  EXPECT_NE(text.find("Source: log"), std::string::npos) << text;
}

TEST_F(Checks, OverflowIsMade) {
  const std::string text = leaving(exp(Tensor{1000.0}));
  EXPECT_NE(text.find("1.7976931348623157e+308"), std::string::npos) << text;
}

TEST_F(Checks, OverflowOfAHalfIsMade) {
  const Tensor x = astype(Tensor{300.0}, f16);
  EXPECT_NE(leaving(astype(x * x, f64)), "");
}

TEST_F(Checks, ASumThatOverflowsIsBlamedOnTheSum) {
  const std::string text = leaving(sum(Tensor{1e308, 1e308}));
  EXPECT_NE(text.find("Source: sum"), std::string::npos) << text;
  EXPECT_NE(text.find("2 elements of x"), std::string::npos) << text;
}

// ---- given
// ----------------------------------------------------------------------------------------------------------

TEST_F(Checks, GivenValuesAndWhatInheritsFromThemLeaveInSilence) {
  EXPECT_EQ(leaving(Tensor{1.0, inf, nan}), "");
  EXPECT_EQ(leaving(Tensor{1.0, inf} + 1.0), "");
  EXPECT_EQ(leaving(Tensor{1.0} + inf), "");
  EXPECT_EQ(leaving(full({3}, -inf)), "");
  double memory[] = {nan, 1};
  EXPECT_EQ(leaving(Tensor::borrow(memory, f64, {2}) * 2.0), "");
}

TEST_F(Checks, WhatIsMadeInsideAllowNonfiniteIsGiven) {
  Tensor y;
  {
    const allow_nonfinite meant;
    y = log(Tensor{0.0});
  }
  EXPECT_EQ(leaving(y + 1.0), "");
  EXPECT_NE(leaving(log(Tensor{0.0})), "");
}

TEST_F(Checks, AMinimumThatStartsFromInfinityIsSilent) {
  Tensor best = full({2}, inf);
  for (const double v : {3.0, 2.0}) best = minimum(best, v);
  EXPECT_EQ(leaving(best), "");
  EXPECT_EQ(leaving(min(full({0, 2}, 1.0) + 1.0, {.axis = 1})), "");
}

TEST_F(Checks, GivenAndMadeElementsOfOneTensorAreKeptApart) {
  const Tensor mixed = where(Tensor{true, false}, Tensor{inf, inf}, log(Tensor{0.0, 0.0}));
  EXPECT_EQ(leaving(mixed[{0}]), "");
  EXPECT_NE(leaving(mixed[{1}]), "");
  EXPECT_NE(leaving(mixed), "");
}

// ---- only elements that leave count
// -----------------------------------------------------------------------------------

TEST_F(Checks, WhatWhereMinMaxAndIndexingDropHasNotEscaped) {
  const Tensor x{0.0, 1.0};
  const Tensor y = log(x);
  EXPECT_EQ(leaving(where(x > 0.0, y, 0.0)), "");
  EXPECT_EQ(leaving(maximum(y, 0.0)), "");
  EXPECT_EQ(leaving(max(y)), "");
  EXPECT_EQ(leaving(y[{1}]), "");
  EXPECT_NE(leaving(y[{0}]), "");
  EXPECT_NE(leaving(min(y)), "");
}

TEST_F(Checks, ViewsAndCopiesCarryTheNoteToTheirElements) {
  const Tensor y = log(Tensor{{1.0, 0.0}, {1.0, 1.0}});
  EXPECT_NE(leaving(permute_dims(y, {1, 0})[{1, 0}]), "");
  EXPECT_EQ(leaving(permute_dims(y, {1, 0})[{0, 1}]), "");
  EXPECT_NE(leaving(concat({y, y})[{2, 1}]), "");
  EXPECT_EQ(leaving(concat({y, y})[{3, 1}]), "");
}

// ---- sinks
// ------------------------------------------------------------------------------------------------------------

TEST_F(Checks, ItemAndConversionsRaiseForMadeValues) {
  const Tensor y = log(Tensor{0.0})[{0}];
  EXPECT_THROW((void)y.item<double>(), NonFiniteError);
  EXPECT_THROW((void)static_cast<double>(y), NonFiniteError);
  EXPECT_THROW((void)static_cast<bool>(y), NonFiniteError);
  EXPECT_EQ(Tensor(Scalar(inf)).item<double>(), inf);
}

TEST_F(Checks, SinksThatCountGivenValuesRaiseForThemToo) {
  EXPECT_THROW(escape(Tensor{1.0, nan}, "gradient", Counts::made_and_given, {}), NonFiniteError);
  EXPECT_NO_THROW(escape(Tensor{1.0, nan}, "save", Counts::made, {}));
  EXPECT_NO_THROW(escape(Tensor{1.0, 2.0}, "gradient", Counts::made_and_given, {}));
}

TEST_F(Checks, PrintingNeverRaisesAndNamesTheSourceInAFootnote) {
  const std::string text = log(Tensor{1.0, 0.0}).to_string();
  EXPECT_NE(text.find("-inf"), std::string::npos) << text;
  EXPECT_NE(text.find("log"), std::string::npos) << text;
}

TEST_F(Checks, ReadingTheMemoryWarnsForMadeValuesOnly) {
  const Tensor y = log(Tensor{1.0, 0.0}), given{inf, 1.0};
  (void)y.data<double>();
  ASSERT_EQ(seen_.size(), 1U);
  EXPECT_EQ(seen_[0].severity, Severity::warning);
  (void)given.data<double>();
  EXPECT_EQ(seen_.size(), 1U);
}

// ---- comparing
// --------------------------------------------------------------------------------------------------------

TEST_F(Checks, ComparingAMadeNanGivesTheStandardResultAndRaisesWhenItDecides) {
  const Tensor x{-1.0, 4.0};
  const Tensor root = sqrt(x);
  const Tensor answer = root > 1.0;
  EXPECT_FALSE(value_at(answer, 0).real() != 0);
  EXPECT_THROW((void)static_cast<bool>(answer[{0}]), NonFiniteError);
  EXPECT_TRUE(static_cast<bool>(answer[{1}]));
  EXPECT_THROW((void)static_cast<bool>(all(answer)), NonFiniteError);
  EXPECT_THROW((void)static_cast<bool>(any(logical_not(answer))), NonFiniteError);
  EXPECT_THROW((void)argmax(root).item<std::int64_t>(), NonFiniteError);
}

TEST_F(Checks, AskingWhetherAValueIsNanIsNotUsingIt) {
  const Tensor root = sqrt(Tensor{-1.0});
  EXPECT_TRUE(static_cast<bool>(isnan(root)));
  EXPECT_FALSE(static_cast<bool>(isfinite(root)));
  EXPECT_FALSE(static_cast<bool>(isinf(root)));
  EXPECT_TRUE(static_cast<bool>(root != root));
  EXPECT_EQ(leaving(where(root > 0.0, Tensor{1.0}, Tensor{2.0})), "");
}

TEST_F(Checks, CastingNanOrInfToAnIntegerIsRefusedAtEveryLevel) {
  for (const char* level : {"off", "escape", "warn", "raise"}) {
    const checks at(level);
    EXPECT_THROW((void)astype(Tensor{1.0, nan}, i32), DomainError) << level;
    EXPECT_THROW((void)astype(Tensor{inf}, i64), DomainError) << level;
    EXPECT_THROW((void)astype(Tensor{300.0}, u8), DomainError) << level;
  }
}

// ---- levels
// -----------------------------------------------------------------------------------------------------------

TEST_F(Checks, OffSaysNothing) {
  const checks off("off");
  EXPECT_EQ(leaving(log(Tensor{0.0})), "");
  EXPECT_TRUE(seen_.empty());
}

TEST_F(Checks, RaiseRaisesWhereTheValueIsMade) {
  const checks at("raise");
  EXPECT_NE(raised([] { (void)log(Tensor{0.0}); }), "");
  EXPECT_EQ(raised([] { (void)(Tensor{inf} + 1.0); }), "");
}

TEST_F(Checks, WarnWarnsWhereItIsMadeAndWhereItLeaves) {
  const checks at("warn");
  const Tensor y = log(Tensor{0.0});
  ASSERT_EQ(seen_.size(), 1U);
  EXPECT_EQ(seen_[0].code, "WP-DOM-001");
  EXPECT_EQ(leaving(y), "");
  ASSERT_EQ(seen_.size(), 2U);
  EXPECT_EQ(seen_[1].code, "WP-ESC-001");
  EXPECT_EQ(findings().size(), 2U);
}

TEST_F(Checks, TheInnermostLevelHoldsUntilItsScopeEnds) {
  {
    const checks outer("off");
    {
      const checks inner("raise");
      EXPECT_THROW((void)log(Tensor{0.0}), NonFiniteError);
    }
    EXPECT_NO_THROW((void)log(Tensor{0.0}));
    EXPECT_EQ(leaving(log(Tensor{0.0})), "");
  }
  EXPECT_NE(leaving(log(Tensor{0.0})), "");
  EXPECT_THROW(checks("loud"), ArgumentError);
}

TEST(ChecksDeathTest, TheEnvironmentSetsTheDefaultLevel) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a fresh process reads the environment anew
  setenv("WELLPOSED_CHECKS", "raise", 1);
  EXPECT_EXIT(
      {
        try {
          (void)log(Tensor{0.0});
        } catch (const NonFiniteError&) {
          _exit(7);
        }
        _exit(0);
      },
      ::testing::ExitedWithCode(7), "");
  unsetenv("WELLPOSED_CHECKS");
}

// ---- threads
// ----------------------------------------------------------------------------------------------------------

TEST_F(Checks, ThreadsKeepTheirScopesApartAndAttachHandsThemOn) {
  const scope here("main");
  const Context parent = context();
  std::string alone, attached;
  std::thread([&] { alone = current_scope(); }).join();
  std::thread([&] {
    const Attach to(parent);
    attached = current_scope();
  }).join();
  EXPECT_EQ(alone, "");
  EXPECT_EQ(attached, "main");
  EXPECT_EQ(current_scope(), "main");
}

TEST_F(Checks, AMaskOfGivenInfinitiesIsNotAnAlarm) {
  const Tensor mask = where(Tensor{{true, false}, {true, true}}, 0.0, -inf);
  const Tensor weights = softmax(Tensor{{1.0, 2.0}, {3.0, 4.0}} + mask);
  EXPECT_EQ(leaving(weights), "");
  EXPECT_EQ(leaving(logsumexp(mask + 1.0)), "");
}

}  // namespace
}  // namespace wp
