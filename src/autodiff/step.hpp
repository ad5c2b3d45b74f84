// One recorded call. A step and all that belongs to it stand in one piece of an arena.
#pragma once
#include <array>
#include <cstddef>
#include <forward_list>
#include <memory>
#include <span>
#include <vector>

#include "ops/derivative.hpp"

namespace wp::autodiff {

struct Step {
  const Op* op;
  Place place;
  const ScopeName* scope;
  std::int64_t number;  // of the training step
  std::uint32_t inputs, outputs, residuals, attrs;
  std::int32_t* slots;  // inputs, then outputs; −1: not on this tape
  Facts facts;          // inputs, then outputs
  Tensor* saved;        // inputs, outputs, residuals; undefined where the rule does not need them
  Attr* attr;
  std::shared_ptr<const void> keepsake;
  bool in_rule = false;  // made by a derivative's rule

  // Whether optional input i was given.
  bool given(std::uint32_t i) const noexcept { return &facts[i] != &nothing; }
  static const Fact nothing;
  std::span<const std::int32_t> in_slots() const noexcept { return {slots, inputs}; }
  std::span<const std::int32_t> out_slots() const noexcept { return {slots + inputs, outputs}; }
  Saved view() const noexcept {
    return {*op,   {attr, attrs}, {saved, inputs}, {saved + inputs, outputs}, {saved + inputs + outputs, residuals},
            facts, place,         keepsake.get()};
  }
  // Lets go of what the rule needed.
  void forget() noexcept {
    for (std::uint32_t i = 0; i < inputs + outputs + residuals; ++i) saved[i] = Tensor();
  }
};

// "log (model.cpp:41) has no derivative, and …: why"; the reason is that of the op, if none is given.
[[noreturn]] void refuse_derivative(const Op& op, std::string_view where, std::string_view what = "",
                                    std::string_view reason = "");

// A rule that is asked outside of a way back: there is nothing that comes after.
struct Alone : Backward {
  using Backward::Backward;
  std::vector<Tensors> taylor(const Variation&, const Variation&, int) const override { none(); }
  std::optional<bool> verify() const noexcept override { return false; }
  int depth() const noexcept override { return 1; }
  Tensors pulled_back(const std::function<Tensor()>& f, std::span<const Tensor> x, const Tensor& g) const override;
  void find(Finding f) const override { report(f); }

 private:
  [[noreturn]] void none() const;
};

// Errors and findings of a rule, or of a call that is made again, speak of the op, line and scope of its call.
class OnBehalf {
 public:
  explicit OnBehalf(const Step& s)
      : here_(context()),
        rule_(here_.rule),
        outer_(here_.running),
        scope_(here_.scope),
        number_(here_.step),
        running_{s.op->name.data(), &s.place} {
    set(&running_, &running_, s.scope, s.number);
  }
  ~OnBehalf() { set(rule_, outer_, scope_, number_); }
  OnBehalf(const OnBehalf&) = delete;
  OnBehalf& operator=(const OnBehalf&) = delete;

 private:
  void set(const Running* rule, const Running* running, const ScopeName* scope, std::int64_t number) noexcept {
    here_.rule = rule;
    here_.running = running;
    here_.scope = scope;
    here_.step = number;
  }
  Context& here_;  // of this thread: asked for once
  const Running *rule_, *outer_;
  const ScopeName* scope_;
  std::int64_t number_;
  Running running_;
};

// Steps in the order of the calls; their addresses stay.
class Steps {
 public:
  Steps() = default;
  ~Steps() { clear(); }
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;

  std::size_t size() const noexcept { return steps_.size(); }
  Step& operator[](std::size_t i) noexcept { return *steps_[i]; }
  const Step& operator[](std::size_t i) const noexcept { return *steps_[i]; }
  // A step with its facts; slots, tensors and attributes are for the caller to fill.
  Step& add(const Call& c);
  void clear() noexcept;

 private:
  std::byte* take(std::size_t bytes);
  const Fact* fact_of(const Tensor& t);
  std::vector<Step*> steps_;
  std::forward_list<Fact> facts_;
  std::array<const Fact*, 8> recent_{};  // of facts_; the next one goes where next_ is
  std::size_t next_ = 0;
  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  std::byte *at_ = nullptr, *end_ = nullptr;
  bool large_ = false;  // some chunk is not of the usual size
};

}  // namespace wp::autodiff
