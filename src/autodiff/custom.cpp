// Functions of the caller's as ops: custom_op, custom_gradient, checkpoint, implicit_root.
#include <algorithm>
#include <optional>

#include "autodiff/captures.hpp"
#include "autodiff/collective.hpp"
#include "autodiff/forward.hpp"
#include "autodiff/lent.hpp"
#include "autodiff/outside.hpp"
#include "autodiff/support.hpp"
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
  std::vector<std::size_t> sums;      // checksums of the results, if the function is to run again
  const Listener* outside = nullptr;  // who listens to the call, while it runs
  bool collective = false;            // the function runs ops that other processes run too
  bool leaves = false;                // results of a decomposition leave the function: its rule asks what follows
};

// What an op of the caller's does; its attribute 0. The op's record is part of it, so that it lives as long as any
// tape remembers a call.
struct Behaviour {
  mutable Op op;  // whether it is collective is known when it has run
  std::function<Many(Keepsake&, const Many&)> forward;
  std::function<Many(const Backward&)> vjp;
  std::function<Many(const Forward&)> jvp;
  bool whole = false;    // an op to its caller: what is made inside, it made
  bool as_tape = false;  // its rule runs the function on a tape, which sees no more of it than any tape
};

const Behaviour& behaviour(Attrs attrs) {
  return attrs[0].object<Behaviour>();
}

bool not_finite(const Tensor& y) {
  const Unseen unseen;
  if (!y.defined() || !is_floating(y.dtype())) return false;
  const Tensor whole = contiguous(y);
  return kernels::first_nonfinite(y.dtype(), whole.node()->data, 0, y.size()) >= 0;
}

// What a rule of the caller's gave, one tensor for each of what it is asked for.
Many complete(Many found, std::size_t asked, std::string_view op, std::string_view what) {
  if (found.size() != asked)
    refuse<GradientError>(
        "WP-GRD-005",
        say("the derivative rule of ", op, " gives ", plural(static_cast<std::int64_t>(found.size()), "derivative"),
            " for ", plural(static_cast<std::int64_t>(asked), what), "."),
        "Return one for each; an undefined tensor (None in Python) says that there is none.");
  return found;
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
    const autodiff::OutsideOf outside(c);
    out = b.forward(*keepsake, in);
    keepsake->outside = nullptr;
    if (keepsake->leaves) c.beside().keeps_after = true;
    if (keepsake->collective) b.op.collective = true;
  }
  for (Tensor& y : out) {
    if (!y.defined()) refuse<ArgumentError>("WP-ARG-002", "the function gave an undefined tensor.");
    if (not_finite(y)) c.status.bits |= simd::Status::nonfinite;
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
    const Behaviour& made = behaviour(r.attrs);
    std::optional<autodiff::OutsideOf> outside;
    if (!made.as_tape) outside.emplace(r);
    return to_tensors(complete(made.vjp(r), r.in.size(), r.op.name, "input"));
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

std::vector<std::size_t> sums_of(const Many& results) {
  std::vector<std::size_t> all;
  for (const Tensor& y : results) all.push_back(y.defined() ? autodiff::checksum(y) : 0);
  return all;
}
void refuse_other_results(const Many& results, const std::vector<std::size_t>& before) {
  const std::vector<std::size_t> now = sums_of(results);
  if (now == before) return;
  const auto k = static_cast<std::size_t>(std::mismatch(now.begin(), now.end(), before.begin(), before.end()).first -
                                          now.begin());
  refuse<GradientError>(
      "WP-GRD-003",
      say("the function was run again, and ",
          now.size() == before.size()
              ? say("its result ", k, " (", results[k].dtype(), " ", results[k].shape(), ") is another one")
              : say("gave ", now.size(), " results instead of ", before.size()),
          ": the gradient would be that of what did not happen."),
      "Draw random numbers before it, or from a Generator that it makes, and hand over what may change.");
}

// The derivative of f at x by a tape of its own; what that finds is told to r.
Many by_tape(const TensorsFunction& f, const Many& x, const Many& seeds, const Place& place, const Backward& r) {
  const auto& keepsake = *static_cast<const Keepsake*>(r.keepsake);
  const auto* const way = dynamic_cast<const autodiff::OnWay*>(&r);
  const bool replaced = way && !way->rests.empty();
  Many own;
  for (const Tensor& t : x) own.push_back(t.defined() ? autodiff::alias(autodiff::own_if_small(t)) : t);
  autodiff::Tape tape(false);
  const Many sources = autodiff::watch_floating(tape, own);
  tape.start();
  Many y = f(own);
  if (!replaced) refuse_other_results(y, keepsake.sums);
  for (std::size_t k = 0; replaced && k < std::min(y.size(), way->rests.size()); ++k)
    if (is_floating(y[k].dtype()))
      y[k] = where(way->rests[k].defined() ? way->rests[k] : zeros(y[k].shape(), {.dtype = DType::boolean}), y[k], 0);
  tape.stop();
  const autodiff::Reseed reseed = [&](std::span<const Tensor> targets, std::span<const Tensor> moved) {
    const Many inputs = autodiff::in_places_of(own, moved);
    Tensors found = r.taylor({{targets.begin(), targets.end()}, to_tensors(inputs)}, {}, 0)[0];
    found.resize(targets.size());
    return found;
  };
  const Many g = [&] {
    const checks off(CheckLevel::off);  // it is on its way: nothing leaves the computation here
    return tape.gradient({.targets = y,
                          .seeds = seeds,
                          .sources = sources,
                          .zero_unconnected = true,
                          .place = place,
                          .function = "checkpoint",
                          .reseed = keepsake.leaves ? &reseed : nullptr});
  }();
  if (std::any_of(g.begin(), g.end(), not_finite)) context().saw_nonfinite = true;
  for (const Finding& found : tape.findings()) r.find(found);
  return autodiff::in_places_of(own, g);
}

// By the rule that f gave. Who differentiates it must see what it captured of f's work: then f runs once more, seen.
Many by_rule(const std::function<VjpResults(const Many&)>& f, const Backward& r) {
  if (std::none_of(r.in.begin(), r.in.end(), [](const Tensor& x) { return x.defined() && followed(x); }))
    return static_cast<const Keepsake*>(r.keepsake)->pullback(all_cotangents(r));
  const VjpResults again = f(to_many(r.in));
  const auto* const way = dynamic_cast<const autodiff::OnWay*>(&r);
  if (!way || way->rests.empty()) refuse_other_results(again.values, sums_of(to_many(r.out)));
  return again.pullback(all_cotangents(r));
}

bool differentiated(const Keepsake& k) noexcept {
  for (const Listener* l = k.outside; l; l = l->outer)
    if (dynamic_cast<const Follower*>(l->observer)) return true;
  return false;
}

// f of what is its own, which uses nothing else that is differentiated.
Many closed(Keepsake& k, const Many& own, const TensorsFunction& f) {
  if (!differentiated(k)) return f(own);
  autodiff::Captures captures(own, k.outside);
  const Listen listen(captures);
  Many y = f(own);
  k.collective = captures.collective();
  return y;
}

// An op to its caller, with its rule or the reason why there is none.
std::shared_ptr<Behaviour> made_whole(std::string_view name, const TensorsFunction& forward,
                                      std::function<Many(const Backward&)> rule, std::string_view no_derivative) {
  auto b = made(name);
  b->whole = true;
  b->forward = [forward](Keepsake& k, const Many& x) { return closed(k, x, forward); };
  if (!rule) {
    b->op.vjp = nullptr;
    b->op.no_derivative = no_derivative.empty() ? "it was given none." : intern(no_derivative);
  }
  b->vjp = std::move(rule);
  return b;
}

}  // namespace

