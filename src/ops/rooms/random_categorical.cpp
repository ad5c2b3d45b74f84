#include <algorithm>
#include <cmath>
#include <vector>

#include "base/pool.hpp"
#include "base/text.hpp"
#include "kernels/convert.hpp"
#include "kernels/walk.hpp"
#include "ops/moves.hpp"
#include "ops/random.hpp"
#include "simd/draw_math.hpp"

namespace wp {
extern const Op op_random_categorical;
namespace {

void infer(Call& c) {
  const Dims& shape = c.in[0].shape();
  if (shape.empty() || shape.back() == 0)
    refuse<ShapeError>("WP-SHP-006",
                       say("logits must have a last axis with at least one class; got shape ", shape, "."),
                       "Its elements are the log-probabilities of the classes, up to a constant.");
  Dims out = shape;
  out.pop_back();
  if (const Attr& draws = attr(c, "draws")) {
    if (draws.integer() < 0) refuse_value(c, "draws", "at least 0", "It is the number of draws per row of logits.");
    out.push_back(draws.integer());
  }
  c.output(i64, out);
}

// The largest logit; refuses what is not a distribution.
double largest(const double* logits, std::int64_t classes, std::int64_t row) {
  double most = -HUGE_VAL;
  for (std::int64_t k = 0; k < classes; ++k) {
    if (!(logits[k] < HUGE_VAL))
      refuse<ArgumentError>("WP-ARG-001",
                            say("logits must be finite or -inf (a class that is never drawn); class ", k, " of row ",
                                row, " is ", logits[k], "."),
                            "Subtract the maximum before the logits overflow, or look where they become NaN.");
    most = std::max(most, logits[k]);
  }
  if (most == -HUGE_VAL)
    refuse<ArgumentError>(
        "WP-ARG-001",
        say("a row must have a class that can be drawn; all ", classes, " logits of row ", row, " are -inf."),
        "Give at least one class a finite logit.");
  return most;
}

// Element e takes half of block counter + e / 2 as u in [0, 1); the class is the first whose cumulated weight exceeds
// u times the total.
void draw_row(kernels::Stream s, const std::vector<double>& weight, std::int64_t first, std::int64_t draws,
              std::int64_t* out) {
  const double total = weight.back();
  parallel_for(draws, 4096, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t d = begin; d < end; ++d) {
      const auto e = static_cast<std::uint64_t>(first + d);
      const simd::Block block = simd::philox_block(s.key, s.number + e / 2, 0);
      const double u = simd::draw::unit<53>(e % 2 ? block.high() : block.low());
      out[d] = std::upper_bound(weight.begin(), weight.end(), u * total) - weight.begin();
    }
  });
}

void forward(Call& c) {
  Tensor& y = c.out[0];
  if (y.size() == 0) return;
  const Tensor x = contiguous(c.in[0]);
  const std::int64_t classes = x.shape().back(), rows = x.size() / classes, draws = y.size() / rows;
  const kernels::Stream s = stream_of(c);
  const std::int64_t grain = std::max<std::int64_t>(1, kernels::kGrain / (classes + draws));
  const auto item = static_cast<std::int64_t>(size_of(x.dtype()));
  auto* const out = reinterpret_cast<std::int64_t*>(y.node()->data);
  parallel_for(rows, grain, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> logits(static_cast<std::size_t>(classes)), weight(logits.size());
    for (std::int64_t row = begin; row < end; ++row) {
      kernels::convert(logits.data(), f64, x.node()->data + row * classes * item, x.dtype(), 1, classes);
      simd::cumulate_loop()(logits.data(), largest(logits.data(), classes, row), weight.data(), classes);
      draw_row(s, weight, row * draws, draws, out + row * draws);
    }
  });
}

void flow(const FlowQuery& q, Visit visit) {
  const std::int64_t classes = q.call.in[0].shape().back(), rows = q.call.in[0].size() / classes;
  const std::int64_t row = q.element / (q.call.out[0].size() / rows);
  for (std::int64_t k = 0; k < classes; ++k) visit(row * classes + k);
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  for (const DType d : {f16, bf16, f32, f64}) out.push_back({{counting(d, {2, 3})}, {42, 0, Attr()}});
  out.push_back({{counting(f64, {4})}, {-42, 7, 50}});
  out.push_back({{counting(f64, {2, 3, 4})}, {1, 0, 3}});
  out.push_back({{Tensor{{-HUGE_VAL, 0.0, -HUGE_VAL, 1.0}}}, {1, 0, 40}, "a class is impossible"});
  out.push_back({{Tensor{{1.0, 2.0}}}, {1, 0, 0}});
  return out;
}

}  // namespace

const Op op_random_categorical = {
    .name = "categorical",
    .ns = "random",
    .group = "random",
    .doc =
        "Class numbers k along the last axis of logits, each drawn with probability softmax(logits)[k]. "
        "Probabilities are met to within 2^-52 times the number of classes.",
    .params = {{"logits", kinds::real_floating, "Log-probabilities, up to a constant per row; -inf: never drawn."}},
    .attrs =
        stream_attrs({}, {{"draws", AttrType::integer, {}, "Draws per row, which become the last axis; none: one."}}),
    .infer = infer,
    .forward = forward,
    .notes = Notes::gives,
    .flow = flow,
    .no_derivative = kIntegerDraws,
    .branches = {"a class is impossible"},
    .samples = samples,
};

}  // namespace wp
