#include "trace/holdings.hpp"

namespace wp::trace {
void Holdings::add(detail::Node* n) {
  Row& row = held_.at(n);
  if (++row.uses > 1) return;
  bytes_ += row.bytes = bytes_of(*n);
  if (n->owner) add(n->owner);
}

std::size_t Holdings::drop(detail::Node* n) noexcept {
  Row* const row = held_.find(n);
  if (!row || --row->uses > 0) return 0;
  bytes_ -= row->bytes;
  const std::size_t freed = row->elsewhere ? 0 : row->bytes;
  held_.erase(row);
  return freed + (n->owner ? drop(n->owner) : 0);
}

void Holdings::add(const Tensor& t) {
  if (t.defined()) add(t.node());
}
std::size_t Holdings::drop(const Tensor& t) noexcept {
  return t.defined() ? drop(t.node()) : 0;
}

std::size_t Holdings::own() noexcept {
  for (Row& row : held_.slots())
    if (row.key) row.elsewhere = row.key->refs.load(std::memory_order_relaxed) > row.uses;
  for (const Row& row : held_.slots())
    if (row.key && row.elsewhere && row.key->owner)
      if (Row* const owner = held_.find(row.key->owner)) owner->elsewhere = true;
  std::size_t sum = 0;
  for (const Row& row : held_.slots())
    if (row.key && !row.elsewhere) sum += row.bytes;
  return sum;
}

void Holdings::clear() noexcept {
  held_.clear();
  bytes_ = 0;
}

}  // namespace wp::trace
