// What derivative rules see. Rules are written in ops, so that they differentiate again; they return cotangents (or
// tangents) and never add: only the tape adds. A cotangent is brought to its input's shape and dtype by the tape.
#pragma once
#include "ops/op.hpp"

namespace wp {

struct Backward {
  const Op& op;
  Attrs attrs;
  std::span<const Tensor> in, out,
      residuals;                       // what saves_inputs, saves_outputs and forward kept; others are undefined
  std::span<const Tensor> cotangents;  // one per output; undefined: structurally zero
  std::uint32_t needs;                 // bit i: the cotangent of input i is wanted
  Place place;                         // of the forward call

  Backward(const Op& o, Attrs a, std::span<const Tensor> i, std::span<const Tensor> y, std::span<const Tensor> r,
           std::span<const Tensor> c, std::uint32_t n, Place p)
      : op(o), attrs(a), in(i), out(y), residuals(r), cotangents(c), needs(n), place(p) {}
  virtual ~Backward() = default;
  // How the cotangents change when the outputs move along `directions` (one per output; undefined: it stays), with
  // everything downstream computed again: the derivative of this order. Rules at repeated singular values need it:
  // the cotangents alone do not contain the answer. Throws where nothing downstream was kept.
  virtual Tensors directional(std::span<const Tensor> directions, int order) const = 0;
};

struct Forward {
  const Op& op;
  Attrs attrs;
  std::span<const Tensor> in, out, residuals;
  std::span<const Tensor> tangents;  // one per input; undefined: zero
  Place place;
};

}  // namespace wp
