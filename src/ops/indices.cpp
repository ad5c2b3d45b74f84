#include "ops/indices.hpp"

#include <atomic>
#include <cstring>
#include <limits>

#include "base/pool.hpp"
#include "base/text.hpp"
#include "kernels/convert.hpp"
#include "kernels/scan.hpp"
#include "kernels/walk.hpp"
#include "tensor/note.hpp"

namespace wp {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

void keep_least(std::atomic<std::int64_t>& least, std::int64_t v) {
  std::int64_t seen = least.load(std::memory_order_relaxed);
  while (v < seen && !least.compare_exchange_weak(seen, v, std::memory_order_relaxed)) {
  }
}

// bool < integer < real < complex
int kind_rank(DType d) {
  return d == DType::boolean ? 0 : is_integer(d) ? 1 : is_complex(d) ? 3 : 2;
}

// The first integer of x that `to` does not hold, or −1.
std::int64_t first_misfit(const Tensor& x, DType to) {
  const IntegerInfo from = iinfo(x.dtype()), into = iinfo(to);
  if (from.min >= into.min && from.max <= into.max) return -1;
  const Tensor wide = converted(x, x.dtype() == u64 ? u64 : i64);
  const auto* const v = reinterpret_cast<const std::int64_t*>(wide.node()->data);
  const bool large = x.dtype() == u64;
  for (std::int64_t e = 0; e < x.size(); ++e) {
    const bool fits = large || v[e] >= 0 ? static_cast<std::uint64_t>(v[e]) <= into.max : v[e] >= into.min;
    if (!fits) return e;
  }
  return -1;
}

}  // namespace

void refuse_index(const Tensor& indices, std::int64_t element, std::string_view what, std::string_view rule) {
  Finding f = misuse("WP-IDX-002", {}, say(entry_text(what, indices, element), " ", rule), {});
  f.element = unravel(element, indices.shape());
  throw IndexError(std::move(f), std::make_shared<const Subject>(Subject{indices, element}));
}

Tensor converted(const Tensor& x, DType to) {
  if (x.dtype() == to) return contiguous(x);
  Tensor y = Tensor::adopt(detail::make_node(to, x.shape()));
  Dims shape = x.shape(), strides = x.strides();
  Dims* s = &strides;
  if (x.size()) kernels::coalesce(shape, &s, 1);
  const auto item = static_cast<std::int64_t>(size_of(to));
  parallel_for(y.size(), kernels::kGrain, [&](std::int64_t begin, std::int64_t end) {
    kernels::gather(y.node()->data + begin * item, to, x.node()->data, x.dtype(), shape, strides, begin, end - begin);
  });
  return y;
}

Tensor positions(const Tensor& indices, std::int64_t length, std::string_view what, std::int64_t axis,
                 std::int64_t scale) {
  const Tensor from = converted(indices, i64);
  const Tensor out = from.node() == indices.node() ? Tensor::adopt(detail::make_node(i64, indices.shape())) : from;
  const auto* const given = reinterpret_cast<const std::int64_t*>(from.node()->data);
  auto* const place = reinterpret_cast<std::int64_t*>(out.node()->data);
  const bool unsigned64 = indices.dtype() == u64;  // what is above i64 has become negative
  std::atomic<std::int64_t> bad{kNever};
  parallel_for(out.size(), kernels::kGrain, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t first_bad = kNever;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t p = given[i] < 0 && !unsigned64 ? given[i] + length : given[i];
      if (static_cast<std::uint64_t>(p) >= static_cast<std::uint64_t>(length)) [[unlikely]]
        first_bad = std::min(first_bad, i);
      place[i] = p * scale;
    }
    if (first_bad != kNever) keep_least(bad, first_bad);
  });
  if (bad.load() != kNever)
    refuse_index(indices, bad.load(), what,
                 length ? say("is out of range for axis ", axis, ", which has length ", length, "; it must be from ",
                              -length, " to ", length - 1, ".")
                        : say("is out of range for axis ", axis, ", which is empty."));
  return out;
}

Tensor value_for(const Tensor& value, DType to, std::string_view what, simd::Status& status) {
  const DType from = value.dtype();
  if (from == to) return value;
  if (kind_rank(from) > kind_rank(to))
    refuse<DtypeError>(
        "WP-DTY-004",
        say(what, " is ", from, " and does not go into a tensor of ", to, "; the tensor keeps its dtype."),
        say("Convert the tensor first, or the values with astype(", what, ", ", to, ")."));
  if (is_integer(from) && is_integer(to))
    if (const std::int64_t e = first_misfit(value, to); e >= 0)
      refuse<DomainError>(
          "WP-DOM-003",
          say(what, value.ndim() ? say(unravel(e, value.shape())) : std::string(), " = ", text_at(value, e),
              " does not fit ", to, " (", iinfo(to).min, " to ", iinfo(to).max, ")."),
          "Convert the tensor to a wider dtype with astype.");
  Tensor out = converted(value, to);
  if (is_floating(to) && kernels::any_nonfinite(to, out.node()->data, out.size()))
    status.bits |= simd::Status::nonfinite;
  return out;
}

std::int64_t broadcast_element(const Dims& index, const Dims& shape) {
  std::int64_t element = 0;
  for (std::size_t k = 0; k < shape.size(); ++k)
    element = element * shape[k] + (shape[k] == 1 ? 0 : index[index.size() - shape.size() + k]);
  return element;
}

std::int64_t axis_or_only(const Attr& axis, const Tensor& x) {
  if (axis) return normal_axis(axis.integer(), x.ndim());
  if (x.ndim() != 1)
    refuse<ArgumentError>("WP-ARG-002",
                          say("axis may be left out only when x has one axis; got shape ", x.shape(), "."));
  return 0;
}

}  // namespace wp
