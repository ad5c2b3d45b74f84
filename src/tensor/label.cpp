#include "tensor/label.hpp"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "base/fork.hpp"

namespace wp {
namespace {

// Few tensors have a label: nodes carry one bit, and the labels stand here.
struct Labels {
  std::mutex mutex;
  std::unordered_map<const detail::Node*, std::shared_ptr<const Label>> of;
};
Labels& labels() {
  static Labels* const all = new Labels;  // outlives tensors of static storage
  return *all;
}
[[gnu::constructor]] void prepare_for_fork() {
  open_in_children(labels().mutex);
}

}  // namespace

std::shared_ptr<const Label> label_of(const Tensor& t) {
  if (!t.defined() || !t.node()->labelled) return nullptr;
  Labels& all = labels();
  const std::lock_guard lock(all.mutex);
  const auto at = all.of.find(t.node());
  return at == all.of.end() ? nullptr : at->second;
}

void set_label(const Tensor& t, Label label) {
  label.in_order = std::adjacent_find(label.rows.begin(), label.rows.end(),
                                      [](std::int64_t a, std::int64_t b) { return b != a + 1; }) == label.rows.end();
  auto kept = std::make_shared<const Label>(std::move(label));
  Labels& all = labels();
  const std::lock_guard lock(all.mutex);
  all.of[t.node()] = std::move(kept);
  t.node()->labelled = true;
}

void detail::forget_label(const Node* node) noexcept {
  Labels& all = labels();
  std::shared_ptr<const Label> last;  // destroyed after the lock is given back
  const std::lock_guard lock(all.mutex);
  const auto at = all.of.find(node);
  if (at == all.of.end()) return;
  last = std::move(at->second);
  all.of.erase(at);
}

}  // namespace wp
