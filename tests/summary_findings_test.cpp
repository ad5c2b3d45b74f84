// Triggers of the findings of summaries.
#include <gtest/gtest.h>

#include "findings.hpp"
#include "small_files.hpp"

namespace wp::triggers {
namespace {

void many_histograms(std::size_t most_bytes) {
  const tests::Folder folder;
  SummaryWriter log(folder.path(), {.most_bytes = most_bytes, .longest_wait = 0});
  const Tensor large = zeros({1 << 22});  // to count takes longer than to give
  for (int i = 0; i < 20; ++i) log.histogram("x", large, {.step = i});
}

void one_scalar(rlim_t most) {
  const tests::Folder folder;
  const tests::SmallFiles full(most);
  SummaryWriter log(folder.path());
  log.scalar("loss", 1);
}

void scalar_of(const Tensor& value) {
  const tests::Folder folder;
  SummaryWriter(folder.path()).scalar("loss", value);
}

void two_steps(std::int64_t first, std::int64_t second) {
  const tests::Folder folder;
  SummaryWriter log(folder.path());
  log.scalar("loss", 1, {.step = first});
  log.scalar("other", 1, {.step = 0});
  log.scalar("loss", 1, {.step = second});
}

}  // namespace

const Rows& of_summaries() {
  static const Rows all{
      {"WP-SUM-001", [] { many_histograms(1000); }, [] { many_histograms(std::size_t{1} << 30); }},
      {"WP-SUM-002", [] { one_scalar(10); }, [] { one_scalar(RLIM_INFINITY); }},
      {"WP-SUM-003",
       [] {
         scalar_of(Tensor{1.0, 2.0});
       },
       [] { scalar_of(Tensor{1.0}); }},
      {"WP-SUM-004", [] { two_steps(5, 4); }, [] { two_steps(5, 5); }},
  };
  return all;
}

TEST(Findings, OfSummariesEachHaveATriggerAndANeighbour) {
  expect_triggers(of_summaries());
}

}  // namespace wp::triggers
