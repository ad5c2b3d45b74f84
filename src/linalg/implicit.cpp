// The op takes x and the parameters: the tensors that the residual is computed from and that somebody differentiates.
// Its rule computes the residual once more at the x that it gave, which varies with the parameters like any result;
// so the rule differentiates again. (A residual recorded beside the call would hold x fixed for ever.)
#include "linalg/implicit.hpp"

#include <algorithm>

#include "base/busy.hpp"
#include "linalg/rules.hpp"
#include "ops/follower.hpp"
#include "ops/moves.hpp"

namespace wp::linalg {
namespace {

struct Solution {
  std::function<Tensor(const Tensor&)> residual, solve_adjoint;
  std::vector<Tensor> parameters;
};
const Solution& solution_of(Attrs attrs) {
  return attrs[0].object<Solution>();
}

bool same_variable(const Tensor& a, const Tensor& b) {
  return a.node() == b.node() || (a.node()->id != 0 && a.node()->id == b.node()->id);
}

// The tensors that calls take and that `listeners` differentiate.
class Parameters : public Observer {
 public:
  explicit Parameters(const Listener* listeners) {
    for (const Listener* l = listeners; l; l = l->outer)
      if (const auto* const f = dynamic_cast<const Follower*>(l->observer)) followers_.push_back(f);
  }
  void after(Call& c) override {
    const Busy busy(busy_);
    for (std::size_t i = 0; i < c.in.size(); ++i) {
      const Tensor& t = c.in[i];
      if (!t.defined() || !is_floating(t.dtype())) continue;
      const auto known = [&](const Tensor& p) { return same_variable(p, t); };
      const auto follows = [&](const Follower* f) { return f->follows(t); };
      if (std::any_of(followers_.begin(), followers_.end(), follows) && std::none_of(all.begin(), all.end(), known))
        all.push_back(t);
    }
  }
  std::vector<Tensor> all;

 private:
  std::vector<const Follower*> followers_;
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
};

// Where a tape computes what follows a decomposition again, parameters have other values; the residual knows its own.
void forward(Call& c) {
  const Solution& s = solution_of(c.attrs);
  for (std::size_t i = 0; i < s.parameters.size(); ++i)
    if (!same_variable(c.in[i + 1], s.parameters[i]))
      no_derivative_here(
          "a derivative at repeated or vanishing values computes what follows again from other values, and an "
          "iterative solution knows those only that it was computed from.",
          "Use solve or lstsq.");
  forward_same(c);
}

Tensors vjp(const Backward& b) {
  const Solution& s = solution_of(b.attrs);
  const Tensor g = s.solve_adjoint(b.g());
  Tensors all(1);
  for (const Tensor& p : b.pulled_back([&] { return s.residual(b.out[0]); }, s.parameters, g)) all.push_back(p);
  return all;
}

// What is told of the solution is told by the name of its solver.
Op named(std::string_view solver) {
  return {
      .name = solver,
      .group = "linear algebra",
      .doc = "x, which depends on what its residual is computed from.",
      .params = {{"x"}, {.name = "parameters", .variadic = true}},
      .attrs = {{.name = "solution", .type = AttrType::object, .required = true}},
      .infer = no_outputs,
      .forward = forward,
      .notes = Notes::moves,
      .flow = flow_everything,
      .vjp = vjp,
      .saves_inputs = ~0U,
      .saves_outputs = 1,
  };
}
const Op op_cg = named("cg"), op_gmres = named("gmres"), op_lsmr = named("lsmr");

}  // namespace

Tensor implicit_solution(const Tensor& x, std::function<Tensor(const Tensor& x)> residual,
                         std::function<Tensor(const Tensor& g)> solve_adjoint, Solver solver, const Place& place) {
  Parameters found(context().listeners);
  {
    const Unseen unseen;
    const Listen listen(found);
    (void)residual(x);
  }
  if (found.all.empty()) return x;
  std::vector<const Tensor*> in{&x};
  for (const Tensor& p : found.all) in.push_back(&p);
  const Attr attrs[] = {std::shared_ptr<const void>(
      std::make_shared<const Solution>(Solution{std::move(residual), std::move(solve_adjoint), found.all}))};
  const Op& op = solver == Solver::cg ? op_cg : solver == Solver::gmres ? op_gmres : op_lsmr;
  return call1(op, Inputs(in.data(), in.size()), attrs, place);
}

}  // namespace wp::linalg
