#include <algorithm>
#include <cmath>

#include "base/pool.hpp"
#include "base/text.hpp"
#include "kernels/convert.hpp"
#include "kernels/ramp.hpp"
#include "kernels/walk.hpp"
#include "ops/moves.hpp"

namespace wp {
extern const Op op_arange;
namespace {

using Wide = __int128;
constexpr std::int64_t kChunk = 1024;

Wide wide(const Scalar& s) {
  return s.is_large_unsigned() ? static_cast<Wide>(static_cast<std::uint64_t>(s.integer()))
                               : static_cast<Wide>(s.integer());
}

struct Range {
  Scalar start = 0, stop = 0, step = 1;
  bool whole = true;  // all three are integers
};
Range range(const Call& c) {
  Range r;
  const bool one = !c.attr(1);  // arange(n) counts from 0
  if (!one) r.start = c.attr(0).scalar();
  r.stop = c.attr(one ? 0 : 1).scalar();
  r.step = c.attr(2).scalar();
  for (const Scalar* s : {&r.start, &r.stop, &r.step}) {
    if (s->kind() == Scalar::Kind::complex || s->kind() == Scalar::Kind::boolean)
      refuse<DtypeError>("WP-DTY-003", say("takes integers and reals; got ", Attr(*s).show(), "."));
    if (!std::isfinite(s->real()))
      refuse<ArgumentError>("WP-ARG-001", say("start, stop and step must be finite; got ", Attr(*s).show(), "."));
    r.whole &= s->kind() == Scalar::Kind::integer;
  }
  if (r.step.real() == 0)
    refuse<ArgumentError>("WP-ARG-001", "step must not be 0.", "Use full for a constant array.");
  return r;
}

// ⌈(stop − start)/step⌉, or 0. Lengths beyond every memory come out as the largest integer.
std::int64_t length(const Range& r) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  if (r.whole) {
    const Wide step = wide(r.step), way = wide(r.stop) - wide(r.start);
    if (way == 0 || (way > 0) != (step > 0)) return 0;
    const Wide n = way / step + (way % step != 0);
    return n > most ? most : static_cast<std::int64_t>(n);
  }
  const double a = r.start.real(), b = r.stop.real(), step = r.step.real();
  const double n = std::isfinite(b - a) ? std::ceil((b - a) / step) : std::ceil((b * 0.5 - a * 0.5) / (step * 0.5));
  return !(n > 0) ? 0 : n < 0x1p62 ? static_cast<std::int64_t>(n) : most;
}

[[noreturn]] void refuse_end(const Range& r, DType d, const std::string& end) {
  refuse<DomainError>(
      "WP-DOM-003",
      say("from ", Attr(r.start).show(), " to ", Attr(r.stop).show(), ": ", end, " does not fit ", d, "."),
      "Choose a wider dtype.");
}

// Integers: start + i·step, exact.
void write_whole(const Tensor& y, const Range& r) {
  const std::int64_t n = y.size();
  const Wide first = wide(r.start), last = first + wide(r.step) * (n - 1), low = std::min(first, last),
             high = std::max(first, last);
  const DType as = low < 0 ? i64 : u64;
  const IntegerInfo limits = iinfo(is_integer(y.dtype()) ? y.dtype() : as);
  if (low < limits.min) refuse_end(r, y.dtype(), say(static_cast<std::int64_t>(low)));
  if (high > static_cast<Wide>(limits.max)) refuse_end(r, y.dtype(), say(static_cast<std::uint64_t>(high)));
  const auto item = static_cast<std::int64_t>(size_of(y.dtype()));
  const auto from = static_cast<std::uint64_t>(first), by = static_cast<std::uint64_t>(wide(r.step));
  parallel_for(n, kernels::kGrain, [&](std::int64_t begin, std::int64_t end) {
    std::uint64_t buffer[kChunk];
    for (std::int64_t at = begin; at < end; at += kChunk) {
      const std::int64_t m = std::min(kChunk, end - at);
      for (std::int64_t i = 0; i < m; ++i) buffer[i] = from + static_cast<std::uint64_t>(at + i) * by;
      kernels::convert(y.node()->data + at * item, y.dtype(), buffer, as, 1, m);
    }
  });
}

void write_reals(const Tensor& y, const Range& r) {
  const auto item = static_cast<std::int64_t>(size_of(y.dtype()));
  parallel_for(y.size(), kernels::kGrain, [&](std::int64_t begin, std::int64_t end) {
    double buffer[kChunk];
    for (std::int64_t at = begin; at < end; at += kChunk) {
      const std::int64_t m = std::min(kChunk, end - at);
      if (y.dtype() == f64) {
        kernels::ramp(reinterpret_cast<double*>(y.node()->data) + at, at, m, r.start.real(), r.step.real());
        continue;
      }
      kernels::ramp(buffer, at, m, r.start.real(), r.step.real());
      kernels::convert(y.node()->data + at * item, y.dtype(), buffer, f64, 1, m);
    }
  });
}

void infer(Call& c) {
  const Range r = range(c);
  const DType d = c.attr(3) ? c.attr(3).dtype()
                  : r.whole ? (r.start.is_large_unsigned() || r.stop.is_large_unsigned() ? u64 : i64)
                            : f64;
  if (!is(d, kinds::real) || (is_integer(d) && !r.whole))
    refuse<DtypeError>("WP-DTY-003", r.whole ? say("makes integers and reals; got dtype ", d, ".")
                                             : say("start, stop or step is not an integer, but dtype is ", d, "."));
  c.output(d, {length(r)});
}

void forward(Call& c) {
  const Range r = range(c);
  const Tensor& y = c.out[0];
  if (y.size() == 0) return;
  if (r.whole)
    write_whole(y, r);
  else
    write_reals(y, r);
  if (!is_floating(y.dtype())) return;
  for (const std::int64_t e : {std::int64_t{0}, y.size() - 1}) {
    double v = 0;
    kernels::convert(&v, f64, y.node()->data + e * static_cast<std::int64_t>(size_of(y.dtype())), y.dtype(), 1, 1);
    if (!std::isfinite(v)) refuse_end(r, y.dtype(), say("element ", e));
  }
}

std::vector<Sample> samples() {
  const auto s = [](auto v) { return Attr(Scalar(v)); };
  std::vector<Sample> all;
  for (int k = 0; k < kDTypes; ++k)
    if (is(static_cast<DType>(k), kinds::real)) all.push_back({{}, {s(3), s(20), s(4), static_cast<DType>(k)}});
  all.push_back({{}, {s(5), Attr(), s(1), Attr()}, "stop only"});
  all.push_back({{}, {s(7), s(-3), s(-3), Attr()}, "step < 0"});
  all.push_back({{}, {s(7), s(3), s(1), Attr()}, "empty"});
  all.push_back({{}, {s(0.5), s(3.0), s(0.1), Attr()}, "reals"});
  all.push_back({{}, {s(1), s(2), s(0.3), f32}, "reals"});
  all.push_back({{}, {s(-1.5e308), s(1.5e308), s(1e308), Attr()}, "stop - start overflows"});
  all.push_back({{}, {s(INT64_MAX - 2), s(INT64_MAX), s(1), Attr()}});
  all.push_back({{}, {s(INT64_MIN), s(INT64_MAX), s(INT64_MAX), Attr()}});
  all.push_back({{}, {s(~std::uint64_t{0} - 3), s(~std::uint64_t{0}), s(2), Attr()}, "beyond i64"});
  return all;
}

}  // namespace

const Op op_arange = {
    .name = "arange",
    .group = "creation",
    .doc =
        "The numbers start, start + step, … before stop; one argument counts from 0 to it. There are "
        "ceil((stop - start)/step) of them. Integers are exact; reals are start + i*step rounded once.",
    .params = {},
    .attrs = {{.name = "start",
               .type = AttrType::scalar,
               .doc = "The first number; without stop, the end, and the first number is 0.",
               .required = true},
              {"stop", AttrType::scalar, {}, "The end, which is not reached."},
              {"step", AttrType::scalar, Scalar(1), "The distance; negative to count down."},
              {"dtype", AttrType::dtype, {}, "The dtype; none: i64 for integers, else f64."}},
    .infer = infer,
    .forward = forward,
    .notes = Notes::gives,
    .flow = flow_nothing,
    .no_derivative = "its values do not depend on any argument that could be differentiated.",
    .branches = {"stop only", "step < 0", "empty", "reals", "stop - start overflows", "beyond i64"},
    .samples = samples,
};

}  // namespace wp
