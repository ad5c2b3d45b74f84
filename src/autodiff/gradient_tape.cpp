#include "wellposed/gradient_tape.hpp"

#include "autodiff/jacobians.hpp"
#include "autodiff/tape.hpp"
#include "base/text.hpp"

namespace wp {
namespace {

bool zero_unconnected(const GradientOptions& o, std::string_view function) {
  if (o.unconnected == "zero") return true;
  if (o.unconnected != "none")
    raise<ArgumentError>("WP-ARG-001", function,
                         say("unconnected must be one of 'none', 'zero'; got '", o.unconnected, "'."));
  return false;
}

autodiff::Request request(std::span<const Tensor> ys, std::span<const Tensor> xs, const GradientOptions& o,
                          std::string_view function, const std::source_location& where) {
  if (!o.output_gradients.empty() && o.output_gradients.size() != ys.size())
    raise_at<ArgumentError>(where, "WP-ARG-001", function,
                            say("one output gradient per target; got ", o.output_gradients.size(), " for ",
                                plural(static_cast<std::int64_t>(ys.size()), "target"), "."));
  return {.targets = ys,
          .seeds = o.output_gradients,
          .sources = xs,
          .zero_unconnected = zero_unconnected(o, function),
          .verify = o.verify,
          .place = where,
          .function = function};
}

}  // namespace

GradientTape::GradientTape(const TapeOptions& options) : tape_(std::make_unique<autodiff::Tape>(options.persistent)) {
  tape_->start();
}
GradientTape::GradientTape(GradientTape&&) noexcept = default;
GradientTape& GradientTape::operator=(GradientTape&&) noexcept = default;
GradientTape::~GradientTape() = default;

void GradientTape::watch(const Tensor& x, std::source_location) {
  tape_->watch(x);
}
void GradientTape::watch(const std::vector<Tensor>& xs, std::source_location) {
  for (const Tensor& x : xs) tape_->watch(x);
}

Tensor GradientTape::gradient(const Tensor& y, const Tensor& x, const GradientOptions& options,
                              std::source_location where) {
  return tape_->gradient(request({&y, 1}, {&x, 1}, options, "gradient", where))[0];
}
std::vector<Tensor> GradientTape::gradient(const Tensor& y, const std::vector<Tensor>& xs,
                                           const GradientOptions& options, std::source_location where) {
  return tape_->gradient(request({&y, 1}, xs, options, "gradient", where));
}
std::vector<Tensor> GradientTape::gradient(const std::vector<Tensor>& ys, const std::vector<Tensor>& xs,
                                           const GradientOptions& options, std::source_location where) {
  return tape_->gradient(request(ys, xs, options, "gradient", where));
}

Tensor GradientTape::jacobian(const Tensor& y, const Tensor& x, const GradientOptions& options,
                              std::source_location where) {
  return autodiff::jacobian(*tape_, request({&y, 1}, {&x, 1}, options, "jacobian", where));
}
Tensor GradientTape::batch_jacobian(const Tensor& y, const Tensor& x, const GradientOptions& options,
                                    std::source_location where) {
  return autodiff::batch_jacobian(*tape_, request({&y, 1}, {&x, 1}, options, "batch_jacobian", where));
}
Tensor GradientTape::hessian(const Tensor& y, const Tensor& x, const GradientOptions& options,
                             std::source_location where) {
  return autodiff::hessian(*tape_, request({&y, 1}, {&x, 1}, options, "hessian", where));
}

void GradientTape::hook(const Tensor& x, std::function<Tensor(const Tensor&)> f, std::source_location) {
  tape_->hook(x, std::move(f));
}
std::vector<Finding> GradientTape::findings() const {
  return tape_->findings();
}

GradientTape::Stopped::Stopped(autodiff::Tape& tape) : tape_(tape) {
  tape_.stop();
}
GradientTape::Stopped::~Stopped() {
  tape_.start();
}
GradientTape::Stopped GradientTape::stop_recording() {
  return Stopped(*tape_);
}

void GradientTape::reset() {
  tape_->reset();
  tape_->start();
}
std::size_t GradientTape::recorded() const noexcept {
  return tape_->steps().size();
}
std::size_t GradientTape::bytes() const noexcept {
  return tape_->bytes();
}

}  // namespace wp
