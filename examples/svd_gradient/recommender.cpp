// A recommender: ratings of few products by many people, completed by a matrix of low rank. The nuclear norm (the sum
// of singular values) keeps the rank low; its gradient goes through svdvals.
#include <fstream>
#include <iostream>

#include "wellposed/wellposed.hpp"

int main() {
  constexpr std::int64_t people = 60, products = 40, rank = 3;
  const auto draw = [](std::int64_t m, std::int64_t n, int k) { return wp::random::normal({m, n}, 11, k * 100000); };
  const wp::Tensor truth = wp::matmul(draw(people, rank, 0), draw(rank, products, 1));
  const wp::Tensor lot = wp::random::uniform({people, products}, 11, 200000);
  const wp::Tensor known = wp::less(lot, 0.4), held_out = wp::greater(lot, 0.9);
  const auto error = [&](const wp::Tensor& x, const wp::Tensor& where) {
    const wp::Tensor count = wp::sum(wp::astype(where, wp::f64));
    return wp::sum(wp::where(where, wp::square(x - truth), 0)) / count;
  };

  wp::plot::Series train{wp::plot::Series::Mark::line, "known ratings", {}, {}};
  wp::plot::Series test{wp::plot::Series::Mark::line, "held out", {}, {}};
  wp::Tensor x = 0.01 * draw(people, products, 3), velocity = wp::zeros({people, products});
  constexpr int steps = 400;
  wp::Progress progress("training", steps, "steps");
  for (int step = 0; step < steps; ++step) {
    wp::set_step(step);
    wp::GradientTape tape;
    tape.watch(x);
    const wp::Tensor fit = error(x, known);
    const wp::Tensor loss = fit + 0.004 * wp::sum(wp::linalg::svdvals(x));
    velocity = 0.9 * velocity - 20 * tape.gradient(loss, x);
    x = x + velocity;
    train.x.push_back(step);
    train.y.push_back(fit.item<double>());
    test.x.push_back(step);
    test.y.push_back(error(x, held_out).item<double>());
    progress.add();
  }
  progress.finish();
  const double start = test.y.front(), end = test.y.back();
  std::cout << "held-out error falls to " << (end < 0.1 * start ? "less than a tenth" : "not a tenth")
            << " of what it was\n";
  std::cout << "singular values above 1: " << wp::sum(wp::astype(wp::greater(wp::linalg::svdvals(x), 1), wp::i64))
            << '\n';
  std::ofstream("recommender.svg") << wp::plot::svg({.title = "Completing ratings with a low rank",
                                                     .x_label = "step",
                                                     .y_label = "mean square error",
                                                     .log_y = true,
                                                     .series = {train, test}});
}
