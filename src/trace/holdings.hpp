// The memory of tensors that somebody keeps, each storage once.
#pragma once
#include "trace/addresses.hpp"
#include "wellposed/tensor.hpp"

namespace wp::trace {

class Holdings {
 public:
  // What holding a tensor may keep alive: itself, and what it is a view of.
  static std::size_t most_bytes(const Tensor& t) noexcept {
    if (!t.defined()) return 0;
    const detail::Node& n = *t.node();
    return bytes_of(n) + (n.owner ? bytes_of(*n.owner) : 0);
  }
  void add(const Tensor& t);
  // Before the tensor is let go. Gives the bytes that this frees; not those that others held when own() looked.
  std::size_t drop(const Tensor& t) noexcept;
  std::size_t bytes() const noexcept { return bytes_; }  // of all
  std::size_t tensors() const noexcept { return held_.size(); }
  // Of those that nobody else holds: directly, or by a view.
  std::size_t own() noexcept;
  void clear() noexcept;

 private:
  struct Row {
    detail::Node* key = nullptr;
    std::uint32_t uses = 0;  // references that are ours; a view that is held makes one to its owner
    bool elsewhere = false;  // when own() last looked
    std::size_t bytes = 0;
  };
  // The node's block, its memory apart, and what a lender holds for it.
  static std::size_t bytes_of(const detail::Node& n) noexcept {
    const bool lent = n.borrowed && !n.owner && n.bytes == 0;
    return n.block + n.bytes + (lent ? static_cast<std::size_t>(n.size) * size_of(n.dtype) : 0);
  }
  void add(detail::Node* n);
  std::size_t drop(detail::Node* n) noexcept;
  Addresses<Row> held_;
  std::size_t bytes_ = 0;
};

}  // namespace wp::trace
