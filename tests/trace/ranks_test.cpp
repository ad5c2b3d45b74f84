// Recordings of ranks, read on a machine that some of them do not run on.
#include "trace/ranks.hpp"

#include <gtest/gtest.h>

namespace {

using namespace wp::trace;

std::shared_ptr<const Examined> rank_on(int number, const std::string& host, const Surroundings& here) {
  Flight f;
  f.path = "rank-" + std::to_string(number) + ".wpr";
  f.host = host;
  f.boot = host + "'s boot";
  f.traffic = {1200, 3 << 20, 5e9};
  return std::make_shared<const Examined>(examine(std::move(f), here));
}

TEST(Ranks, OfOtherMachinesAreNotCalledDead) {
  const Surroundings elsewhere{}, gone{.same_boot = true};
  const std::vector both{rank_on(0, "node01", gone), rank_on(1, "node02", elsewhere)};
  const auto ranks = ranks_of(both);
  ASSERT_EQ(ranks.size(), 2U);
  EXPECT_TRUE(ranks[0].dead);
  EXPECT_FALSE(ranks[1].dead);
  const std::string text = ranks_text(ranks);
  EXPECT_NE(text.find("rank 1  unknown, on node02, in no call yet"), std::string::npos) << text;
  EXPECT_NE(text.find("1200 messages of 3.0 MiB, 5e+09 operations"), std::string::npos) << text;
  EXPECT_NE(first_to_stop(ranks).find("Rank 0 stopped first"), std::string::npos);
  EXPECT_EQ(first_to_stop(ranks_of({rank_on(0, "node01", elsewhere), rank_on(1, "node02", elsewhere)})), "");
}

}  // namespace
