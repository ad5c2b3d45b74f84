// GradientTape: records what is computed from the tensors it watches, and differentiates it.
//   GradientTape tape;
//   tape.watch(x);
//   Tensor y = sum(square(x));
//   Tensor g = tape.gradient(y, x);   // 2 x
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "wellposed/context.hpp"
#include "wellposed/tensor.hpp"

namespace [[gnu::visibility("default")]] wp {

namespace autodiff {
class Tape;
}

struct TapeOptions {
  bool persistent = false;  // several gradients from one recording; memory is kept until reset() or destruction
};

struct GradientOptions {
  std::vector<Tensor> output_gradients = {};  // one per target, in its shape; left out, undefined: ones
  std::string_view unconnected = "none";      // what a tensor gets that the target does not depend on: none | zero
  // Where a derivative of svd, eigh or qr was taken at repeated or vanishing values, computes it again in another
  // basis and compares. none: there only; true: also flips the signs of single vectors, and measures what rounding
  // leaves of second derivatives, by further ways back; false: never.
  std::optional<bool> verify = std::nullopt;
};

// Gradients of real losses: ∂L/∂x, for complex x ∂L/∂Re x + i ∂L/∂Im x. Targets that are not scalars are summed.
// Tapes may be nested to any depth: an outer tape records what an inner one computes.
class GradientTape {
 public:
  explicit GradientTape(const TapeOptions& options = {});
  GradientTape(GradientTape&&) noexcept;
  GradientTape& operator=(GradientTape&&) noexcept;
  ~GradientTape();

  // From now on what is computed from x is recorded. Floating-point and complex tensors only.
  void watch(const Tensor& x, std::source_location where = std::source_location::current());
  void watch(const std::vector<Tensor>& xs, std::source_location where = std::source_location::current());

  // The gradient of y with respect to x. A tensor that y does not depend on has none: the result is undefined
  // (unconnected = "none"). Throws GradientError where the way from y to x has no derivative, or x was not watched.
  Tensor gradient(const Tensor& y, const Tensor& x, const GradientOptions& options = {},
                  std::source_location where = std::source_location::current());
  std::vector<Tensor> gradient(const Tensor& y, const std::vector<Tensor>& xs, const GradientOptions& options = {},
                               std::source_location where = std::source_location::current());
  std::vector<Tensor> gradient(const std::vector<Tensor>& ys, const std::vector<Tensor>& xs,
                               const GradientOptions& options = {},
                               std::source_location where = std::source_location::current());

  // ∂y/∂x in the shape y.shape + x.shape.
  Tensor jacobian(const Tensor& y, const Tensor& x, const GradientOptions& options = {},
                  std::source_location where = std::source_location::current());
  // The Jacobian of every member of a batch: y[b] depends on x[b] only, in the shape [b] + y.shape[1:] + x.shape[1:].
  // Throws GradientError when members depend on each other.
  Tensor batch_jacobian(const Tensor& y, const Tensor& x, const GradientOptions& options = {},
                        std::source_location where = std::source_location::current());
  // ∂²y/∂x² of a scalar y in the shape x.shape + x.shape.
  Tensor hessian(const Tensor& y, const Tensor& x, const GradientOptions& options = {},
                 std::source_location where = std::source_location::current());

  // Calls f with the whole gradient of x on its way back; what it returns goes on (undefined: as it was).
  void hook(const Tensor& x, std::function<Tensor(const Tensor&)> f,
            std::source_location where = std::source_location::current());

  // What was noticed on the way back: digits lost, kinks, ill-conditioned solves.
  std::vector<Finding> findings() const;

  // Nothing is recorded while the returned object lives.
  class [[nodiscard]] Stopped {
   public:
    ~Stopped();
    Stopped(const Stopped&) = delete;
    Stopped& operator=(const Stopped&) = delete;

   private:
    friend class GradientTape;
    explicit Stopped(autodiff::Tape& tape);
    autodiff::Tape& tape_;
  };
  Stopped stop_recording();

  // Forgets everything, also what it watches, and records again.
  void reset();

  std::size_t recorded() const noexcept;  // calls on the tape
  std::size_t bytes() const noexcept;     // memory that tensors kept for the way back take

 private:
  std::unique_ptr<autodiff::Tape> tape_;
};

}  // namespace gnu::visibility("default")]]wp
