#include "linalg/implicit.hpp"

#include "ops/derivative.hpp"
#include "ops/dispatch.hpp"
#include "ops/moves.hpp"

namespace wp::linalg {
namespace {

struct Solvers {
  std::function<Tensor(const Tensor&)> plain, adjoint;
};

const Op op_implicit_solution = {
    .name = "implicit_solution",
    .group = "linear algebra",
    .doc = "x, which depends on what r depends on.",
    .params = {{"x"}, {"r"}},
    .attrs = {{.name = "solvers", .type = AttrType::object, .required = true}},
    .infer = no_outputs,
    .forward = forward_same,
    .notes = Notes::moves,
    .flow = flow_everything,
    .vjp =
        [](const Backward& b) {
          return Tensors{{}, b.attr(0).object<Solvers>().adjoint(b.g())};
        },
    .jvp =
        [](const Forward& f) {
          return Tensors{f.tangents[1].defined() ? f.attr(0).object<Solvers>().plain(f.tangents[1]) : Tensor()};
        },
};

}  // namespace

Tensor implicit_solution(const Tensor& x, const Tensor& r, std::function<Tensor(const Tensor&)> solve,
                         std::function<Tensor(const Tensor&)> solve_adjoint, const Place& place) {
  const Attr attrs[] = {std::shared_ptr<const void>(
      std::make_shared<const Solvers>(Solvers{std::move(solve), std::move(solve_adjoint)}))};
  const Tensor* const in[] = {&x, &r};
  return call1(op_implicit_solution, in, attrs, place);
}

}  // namespace wp::linalg
