// Functions of the caller's as ops: custom_op, custom_gradient, checkpoint, implicit_root.
#include <algorithm>
#include <unordered_set>

#include "autodiff/forward.hpp"
#include "autodiff/lent.hpp"
#include "autodiff/tape.hpp"
#include "base/text.hpp"
#include "kernels/scan.hpp"
#include "ops/elementwise.hpp"
#include "ops/moves.hpp"
#include "wellposed/autodiff.hpp"
#include "wellposed/linalg.hpp"
#include "wellposed/ops.hpp"

namespace wp {
namespace {

using Many = std::vector<Tensor>;

Many to_many(std::span<const Tensor> t) {
  return {t.begin(), t.end()};
}
Tensors to_tensors(const Many& t) {
  return {t.begin(), t.end()};
}

// Zeros where an output is not used.
Many all_cotangents(const Backward& r) {
  Many u = to_many(r.cotangents);
  for (std::size_t k = 0; k < u.size(); ++k)
    if (!u[k].defined() && is_floating(r.output(k).dtype)) u[k] = zeros_for(r.output(k));
  return u;
}

// What one call leaves for the way back: the memory of others that it read, and the rule of custom_gradient.
struct Keepsake {
  autodiff::Readings readings;
  TensorsFunction pullback;
  const Listener* outside = nullptr;  // who listens to the call, while it runs
  bool leaves = false;                // results of a decomposition leave the function: its rule asks what follows
};

// What an op of the caller's does; its attribute 0. The op's record is part of it, so that it lives as long as any
// tape remembers a call.
struct Behaviour {
  Op op;
  std::function<Many(Keepsake&, const Many&)> forward;
  std::function<Many(const Backward&)> vjp;
  std::function<Many(const Forward&)> jvp;
  bool whole = false;  // an op to its caller: what is made inside, it made
};

const Behaviour& behaviour(Attrs attrs) {
  return attrs[0].object<Behaviour>();
}

void run_forward(Call& c) {
  Many in;
  const auto keepsake = std::make_shared<Keepsake>();
  c.beside().keepsake = keepsake;
  for (std::size_t i = 0; i < c.in.size(); ++i) {
    in.push_back(autodiff::own_if_small(c.in[i]));  // a rule may capture it
    keepsake->readings.note(c.in[i]);
  }
  const Behaviour& b = behaviour(c.attrs);
  Many out;
  {
    keepsake->outside = context().listeners;
    const Unseen unseen;
    const autodiff::ListenInside listen(keepsake->readings);
    out = b.forward(*keepsake, in);
    keepsake->outside = nullptr;
    if (keepsake->leaves) c.beside().keeps_after = true;
  }
  for (Tensor& y : out) {
    if (!y.defined()) refuse<ArgumentError>("WP-ARG-002", "the function gave an undefined tensor.");
    if (is_floating(y.dtype())) {
      const Tensor whole = contiguous(y);
      if (kernels::first_nonfinite(y.dtype(), whole.node()->data, 0, y.size()) >= 0)
        c.status.bits |= simd::Status::nonfinite;
    }
    // A tensor of its own: others may hold the one that the function gave. What a call inside made, that call made.
    c.out.push_back(view_of(y, y.shape(), y.strides()));
    if (!b.whole) c.out.back().node()->note = y.node()->note;
  }
}

std::shared_ptr<Behaviour> made(std::string_view name) {
  auto b = std::make_shared<Behaviour>();
  b->op.name = intern(name);
  b->op.group = "custom";
  b->op.params = {{.name = "x", .optional = true, .variadic = true}};
  b->op.attrs = {{.name = "function", .type = AttrType::object, .required = true}};
  b->op.infer = no_outputs;
  b->op.forward = run_forward;
  b->op.flow = flow_everything;
  b->op.saves_inputs = ~0U;
  b->op.saves_outputs = ~0U;
  b->op.vjp = [](const Backward& r) {
    autodiff::Rereading again(static_cast<const Keepsake*>(r.keepsake)->readings, r.op.name);
    const autodiff::ListenInside listen(again);
    return to_tensors(behaviour(r.attrs).vjp(r));
  };
  return b;
}

Many run(const std::shared_ptr<Behaviour>& b, const Many& x, const Place& place) {
  std::vector<const Tensor*> in;
  for (const Tensor& t : x) in.push_back(&t);
  const Attr attrs[] = {Attr(std::shared_ptr<const void>(b))};
  const Tensors y = call(b->op, Inputs(in.data(), in.size()), attrs, place);
  return {y.begin(), y.end()};
}

// The derivative of f at x by a tape of its own; what that finds is told to r.
Many by_tape(const TensorsFunction& f, const Many& x, const Many& seeds, const Place& place, const Backward& r) {
  const Many own = autodiff::aliases(x);
  autodiff::Tape tape(false);
  const Many sources = autodiff::watch_floating(tape, own);
  tape.start();
  const Many y = f(own);
  tape.stop();
  const autodiff::Reseed reseed = [&](std::span<const Tensor> targets, std::span<const Tensor> moved) {
    const Many inputs = autodiff::in_places_of(own, moved);
    Tensors found = r.taylor({{targets.begin(), targets.end()}, to_tensors(inputs)}, {}, 0)[0];
    found.resize(targets.size());
    return found;
  };
  const Many g = tape.gradient({.targets = y,
                                .seeds = seeds,
                                .sources = sources,
                                .zero_unconnected = true,
                                .place = place,
                                .function = "checkpoint",
                                .reseed = static_cast<const Keepsake*>(r.keepsake)->leaves ? &reseed : nullptr});
  for (const Finding& found : tape.findings()) r.find(found);
  return autodiff::in_places_of(own, g);
}

// Sees whether a function uses a tensor that a tape follows and that is not among its arguments, and whether it gives
// away results of a decomposition, or elements of them.
class Captures : public Observer {
 public:
  Captures(const Many& x, const Listener* listeners) {
    for (const Tensor& t : x) own_.insert(t.node());
    for (const Listener* l = listeners; l; l = l->outer)
      if (const auto* const tape = dynamic_cast<const autodiff::Tape*>(l->observer)) tapes_.push_back(tape);
  }
  bool leaves(const Many& results) const {
    return std::any_of(results.begin(), results.end(), [&](const Tensor& y) { return parts_.contains(y.node()); });
  }
  void after(Call& c) override {
    bool parts = c.aside && c.aside->keeps_after;
    for (std::size_t i = 0; i < c.in.size(); ++i)
      parts = parts || (c.op.notes == Notes::moves && c.in[i].defined() && parts_.contains(c.in[i].node()));
    for (const Tensor& y : c.out)
      if (parts) {
        parts_.insert(y.node());
        kept_.push_back(y);
      }
    for (std::size_t i = 0; i < c.in.size(); ++i) {
      if (!c.in[i].defined() || own_.contains(c.in[i].node())) continue;
      for (const autodiff::Tape* const tape : tapes_)
        if (tape->slots().find(c.in[i]) >= 0)
          refuse<ArgumentError>("WP-GRD-010",
                                say("the function uses a watched tensor ", c.in[i].dtype(), " ", c.in[i].shape(),
                                    " that is not among its arguments: its gradient would be lost."),
                                "Hand it over as an argument.");
    }
  }

