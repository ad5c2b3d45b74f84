// Gradients to be timed: a chain of small ops, a training step, losses of the svd.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "wellposed/tensor.hpp"

// tape.chain (1000 element-wise ops and back), tape.record (there only), chain (the same without a tape), tape.mlp,
// tape.svd_sum, tape.svd_loss, tape.svd_clustered; the shape of tape.mlp is [batch], or [batch, in, hidden]; empty:
// none of them.
std::optional<std::function<void()>> tape_work(const std::string& name, wp::DType dtype, const wp::Dims& shape);
