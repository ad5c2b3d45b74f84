#include "autodiff/outside.hpp"

#include <utility>

#include "base/text.hpp"
#include "ops/derivative.hpp"
#include "ops/follower.hpp"
#include "ops/moves.hpp"

namespace wp::autodiff {
namespace {

thread_local OutsideOf* innermost = nullptr;

// Its attribute is its record, so that it lives as long as a tape remembers a call.
std::shared_ptr<const Op> op_for(const Op* rule) {
  auto op = std::make_shared<Op>();
  op->name = rule ? intern(say("the derivative of ", rule->name)) : "a part of the function";
  op->group = "custom";
  op->params = {{.name = "x", .variadic = true}};
  op->attrs = {{.name = "op", .type = AttrType::object, .required = true}};
  op->infer = no_outputs;
  op->forward = forward_same;
  op->notes = Notes::moves;
  op->flow = flow_everything;
  op->no_derivative =
      "it was computed outside of wellposed (NumPy, another framework), where no tape sees what it depends on.";
  op->advice = "Write it with functions of wellposed, or take stop_gradient of what is meant as a constant.";
  return op;
}

}  // namespace

OutsideOf::OutsideOf(const Place& place) : rule_(nullptr), place_(place), outer_(std::exchange(innermost, this)) {}
OutsideOf::OutsideOf(const Saved& rule)
    : rule_(&rule.op), place_(rule.place), outer_(std::exchange(innermost, this)) {}
OutsideOf::OutsideOf(const Call& forward)
    : rule_(nullptr), place_(forward.place()), outer_(std::exchange(innermost, this)), counts_outer_(false) {}
OutsideOf::~OutsideOf() {
  innermost = outer_;
}

void given_away(const Tensor& t) {
  if (innermost && is_floating(t.dtype()) && followed(t)) innermost->given_.push_back(t);
}

Tensor taken_back(const Tensor& t) {
  if (!innermost || !t.defined() || !is_floating(t.dtype())) return t;
  std::vector<const Tensor*> in{&t};
  for (const OutsideOf* o = innermost; o; o = o->counts_outer_ ? o->outer_ : nullptr)
    for (const Tensor& given : o->given_)
      if (followed(given)) in.push_back(&given);
  if (in.size() == 1) return t;
  const std::shared_ptr<const Op> op = op_for(innermost->rule_);
  const Attr attrs[] = {Attr(std::shared_ptr<const void>(op))};
  Tensor y = call1(*op, Inputs(in.data(), in.size()), attrs, innermost->place_);
  y.node()->weak = t.node()->weak;
  return y;
}

}  // namespace wp::autodiff
