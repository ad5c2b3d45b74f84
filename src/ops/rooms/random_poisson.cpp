#include <cmath>

#include "base/text.hpp"
#include "ops/random.hpp"

namespace wp {
extern const Op op_random_poisson;
namespace {

void infer(Call& c) {
  const DType d = draw_dtype(c, kinds::integer, "Convert the counts with astype.");
  const double rate = attr(c, "rate").real();
  if (!(rate >= 0 && rate <= 1e15))
    refuse_value(c, "rate", "from 0 to 1e15",
                 "Above, a normal draw with mean rate and std sqrt(rate) is the same to 7 digits.");
  const double largest = rate + 12 * std::sqrt(rate) + 40;  // exceeded with probability < 1e-19
  if (largest > static_cast<double>(iinfo(d).max))
    refuse<ArgumentError>("WP-ARG-001",
                          say("counts must fit ", d, ", whose largest number is ", iinfo(d).max,
                              "; with rate = ", rate, " they may reach ", std::ceil(largest), "."),
                          "Choose a wider dtype.");
  c.output(d, attr(c, "shape").ints());
}

void forward(Call& c) {
  Tensor& y = c.out[0];
  kernels::sample_poisson(stream_of(c), attr(c, "rate").real(), y.dtype(), y.node()->data, y.size());
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  for (const DType d : {i8, i16, i32, i64, u8, u16, u32, u64})
    out.push_back({{}, {Dims{2, 9}, 3.5, 42, 0, d}, "by a table"});
  out.push_back({{}, {Dims{200}, 10.0, -42, 7, i64}, "by rejection"});
  out.push_back({{}, {Dims{200}, 1234.5, 1, 0, i32}, "by rejection"});
  out.push_back({{}, {Dims{50}, 1e15, 1, 0, i64}, "by rejection"});
  out.push_back({{}, {Dims{5}, 0.0, 1, 0, i64}, "rate = 0"});
  return out;
}

}  // namespace

const Op op_random_poisson = {
    .name = "poisson",
    .ns = "random",
    .group = "random",
    .doc = "Counts from the Poisson distribution: k with probability exp(-rate) rate^k / k!.",
    .params = {},
    .attrs =
        random_attrs({{.name = "rate", .type = AttrType::real, .doc = "The mean, from 0 to 1e15.", .required = true}},
                     {dtype_option(i64)}),
    .infer = infer,
    .forward = forward,
    .notes = Notes::gives,
    .no_derivative = kIntegerDraws,
    .branches = {"by a table", "by rejection", "rate = 0"},
    .samples = samples,
};

}  // namespace wp
