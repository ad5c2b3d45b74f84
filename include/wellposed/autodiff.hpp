// Derivatives of functions. f takes and gives tensors; what it captures is a constant to jvp, vjp, linearize, hvp,
// jacobian and hessian.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "wellposed/gradient_tape.hpp"
#include "wellposed/tensor.hpp"

namespace [[gnu::visibility("default")]] wp {

using TensorFunction = std::function<Tensor(const Tensor&)>;
using TensorsFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

// f(x), and its derivative along v: forward mode.
struct JvpResult {
  Tensor value, tangent;
};
struct JvpResults {
  std::vector<Tensor> values, tangents;
};
JvpResult jvp(const TensorFunction& f, const Tensor& x, const Tensor& v,
              std::source_location where = std::source_location::current());
JvpResults jvp(const TensorsFunction& f, const std::vector<Tensor>& x, const std::vector<Tensor>& v,
               std::source_location where = std::source_location::current());

// f(x), and the map from cotangents of f(x) (one per value, undefined: zero) to cotangents of x; it may be called
// many times.
struct VjpResult {
  Tensor value;
  TensorFunction pullback;
};
struct VjpResults {
  std::vector<Tensor> values;
  TensorsFunction pullback;
};
VjpResult vjp(const TensorFunction& f, const Tensor& x, std::source_location where = std::source_location::current());
VjpResults vjp(const TensorsFunction& f, const std::vector<Tensor>& x,
               std::source_location where = std::source_location::current());

// f(x), and the linear map v ↦ f′(x)·v; f runs once, the map may be called many times.
struct Linearized {
  Tensor value;
  TensorFunction map;
};
Linearized linearize(const TensorFunction& f, const Tensor& x,
                     std::source_location where = std::source_location::current());

// The gradient of a scalar f, its Hessian, and the product of the Hessian with v. Zero where f does not use x;
// GradientError where only an index or an integer leads from x to f.
Tensor gradient(const TensorFunction& f, const Tensor& x,
                std::source_location where = std::source_location::current());
Tensor jacobian(const TensorFunction& f, const Tensor& x,
                std::source_location where = std::source_location::current());
Tensor hessian(const TensorFunction& f, const Tensor& x,
               std::source_location where = std::source_location::current());
Tensor hvp(const TensorFunction& f, const Tensor& x, const Tensor& v,
           std::source_location where = std::source_location::current());

// One gradient per sample: f(parameters, sample) is a scalar, samples are rows of `data` (first axes). Each result
// has the number of samples in front of the parameter's shape.
std::vector<Tensor> per_sample_gradients(
    const std::function<Tensor(const std::vector<Tensor>& parameters, const std::vector<Tensor>& sample)>& f,
    const std::vector<Tensor>& parameters, const std::vector<Tensor>& data,
    std::source_location where = std::source_location::current());

// f(x) without keeping what it computes: the way back computes it again, and refuses another result (GradientError:
// other random numbers, or something that f captured was changed). f must not use a watched tensor that is not among
// its arguments (ArgumentError).
std::vector<Tensor> checkpoint(const TensorsFunction& f, const std::vector<Tensor>& x,
                               std::source_location where = std::source_location::current());
Tensor checkpoint(const TensorFunction& f, const Tensor& x,
                  std::source_location where = std::source_location::current());

// f(x) with a derivative of the caller's: f gives the values and a map from their cotangents to those of x
// (undefined: zero). f must not use another watched tensor (ArgumentError). Where the map is differentiated, f runs
// once more, so that what the map captured of f's work varies too; it must then give the same (else GradientError).
std::vector<Tensor> custom_gradient(const std::function<VjpResults(const std::vector<Tensor>&)>& f,
                                    const std::vector<Tensor>& x,
                                    std::source_location where = std::source_location::current());
Tensor custom_gradient(const std::function<VjpResult(const Tensor&)>& f, const Tensor& x,
                       std::source_location where = std::source_location::current());

// An op of the caller's: it runs through the same dispatch as those of the library, with checks, notes about Inf and
// NaN, and derivatives. What forward captures is constant: no watched tensor (ArgumentError).
struct CustomOp {
  std::string name;
  TensorsFunction forward;
  // Cotangents of the inputs (undefined: zero) from inputs, outputs and cotangents of the outputs, written in ops.
  std::function<std::vector<Tensor>(const std::vector<Tensor>& in, const std::vector<Tensor>& out,
                                    const std::vector<Tensor>& cotangents)>
      vjp = {};
  // Tangents of the outputs; left out: by transposing vjp.
  std::function<std::vector<Tensor>(const std::vector<Tensor>& in, const std::vector<Tensor>& out,
                                    const std::vector<Tensor>& tangents)>
      jvp = {};
  std::string no_derivative = {};  // why there is none, if there is no vjp
  bool elementwise = false;        // element i of a result depends on elements i of the inputs only
};
TensorsFunction custom_op(CustomOp op, std::source_location where = std::source_location::current());

// x with F(x, parameters) = 0, found by `solve`, differentiated by the implicit function theorem: by linear solves
// with ∂F/∂x, whatever iteration found x. F must not use a watched tensor that is not among its arguments
// (ArgumentError).
Tensor implicit_root(const std::function<Tensor(const Tensor& x, const std::vector<Tensor>& parameters)>& F,
                     const std::function<Tensor(const std::vector<Tensor>& parameters)>& solve,
                     const std::vector<Tensor>& parameters,
                     std::source_location where = std::source_location::current());

namespace linalg {

// f(U, S, Vh) of the thin svd of x, and f(eigenvalues, eigenvectors) of its eigh, with derivatives that are right
// also where values repeat or vanish. What f computes is not kept, the way back computes it again; watched tensors
// that f uses must not be captured (ArgumentError).
Tensor through_svd(const Tensor& x,
                   const std::function<Tensor(const Tensor& U, const Tensor& S, const Tensor& Vh)>& f,
                   std::source_location where = std::source_location::current());
Tensor through_eigh(const Tensor& x,
                    const std::function<Tensor(const Tensor& eigenvalues, const Tensor& eigenvectors)>& f,
                    std::source_location where = std::source_location::current());

}  // namespace linalg
}  // namespace gnu::visibility("default")]]wp
