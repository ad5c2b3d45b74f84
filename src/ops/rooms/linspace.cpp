#include <algorithm>
#include <cmath>

#include "base/pool.hpp"
#include "base/text.hpp"
#include "kernels/convert.hpp"
#include "kernels/ramp.hpp"
#include "kernels/walk.hpp"
#include "ops/moves.hpp"

namespace wp {
extern const Op op_linspace;
namespace {

constexpr std::int64_t kChunk = 512;

struct Ends {
  complex128 start, stop;
  bool complex;
};
Ends ends(const Call& c) {
  const Scalar &a = c.attr(0).scalar(), &b = c.attr(1).scalar();
  for (const Scalar* s : {&a, &b})
    if (!std::isfinite(s->real()) || !std::isfinite(s->imag()))
      refuse<ArgumentError>("WP-ARG-001", say("start and stop must be finite; got ", Attr(*s).show(), "."));
  return {{a.real(), a.imag()},
          {b.real(), b.imag()},
          a.kind() == Scalar::Kind::complex || b.kind() == Scalar::Kind::complex};
}

void infer(Call& c) {
  const Ends e = ends(c);
  const std::int64_t n = c.attr(2).integer();
  if (n < 0) refuse<ArgumentError>("WP-ARG-001", say("num must not be negative; got ", n, "."));
  const DType d = c.attr(3) ? c.attr(3).dtype() : e.complex ? c128 : f64;
  if (!is_floating(d) || (e.complex && !is_complex(d)))
    refuse<DtypeError>("WP-DTY-003",
                       say("makes ", e.complex ? "complex" : "floating-point", " numbers; got dtype ", d, "."),
                       "Use arange for integers.");
  const double largest = std::max(
      {std::fabs(e.start.real()), std::fabs(e.start.imag()), std::fabs(e.stop.real()), std::fabs(e.stop.imag())});
  if (largest > finfo(d).max)
    refuse<DomainError>("WP-DOM-003", say(largest, " is beyond ", finfo(d).max, ", the largest ", d, "."),
                        "Choose a wider dtype.");
  c.output(d, {n});
}

void forward(Call& c) {
  const Ends e = ends(c);
  const Tensor& y = c.out[0];
  const std::int64_t n = y.size(), parts = std::max<std::int64_t>(1, c.attr(4).flag() ? n - 1 : n);
  const auto item = static_cast<std::int64_t>(size_of(y.dtype()));
  parallel_for(n, kernels::kGrain, [&](std::int64_t begin, std::int64_t end) {
    double re[kChunk], im[kChunk];
    complex128 both[kChunk];
    for (std::int64_t at = begin; at < end; at += kChunk) {
      const std::int64_t m = std::min(kChunk, end - at);
      char* const out = y.node()->data + at * item;
      double* const to = y.dtype() == f64 ? reinterpret_cast<double*>(out) : re;
      kernels::spread(to, at, m, e.start.real(), e.stop.real(), parts);
      if (to != re) continue;
      if (!is_complex(y.dtype())) {
        kernels::convert(out, y.dtype(), re, f64, 1, m);
        continue;
      }
      kernels::spread(im, at, m, e.start.imag(), e.stop.imag(), parts);
      for (std::int64_t i = 0; i < m; ++i) both[i] = {re[i], im[i]};
      kernels::convert(out, y.dtype(), both, c128, 1, m);
    }
  });
  // The ends are what was given, to the bit.
  if (n > 0) kernels::convert(y.node()->data, y.dtype(), &e.start, c128, 1, 1);
  if (n > 1 && c.attr(4).flag()) kernels::convert(y.node()->data + (n - 1) * item, y.dtype(), &e.stop, c128, 1, 1);
}

std::vector<Sample> samples() {
  const auto s = [](auto v) { return Attr(Scalar(v)); };
  std::vector<Sample> all;
  for (int k = 0; k < kDTypes; ++k)
    if (is_floating(static_cast<DType>(k))) all.push_back({{}, {s(-1), s(0.7), 7, static_cast<DType>(k), true}});
  all.push_back({{}, {s(0), s(1), 5, Attr(), false}, "endpoint = false"});
  all.push_back({{}, {s(3), s(5), 1, Attr(), true}, "num = 1"});
  all.push_back({{}, {s(3), s(5), 0, Attr(), true}, "num = 0"});
  all.push_back({{}, {s(-1), s(1), 21, Attr(), true}});
  all.push_back({{}, {s(0.1), s(-0.1), 8, Attr(), true}});
  all.push_back({{}, {s(-1.7976931348623157e308), s(1.7976931348623157e308), 10, Attr(), true}, "ends at ±max"});
  all.push_back({{}, {s(1e-320), s(5e-310), 6, Attr(), true}, "subnormal"});
  all.push_back({{}, {s(complex128(0, 1)), s(complex128(1, -1)), 4, Attr(), true}, "complex"});
  return all;
}

}  // namespace

const Op op_linspace = {
    .name = "linspace",
    .group = "creation",
    .doc =
        "num evenly spaced numbers from start to stop. Both ends are exact; the others are right to the last digit, "
        "also when stop - start is beyond the largest number.",
    .params = {},
    .attrs = {{.name = "start", .type = AttrType::scalar, .doc = "The first number.", .required = true},
              {.name = "stop", .type = AttrType::scalar, .doc = "The last number.", .required = true},
              {.name = "num", .type = AttrType::integer, .doc = "How many.", .required = true},
              {"dtype", AttrType::dtype, {}, "The dtype; none: f64, or c128 for complex ends."},
              {"endpoint", AttrType::boolean, true, "Whether stop is one of the numbers."}},
    .infer = infer,
    .forward = forward,
    .notes = Notes::gives,
    .flow = flow_nothing,
    .no_derivative = "its values do not depend on any argument that could be differentiated.",
    .branches = {"endpoint = false", "num = 1", "num = 0", "ends at ±max", "subnormal", "complex"},
    .samples = samples,
};

}  // namespace wp
