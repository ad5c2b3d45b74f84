// Checks that need no tiles: they judge what is known at the end.
#pragma once
#include "data/rule.hpp"

namespace wp::data {

template <class F>
class AtEnd final : public Check {
 public:
  explicit AtEnd(F judge) : judge_(std::move(judge)) {}
  void finish(const Subject& s, const Facts& f, RuleReport& r) override {
    r.unit = "tensor";
    r.checked = 1;
    judge_(s, f, r);
    r.failed = r.holds ? 0 : 1;
  }

 private:
  F judge_;
};
template <class F>
std::unique_ptr<Check> at_end(F judge) {
  return std::make_unique<AtEnd<F>>(std::move(judge));
}
inline void break_rule(RuleReport& r, std::string message) {
  r.holds = false;
  r.message = std::move(message);
}

}  // namespace wp::data
