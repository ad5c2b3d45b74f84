// A recommender: ratings of 1 to 5 stars, few of them known, factorised as mean + P Qᵀ with more factors than there
// are tastes. The nuclear norm of P Qᵀ (the sum of its singular values, by the QR of both factors) is what keeps the
// rank low; its gradient goes through svdvals and qr.
#include <cmath>
#include <fstream>
#include <iostream>

#include "wellposed/wellposed.hpp"

namespace {

constexpr std::int64_t people = 200, products = 100, tastes = 3, factors = 8;

wp::Tensor draw(const wp::Dims& shape, int k) {
  return wp::random::normal(shape, 11, k * 100000);
}

struct Data {
  wp::Tensor ratings, known, held_out, mean;
  Data() {
    const wp::Tensor liked = wp::matmul(draw({people, tastes}, 0), draw({tastes, products}, 1));
    ratings = wp::clip(wp::round(3 + 0.7 * liked + 0.3 * draw({people, products}, 2)), 1.0, 5.0);
    const wp::Tensor lot = wp::random::uniform({people, products}, 11, 300000);
    known = wp::less(lot, 0.3);
    held_out = wp::greater(lot, 0.9);
    mean = wp::sum(wp::where(known, ratings, 0)) / wp::count_nonzero(known);
  }
  wp::Tensor squares(const wp::Tensor& x, const wp::Tensor& which) const {
    return wp::sum(wp::where(which, wp::square(mean + x - ratings), 0));
  }
  double error(const wp::Tensor& x, const wp::Tensor& which) const {  // in stars
    return wp::sqrt(squares(x, which) / wp::count_nonzero(which)).item<double>();
  }
};

struct Factors {
  wp::Tensor P = 0.1 * draw({people, factors}, 4), Q = 0.1 * draw({products, factors}, 5);
  wp::Tensor product() const { return wp::matmul(P, wp::matrix_transpose(Q)); }
  // P Qᵀ = Q₁ (R₁ R₂ᵀ) Q₂ᵀ has the singular values of R₁ R₂ᵀ, which is 8 × 8.
  wp::Tensor values() const {
    return wp::linalg::svdvals(wp::matmul(wp::linalg::qr(P).R, wp::matrix_transpose(wp::linalg::qr(Q).R)));
  }
};

Factors trained(const Data& data, double weight, wp::plot::Series& train, wp::plot::Series& test) {
  Factors f;
  wp::Tensor speed_p = wp::zeros_like(f.P), speed_q = wp::zeros_like(f.Q);
  constexpr int steps = 300;
  wp::Progress progress("training", steps, "steps");
  for (int step = 0; step < steps; ++step) {
    wp::set_step(step);
    wp::GradientTape tape;
    tape.watch({f.P, f.Q});
    const wp::Tensor loss = data.squares(f.product(), data.known) + weight * wp::sum(f.values());
    const auto g = tape.gradient(loss, {f.P, f.Q});
    speed_p = 0.9 * speed_p - 0.001 * g[0];
    speed_q = 0.9 * speed_q - 0.001 * g[1];
    f.P = f.P + speed_p;
    f.Q = f.Q + speed_q;
    for (auto& [series, which] : {std::pair(&train, data.known), {&test, data.held_out}}) {
      series->x.push_back(step);
      series->y.push_back(data.error(f.product(), which));
    }
    progress.add();
  }
  progress.finish();
  return f;
}

}  // namespace

int main() {
  const Data data;
  using Series = wp::plot::Series;
  Series train{Series::Mark::line, "known ratings", {}, {}}, test{Series::Mark::line, "held out", {}, {}};
  Series train_plain{Series::Mark::line, "known, without the norm", {}, {}},
      test_plain{Series::Mark::line, "held out, without the norm", {}, {}};
  const Factors plain = trained(data, 0, train_plain, test_plain), f = trained(data, 13, train, test);

  const auto stars = [&](const wp::Tensor& x) { return std::round(10 * data.error(x, data.held_out)) / 10; };
  std::cout << "held-out error in stars: " << stars(wp::zeros({people, products})) << " by the mean, "
            << stars(plain.product()) << " by " << factors << " factors, " << stars(f.product())
            << " with the nuclear norm\n";
  std::cout << "singular values above 1: " << wp::count_nonzero(wp::greater(f.values(), 1)).item<std::int64_t>()
            << '\n';
  std::ofstream("recommender.svg") << wp::plot::svg({.title = "Completing ratings with a low rank",
                                                     .x_label = "step",
                                                     .y_label = "error in stars",
                                                     .series = {train, test, train_plain, test_plain}});
}
