// What derivative rules see. Rules are written in ops, so that they differentiate again; they return cotangents (or
// tangents) and never add: only the tape adds. A cotangent is brought to its input's shape and dtype by the tape.
// Complex: a cotangent is ∂L/∂Re + i ∂L/∂Im.
#pragma once
#include <array>
#include <functional>
#include <optional>

#include "ops/op.hpp"

namespace wp {

struct Fact {
  Dims shape;
  DType dtype = f64;
};

// Facts of the tensors of a call; many tensors share one.
class Facts {
 public:
  Facts() noexcept = default;
  Facts(const Fact* const* first) noexcept : first_(first) {}  // NOLINT
  const Fact& operator[](std::size_t i) const noexcept { return *first_[i]; }

 private:
  const Fact* const* first_ = nullptr;
};

// A call that was made: inputs and outputs that saves_inputs and saves_outputs do not name are undefined.
struct Saved {
  const Op& op;
  Attrs attrs;
  std::span<const Tensor> in, out, residuals;
  Facts facts;  // of the inputs, then of the outputs, whether they were kept or not
  Place place;
  const void* keepsake = nullptr;
  bool* chose = nullptr;  // of the forward mode that waits for the answer, if one does

  const Dims& shape(std::size_t input) const noexcept { return facts[input].shape; }
  DType dtype(std::size_t input) const noexcept { return facts[input].dtype; }
  const Fact& output(std::size_t i) const noexcept { return facts[in.size() + i]; }
  const Attr& attr(std::size_t i) const noexcept { return attrs[i]; }
  // To be told by a rule that takes one of many vectors, which a matrix determines up to phases or a basis only: what
  // is computed from them must not see which, and ways back can tell.
  void choose() const noexcept {
    if (chose) *chose = true;
  }
};

// Outputs and inputs of a call, each may be undefined.
struct Variation {
  Tensors outputs, inputs;
};

struct Backward : Saved {
  std::span<const Tensor> cotangents;  // one per output; undefined: structurally zero
  std::span<const bool> wanted;        // the inputs whose cotangents are asked for

  Backward(const Saved& s, std::span<const Tensor> c, std::span<const bool> w) : Saved(s), cotangents(c), wanted(w) {}
  virtual ~Backward() = default;
  const Tensor& g() const noexcept { return cotangents[0]; }
  bool wants(std::size_t input) const noexcept { return wanted[input]; }
  // The cotangents had the outputs (and the inputs, where they are used again) been `at`, and their first `order`
  // derivatives along a direction; undefined: as recorded, not moved. Everything that comes after this call is
  // computed again. Rules at repeated singular values need it: the cotangents alone do not contain the answer.
  virtual std::vector<Tensors> taylor(const Variation& at, const Variation& along, int order) const = 0;
  // Whether the caller wants the answer checked: none: where the rule is in doubt.
  virtual std::optional<bool> verify() const noexcept = 0;
  // How many times what the rule computes may be differentiated again.
  virtual int depth() const noexcept = 0;
  bool recorded() const noexcept { return depth() > 0; }
  // Whether the cotangents are those of a derivative. A gradient may vanish, as at every minimum, and rounding is
  // then all that is left of it; a second derivative that does so has lost its digits.
  virtual bool of_derivative() const { return false; }
  // The largest eps of the floating dtypes in which what comes after this call is computed: where it is f32 after an
  // f64 decomposition, cotangents have digits of f32 only. 0: as this call's own.
  virtual double eps_after() const { return 0; }
  // Whether a derivative of what comes before asks for this one at several points: what it asks for in its turn
  // multiplies the work.
  virtual bool sampled() const { return false; }
  // What f computes now, differentiated: the cotangents of x if g is that of f(). Zeros where f does not use it.
  virtual Tensors pulled_back(const std::function<Tensor()>& f, std::span<const Tensor> x, const Tensor& g) const = 0;
  // A fact about this derivative: tape.findings().
  virtual void find(Finding f) const = 0;
  // A loss of digits in what this rule gives its first input, as `otherwise` shows, which has other last digits: a
  // fact where the whole derivative has lost them too.
  virtual void suspect(Finding f, const std::array<Tensor, 3>& otherwise) const {
    (void)otherwise;
    find(std::move(f));
  }
};

struct Forward : Saved {
  std::span<const Tensor> tangents;  // one per input; undefined: zero
};

// ---- rules that many ops share ----
// From Op::partial.
Tensors vjp_partials(const Backward& b);
// By a loop (cotangent, what is saved) ↦ the input's cotangent; undefined when the rule must do it.
Tensor vjp_fused(const Backward& b, const simd::Loops& loops);
Tensors jvp_partials(const Forward& f);
// The op is linear in its floating-point inputs together: the tangent goes where the input was.
Tensors jvp_linear(const Forward& f);
// Linear in each of them: one term per tangent.
Tensors jvp_multilinear(const Forward& f);

// 1 where a > b, 1/2 where they are equal, 0 elsewhere: the part of a in max(a, b).
Tensor share(const Tensor& a, const Tensor& b, DType dtype);

// conj(x), x itself when it is real.
Tensor conj_of(const Tensor& x);
Tensor zeros_for(const Fact& fact);

// Elements begin … end − 1 of x along an axis.
Tensor part(const Tensor& x, std::int64_t axis, std::int64_t begin, std::int64_t end);
// x with values added at places along an axis, whose axes stand instead of it in values.
Tensor added_at(const Tensor& x, std::int64_t axis, const Tensor& places, const Tensor& values);
// Along the last axis, the product of all other elements: without divisions, so that zeros do no harm.
Tensor product_of_others(const Tensor& x);

// x summed over the axes along which `shape` was broadcast to x's.
Tensor sum_to(const Tensor& x, const Dims& shape);

}  // namespace wp
