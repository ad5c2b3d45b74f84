// Reading event files: those of SummaryWriter, and of TensorFlow, PyTorch and tensorboardX.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "wellposed/tensor.hpp"

namespace [[gnu::visibility("default")]] wp {

// What a tag holds, in the order of the file.
template <class Value>
struct EventSeries {
  std::vector<std::int64_t> step;
  std::vector<double> wall_time;  // seconds since 1970
  std::vector<Value> value;
};
struct EventImages {
  std::int64_t width, height;
  std::vector<std::string> files;  // PNG or what the writer used
};
// Bytes that are no records: something overwrote them, or the writer was stopped.
struct EventDamage {
  std::string file;
  std::uint64_t offset, bytes;
  std::string reason;
};

struct Events {
  std::map<std::string, EventSeries<double>> scalars;
  std::map<std::string, EventSeries<Tensor>> histograms;  // [k, 3]: left, right, count
  std::map<std::string, EventSeries<std::string>> texts;
  std::map<std::string, EventSeries<EventImages>> images;
  std::int64_t records = 0, others = 0;  // others: of kinds that are not read
  std::vector<EventDamage> damage;       // what was lost; reading goes on behind it

  Tensor scalar(
      const std::string& tag) const;  // [n, 2]: step and value; throws ArgumentError naming the tags there are
  std::string csv(std::string_view run) const;  // lines: run, tag, step, wall_time, value of a scalar
  std::string json() const;
};

// By run: the folders below `path` that hold event files (names that contain "tfevents"), or one file, whose run is
// "". Throws FileError if there is none, FormatError if none holds a whole record; a bad file among good ones is
// damage.
std::map<std::string, Events> read_events(const std::string& path);

// One HTML page without scripts or anything loaded from elsewhere: curves of all runs, ridgelines of histograms over
// steps, pictures, texts, and what was lost.
std::string events_page(const std::map<std::string, Events>& runs, std::string_view title);

}  // namespace gnu::visibility("default")]]wp
