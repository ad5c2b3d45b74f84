#include <algorithm>

#include "autodiff/forward.hpp"
#include "autodiff/jacobians.hpp"
#include "autodiff/outside.hpp"
#include "autodiff/tape.hpp"
#include "base/text.hpp"
#include "tensor/note.hpp"
#include "wellposed/autodiff.hpp"
#include "wellposed/index.hpp"
#include "wellposed/ops.hpp"

namespace wp {
namespace {

using autodiff::Request;
using autodiff::Tape;

TensorsFunction many(const TensorFunction& f) {
  return [f](const std::vector<Tensor>& x) { return std::vector<Tensor>{f(x[0])}; };
}

// f recorded at an alias of x, so that other uses of x are not followed.
struct Recorded {
  std::shared_ptr<Tape> tape;
  std::vector<Tensor> x, values;

  Recorded(const TensorsFunction& f, const std::vector<Tensor>& at, bool persistent, const Place& place)
      : tape(std::make_shared<Tape>(persistent)), x(autodiff::aliases(at)) {
    for (const Tensor& t : x) tape->watch(t);
    const autodiff::OutsideOf outside(place);
    tape->start();
    values = f(x);
    tape->stop();
  }
  Request request(std::span<const Tensor> seeds, const Place& place, std::string_view function) const {
    return {.targets = values,
            .seeds = seeds,
            .sources = x,
            .zero_unconnected = true,
            .place = place,
            .function = function};
  }
  // For who asks for one gradient: it is no zero where only an index or an integer leads from x to the value.
  Request of_all(const Place& place, std::string_view function) const {
    Request r = request({}, place, function);
    r.refuse_blocked = true;
    return r;
  }
  // Cotangents of x, of the values' (undefined: zero).
  std::vector<Tensor> pulled_back(const std::vector<Tensor>& u, const Place& place) const {
    if (u.size() != values.size())
      raise_at<ArgumentError>(place, "WP-ARG-001", "vjp",
                              say("the pullback takes one cotangent per value; got ", u.size(), " for ",
                                  plural(static_cast<std::int64_t>(values.size()), "value"), "."));
    std::vector<Tensor> targets, seeds;
    for (std::size_t k = 0; k < u.size(); ++k)
      if (u[k].defined()) {
        targets.push_back(values[k]);
        seeds.push_back(u[k]);
      }
    Request r = request(seeds, place, "vjp");
    r.targets = targets;
    return tape->gradient(r);
  }
};

// f′ by two ways back: the first one's result is linear in its seeds u, ⟨vjp(u), v⟩ = ⟨u, f′·v⟩, and the gradient of
// that in u is f′·v, whatever u is. A way back does not mind in which basis a direction splits repeated singular
// values; the seeds are no zeros so that it sees what depends on the basis.
struct TwoWaysBack {
  std::vector<Tensor> values;
  std::vector<std::size_t> varying;  // numbers of those that can have a derivative
  std::shared_ptr<Tape> second = std::make_shared<Tape>(true);
  std::vector<Tensor> x, u, back;

