#include "autodiff/forward.hpp"
#include "autodiff/jacobians.hpp"
#include "autodiff/tape.hpp"
#include "base/text.hpp"
#include "tensor/note.hpp"
#include "wellposed/autodiff.hpp"
#include "wellposed/index.hpp"
#include "wellposed/ops.hpp"

namespace wp {
namespace {

using autodiff::Tape;

TensorsFunction many(const TensorFunction& f) {
  return [f](const std::vector<Tensor>& x) { return std::vector<Tensor>{f(x[0])}; };
}

// f recorded at an alias of x, so that other uses of x are not followed.
struct Recorded {
  std::shared_ptr<Tape> tape;
  std::vector<Tensor> x, values;

  Recorded(const TensorsFunction& f, const std::vector<Tensor>& at, bool persistent)
      : tape(std::make_shared<Tape>(persistent)), x(autodiff::aliases(at)) {
    for (const Tensor& t : x) tape->watch(t);
    tape->start();
    values = f(x);
    tape->stop();
  }
  autodiff::Request request(std::span<const Tensor> seeds, const Place& place, std::string_view function) const {
    return {.targets = values,
            .seeds = seeds,
            .sources = x,
            .zero_unconnected = true,
            .place = place,
            .function = function};
  }
};

// Tangents from ways back, one per element of the results: ⟨its gradient, v⟩. Slow, but a way back does not mind in
// which basis a direction splits repeated singular values. None: a result is complex, or the function has a kink
// there.
std::optional<JvpResults> jvp_by_elements(const TensorsFunction& f, const std::vector<Tensor>& x,
                                          const std::vector<Tensor>& v, const Place& place) {
  const Recorded r(f, x, true);
  JvpResults out;
  for (std::size_t k = 0; k < r.values.size(); ++k) {
    const Tensor& y = r.values[k];
    if (!is(y.dtype(), kinds::real_floating)) return std::nullopt;
    Tensors elements;
    for (std::int64_t e = 0; e < y.size(); ++e) {
      const Tensor seed = autodiff::unit(y, e);
      const std::vector<Tensor> g = r.tape->gradient({.targets = {&y, 1},
                                                      .seeds = {&seed, 1},
                                                      .sources = r.x,
                                                      .zero_unconnected = true,
                                                      .place = place,
                                                      .function = "jvp"});
      Tensor sum_of = zeros({}, {.dtype = y.dtype()});
      for (std::size_t i = 0; i < g.size(); ++i)
        if (v[i].defined()) sum_of = sum_of + astype(sum(real(multiply(conj(g[i]), v[i]))), y.dtype());
      elements.push_back(sum_of);
    }
    for (const Finding& found : r.tape->findings())
      if (found.code == "WP-GRD-009") return std::nullopt;
    out.tangents.push_back(elements.empty() ? zeros_like(y) : reshape(stack(elements), y.shape()));
  }
  out.values = r.values;
  return out;
}

}  // namespace

JvpResults jvp(const TensorsFunction& f, const std::vector<Tensor>& x, const std::vector<Tensor>& v,
               std::source_location where) {
  if (x.size() != v.size())
    raise<ArgumentError>("WP-ARG-001", "jvp",
                         say("one direction per argument; got ", v.size(), " for ", x.size(), "."));
  for (std::size_t i = 0; i < x.size(); ++i)
    if (v[i].defined() && !(v[i].shape() == x[i].shape()))
      raise<ShapeError>(
          "WP-SHP-001", "jvp",
          say("a direction ", v[i].shape(), " must have the shape of its argument ", x[i].shape(), "."));
  JvpResults out;
  try {
    autodiff::Pushed p = autodiff::pushed(f, x, v);
    out = {std::move(p.values), std::move(p.tangents)};
  } catch (const GradientError& e) {
    if (e.finding().code != "WP-GRD-011") throw;
    std::optional<JvpResults> found = jvp_by_elements(f, x, v, where);
    if (!found) throw;
    out = std::move(*found);
  }
  for (const Tensor& t : out.tangents) escape(t, "jvp", Counts::made_and_given, where);
  return out;
}
JvpResult jvp(const TensorFunction& f, const Tensor& x, const Tensor& v, std::source_location where) {
  JvpResults p = jvp(many(f), {x}, {v}, where);
  return {p.values[0], p.tangents[0]};
}

VjpResults vjp(const TensorsFunction& f, const std::vector<Tensor>& x, std::source_location where) {
  const auto r = std::make_shared<Recorded>(f, x, true);
  const Place place(where);
  return {r->values,
          [r, place](const std::vector<Tensor>& u) { return r->tape->gradient(r->request(u, place, "vjp")); }};
}
VjpResult vjp(const TensorFunction& f, const Tensor& x, std::source_location where) {
  VjpResults p = vjp(many(f), {x}, where);
  return {p.values[0], [back = p.pullback](const Tensor& u) { return back({u})[0]; }};
}

// ⟨vjp(u), v⟩ = ⟨u, f′·v⟩: its gradient in u, whatever u is.
Linearized linearize(const TensorFunction& f, const Tensor& x, std::source_location where) {
  const Recorded r(many(f), {x}, false);
  const Place place(where);
  const Tensor u = zeros_like(r.values[0]);
  const auto second = std::make_shared<Tape>(true);
  second->watch(u);
  second->start();
  const Tensor back = r.tape->gradient(r.request({&u, 1}, place, "linearize"))[0];
  second->stop();
  return {r.values[0], [second, u, back, place](const Tensor& v) {
            return second->gradient({.targets = {&back, 1},
                                     .seeds = {&v, 1},
                                     .sources = {&u, 1},
                                     .zero_unconnected = true,
                                     .place = place,
                                     .function = "linearize"})[0];
          }};
}

Tensor gradient(const TensorFunction& f, const Tensor& x, std::source_location where) {
  const Recorded r(many(f), {x}, false);
  return r.tape->gradient(r.request({}, where, "gradient"))[0];
}
Tensor jacobian(const TensorFunction& f, const Tensor& x, std::source_location where) {
  const Recorded r(many(f), {x}, false);
  return autodiff::jacobian(*r.tape, r.request({}, where, "jacobian"));
}
Tensor hessian(const TensorFunction& f, const Tensor& x, std::source_location where) {
  const Recorded r(many(f), {x}, false);
  return autodiff::hessian(*r.tape, r.request({}, where, "hessian"));
}
Tensor hvp(const TensorFunction& f, const Tensor& x, const Tensor& v, std::source_location where) {
  const TensorFunction g = [&](const Tensor& at) { return gradient(f, at, where); };
  const Recorded r(many(g), {x}, false);
  return r.tape->gradient(r.request({&v, 1}, where, "hvp"))[0];
}

std::vector<Tensor> per_sample_gradients(
    const std::function<Tensor(const std::vector<Tensor>&, const std::vector<Tensor>&)>& f,
    const std::vector<Tensor>& parameters, const std::vector<Tensor>& data, std::source_location where) {
  if (data.empty() || data[0].ndim() == 0)
    raise<ShapeError>("WP-SHP-001", "per_sample_gradients", "data needs a first axis, the samples.");
  const std::int64_t samples = data[0].shape(0);
  std::vector<Tensors> all(parameters.size());
  for (std::int64_t k = 0; k < samples; ++k) {
    std::vector<Tensor> sample;
    for (const Tensor& d : data) sample.push_back(d[{k}]);
    const Recorded r([&](const std::vector<Tensor>& p) { return std::vector<Tensor>{f(p, sample)}; }, parameters,
                     false);
    if (r.values[0].size() != 1)
      raise<ShapeError>("WP-SHP-001", "per_sample_gradients",
                        say("the loss of a sample must be a scalar; got ", r.values[0].shape(), "."));
    const std::vector<Tensor> g = r.tape->gradient(r.request({}, where, "per_sample_gradients"));
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
