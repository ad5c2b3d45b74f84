// The way back from an element to its source, over the calls of a window.
#pragma once
#include <unordered_map>

#include "trace/window.hpp"

namespace wp::trace {

class Walk {
 public:
  explicit Walk(const Window* window);
  Blame from(const Tensor& x, std::int64_t element);

 private:
  struct Made {
    std::size_t call, output;
  };
  struct Operand {
    std::size_t input = 0;
    std::int64_t element = -1;
  };
  // What a call read: memory of others may hold something else by now.
  struct Seen {
    const Tensor* tensor;
    std::int64_t element;
  };
  // What may have handed the value on: the only operand, the first NaN, the first Inf, the first bool or integer that
  // rests on a made value, the largest.
  struct Operands {
    std::size_t count = 0;
    Operand first, nans, infs, marked, largest;
    Operand cause(bool nan) const noexcept;  // of what is not finite
    Operand cause_of_answer() const noexcept;
  };
  static Operands operands(const Call& c, std::size_t output, std::int64_t element);
  // The last call before `limit` that made the tensor.
  std::optional<Made> maker(const Tensor& x, std::size_t limit) const;
  // The same of elements that another tensor showed then: one that was named or numbered since, or handed out by a
  // call that made others.
  std::optional<Made> maker_of_same(const Tensor& x, std::size_t limit) const;
  Blame back(const Tensor& x, std::int64_t element, Seen seen, std::size_t limit);
  // The way back from before the tensor got its label, where that tells more than the label; none: it does not.
  std::optional<Blame> before_label(const Tensor& x, std::int64_t element, Seen seen, std::size_t limit);
  void came_in(const Tensor& x, std::int64_t element, const Seen& seen, Blame& b) const;
  void made_here(const Made& m, std::int64_t element, Blame& b);
  // Rows of labelled data that the operands of an element rest on.
  void rest_on(const Made& m, std::int64_t element, Blame& b);
  // The call as it was, once: what its flow remembers serves all elements.
  const Call& recalled(std::size_t call);

  std::vector<Kept> calls_;
  std::unordered_map<const detail::Node*, std::vector<Made>> made_;
  std::unordered_map<std::size_t, Recalled> recalled_;
  std::size_t let_go_ = 0;
  bool window_;
};

}  // namespace wp::trace