  TwoWaysBack(const TensorsFunction& f, const std::vector<Tensor>& at, const Place& place,
              std::string_view function) {
    const Recorded r(f, at, false, place);
    values = r.values;
    x = r.x;
    std::vector<Tensor> seeds(values.size());
    for (std::size_t k = 0; k < values.size(); ++k) {
      if (!is_floating(values[k].dtype())) continue;
      varying.push_back(k);
      u.push_back(seeds[k] = autodiff::arbitrary(values[k]));
      second->watch(u.back());
    }
    second->start();
    back = r.tape->gradient(r.request(seeds, place, function));
    second->stop();
    for (const Finding& found : r.tape->findings())
      if (found.code == "WP-GRD-009")
        raise<GradientError>("WP-GRD-011", function,
                             say("the function has a kink here, and no linear map in its place: ", found.message),
                             "Move the point, or use gradient, which gives a subgradient.");
  }
  // One per value; undefined: it does not vary.
  std::vector<Tensor> along(const std::vector<Tensor>& v, const Place& place, std::string_view function) const {
    std::vector<Tensor> targets, seeds, out(values.size());
    for (std::size_t i = 0; i < back.size(); ++i)
      if (v[i].defined()) {
        targets.push_back(back[i]);
        seeds.push_back(v[i]);
      }
    if (targets.empty() || u.empty()) return out;
    const std::vector<Tensor> found = second->gradient({.targets = targets,
                                                        .seeds = seeds,
                                                        .sources = u,
                                                        .zero_unconnected = true,
                                                        .place = place,
                                                        .function = function});
    for (std::size_t k = 0; k < varying.size(); ++k) out[varying[k]] = found[k];
    return out;
  }
};

bool finite(const Tensor& t) {
  const Unseen unseen;
  return !t.defined() || !is_floating(t.dtype()) || bool(wp::all(isfinite(t)));
}

JvpResults jvp_by_ways_back(const TensorsFunction& f, const std::vector<Tensor>& x, const std::vector<Tensor>& v,
                            const Place& place) {
  const TwoWaysBack both(f, x, place, "jvp");
  JvpResults out{both.values, both.along(v, place, "jvp")};
  for (std::size_t k = 0; k < out.tangents.size(); ++k)
    if (!out.tangents[k].defined()) out.tangents[k] = zeros_like(out.values[k]);
  return out;
}

}  // namespace

JvpResults jvp(const TensorsFunction& f, const std::vector<Tensor>& x, const std::vector<Tensor>& v,
               std::source_location where) {
  if (x.size() != v.size())
    raise<ArgumentError>("WP-ARG-001", "jvp",
                         say("one direction per argument; got ", v.size(), " for ", x.size(), "."));
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!v[i].defined()) continue;
    if (!is_floating(x[i].dtype()))
      raise_at<DtypeError>(where, "WP-DTY-003", "jvp",
                           say("an argument that has a direction must be floating-point or complex; got ",
                               x[i].dtype(), " ", x[i].shape(), "."),
                           "Integers do not vary: convert with astype, or leave the direction out.");
    if (!(v[i].shape() == x[i].shape()))
      raise<ShapeError>(
          "WP-SHP-001", "jvp",
          say("a direction ", v[i].shape(), " must have the shape of its argument ", x[i].shape(), "."));
  }
  JvpResults out;
  // Where forward mode must choose vectors that are not determined, or cannot, ways back decide: they see whether the
  // choice matters.
  bool chose = true;
  try {
    const autodiff::OutsideOf outside{Place(where)};
    autodiff::Pushed p = autodiff::pushed(f, x, v);
    out = {std::move(p.values), std::move(p.tangents)};
    // Forward, a zero that a choice made looks like any other (sqrt(max(x, 0)) where x < 0).
    chose = p.chose || !std::all_of(out.tangents.begin(), out.tangents.end(), finite);
  } catch (const GradientError& e) {
    const std::string_view code = e.finding().code;
    if (code != "WP-GRD-011" && code != "WP-GRD-007" && code != "WP-GRD-001") throw;
  }
  if (bool* const outside = autodiff::waiting_for_choice(); outside && chose) *outside = true;
  if (chose) out = jvp_by_ways_back(f, x, v, where);
  for (const Tensor& t : out.tangents) escape(t, "jvp", Counts::made_and_given, where);
  return out;
}
JvpResult jvp(const TensorFunction& f, const Tensor& x, const Tensor& v, std::source_location where) {
  JvpResults p = jvp(many(f), {x}, {v}, where);
  return {p.values[0], p.tangents[0]};
}

