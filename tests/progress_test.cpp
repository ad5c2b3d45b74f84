#include "wellposed/progress.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace {

struct Screen {
  double now = 0;
  std::string text;
  wp::ProgressOutput output(bool tty) {
    return {tty, 60, [this] { return now; }, [this](std::string_view s) { text += s; }};
  }
};

TEST(Progress, SaysNothingWhenTheWorkIsShort) {
  for (const bool tty : {true, false}) {
    Screen s;
    {
      wp::Progress p("reading", 100, "rows", s.output(tty));
      for (int i = 0; i < 100; ++i) {
        s.now += 0.004;
        p.add();
      }
    }
    EXPECT_EQ(s.text, "");
  }
}

TEST(Progress, DrawsABarOnATerminalWithRateAndTimeLeft) {
  Screen s;
  {
    wp::Progress p("reading", 1000, "rows", s.output(true));
    s.now = 2;
    p.add(250);
    EXPECT_EQ(s.text, "\rreading  25 % |█▎   | 250/1000 rows, 125 rows/s, 6.0 s left\x1b[K");
    s.text.clear();
    s.now = 2.05;  // too soon
    p.add(1);
    EXPECT_EQ(s.text, "");
    p.add(749);
    s.now = 8;
  }
  EXPECT_EQ(s.text, "\r\x1b[Kreading: 1000 rows in 8.0 s\n");
}

TEST(Progress, WritesAPlainLineEveryTenSecondsElsewhere) {
  Screen s;
  {
    wp::Progress p("copying", 4096, "bytes", s.output(false));
    for (int second = 1; second <= 25; ++second) {
      s.now = second;
      p.add(100);
    }
  }
  EXPECT_EQ(s.text,
            "copying  24 %  1000 bytes/4.0 KiB, 100 bytes/s, 31 s left\n"
            "copying  48 %  2.0 KiB/4.0 KiB, 100 bytes/s, 21 s left\n"
            "copying: 2.4 KiB of 4.0 KiB in 25 s\n");
}

TEST(Progress, CountsWhatAllThreadsAdd) {
  Screen s;
  wp::Progress p("adding", -1, "", s.output(true));
  s.now = 1;  // due: one of them draws
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) p.add();
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(p.done(), 4000);
  EXPECT_TRUE(s.text.starts_with("\radding")) << s.text;
}

TEST(Progress, NeverExceedsTheWidth) {
  for (const int width : {0, 5, 20, 40, 200}) {
    const std::string line = wp::progress_line("a long label of some file", 5, 10, "rows", 3, width, true);
    int columns = 0;
    for (const char c : line) columns += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    EXPECT_LE(columns, width);
  }
}

TEST(Progress, TellsTimeInUnitsOfItsSize) {
  EXPECT_EQ(wp::duration_text(0.04), "0.0 s");
  EXPECT_EQ(wp::duration_text(59), "59 s");
  EXPECT_EQ(wp::duration_text(200), "3 min 20 s");
  EXPECT_EQ(wp::duration_text(7500), "2 h 5 min");
}

}  // namespace
