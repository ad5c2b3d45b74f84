// What a function of the caller's uses beside its arguments.
#pragma once
#include <algorithm>
#include <unordered_set>

#include "autodiff/tape.hpp"
#include "base/text.hpp"
#include "ops/moves.hpp"

namespace wp::autodiff {

// Sees whether a function uses a tensor that somebody differentiates and that is not among its arguments, and whether
// it gives away results of a decomposition, or elements of them.
class Captures : public Follower {
 public:
  Captures(const std::vector<Tensor>& x, const Listener* listeners) {
    for (const Tensor& t : x) {
      own_.insert(t.node());
      if (t.defined() && t.node()->id) own_ids_.insert(t.node()->id);
    }
    for (const Listener* l = listeners; l; l = l->outer)
      if (const auto* const f = dynamic_cast<const Follower*>(l->observer)) followers_.push_back(f);
  }
  // Also for functions inside of this one.
  bool goes_back() const noexcept override { return false; }
  bool follows(const Tensor& t) const noexcept override {
    return !own_.contains(t.node()) && !own_ids_.contains(t.node()->id) &&
           std::any_of(followers_.begin(), followers_.end(), [&](const Follower* f) { return f->follows(t); });
  }
  bool leaves(const std::vector<Tensor>& results) const {
    return std::any_of(results.begin(), results.end(), [&](const Tensor& y) { return parts_.contains(y.node()); });
  }
  bool collective() const noexcept { return collective_; }
  void after(Call& c) override {
    collective_ = collective_ || c.op.collective;
    bool parts = c.aside && c.aside->keeps_after;
    for (std::size_t i = 0; i < c.in.size(); ++i)
      parts = parts || (c.op.notes == Notes::moves && c.in[i].defined() && parts_.contains(c.in[i].node()));
    for (const Tensor& y : c.out)
      if (parts) {
        parts_.insert(y.node());
        kept_.push_back(y);
      }
    // A constant, a mask or an index has no gradient to lose.
    if (c.op.flow == flow_nothing || stops_gradients(c.op) ||
        std::none_of(c.out.begin(), c.out.end(), [](const Tensor& y) { return is_floating(y.dtype()); }))
      return;
    for (std::size_t i = 0; i < c.in.size(); ++i)
      if (c.in[i].defined() && follows(c.in[i]))
        refuse<ArgumentError>("WP-GRD-010",
                              say("the function uses a watched tensor ", c.in[i].dtype(), " ", c.in[i].shape(),
                                  " that is not among its arguments: its gradient would be lost."),
                              "Hand it over as an argument; stop_gradient of it where it is meant as a constant.");
  }

 private:
  std::unordered_set<const detail::Node*> own_, parts_;
  std::unordered_set<std::uint64_t> own_ids_;  // copies of lent memory are the same variable
  bool collective_ = false;
  std::vector<Tensor> kept_;  // so that no node of parts_ is another tensor's later
  std::vector<const Follower*> followers_;
};

}  // namespace wp::autodiff
