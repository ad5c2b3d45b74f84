#include "ops/derivative.hpp"
#include "ops/moves.hpp"

namespace wp {
extern const Op op_stop_gradient;

const Op op_stop_gradient = {
    .name = "stop_gradient",
    .group = "utility",
    .doc = "x itself, as a constant: nothing that is differentiated sees what it was computed from. A view.",
    .params = {{"x"}},
    .infer = no_outputs,
    .forward = forward_same,
    .notes = Notes::moves,
    .flow = flow_moves,
    .vjp = [](const Backward&) { return Tensors(1); },
    .jvp = [](const Forward&) { return Tensors(1); },
    .samples =
        [] {
          return moving_samples(op_stop_gradient, {2, 3}, {});
        },
};

}  // namespace wp
