#include "base/memory.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "wellposed/wellposed.hpp"

namespace wp {
namespace {

TEST(Memory, GivesAlignedBlocksOfEverySize) {
  std::vector<std::pair<void*, std::size_t>> blocks;
  for (std::size_t bytes = 0; bytes < 3'000'000; bytes = bytes * 5 / 4 + 1) {
    void* p = memory::allocate(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % memory::kAlignment, 0U) << bytes;
    std::memset(p, 0x5a, bytes);
    blocks.emplace_back(p, bytes);
  }
  for (const auto& [p, bytes] : blocks) memory::release(p, bytes);
}

TEST(Memory, KeepsTheNewestBlocksWhenTheCacheIsFull) {
  std::vector<std::pair<void*, std::size_t>> blocks;
  for (std::size_t mib = 20; mib < 60; mib += 4) blocks.emplace_back(memory::allocate(mib << 20), mib << 20);
  for (const auto& [p, bytes] : blocks) memory::release(p, bytes);  // 380 MiB in all
  const auto [last, bytes] = blocks.back();
  EXPECT_LT(memory::stats().cached, std::size_t{380} << 20);
  EXPECT_EQ(memory::allocate(bytes), last);
  memory::release(last, bytes);
}

TEST(Memory, ReusesALargeBlockThatWasReleased) {
  void* const first = memory::allocate(10 << 20);
  memory::release(first, 10 << 20);
  void* const second = memory::allocate(10 << 20);
  EXPECT_EQ(first, second);
  memory::release(second, 10 << 20);
}

TEST(Memory, RefusesMoreThanTheMachineHasBeforeMappingAnything) {
  const std::size_t live = memory::stats().live;
  try {
    memory::allocate(std::size_t{1} << 50);
    FAIL() << "a petabyte was promised";
  } catch (const OutOfMemory& e) {
    EXPECT_NE(std::string(e.what()).find("1.0 PiB"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("available"), std::string::npos) << e.what();
  }
  EXPECT_EQ(memory::stats().live, live);
}

TEST(Memory, NamesTheLargestLiveTensorsByScopeAndLineWhenItRefusesAndGoesOn) {
  const scope here("model/layer7");
  const Tensor big = ones({3 << 20}), half = ones({3 << 19});
  const std::string line = "memory_test.cpp:" + std::to_string(__LINE__ - 1);
  try {
    (void)ones({std::int64_t{1} << 40});
    FAIL();
  } catch (const OutOfMemory& e) {
    const std::string words = e.what();
    EXPECT_NE(words.find("asked for 8.0 TiB (8796093022208 bytes)"), std::string::npos) << words;
    EXPECT_NE(words.find("bytes) are available"), std::string::npos) << words;
    EXPECT_NE(words.find("24 MiB by ones at " + line + " in model/layer7"), std::string::npos) << words;
    EXPECT_NE(words.find(" By scope: 36 MiB in model/layer7"), std::string::npos) << words;
  }
  EXPECT_EQ(sum(big).item<double>(), 3 << 20);
}

TEST(Memory, SurvivesBlocksReleasedByOtherThreads) {
  for (int round = 0; round < 20; ++round) {
    std::vector<void*> blocks;
    for (int i = 0; i < 3000; ++i) blocks.push_back(memory::allocate(300));
    std::thread([&] {
      for (void* b : blocks) memory::release(b, 300);
    }).join();
  }
}

TEST(Memory, RefusesShapesWhoseProductOverflows) {
  const std::int64_t big = std::int64_t{1} << 40;
  EXPECT_THROW(detail::make_node(f64, {big, big}), OutOfMemory);
  EXPECT_THROW(detail::make_node(f64, {-3}), ShapeError);
  EXPECT_THROW(detail::make_node(f64, {1'000'000'000'000'000}), OutOfMemory);
  EXPECT_EQ(Tensor::adopt(detail::make_node(f64, {big, 0, big})).size(), 0);
}

}  // namespace
}  // namespace wp
