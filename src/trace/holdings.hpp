// The memory of tensors that somebody keeps, each storage once.
#pragma once
#include "trace/addresses.hpp"
#include "wellposed/tensor.hpp"

namespace wp::trace {

class Holdings {
 public:
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
  void add(detail::Node* n);
  std::size_t drop(detail::Node* n) noexcept;
  Addresses<Row> held_;
  std::size_t bytes_ = 0;
};

}  // namespace wp::trace
