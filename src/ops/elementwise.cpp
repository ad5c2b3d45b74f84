#include "ops/elementwise.hpp"

#include <algorithm>
#include <cstring>

#include "base/text.hpp"
#include "kernels/convert.hpp"
#include "kernels/walk.hpp"
#include "ops/derivative.hpp"
#include "tensor/note.hpp"

namespace wp {
namespace {

// f16 and bf16 are stored only: their loops are f32's.
DType loop_key(DType key) noexcept {
  return key == f16 || key == bf16 ? f32 : key;
}
const simd::Loop& row(const simd::Loops& loops, DType key) noexcept {
  return loops[static_cast<std::size_t>(loop_key(key))];
}

DType output_dtype(const simd::Loop& loop, DType key) noexcept {
  return loop_key(key) != key && loop.out == f32 ? key : loop.out;
}

// Integers: what the loop refused, named at its element.
[[noreturn, gnu::cold, gnu::noinline]] void refuse_integers(const Call& c) {
  const bool zero = (c.status.bits & simd::Status::divided_by_zero) != 0;
  const Tensor& b = c.in[1];
  const Dims strides = broadcast_strides(b, c.out[0].shape());
  Tensor wide = Tensor::adopt(detail::make_view(*b.node(), c.out[0].shape(), strides, 0));
  for (std::int64_t e = 0; e < wide.size(); ++e) {
    const double v = value_at(wide, e).real();
    if (zero ? v != 0 : v >= 0) continue;
    const Dims at = unravel(e, wide.shape());
    Finding f = misuse(zero ? "WP-DOM-002" : "WP-DOM-004", {},
                       zero ? say("integer division by zero at element ", at, " of ", wide.shape(), ".")
                            : say(c.op.params[1].name, " must not be negative for integers; element ", at, " is ",
                                  text_at(wide, e), "."),
                       "Mask the operand, or compute in floating point (astype).");
    f.element = at;
    std::int64_t own = 0;  // of the operand
    flow_elementwise({c, 0, e, 1}, [&](std::int64_t from) { own = from; });
    throw DomainError(std::move(f), std::make_shared<const Subject>(Subject{b, own}));
  }
  refuse<DomainError>("WP-DOM-004", "an integer argument is outside the domain.");
}

[[noreturn, gnu::cold, gnu::noinline]] void refuse_dtype(const Call& c) {
  refuse<DtypeError>("WP-DTY-003", say("there is no ", c.op.name, " for ", c.key, "."), "Convert with astype.");
}

// A small array and a number: the number is written out as often as there are elements.
constexpr std::int64_t kSpread = 256;
bool meets_number(const Call& c, const simd::Loop& loop, DType dtype) noexcept {
  if (c.in.size() != 2 || !is_floating(c.key) || dtype != loop.out) return false;
  const detail::Node *const a = c.in[0].node(), *const b = c.in[1].node();
  if (!a || !b || a->weak == b->weak) return false;
  const detail::Node& array = a->weak ? *b : *a;
  return array.contiguous && array.dtype == loop.in && array.size <= kSpread;
}
void run_with_number(Call& c, const simd::Loop& loop) {
  alignas(64) char spread[kSpread * 16];
  void* p[3] = {c.in[0].node()->data, c.in[1].node()->data, c.out[0].node()->data};
  const std::size_t number = c.in[0].node()->weak ? 0 : 1;
  const detail::Node& n = *c.in[number].node();
  kernels::convert(spread, loop.in, n.data, n.dtype, 0, c.out[0].size());
  p[number] = spread;
  loop.active()(p, c.out[0].size(), &c.status);
}

// The rest of the shape and dtype rule: broadcasting, scalars.
[[gnu::noinline]] void infer_mixed(Call& c, DType dtype) {
  Dims shape;
  for (std::size_t i = 0; i < c.in.size(); ++i)
    if (c.in[i].defined()) shape = broadcast(shape, c.in[i].shape());
  c.output(dtype, shape);
  check_weak_integers(c);
}

}  // namespace

void check_weak_integers(const Call& c) {
  if (!is_integer(c.key)) return;
  const IntegerInfo limits = iinfo(c.key);
  for (std::size_t i = 0; i < c.in.size(); ++i) {
    const detail::Node* n = c.in[i].node();
    if (!n || !n->weak || !is_integer(n->dtype) || n->dtype == c.key) continue;
    const std::int64_t v = *reinterpret_cast<const std::int64_t*>(n->data);
    const bool large = n->dtype == u64;
    const bool fits = large ? c.key == u64 : v < 0 ? v >= limits.min : static_cast<std::uint64_t>(v) <= limits.max;
    if (!fits)
      refuse<DomainError>("WP-DOM-003",
                          say("the number ", text_at(c.in[i], 0), " does not fit ", c.key, " (", limits.min, " to ",
                              limits.max, ")."),
                          "Convert the array to a wider dtype with astype.");
  }
}

void infer_elementwise(Call& c) {
  const std::size_t n = c.in.size();
  const detail::Node* const a = c.in[n - 1].node();
  // The common case first: arrays of one dtype and shape.
  bool same = a && !a->weak, contiguous = same && a->contiguous;
  for (std::size_t i = 0; i + 1 < n && same; ++i) {
    const detail::Node* const b = c.in[i].node();
    same = b && (b->dtype == a->dtype || c.op.params[i].separate) && !b->weak && b->shape == a->shape;
    contiguous = contiguous && same && b->contiguous;
  }
  c.key = same ? a->dtype : common_dtype(c);
  const simd::Loop* loop = &row(*c.op.loops, c.key);
  if (!loop->fn[0] && !is_floating(c.key) && is(c.key, c.op.integer_as_float)) {
    c.key = f64;
    loop = &row(*c.op.loops, f64);
  }
  if (!loop->fn[0]) [[unlikely]]
    refuse_dtype(c);
  const DType dtype = output_dtype(*loop, c.key);
  if (same) {
    c.direct = contiguous && a->dtype == loop->in && dtype == loop->out && a->size <= kernels::kGrain;
    c.out.push_back(Tensor::adopt(detail::make_like(*a, dtype)));
    return;
  }
  if (meets_number(c, *loop, dtype)) {
    c.direct = true;
    c.out.push_back(Tensor::adopt(detail::make_like(*c.in[c.in[0].node()->weak ? 1 : 0].node(), dtype)));
    return;
  }
  infer_mixed(c, dtype);
}

[[gnu::noinline]] void walk_elementwise(Call& c, const simd::Loop& loop) {
  const Tensor& y = c.out[0];
  kernels::Operand operands[kernels::kMaxOperands];
  int count = 0;
  for (std::size_t i = 0; i < c.in.size(); ++i)
    if (const Tensor& x = c.in[i]; x.defined())
      operands[count++] = {x.node()->data, x.dtype(), c.op.params[i].separate ? DType::boolean : loop.in,
                           broadcast_strides(x, y.shape())};
  operands[count++] = {y.node()->data, y.dtype(), loop.out, y.strides()};
  c.status.bits |= kernels::walk(y.shape(), operands, count, loop.active());
}

void forward_elementwise(Call& c) {
  forward_elementwise(c, *c.op.loops);
}

void forward_elementwise(Call& c, const simd::Loops& loops) {
  const simd::Loop& loop = row(loops, c.key);
  if (c.direct && c.in.size() == 2 && c.in[0].node()->weak != c.in[1].node()->weak) {
    run_with_number(c, loop);
  } else if (c.direct) {
    const std::size_t n = c.in.size();
    const detail::Node& y = *c.out[0].node();
    void* p[kernels::kMaxOperands];
    for (std::size_t i = 0; i < n; ++i) p[i] = c.in[i].node()->data;
    p[n] = y.data;
    loop.active()(p, y.size, &c.status);
  } else {
    walk_elementwise(c, loop);
  }
  if (c.status.bits & ~simd::Status::nonfinite) [[unlikely]]
    refuse_integers(c);
}

void flow_elementwise(const FlowQuery& q, Visit visit) {
  const Dims& out = q.call.out[q.output].shape();
  const Dims& in = q.call.in[q.input].shape();
  const std::size_t shift = out.size() - in.size();
  std::int64_t rest = q.element, scale = 1, element = 0;
  for (std::size_t k = out.size(); k-- > shift;) {
    const std::int64_t i = rest % out[k];
    rest /= out[k];
    if (in[k - shift] != 1) element += i * scale;
    scale *= in[k - shift];
  }
  visit(element);
}

Op elementwise(Op op) {
  op.infer = infer_elementwise;
  if (!op.forward) op.forward = forward_elementwise;
  if (!op.flow) op.flow = flow_elementwise;
  if (op.partial && !op.vjp) op.vjp = vjp_partials;
  if (op.partial && !op.jvp) op.jvp = jvp_partials;
  return op;
}

Tensor run_fused(const simd::Loops& loops, const Tensor& a, const Tensor& b) {
  const detail::Node &x = *a.node(), &y = *b.node();
  const simd::Loop& loop = row(loops, y.dtype);
  if (x.dtype != y.dtype || loop.in != y.dtype || !x.contiguous || !y.contiguous || !(x.shape == y.shape)) return {};
  if (!loop.fn[0]) return {};
  Tensor out = Tensor::adopt(detail::make_like(y, y.dtype));
  simd::Status status;
  if (y.size <= kernels::kGrain) {
    void* p[] = {x.data, y.data, out.node()->data};
    loop.active()(p, y.size, &status);
  } else {
    kernels::Operand operands[] = {{x.data, x.dtype, x.dtype, x.strides},
                                   {y.data, y.dtype, y.dtype, y.strides},
                                   {out.node()->data, y.dtype, y.dtype, out.strides()}};
    status.bits |= kernels::walk(y.shape, operands, 3, loop.active());
  }
  return status.bits ? Tensor() : out;
}

namespace {

Tensor vector_of(DType dtype, const std::vector<complex128>& values) {
  Tensor t = Tensor::adopt(detail::make_node(dtype, {static_cast<std::int64_t>(values.size())}));
  kernels::convert(t.node()->data, dtype, values.data(), c128, 1, t.size());
  return t;
}

bool fits(DType dtype, double v) {
  if (dtype == DType::boolean) return v == 0 || v == 1;
  if (!is_integer(dtype)) return true;
  const IntegerInfo limits = iinfo(dtype);
  return v == static_cast<double>(static_cast<std::int64_t>(v)) && v >= static_cast<double>(limits.min) &&
         v <= static_cast<double>(limits.max);
}

}  // namespace

std::vector<Sample> elementwise_samples(const Op& op, const std::vector<Point>& real_points,
                                        const std::vector<std::vector<complex128>>& complex_points) {
  std::vector<Sample> out;
  const std::size_t n = op.params.size();
  const auto add = [&](DType d, const std::vector<std::vector<complex128>>& rows, std::string_view covers) {
    if (rows.empty()) return;
    Sample s{{}, {}, covers};
    for (std::size_t i = 0; i < n; ++i) {
      std::vector<complex128> column;
      for (const auto& r : rows) column.push_back(r[i]);
      s.in.push_back(vector_of(op.params[i].separate ? DType::boolean : d, column));
    }
    out.push_back(std::move(s));
  };
  for (int k = 0; k < kDTypes; ++k) {
    const auto d = static_cast<DType>(k);
    bool taken = true;
    for (const Param& p : op.params) taken = taken && (p.separate || is(d, p.kinds));
    if (!taken) continue;
    std::vector<std::vector<complex128>> rows =
        is_complex(d) ? complex_points : std::vector<std::vector<complex128>>{};
    std::vector<std::vector<complex128>> edges;
    if (!is_complex(d))
      for (const Point& p : real_points) {
        if (!std::all_of(p.args.begin(), p.args.end(), [&](double v) { return fits(d, v); })) continue;
        const std::vector<complex128> values(p.args.begin(), p.args.end());
        if (p.covers.empty())
          rows.push_back(values);
        else
          add(d, {values}, p.covers);
      }
    add(d, rows, {});
  }
  return out;
}

}  // namespace wp
