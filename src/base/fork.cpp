#include "base/fork.hpp"

#include <pthread.h>

#include <vector>

namespace wp {
namespace {

std::vector<std::mutex*>& kept() {
  static auto* const all = new std::vector<std::mutex*>;
  return *all;
}
void take() {
  for (std::mutex* const m : kept()) m->lock();
}
void give_back() {
  for (std::mutex* const m : kept()) m->unlock();
}

}  // namespace

void open_in_children(std::mutex& mutex) {
  if (kept().empty()) pthread_atfork(take, give_back, give_back);
  kept().push_back(&mutex);
}

}  // namespace wp
