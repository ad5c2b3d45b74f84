#include "base/text.hpp"
#include "ops/random.hpp"

namespace wp {
extern const Op op_random_integers;
namespace {

using Wide = __int128;  // holds every i64 and u64

Wide whole(const Call& c, std::string_view name) {
  const Scalar& s = attr(c, name).scalar();
  if (s.kind() != Scalar::Kind::integer) refuse_value(c, name, "an integer", "Convert it first.");
  return s.is_large_unsigned() ? static_cast<Wide>(static_cast<std::uint64_t>(s.integer()))
                               : static_cast<Wide>(s.integer());
}

struct Range {
  std::uint64_t low, count;  // count 0: 2^64
};
Range range(const Call& c, DType d) {
  const Wide low = whole(c, "low"), high = whole(c, "high");
  const bool endpoint = attr(c, "endpoint").flag();
  const std::string given =
      say("low = ", attr(c, "low").show(), ", high = ", attr(c, "high").show(), endpoint ? ", endpoint" : "");
  const Wide last = endpoint ? high : high - 1;
  if (last < low)
    refuse<ArgumentError>(
        "WP-ARG-001",
        say(endpoint ? "high must not be less than low; got " : "high must be greater than low; got ", given, "."),
        endpoint ? "Swap them." : "high itself is not drawn: for low only, use full, or endpoint = true.");
  const IntegerInfo limits = iinfo(d);
  if (low < limits.min || last > static_cast<Wide>(limits.max))
    refuse<ArgumentError>("WP-ARG-001",
                          say("results must fit ", d, " (", limits.min, " to ", limits.max, "); got ", given, "."),
                          "Choose a wider dtype.");
  return {static_cast<std::uint64_t>(low), static_cast<std::uint64_t>(last - low + 1)};
}

void infer(Call& c) {
  const DType d = draw_dtype(c, kinds::integer, "For real numbers use random.uniform, for bool random.bernoulli.");
  range(c, d);
  c.output(d, attr(c, "shape").ints());
}

void forward(Call& c) {
  Tensor& y = c.out[0];
  const Range r = range(c, y.dtype());
  kernels::draw_integers(stream_of(c), r.low, r.count, y.dtype(), y.node()->data, y.size());
}

std::vector<Sample> samples() {
  const std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                     most = std::numeric_limits<std::int64_t>::max();
  std::vector<Sample> out;
  for (const DType d : {i8, i16, i32, i64, u8, u16, u32, u64})
    out.push_back({{}, {Dims{2, 9}, Scalar(is(d, kinds::signed_integer) ? -3 : 3), Scalar(100), 42, 0, d, false}});
  out.push_back({{}, {Dims{3000}, Scalar(0), Scalar(6), -42, 9, i64, false}});
  out.push_back({{}, {Dims{33}, Scalar(least), Scalar(1), 1, -3, i64, false}, "words are rejected"});
  out.push_back({{}, {Dims{9}, Scalar(least), Scalar(most), 1, 0, i64, true}, "all 64-bit integers"});
  out.push_back({{}, {Dims{9}, Scalar(0), Scalar(~std::uint64_t{0}), 1, 0, u64, true}, "all 64-bit integers"});
  out.push_back({{}, {Dims{9}, Scalar(7), Scalar(7), 1, 0, i64, true}, "one value"});
  out.push_back({{}, {Dims{9}, Scalar(-128), Scalar(128), 1, 0, i8, false}});
  return out;
}

}  // namespace

const Op op_random_integers = {
    .name = "integers",
    .ns = "random",
    .group = "random",
    .doc =
        "Integers low <= k < high, all with the same probability, exactly: words that would favour some are drawn "
        "again (Lemire 2019).",
    .params = {},
    .attrs = random_attrs(
        {{.name = "low", .type = AttrType::scalar, .doc = "The least result, an integer.", .required = true},
         {.name = "high", .type = AttrType::scalar, .doc = "One more than the greatest result.", .required = true}},
        {dtype_option(i64), {"endpoint", AttrType::boolean, false, "high itself is a result too."}}),
    .infer = infer,
    .forward = forward,
    .notes = Notes::gives,
    .no_derivative = kIntegerDraws,
    .branches = {"words are rejected", "all 64-bit integers", "one value"},
    .samples = samples,
};

}  // namespace wp
