#include <algorithm>
#include <atomic>

#include "base/pool.hpp"
#include "base/text.hpp"
#include "kernels/convert.hpp"
#include "kernels/scan.hpp"
#include "kernels/walk.hpp"
#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "ops/moves.hpp"
#include "tensor/note.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_astype;
namespace {

void infer(Call& c) {
  const DType from = c.in[0].dtype(), to = c.attr(0).dtype();
  if (is_complex(from) && !is_complex(to) && to != DType::boolean)
    refuse<DtypeError>("WP-DTY-003",
                       say("complex numbers have no value in ", to, "; x is ", from, " ", c.in[0].shape(), "."),
                       "Take real(x), imag(x) or abs(x) first.");
  if (from != to || c.attr(1).flag()) c.output(to, c.in[0].shape());
}

// Names the first element that the integer dtype cannot hold, and where it came from if an op made it.
[[noreturn]] void refuse_unfit(const Call& c) {
  const Tensor& x = c.in[0];
  const DType to = c.attr(0).dtype();
  const auto item = static_cast<std::int64_t>(size_of(x.dtype()));
  std::int64_t first = -1, count = 0;
  for (std::int64_t e = 0; e < x.size(); ++e) {
    if (kernels::first_unfit(to, x.node()->data + offset_of(x, e) * item, x.dtype(), 1, 1) < 0) continue;
    if (count++ == 0) first = e;
  }
  const IntegerInfo limits = iinfo(to);
  std::string message = say("the value ", text_at(x, first));
  if (x.ndim()) message += say(" at element ", unravel(first, x.shape()), " of ", x.shape());
  message += say(" does not fit ", to, " (", limits.min, " to ", limits.max, ")");
  message += count > 1 ? say("; ", count, " of ", x.size(), " elements do not.") : std::string(".");
  const Note* note = x.node()->note.get();
  if (const Origin* o = note ? note->of(first, nonfinite_at(x, first)) : nullptr) {
    message += say("\n  Source: ", o->finding.op, ": ", o->finding.message);
    if (o->finding.place.known()) message += say(" (", o->finding.place.text(), ")");
  }
  Finding f = misuse("WP-DOM-003", {}, std::move(message),
                     is_floating(x.dtype()) ? "Mask or clip x first: astype(where(isfinite(x), x, 0), dtype)."
                                            : "Use a wider dtype, or clip x first.");
  f.element = unravel(first, x.shape());
  f.count = count;
  throw DomainError(std::move(f), std::make_shared<const Subject>(Subject{x, first}));
}

void forward(Call& c) {
  const Tensor& x = c.in[0];
  if (c.out.empty()) return add_view(c, x, x.shape(), x.strides());
  Tensor& y = c.out[0];
  const DType from = x.dtype(), to = y.dtype();
  const bool narrows = from != to && !can_cast(from, to);
  const bool may_refuse = narrows && is_integer(to), may_overflow = narrows && is_floating(to);
  const auto in_size = static_cast<std::int64_t>(size_of(from)), out_size = static_cast<std::int64_t>(size_of(to));
  Dims shape = x.shape(), strides = x.strides();
  Dims* all[] = {&strides};
  kernels::coalesce(shape, all, 1);
  const bool in_place = x.is_contiguous();
  std::atomic<bool> unfit{false}, nonfinite{false};
  parallel_for(x.size(), kernels::kGrain, [&](std::int64_t begin, std::int64_t end) {
    constexpr std::int64_t block = 2048;  // checked while it is in cache
    alignas(64) char buffer[block * 16];
    for (std::int64_t i = begin; i < end && !unfit.load(std::memory_order_relaxed); i += block) {
      const std::int64_t m = std::min(block, end - i);
      char* const to_data = y.node()->data + i * out_size;
      if (may_refuse) {
        const char* source = x.node()->data + i * in_size;
        if (!in_place) kernels::gather(buffer, from, x.node()->data, from, shape, strides, i, m), source = buffer;
        if (kernels::first_unfit(to, source, from, 1, m) >= 0)
          unfit = true;
        else
          kernels::convert(to_data, to, source, from, 1, m);
      } else {
        kernels::gather(to_data, to, x.node()->data, from, shape, strides, i, m);
        if (may_overflow && kernels::any_nonfinite(to, to_data, m)) nonfinite = true;
      }
    }
  });
  if (unfit) refuse_unfit(c);
  if (nonfinite) c.status.bits |= simd::Status::nonfinite;
}

Tensor made_of(DType d, const std::vector<complex128>& values) {
  Tensor t = Tensor::adopt(detail::make_node(d, {static_cast<std::int64_t>(values.size())}));
  kernels::convert(t.node()->data, d, values.data(), c128, 1, t.size());
  return t;
}
// Every dtype to every dtype that takes it.
std::vector<Sample> samples() {
  std::vector<Sample> all;
  for (int f = 0; f < kDTypes; ++f)
    for (int t = 0; t < kDTypes; ++t) {
      const auto from = static_cast<DType>(f), to = static_cast<DType>(t);
      if (is_complex(from) && !is_complex(to) && to != DType::boolean) continue;
      std::vector<complex128> values{0, 1, 2, 100, 127};
      if (!is_integer(from) || is(from, kinds::signed_integer))
        if (!is(to, kinds::unsigned_integer)) values.insert(values.end(), {-1, -100, -128});
      if (is_floating(from)) values.insert(values.end(), {0.75, 1.0009765625, 3.1415926535897931});
      if (is_floating(from) && !is(to, kinds::unsigned_integer)) values.insert(values.end(), {-0.75, -2.5});
      if (is_complex(from)) values.insert(values.end(), {{0, -1}, {1.5, 2.25}});
      all.push_back({{made_of(from, values)}, {to, true}});
    }
  for (const DType to : {f16, bf16, f32, f64, c64})
    all.push_back({{made_of(f64, {HUGE_VAL, -HUGE_VAL, NAN, -0.0})}, {to, true}, "inf and nan"});
  for (const DType to : {f16, bf16, f32})
    all.push_back({{made_of(f64, {1e200, -1e200})}, {to, true}, "overflow: inf"});
  all.push_back({{made_of(f64, {NAN, HUGE_VAL, 0, -0.0})}, {DType::boolean, true}, "nan to bool"});
  all.push_back({{made_of(f32, {1, 2})}, {f32, false}, "same dtype, no copy"});
  return all;
}
}  // namespace

const Op op_astype = {
    .name = "astype",
    .group = "data type",
    .doc =
        "x converted to a dtype. Floats lose their fraction in integers; what an integer dtype cannot hold (NaN, "
        "Inf, "
        "values out of its range) is refused; anything but 0 is true. Complex numbers become no real ones.",
    .params = {{"x"}},
    .attrs = {{.name = "dtype", .type = AttrType::dtype, .doc = "The dtype of the result.", .required = true},
              {.name = "copy",
               .type = AttrType::boolean,
               .fallback = true,
               .doc = "false: x itself if it has that dtype."}},
    .infer = infer,
    .forward = forward,
    .keeps_rows = true,
    .flow = flow_elementwise,
    .vjp = [](const Backward& b) { return Tensors{b.g()}; },
    .jvp = jvp_linear,
    .branches = {"inf and nan", "overflow: inf", "nan to bool", "same dtype, no copy"},
    .samples = samples,
};
}  // namespace wp