Many autodiff::run_collective(const CollectiveOp& op, const Many& x, const Place& place) {
  const auto b = made_whole(op.name, op.forward, op.rule, op.no_derivative);
  b->op.collective = true;
  b->op.notes = Notes::gives;
  return run(b, x, place);
}

TensorsFunction custom_op(CustomOp op, std::source_location where) {
  if (!op.forward) raise<ArgumentError>("WP-ARG-002", "custom_op", "forward is missing.");
  std::function<Many(const Backward&)> rule;
  if (op.vjp)
    rule = [f = op.vjp](const Backward& r) { return f(to_many(r.in), to_many(r.out), to_many(r.cotangents)); };
  const auto b = made_whole(op.name.empty() ? std::string_view("custom_op") : op.name, op.forward, std::move(rule),
                            op.no_derivative);
  if (op.jvp) {
    b->jvp = [f = op.jvp](const Forward& r) {
      return complete(f(to_many(r.in), to_many(r.out), to_many(r.tangents)), r.out.size(), r.op.name, "result");
    };
    b->op.jvp = [](const Forward& r) {
      const autodiff::OutsideOf outside(r);
      return to_tensors(behaviour(r.attrs).jvp(r));
    };
  }
  if (op.elementwise) b->op.flow = flow_elementwise;
  const Place place(where);
  return [b, place](const Many& x) { return run(b, x, place); };
}

Many custom_gradient(const std::function<VjpResults(const Many&)>& f, const Many& x, std::source_location where) {
  const auto b = made("custom_gradient");
  b->forward = [f](Keepsake& k, const Many& in) {
    return closed(k, in, [&](const Many& own) {
      VjpResults p = f(own);
      k.pullback = std::move(p.pullback);
      return p.values;
    });
  };
  b->vjp = [f](const Backward& r) { return by_rule(f, r); };
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
  b->as_tape = true;
  b->op.saves_outputs = 0;
  b->forward = [f](Keepsake& k, const Many& in) {
    const Many own = autodiff::aliases(in);  // an argument that f captured too is not its argument
    autodiff::Captures captures(own, k.outside);
    const Listen listen(captures);
    Many y = f(own);
    k.leaves = captures.leaves(y);
    k.collective = captures.collective();
    k.sums = sums_of(y);
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
  b->forward = [solve, F](Keepsake& k, const Many& in) {
    const Tensor x = solve(in);
    if (differentiated(k) && x.defined())  // what F uses is known when it has run
      (void)closed(k, autodiff::aliases(in), [&](const Many& p) { return Many{F(autodiff::alias(x), p)}; });
    return Many{x};
  };
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
