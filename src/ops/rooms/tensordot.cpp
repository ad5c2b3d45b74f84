#include <algorithm>

#include "base/text.hpp"
#include "ops/derivative.hpp"
#include "ops/products.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_tensordot;
namespace {

// Which axes are summed over, pair by pair, and which are free.
struct Axes {
  Dims summed1, summed2, free1, free2;

  explicit Axes(const Call& c) : Axes(c.in[0].shape(), c.in[1].shape(), c.attrs) {}
  Axes(const Dims& x1, const Dims& x2, Attrs attrs) {
    if (static_cast<bool>(attrs[1]) != static_cast<bool>(attrs[2]))
      refuse<ArgumentError>("WP-ARG-003", say("x1_axes and x2_axes must be given together; got x1_axes = ",
                                              attrs[1].show(), ", x2_axes = ", attrs[2].show(), "."));
    attrs[1] ? listed(x1, x2, attrs) : counted(x1, x2, attrs);
    for (std::size_t i = 0; i < summed1.size(); ++i) {
      const std::int64_t n1 = x1[static_cast<std::size_t>(summed1[i])];
      const std::int64_t n2 = x2[static_cast<std::size_t>(summed2[i])];
      if (n1 != n2)
        refuse<ShapeError>(
            "WP-SHP-014", say("axes that are summed over together must have one length; axis ", summed1[i], " of x1 ",
                              x1, " has ", n1, ", axis ", summed2[i], " of x2 ", x2, " has ", n2, "."));
    }
    free1 = others(summed1, rank(x1), "x1_axes");
    free2 = others(summed2, rank(x2), "x2_axes");
  }

 private:
  static std::int64_t rank(const Dims& x) { return static_cast<std::int64_t>(x.size()); }
  void listed(const Dims& x1, const Dims& x2, Attrs attrs) {
    const Dims &a1 = attrs[1].ints(), &a2 = attrs[2].ints();
    if (a1.size() != a2.size())
      refuse<ArgumentError>("WP-ARG-003",
                            say("x1_axes and x2_axes must name as many axes; got ", a1, " and ", a2, "."));
    for (const std::int64_t a : a1) summed1.push_back(normal_axis(a, rank(x1)));
    for (const std::int64_t a : a2) summed2.push_back(normal_axis(a, rank(x2)));
  }
  void counted(const Dims& x1, const Dims& x2, Attrs attrs) {
    const std::int64_t n = attrs[0].integer();
    if (n < 0 || n > rank(x1) || n > rank(x2))
      refuse<ArgumentError>("WP-ARG-003", say("axes must be from 0 to the number of axes of both arguments; got ", n,
                                              " for x1 ", x1, ", x2 ", x2, "."));
    for (std::int64_t k = 0; k < n; ++k) {
      summed1.push_back(rank(x1) - n + k);
      summed2.push_back(k);
    }
  }
  static Dims others(const Dims& summed, std::int64_t ndim, std::string_view name) {
    SmallVector<bool, 8> used(static_cast<std::size_t>(ndim), false);
    for (const std::int64_t a : summed) {
      bool& slot = used[static_cast<std::size_t>(a)];
      if (slot) refuse<ArgumentError>("WP-ARG-003", say("axis ", a, " is named twice in ", name, "."));
      slot = true;
    }
    Dims out;
    for (std::int64_t k = 0; k < ndim; ++k)
      if (!used[static_cast<std::size_t>(k)]) out.push_back(k);
    return out;
  }
};

Dims lengths(const Tensor& x, const Dims& axes) {
  Dims out;
  for (const std::int64_t a : axes) out.push_back(x.shape()[static_cast<std::size_t>(a)]);
  return out;
}
std::int64_t product(const Dims& v) {
  std::int64_t n = 1;
  for (const std::int64_t d : v) n *= d;
  return n;
}

void infer(Call& c) {
  const Axes axes(c);
  Dims shape = lengths(c.in[0], axes.free1);
  for (const std::int64_t d : lengths(c.in[1], axes.free2)) shape.push_back(d);
  c.key = common_dtype(c);
  c.output(c.key, shape);
}

void forward(Call& c) {
  const Axes axes(c);
  const DType dtype = kernels::product_dtype(c.key);
  const Factor a = factor(brought(c.in[0], dtype), {}, axes.free1, axes.summed1);
  const Factor b = factor(brought(c.in[1], dtype), {}, axes.summed2, axes.free2);
  multiply(c, c.out[0], {}, product(lengths(c.in[0], axes.free1)), product(lengths(c.in[1], axes.free2)),
           product(lengths(c.in[0], axes.summed1)), a.stack, b.stack);
}

// The free indices are the output's; the summed ones run.
void flow(const FlowQuery& q, Visit visit) {
  const Axes axes(q.call);
  const Tensor& x = q.call.in[q.input];
  const Dims &free = q.input == 0 ? axes.free1 : axes.free2, &summed = q.input == 0 ? axes.summed1 : axes.summed2;
  const std::int64_t columns = product(lengths(q.call.in[1], axes.free2));
  Dims scale(x.shape().size(), 1);
  for (std::size_t k = scale.size(); k-- > 1;) scale[k - 1] = scale[k] * x.shape()[k];
  const auto offset = [&](std::int64_t rest, const Dims& of) {
    std::int64_t at = 0;
    for (std::size_t i = of.size(); i-- > 0;) {
      const auto k = static_cast<std::size_t>(of[i]);
      at += rest % x.shape()[k] * scale[k];
      rest /= x.shape()[k];
    }
    return at;
  };
  const std::int64_t first = offset(q.input == 0 ? q.element / columns : q.element % columns, free);
  const std::int64_t terms = product(lengths(x, summed));
  for (std::int64_t p = 0; p < terms; ++p) visit(first + offset(p, summed));
}

Dims range(std::size_t begin, std::size_t end) {
  Dims all;
  for (std::size_t k = begin; k < end; ++k) all.push_back(static_cast<std::int64_t>(k));
  return all;
}
// y, whose axes are `now` of x, with the axes in their order.
Tensor in_order(const Tensor& y, const Dims& now) {
  Dims axes(now.size(), 0);
  for (std::size_t k = 0; k < now.size(); ++k) axes[static_cast<std::size_t>(now[k])] = static_cast<std::int64_t>(k);
  return permute_dims(y, axes);
}
// Those of `own` axes whose partners are `partners`, in the order that the partners have as axes.
Dims by_partner(const Dims& own, const Dims& partners) {
  Dims order = range(0, own.size());
  std::sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) {
    return partners[static_cast<std::size_t>(i)] < partners[static_cast<std::size_t>(j)];
  });
  for (std::int64_t& i : order) i = own[static_cast<std::size_t>(i)];
  return order;
}
Dims joined(Dims a, const Dims& b) {
  for (const std::int64_t k : b) a.push_back(k);
  return a;
}

