// What a training run tells before it fails, and a guard that keeps one bad batch from the weights.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "wellposed/error.hpp"
#include "wellposed/tensor.hpp"

namespace [[gnu::visibility("default")]] wp {

struct TrendOptions {
  int window = 16;       // steps that a trend is fitted to
  double horizon = 500;  // warns when numbers will overflow within so many steps
  int patience = 50;     // steps after which a unit that gives 0 for every row counts as dead
};

// Tell it once per step about every parameter; it reports each kind of trouble once per name, as findings WP-TRD-00x.
class Trends {
 public:
  explicit Trends(const TrendOptions& options = {}) : options_(options) {}
  // `update`: what the step adds to the weight; left out, its size is not judged.
  void see(std::string_view name, const Tensor& weight, const Tensor& gradient, const Tensor& update = {});
  // Outputs of units, [rows…, units].
  void see_units(std::string_view name, const Tensor& activations);

  const std::vector<Finding>& findings() const noexcept { return findings_; }
  // log₂ of the gradient's norm of a name, one per step seen, for plots.
  std::vector<double> gradient_norms(std::string_view name) const;

 private:
  struct Series {
    std::vector<double> weight, gradient;  // log₂ of the largest |w|, of ‖g‖
    int large_updates = 0;                 // steps in a row
    bool told_growth = false, told_headroom = false, told_update = false;
  };
  struct Units {
    std::vector<int> silent;  // steps in a row, per unit
    bool told = false;
  };
  void tell(bool& told, std::string_view code, std::string_view name, std::string message, std::string advice,
            double measured, double threshold);
  void judge_growth(std::string_view name, Series& s, DType dtype);

  TrendOptions options_;
  std::map<std::string, Series, std::less<>> series_;
  std::map<std::string, Units, std::less<>> units_;
  std::vector<Finding> findings_;
};

// Lets an update through only if all of it is finite: one poisoned batch does not destroy the weights.
class GradientGuard {
 public:
  // Whether every gradient is finite. If not: reports a finding with the first bad element and where it comes from.
  bool accepts(const std::vector<Tensor>& gradients, std::source_location where = std::source_location::current());
  // Runs a training step under checks at `escape` or `raise`, whatever they are around it. NonFiniteError stops the
  // step, is reported as a finding, and the result is false. What the step had assigned before, it has assigned.
  bool attempt(const std::function<void()>& step, std::source_location where = std::source_location::current());
  // The same, and the step is refused too if a weight is not finite after it (w − rate·g may overflow where g does
  // not). Weights of a step that was refused are what they were before it.
  bool attempt(const std::function<void()>& step, const std::vector<Tensor*>& weights,
               std::source_location where = std::source_location::current());
  std::int64_t refused() const noexcept { return refused_; }

 private:
  void refuse(const Error& why, std::string_view what, Place place);
  std::int64_t refused_ = 0;
};

}  // namespace gnu::visibility("default")]]wp
