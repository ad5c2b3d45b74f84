#include "ops/dispatch.hpp"

#include <gtest/gtest.h>

#include "ops/record.hpp"
#include "table.hpp"
#include "wellposed/wellposed.hpp"

namespace wp {
namespace {

class Diary : public Observer {
 public:
  void after(Call& c) override { lines.emplace_back(c.op.name); }
  std::vector<std::string> lines;
};

TEST(Dispatch, TellsObserversOfEachCallWhileTheyListen) {
  Diary diary;
  {
    const Listen listen(diary);
    (void)log(Tensor{1.0});
  }
  (void)log(Tensor{1.0});
  EXPECT_EQ(diary.lines, (std::vector<std::string>{"log"}));
}

TEST(Dispatch, TellsObserversNothingOfACallThatFails) {
  Diary diary;
  const Listen listen(diary);
  EXPECT_THROW((void)(Tensor{1.0, 2.0} + Tensor{1.0, 2.0, 3.0}), ShapeError);
  EXPECT_TRUE(diary.lines.empty());
}

TEST(Dispatch, ObserversMayEndInAnyOrder) {
  std::vector<Diary> diaries(9);
  std::vector<Listener*> all;
  for (Diary& d : diaries) all.push_back(listen(d));
  for (const std::size_t k : {4U, 0U, 8U, 1U, 2U, 7U, 3U, 5U}) silence(all[k]);
  (void)(Tensor{1.0} + 1.0);
  EXPECT_TRUE(diaries[4].lines.empty());
  EXPECT_FALSE(diaries[6].lines.empty());
  silence(all[6]);
  EXPECT_EQ(context().listeners, nullptr);
}

TEST(Dispatch, ReplaysEverySampleToTheSameBits) {
  const checks off(CheckLevel::off);
  for (const Op* op : op_table())
    for (const Sample& s : op->samples()) {
      Recording recording;
      const table::Outcome first = [&] {
        const Listen listen(recording);
        return table::run(*op, s.in, s.attrs);
      }();
      if (!first.ok()) continue;
      ASSERT_FALSE(recording.records.empty());
      const Tensors again = recording.records.back().replay();
      ASSERT_EQ(again.size(), first.out.size());
      for (std::size_t k = 0; k < again.size(); ++k)
        EXPECT_TRUE(table::same_bits(again[k], first.out[k])) << op->name;
    }
}

TEST(Dispatch, NamesOpLineAndScopeInMisuse) {
  const scope here("data");
  try {
    (void)(Tensor{1.0, 2.0} + Tensor{1.0, 2.0, 3.0});
    FAIL();
  } catch (const ShapeError& e) {
    EXPECT_EQ(e.finding().op, "add");
    EXPECT_EQ(e.finding().scope, "data");
    EXPECT_NE(std::string(e.finding().place.file).find("dispatch_test.cpp"), std::string::npos);
    EXPECT_NE(std::string(e.what()).find("[2] and [3]"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace wp
