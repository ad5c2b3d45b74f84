#include "wellposed/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "base/terminal.hpp"
#include "base/text.hpp"

namespace wp {
namespace {

constexpr double kQuiet = 0.5, kRedraw = 0.1, kLines = 10;  // seconds

std::string amount(double n, std::string_view unit) {
  if (unit == "bytes") return bytes_text(n);
  return fmt::format("{:.0f}", n);
}

std::string rate_text(double per_second, std::string_view unit) {
  if (unit == "bytes") return bytes_text(per_second) + "/s";
  const std::string what = unit.empty() ? "/s" : say(' ', unit, "/s");
  return (per_second >= 100 ? fmt::format("{:.0f}", per_second) : fmt::format("{:.3g}", per_second)) + what;
}

// Eighths of a cell: ▏▎▍▌▋▊▉█.
std::string bar_text(double fraction, int cells) {
  static constexpr const char* parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(std::lround(std::clamp(fraction, 0.0, 1.0) * cells * 8));
  std::string out = "|";
  for (int i = 0; i < eighths / 8; ++i) out += "█";
  out += parts[eighths % 8];
  out.append(static_cast<std::size_t>(cells - eighths / 8 - (eighths % 8 ? 1 : 0)), ' ');
  return out + '|';
}

// Cuts a text to columns, by code points; every character here is one column wide.
std::string cut(std::string text, int columns) {
  std::size_t at = 0;
  for (int seen = 0; at < text.size(); ++at)
    if ((static_cast<unsigned char>(text[at]) & 0xC0U) != 0x80U && ++seen > columns) break;
  text.resize(at);
  return text;
}
int columns(std::string_view text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(),
                                        [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace

std::string duration_text(double seconds) {
  if (!(seconds >= 0) || seconds > 1e9) return "?";
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  const auto s = static_cast<std::int64_t>(std::lround(seconds));
  if (s < 60) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{} min {} s", s / 60, s % 60);
  return fmt::format("{} h {} min", s / 3600, s % 3600 / 60);
}

std::string progress_line(std::string_view label, std::int64_t done, std::int64_t total, std::string_view unit,
                          double elapsed, int width, bool bar) {
  const double rate = elapsed > 0 ? static_cast<double>(done) / elapsed : 0;
  const bool known = total > 0;
  const double fraction = known ? static_cast<double>(done) / static_cast<double>(total) : 0;
  std::string head(label), tail = amount(static_cast<double>(done), unit);
  if (known) {
    head += fmt::format("  {:.0f} %", std::floor(fraction * 100));
    tail += "/" + amount(static_cast<double>(total), unit);
  }
  if (!unit.empty() && unit != "bytes") tail += say(' ', unit);
  if (done > 0 && elapsed > 0) tail += ", " + rate_text(rate, unit);
  if (known && rate > 0 && done < total)
    tail += ", " + duration_text(static_cast<double>(total - done) / rate) + " left";
  const int cells = std::min(30, width - columns(head) - columns(tail) - 4);
  const std::string middle = bar && known && cells >= 5 ? say(' ', bar_text(fraction, cells), ' ') : "  ";
  return cut(head + middle + tail, width);
}

ProgressOutput ProgressOutput::standard() {
  ProgressOutput out;
  out.tty = terminal::is_tty(stderr);
  out.width = terminal::width(stderr);
  out.seconds = [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
  out.write = [](std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
  };
  return out;
}

Progress::Progress(std::string label, std::int64_t total, std::string unit, ProgressOutput output)
    : label_(std::move(label)),
      unit_(std::move(unit)),
      total_(total),
      output_(std::move(output)),
      start_(output_.seconds()),
      step_(output_.tty ? kRedraw : kLines),
      next_(start_ + (output_.tty ? kQuiet : kLines)) {}

Progress::~Progress() {
  finish();
}

void Progress::add(std::int64_t n) noexcept {
  done_.fetch_add(n, std::memory_order_relaxed);
  const double now = output_.seconds();
  if (now >= next_.load(std::memory_order_relaxed)) [[unlikely]]
    draw(now);
}

// Progress is an extra: when it cannot be shown (no memory, closed stream), the work goes on.
void Progress::draw(double now) noexcept try {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || finished_ || now < next_.load(std::memory_order_relaxed)) return;
  next_.store(now + step_, std::memory_order_relaxed);
  shown_ = true;
  const std::string line =
      progress_line(label_, done(), total_, unit_, now - start_, output_.tty ? output_.width - 1 : 1000, output_.tty);
  output_.write(output_.tty ? "\r" + line + "\x1b[K" : line + "\n");
} catch (...) {
}

void Progress::finish() noexcept try {
  const std::lock_guard lock(mutex_);
  if (finished_) return;
  finished_ = true;
  if (!shown_) return;
  std::string line = label_ + ": " + amount(static_cast<double>(done()), unit_);
  if (!unit_.empty() && unit_ != "bytes") line += " " + unit_;
  if (total_ > 0 && done() < total_) line += " of " + amount(static_cast<double>(total_), unit_);
  line += " in " + duration_text(output_.seconds() - start_) + "\n";
  output_.write(output_.tty ? "\r\x1b[K" + line : line);
} catch (...) {
}

}  // namespace wp