 private:
  std::unordered_set<const detail::Node*> own_, parts_;
  Many kept_;  // so that no node of parts_ is another tensor's later
  std::vector<const autodiff::Tape*> tapes_;
};

}  // namespace

TensorsFunction custom_op(CustomOp op, std::source_location where) {
  if (!op.forward) raise<ArgumentError>("WP-ARG-002", "custom_op", "forward is missing.");
  const auto b = made(op.name.empty() ? std::string_view("custom_op") : op.name);
  b->whole = true;
  b->forward = [f = op.forward](Keepsake&, const Many& x) { return f(x); };
  if (op.vjp)
    b->vjp = [f = op.vjp](const Backward& r) { return f(to_many(r.in), to_many(r.out), to_many(r.cotangents)); };
  else
    b->op.vjp = nullptr;
  if (op.jvp) {
    b->jvp = [f = op.jvp](const Forward& r) { return f(to_many(r.in), to_many(r.out), to_many(r.tangents)); };
    b->op.jvp = [](const Forward& r) { return to_tensors(behaviour(r.attrs).jvp(r)); };
  }
  if (!op.vjp) b->op.no_derivative = op.no_derivative.empty() ? "it was given none." : intern(op.no_derivative);
  if (op.elementwise) b->op.flow = flow_elementwise;
  const Place place(where);
  return [b, place](const Many& x) { return run(b, x, place); };
}

Many custom_gradient(const std::function<VjpResults(const Many&)>& f, const Many& x, std::source_location where) {
  const auto b = made("custom_gradient");
  b->forward = [f](Keepsake& k, const Many& in) {
    VjpResults p = f(in);
    k.pullback = std::move(p.pullback);
    return p.values;
  };
  b->vjp = [](const Backward& r) { return static_cast<const Keepsake*>(r.keepsake)->pullback(all_cotangents(r)); };
  return run(b, x, where);
}
Tensor custom_gradient(const std::function<VjpResult(const Tensor&)>& f, const Tensor& x,
                       std::source_location where) {
  return custom_gradient(
      [f](const Many& in) {
        VjpResult p = f(in[0]);
        return VjpResults{{p.value}, [back = p.pullback](const Many& u) { return Many{back(u[0])}; }};
      },
      {x}, where)[0];
}

Many checkpoint(const TensorsFunction& f, const Many& x, std::source_location where) {
  const auto b = made("checkpoint");
  b->op.saves_outputs = 0;
  b->forward = [f](Keepsake& k, const Many& in) {
    const Many own = autodiff::aliases(in);  // an argument that f captured too is not its argument
    Captures captures(own, k.outside);
    const Listen listen(captures);
    Many y = f(own);
    k.leaves = captures.leaves(y);
    return y;
  };
  const Place place(where);
  b->vjp = [f, place](const Backward& r) { return by_tape(f, to_many(r.in), all_cotangents(r), place, r); };
  return run(b, x, place);
}
Tensor checkpoint(const TensorFunction& f, const Tensor& x, std::source_location where) {
  return checkpoint([f](const Many& in) { return Many{f(in[0])}; }, {x}, where)[0];
}

Tensor linalg::through_svd(const Tensor& x,
                           const std::function<Tensor(const Tensor&, const Tensor&, const Tensor&)>& f,
                           std::source_location where) {
  return checkpoint(
      [f](const Tensor& a) {
        const SvdResult r = svd(a, {.full_matrices = false});
        return f(r.U, r.S, r.Vh);
      },
      x, where);
}
Tensor linalg::through_eigh(const Tensor& x, const std::function<Tensor(const Tensor&, const Tensor&)>& f,
                            std::source_location where) {
  return checkpoint(
      [f](const Tensor& a) {
        const EighResult r = eigh(a);
        return f(r.eigenvalues, r.eigenvectors);
      },
      x, where);
}

// dx = −(∂F/∂x)⁻¹ ∂F/∂p dp, so the cotangent of p is −(∂F/∂p)ᴴ λ with (∂F/∂x)ᴴ λ = g.
Tensor implicit_root(const std::function<Tensor(const Tensor&, const Many&)>& F,
                     const std::function<Tensor(const Many&)>& solve, const Many& parameters,
                     std::source_location where) {
  const auto b = made("implicit_root");
  b->forward = [solve](Keepsake&, const Many& in) { return Many{solve(in)}; };
  b->vjp = [F](const Backward& r) {
    const Many p = to_many(r.in);
    const Tensor& x = r.out[0];
    const Dims flat{x.size()}, square_shape{x.size(), x.size()};
    const Tensor J = reshape(jacobian([&](const Tensor& at) { return F(at, p); }, x), square_shape);
    const Tensor lambda = linalg::solve(matrix_transpose(conj_of(J)), reshape(r.g(), flat));
    const VjpResults back = vjp([&](const Many& q) { return Many{F(x, q)}; }, p);
    return back.pullback({reshape(negative(lambda), back.values[0].shape())});
  };
  return run(b, parameters, where)[0];
}

}  // namespace wp
