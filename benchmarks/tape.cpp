#include "tape.hpp"

#include <memory>
#include <vector>

#include "wellposed/wellposed.hpp"

namespace {

using wp::Tensor;
using Work = std::function<void()>;

Tensor draw(wp::DType dtype, const wp::Dims& shape, int k) {
  return wp::astype(wp::random::normal(shape, 1, k * 1000000), dtype);
}

// The four ops of the peers in judge.py.
Tensor chain(Tensor y, const Tensor& a, const Tensor& b) {
  for (int k = 0; k < 250; ++k) y = wp::sin(wp::tanh(y) * a) + b;
  return y;
}

// in → hidden → hidden → 10, relu, softmax cross-entropy, one step of gradient descent.
struct Mlp {
  Tensor x, labels;
  std::vector<Tensor> p;
  Mlp(wp::DType d, std::int64_t batch, std::int64_t in, std::int64_t hidden) {
    x = draw(d, {batch, in}, 0);
    labels = wp::astype(wp::one_hot(wp::remainder(wp::arange(batch), 10), 10), d);
    p = {draw(d, {in, hidden}, 1) * 0.2,    wp::zeros({hidden}, {.dtype = d}), draw(d, {hidden, hidden}, 2) * 0.1,
         wp::zeros({hidden}, {.dtype = d}), draw(d, {hidden, 10}, 3) * 0.1,    wp::zeros({10}, {.dtype = d})};
  }
  void step() {
    wp::GradientTape tape;
    tape.watch(p);
    const Tensor h = wp::relu(wp::matmul(x, p[0]) + p[1]), k = wp::relu(wp::matmul(h, p[2]) + p[3]);
    const Tensor loss = -wp::mean(wp::sum(wp::log_softmax(wp::matmul(k, p[4]) + p[5]) * labels, {.axis = -1}));
    const std::vector<Tensor> g = tape.gradient(loss, p);
    for (std::size_t i = 0; i < p.size(); ++i) p[i] = p[i] - 0.01 * g[i];
  }
};

Tensor svd_loss(const Tensor& a, const Tensor& m) {
  const auto [u, s, vh] = wp::linalg::svd(a, {.full_matrices = false});
  return wp::sum(m * wp::matmul(u * wp::expand_dims(s * s, {.axis = -2}), vh));
}

Work gradient_of(const Tensor& a, const std::function<Tensor(const Tensor&)>& f) {
  return [a, f] {
    wp::GradientTape tape;
    tape.watch(a);
    (void)tape.gradient(f(a), a);
  };
}

}  // namespace

std::optional<Work> tape_work(const std::string& name, wp::DType dtype, const wp::Dims& shape) {
  if (name != "chain" && !name.starts_with("tape.")) return std::nullopt;
  const Tensor x = draw(dtype, shape, 0);
  if (name == "chain" || name == "tape.chain" || name == "tape.record") {
    const Tensor a = wp::tanh(draw(dtype, shape, 1)), b = draw(dtype, shape, 2);  // |a| < 1: no chaos
    if (name == "chain") return [=] { (void)chain(x, a, b); };
    if (name == "tape.record")
      return [=] {
        wp::GradientTape tape;
        tape.watch(x);
        (void)chain(x, a, b);
      };
    return gradient_of(x, [=](const Tensor& t) { return chain(t, a, b); });
  }
  if (name == "tape.mlp") {
    const bool sized = shape.size() == 3;
    const auto mlp = std::make_shared<Mlp>(dtype, shape[0], sized ? shape[1] : 32, sized ? shape[2] : 64);
    return [mlp] { mlp->step(); };
  }
  const Tensor m = draw(dtype, shape, 1);
  if (name == "tape.svdvals") return gradient_of(x, [](const Tensor& t) { return wp::sum(wp::linalg::svdvals(t)); });
  if (name == "tape.inv") return gradient_of(x, [](const Tensor& t) { return wp::sum(wp::linalg::inv(t)); });
  if (name == "tape.svd_sum")
    return gradient_of(x, [](const Tensor& t) { return wp::sum(wp::linalg::svd(t, {.full_matrices = false}).S); });
  if (name == "tape.svd_loss") return gradient_of(x, [m](const Tensor& t) { return svd_loss(t, m); });
  if (name == "tape.svd_clustered") {  // pairs of equal singular values
    const auto [u, s, vh] = wp::linalg::svd(x);
    const Tensor pairs = wp::astype(wp::floor_divide(wp::arange(shape[0]), 2), dtype) + 1.0;
    return gradient_of(wp::matmul(u * pairs, vh), [m](const Tensor& t) { return svd_loss(t, m); });
  }
  return std::nullopt;
}
