// Forward mode: tangents travel with the values.
#pragma once
#include <functional>

#include "autodiff/slots.hpp"
#include "ops/derivative.hpp"
#include "ops/follower.hpp"

namespace wp::autodiff {

using Function = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

class Tangents : public Follower {
 public:
  void after(Call& c) override;
  bool follows(const Tensor& t) const noexcept override { return of(t).defined(); }
  bool goes_back() const noexcept override { return false; }
  void set(const Tensor& x, Tensor tangent);
  // Undefined: zero.
  Tensor of(const Tensor& x) const;
  bool chose = false;  // some rule took one of many vectors (Saved::choose)

 private:
  Slots slots_;
  std::vector<Tensor> tangents_;
};

// Where the innermost forward mode that runs is told that a rule chose; none: nobody asks.
bool* waiting_for_choice() noexcept;

// Numbers of no meaning, none of them zero, in the shape and dtype of y: seeds of ways back that are linear in them.
Tensor arbitrary(const Tensor& y);

// x as a tensor of its own: what it is used for elsewhere is not followed.
Tensor alias(const Tensor& x);
std::vector<Tensor> aliases(const std::vector<Tensor>& xs);

struct Pushed {
  std::vector<Tensor> values, tangents;
  bool chose = false;  // some rule took one of many vectors: those outside are told too
};
// f(x) and f′(x)·v; an undefined v stands for zero, a result that does not vary has a tangent of zeros.
Pushed pushed(const Function& f, const std::vector<Tensor>& x, const std::vector<Tensor>& v);
// f(x), f′(x)·v, f″(x)·v·v, … up to `order`.
std::vector<std::vector<Tensor>> taylor(const Function& f, const std::vector<Tensor>& x, const std::vector<Tensor>& v,
                                        int order);

}  // namespace wp::autodiff
