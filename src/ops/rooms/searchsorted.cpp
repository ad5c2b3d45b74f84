#include "base/pool.hpp"
#include "base/text.hpp"
#include "kernels/types.hpp"
#include "kernels/walk.hpp"
#include "ops/lines.hpp"
#include "ops/moves.hpp"
#include "ops/reduce.hpp"

namespace wp {
extern const Op op_searchsorted;
namespace {

void infer(Call& c) {
  const Tensor &x1 = c.in[0], &sorter = c.in[2];
  if (x1.ndim() != 1) refuse<ShapeError>("WP-SHP-011", say("x1 must be 1-d; got shape ", x1.shape(), "."));
  if (sorter.defined() && !(sorter.shape() == x1.shape()))
    refuse<ShapeError>("WP-SHP-001",
                       say("sorter must have the shape of x1, ", x1.shape(), "; got ", sorter.shape(), "."));
  c.key = line_dtype(common_dtype(c));
  c.output(i64, c.in[1].shape());
}

// x1 in the order of sorter.
Tensor reordered(const Tensor& x1, const Tensor& sorter) {
  const Tensor order = packed(sorter, i64);
  const auto* const at = reinterpret_cast<const std::int64_t*>(order.node()->data);
  Tensor y = Tensor::adopt(detail::make_node(x1.dtype(), x1.shape()));
  kernels::with_size(size_of(x1.dtype()), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* const from = reinterpret_cast<const T*>(x1.node()->data);
    T* const to = reinterpret_cast<T*>(y.node()->data);
    for (std::int64_t i = 0; i < x1.size(); ++i) {
      if (at[i] < 0 || at[i] >= x1.size())
        refuse<IndexError>(
            "WP-IDX-002", say("sorter[", i, "] = ", at[i], " is no place in x1, which has ", x1.size(), " elements."),
            "sorter is what argsort(x1) gives.");
      to[i] = from[at[i]];
    }
  });
  return y;
}

// NaN is larger than every number and equal to itself.
template <class T>
bool less(T a, T b) {
  return a < b || (a == a && b != b);
}

// The number of elements before the place of v: those less than v, and with `right` those equal to it.
template <class T>
std::int64_t place(const T* x, std::int64_t n, T v, bool right) {
  std::int64_t from = 0;
  while (n > 0) {
    const std::int64_t half = n / 2;
    const T m = x[from + half];
    const bool before = right ? !less(v, m) : less(m, v);
    from = before ? from + half + 1 : from;
    n = before ? n - half - 1 : half;
  }
  return from;
}

void forward(Call& c) {
  const Tensor line = packed(c.in[0], c.key), sorted = c.in[2].defined() ? reordered(line, c.in[2]) : line;
  const Tensor values = packed(c.in[1], c.key);
  const bool right = c.attr(0).text() == "right";
  auto* const out = reinterpret_cast<std::int64_t*>(c.out[0].node()->data);
  kernels::with_type(c.key, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_arithmetic_v<T>) {
      const T* const x = reinterpret_cast<const T*>(sorted.node()->data);
      const T* const v = reinterpret_cast<const T*>(values.node()->data);
      parallel_for(values.size(), kernels::kGrain / 16, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) out[i] = place(x, sorted.size(), v[i], right);
      });
    }
  });
}

std::vector<Sample> samples() {
  std::vector<Sample> all;
  const std::vector<complex128> sorted{1, 2, 2, 5, 7}, values{2, 0, 7, 6, 9, 1};
  for (int k = 0; k < kDTypes; ++k) {
    const auto d = static_cast<DType>(k);
    if (!is(d, kinds::real)) continue;
    for (const char* side : {"left", "right"})
      all.push_back({{sample_tensor(d, {5}, sorted), sample_tensor(d, {2, 3}, values), Tensor()}, {side}, side});
  }
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (const char* side : {"left", "right"}) {
    all.push_back({{sample_tensor(f64, {5}, {-inf, -0.0, 0.0, inf, nan}),
                    sample_tensor(f64, {5}, {nan, inf, 0, -0.0, 3}), Tensor()},
                   {side},
                   "nan is the largest"});
    all.push_back(
        {{sample_tensor(f64, {4}, {5, 1, 7, 2}), sample_tensor(f64, {}, {4}), sample_tensor(i32, {4}, {1, 3, 0, 2})},
         {side},
         "sorter"});
  }
  all.push_back({{sample_tensor(f32, {0}, {0}), sample_tensor(f32, {2}, {1, 2}), Tensor()}, {"left"}, "empty x1: 0"});
  all.push_back({{sample_tensor(i32, {3}, {1, 3, 5}), sample_tensor(f32, {2}, {2.5, 5}), Tensor()}, {"left"}});
  return all;
}

}  // namespace

const Op op_searchsorted = {
    .name = "searchsorted",
    .group = "searching",
    .doc =
        "For each element v of x2 the place in the sorted x1 where it could be inserted, as i64: side 'left' gives i "
        "with x1[i-1] < v <= x1[i], 'right' x1[i-1] <= v < x1[i]. NaN counts as larger than every number.",
    .params = {{"x1", kinds::real, "1-d, in ascending order (unless sorter is given); not checked."},
               {"x2", kinds::real, "The values to place."},
               {.name = "sorter",
                .kinds = kinds::integer,
                .doc = "The order that sorts x1: argsort(x1).",
                .optional = true,
                .separate = true}},
    .attrs = {{.name = "side",
               .type = AttrType::text,
               .fallback = "left",
               .doc = "Before or after equal elements.",
               .choices = {"left", "right"}}},
    .infer = infer,
    .forward = forward,
    .notes = Notes::judges,
    .flow = [](const FlowQuery& q, Visit visit) { q.input == 1 ? visit(q.element) : flow_everything(q, visit); },
    .no_derivative = "the result is a place: it does not vary with x1 or x2.",
    .branches = {"left", "right", "nan is the largest", "sorter", "empty x1: 0"},
    .samples = samples,
};

}  // namespace wp
