// Triggers of the findings of summaries.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "findings.hpp"

namespace wp::triggers {
namespace {

class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / ("wellposed-summaries-" + std::to_string(getpid()))) {}
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

void many_histograms(std::size_t most_bytes) {
  const Folder folder;
  SummaryWriter log(folder.path(), {.most_bytes = most_bytes, .longest_wait = 0});
  const Tensor large = zeros({1 << 22});  // to count takes longer than to give
  for (int i = 0; i < 20; ++i) log.histogram("x", large, {.step = i});
}

// Files may not grow beyond `most` bytes, as on a full disk.
void one_scalar(rlim_t most) {
  const Folder folder;
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{std::min(most, before.rlim_max), before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  {
    SummaryWriter log(folder.path());
    log.scalar("loss", 1);
  }
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
}

void scalar_of(const Tensor& value) {
  const Folder folder;
  SummaryWriter(folder.path()).scalar("loss", value);
}

void two_steps(std::int64_t first, std::int64_t second) {
  const Folder folder;
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
