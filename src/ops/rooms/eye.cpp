#include <algorithm>

#include "base/text.hpp"
#include "kernels/convert.hpp"
#include "kernels/copy.hpp"
#include "ops/moves.hpp"

namespace wp {
extern const Op op_eye;
namespace {

void infer(Call& c) {
  const std::int64_t rows = c.attr(0).integer(), cols = c.attr(1) ? c.attr(1).integer() : rows;
  c.output(c.attr(3) ? c.attr(3).dtype() : f64, {rows, cols});
}

void forward(Call& c) {
  const Tensor& y = c.out[0];
  if (y.size() == 0) return;
  const auto item = static_cast<std::int64_t>(size_of(y.dtype()));
  const complex128 values[] = {0.0, 1.0};
  complex128 stored[2];
  for (int i = 0; i < 2; ++i) kernels::convert(&stored[i], y.dtype(), &values[i], c128, 1, 1);
  kernels::fill(y.node()->data, &stored[0], size_of(y.dtype()), y.size());
  const std::int64_t rows = y.shape()[0], cols = y.shape()[1], k = c.attr(2).integer();
  if (k >= cols || k <= -rows) return;
  const std::int64_t row = std::max<std::int64_t>(0, -k), col = std::max<std::int64_t>(0, k);
  const Dims ones{std::min(rows - row, cols - col)};
  kernels::copy(y.node()->data + (row * cols + col) * item, {cols + 1}, reinterpret_cast<const char*>(&stored[1]),
                {0}, ones, size_of(y.dtype()));
}

std::vector<Sample> samples() {
  std::vector<Sample> all;
  for (int k = 0; k < kDTypes; ++k) all.push_back({{}, {3, Attr(), 0, static_cast<DType>(k)}});
  all.push_back({{}, {2, 4, 1, Attr()}, "k > 0"});
  all.push_back({{}, {4, 2, -2, Attr()}, "k < 0"});
  all.push_back({{}, {2, 2, 2, Attr()}, "k outside"});
  all.push_back({{}, {2, 2, -2, Attr()}, "k outside"});
  all.push_back({{}, {0, 2, 0, Attr()}});
  return all;
}

}  // namespace

const Op op_eye = {
    .name = "eye",
    .group = "creation",
    .doc = "A matrix with ones on a diagonal and zeros elsewhere.",
    .params = {},
    .attrs = {{.name = "n_rows", .type = AttrType::integer, .doc = "The number of rows.", .required = true},
              {"n_cols", AttrType::integer, {}, "The number of columns; none: as many as rows."},
              {"k", AttrType::integer, 0, "The diagonal: 0 the main one, k > 0 above it."},
              {"dtype", AttrType::dtype, {}, "The dtype; none: f64."}},
    .infer = infer,
    .forward = forward,
    .notes = Notes::gives,
    .flow = flow_nothing,
    .no_derivative = "its values do not depend on any argument that could be differentiated.",
    .branches = {"k > 0", "k < 0", "k outside"},
    .samples = samples,
};

}  // namespace wp
