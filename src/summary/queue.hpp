// Values on their way to an event file, and the thread that takes them there.
#pragma once
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "summary/log.hpp"
#include "wellposed/summary.hpp"

namespace wp::summary {

struct Text {
  std::string markdown;
};
struct Image {
  Tensor pixels;
};
struct Values {
  Tensor tensor;
  std::int64_t bins;
};
struct Item {
  double wall_time;
  std::int64_t step;
  std::string tag;
  std::variant<double, Values, Text, Image, linalg::Diagnosis> what;
  std::size_t bytes;  // that it holds until it is written
};

class Queue {
 public:
  Queue(const std::string& directory, const SummaryOptions& options);
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  void add(Item item);
  void flush();
  void close();
  const std::string& path() const noexcept { return log_.path(); }
  std::int64_t written() const;
  std::int64_t dropped() const;

 private:
  void run();
  void write(std::vector<Item>& items);
  int append(std::string_view records);
  void put(std::string_view records, std::int64_t count);
  void lost(std::int64_t records, int error);
  void see_step(const Item& item);
  void see_range(const Item& item);

  const SummaryOptions options_;
  Log log_;
  mutable std::mutex mutex_;
  std::condition_variable work_, done_;
  std::vector<Item> waiting_;
  std::size_t bytes_ = 0;  // of what waits and of what is being written
  std::int64_t given_ = 0, taken_ = 0, written_ = 0, dropped_ = 0;
  bool urgent_ = false, closed_ = false, told_full_ = false, told_disk_ = false;
  std::unordered_map<std::string, std::int64_t> last_step_;  // by tag; of the thread
  std::unordered_set<std::string> told_range_;               // tags; of the thread
  bool told_back_ = false, begun_ = false;                   // begun: the file has its first record
  std::thread thread_;
};

}  // namespace wp::summary