VjpResults vjp(const TensorsFunction& f, const std::vector<Tensor>& x, std::source_location where) {
  const Place place(where);
  const auto r = std::make_shared<Recorded>(f, x, true, place);
  return {r->values, [r, place](const std::vector<Tensor>& u) { return r->pulled_back(u, place); }};
}
VjpResult vjp(const TensorFunction& f, const Tensor& x, std::source_location where) {
  VjpResults p = vjp(many(f), {x}, where);
  return {p.values[0], [back = p.pullback](const Tensor& u) { return back({u})[0]; }};
}

Linearized linearize(const TensorFunction& f, const Tensor& x, std::source_location where) {
  const Place place(where);
  const auto both = std::make_shared<const TwoWaysBack>(many(f), std::vector<Tensor>{x}, place, "linearize");
  const Tensor value = both->values[0];
  return {value, [both, value, place](const Tensor& v) {
            const Tensor t = both->along({v}, place, "linearize")[0];
            return t.defined() ? t : zeros_like(value);
          }};
}

Tensor gradient(const TensorFunction& f, const Tensor& x, std::source_location where) {
  const Recorded r(many(f), {x}, false, where);
  return r.tape->gradient(r.of_all(where, "gradient"))[0];
}
Tensor jacobian(const TensorFunction& f, const Tensor& x, std::source_location where) {
  const Recorded r(many(f), {x}, false, where);
  return autodiff::jacobian(*r.tape, r.of_all(where, "jacobian"));
}
Tensor hessian(const TensorFunction& f, const Tensor& x, std::source_location where) {
  const Recorded r(many(f), {x}, false, where);
  return autodiff::hessian(*r.tape, r.of_all(where, "hessian"));
}
Tensor hvp(const TensorFunction& f, const Tensor& x, const Tensor& v, std::source_location where) {
  const TensorFunction g = [&](const Tensor& at) { return gradient(f, at, where); };
  const Recorded r(many(g), {x}, false, where);
  return r.tape->gradient(r.request({&v, 1}, where, "hvp"))[0];
}

std::vector<Tensor> per_sample_gradients(
    const std::function<Tensor(const std::vector<Tensor>&, const std::vector<Tensor>&)>& f,
    const std::vector<Tensor>& parameters, const std::vector<Tensor>& data, std::source_location where) {
  if (data.empty() || data[0].ndim() == 0)
    raise<ShapeError>("WP-SHP-001", "per_sample_gradients", "data needs a first axis, the samples.");
  const std::int64_t samples = data[0].shape(0);
  for (const Tensor& d : data)
    if (d.ndim() == 0 || d.shape(0) != samples)
      raise_at<ShapeError>(
          where, "WP-SHP-001", "per_sample_gradients",
          say("all data must have the same first axis, the samples; got ", data[0].shape(), " and ", d.shape(), "."));
  std::vector<Tensors> all(parameters.size());
  for (std::int64_t k = 0; k < samples; ++k) {
    std::vector<Tensor> sample;
    for (const Tensor& d : data) sample.push_back(d[{k}]);
    const Recorded r([&](const std::vector<Tensor>& p) { return std::vector<Tensor>{f(p, sample)}; }, parameters,
                     false, where);
    if (r.values[0].size() != 1)
      raise<ShapeError>("WP-SHP-001", "per_sample_gradients",
                        say("the loss of a sample must be a scalar; got ", r.values[0].shape(), "."));
    const std::vector<Tensor> g = r.tape->gradient(r.of_all(where, "per_sample_gradients"));
    for (std::size_t i = 0; i < g.size(); ++i) all[i].push_back(g[i]);
  }
  std::vector<Tensor> stacked;
  for (std::size_t i = 0; i < all.size(); ++i) {
    Dims shape{samples};
    for (const std::int64_t n : parameters[i].shape()) shape.push_back(n);
    stacked.push_back(samples ? stack(all[i]) : zeros(shape, {.dtype = parameters[i].dtype()}));
  }
  return stacked;
}

}  // namespace wp