Tensors vjp(const Backward& b) {
  const Axes axes(b.shape(0), b.shape(1), b.attrs);
  const std::size_t rows = axes.free1.size(), columns = axes.free2.size();
  Tensors all(2);
  if (b.wants(0)) {
    const Tensor y =
        tensordot(b.g(), conj_of(b.in[1]), {.x1_axes = range(rows, rows + columns), .x2_axes = axes.free2});
    all[0] = in_order(y, joined(axes.free1, by_partner(axes.summed1, axes.summed2)));
  }
  if (b.wants(1)) {
    const Tensor y = tensordot(conj_of(b.in[0]), b.g(), {.x1_axes = axes.free1, .x2_axes = range(0, rows)});
    all[1] = in_order(y, joined(by_partner(axes.summed2, axes.summed1), axes.free2));
  }
  return all;
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  const auto add = [&](DType d, const Dims& a, const Dims& b, const std::vector<Attr>& attrs,
                       std::string_view covers) {
    out.push_back({{small_numbers(d, a), small_numbers(d, b, 4)}, attrs, covers});
  };
  for (int d = 0; d < kDTypes; ++d)
    if (const auto dtype = static_cast<DType>(d); is(dtype, op_tensordot.params[0].kinds))
      add(dtype, {2, 3}, {3, 2}, {1, Attr(), Attr()}, {});
  for (const DType d : {i64, f64, c128}) {
    add(d, {2, 2, 3}, {2, 3, 2}, {2, Attr(), Attr()}, {});
    add(d, {2}, {3}, {0, Attr(), Attr()}, "no axes: outer product");
    add(d, {2, 3}, {2, 3}, {2, Attr(), Attr()}, "all axes: a number");
    add(d, {2, 3, 4}, {4, 5, 2}, {2, Dims{0, -1}, Dims{2, 0}}, "listed axes");
    add(d, {2, 0}, {0, 3}, {1, Attr(), Attr()}, "no terms: zeros");
  }
  out.push_back({{Tensor{{1e308}}, Tensor{{10.0}}}, {1, Attr(), Attr()}, "overflow: inf"});
  return out;
}

}  // namespace

const Op op_tensordot = {
    .name = "tensordot",
    .group = "linear algebra",
    .doc =
        "Sums products of elements of x1 and x2 over pairs of axes; the result has the other axes of x1, then those "
        "of "
        "x2. Nothing is conjugated. Integers wrap around.",
    .params = {{"x1", kinds::numeric}, {"x2", kinds::numeric}},
    .attrs = {{.name = "axes",
               .type = AttrType::integer,
               .fallback = 2,
               .doc = "How many: the last ones of x1 with the first ones of x2, in order."},
              {.name = "x1_axes", .type = AttrType::ints, .doc = "The axes of x1, instead of a number of axes."},
              {.name = "x2_axes", .type = AttrType::ints, .doc = "The axes of x2 they are paired with."}},
    .infer = infer,
    .forward = forward,
    .flow = flow,
    .vjp = vjp,
    .jvp = jvp_multilinear,
    .saves_inputs = 3,
    .for_others = 3,
    .branches = {"no axes: outer product", "all axes: a number", "listed axes", "no terms: zeros", "overflow: inf"},
    .samples = samples,
};

}  // namespace wp
