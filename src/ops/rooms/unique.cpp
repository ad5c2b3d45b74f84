#include <vector>

#include "kernels/convert.hpp"
#include "kernels/scan.hpp"
#include "kernels/sort.hpp"
#include "kernels/types.hpp"
#include "ops/derivative.hpp"
#include "ops/lines.hpp"
#include "ops/moves.hpp"
#include "ops/reduce.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_unique_all;
extern const Op op_unique_counts;
extern const Op op_unique_inverse;
extern const Op op_unique_values;
namespace {

// NaN equals nothing, itself included; −0 equals 0.
template <class T>
bool equal(T a, T b) {
  if constexpr (std::is_same_v<T, Half>)
    return kernels::half_value(a.bits) == kernels::half_value(b.bits);
  else if constexpr (std::is_same_v<T, BFloat16>)
    return kernels::bfloat16_value(a.bits) == kernels::bfloat16_value(b.bits);
  else
    return a == b;
}

// The sorted order of all elements, and where in it each group of equals begins.
struct Groups {
  Tensor flat, order;
  std::vector<std::int64_t> begin;

  explicit Groups(const Tensor& x)
      : flat(packed(x, x.dtype())), order(Tensor::adopt(detail::make_node(i64, {x.size()}))) {
    kernels::argsort_line(x.dtype(), flat.node()->data, places(), x.size(), false);
    kernels::with_type(x.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* const v = reinterpret_cast<const T*>(flat.node()->data);
      for (std::int64_t i = 0; i < x.size(); ++i)
        if (i == 0 || !equal(v[places()[i]], v[places()[i - 1]])) begin.push_back(i);
    });
    begin.push_back(x.size());
  }
  std::int64_t* places() const { return reinterpret_cast<std::int64_t*>(order.node()->data); }
  std::int64_t count() const { return static_cast<std::int64_t>(begin.size()) - 1; }
  std::int64_t first(std::int64_t k) const { return places()[begin[static_cast<std::size_t>(k)]]; }
};

std::int64_t* add_integers(Call& c, const Dims& shape) {
  return reinterpret_cast<std::int64_t*>(c.output(i64, shape).node()->data);
}

void add_values(Call& c, const Groups& g) {
  const DType d = g.flat.dtype();
  char* const to = c.output(d, {g.count()}).node()->data;
  kernels::with_size(size_of(d), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::int64_t k = 0; k < g.count(); ++k)
      reinterpret_cast<T*>(to)[k] = reinterpret_cast<const T*>(g.flat.node()->data)[g.first(k)];
  });
  if (kernels::any_nonfinite(d, to, g.count())) c.status.bits |= simd::Status::nonfinite;
}
void add_indices(Call& c, const Groups& g) {
  std::int64_t* const to = add_integers(c, {g.count()});
  for (std::int64_t k = 0; k < g.count(); ++k) to[k] = g.first(k);
}
void add_inverse(Call& c, const Groups& g) {
  std::int64_t* const to = add_integers(c, c.in[0].shape());
  for (std::int64_t k = 0; k < g.count(); ++k)
    for (std::int64_t i = g.begin[static_cast<std::size_t>(k)]; i < g.begin[static_cast<std::size_t>(k) + 1]; ++i)
      to[g.places()[i]] = k;
}
void add_counts(Call& c, const Groups& g) {
  std::int64_t* const to = add_integers(c, {g.count()});
  for (std::int64_t k = 0; k < g.count(); ++k)
    to[k] = g.begin[static_cast<std::size_t>(k) + 1] - g.begin[static_cast<std::size_t>(k)];
}

// Each value is that of its first element; which values there are changes by jumps.
Tensors vjp(const Backward& b) {
  if (!b.g().defined()) return Tensors(1);
  const Tensor none = zeros_for({{b.in[0].size()}, b.g().dtype()});
  return {reshape(added_at(none, 0, unique_all(b.in[0]).indices, b.g()), b.shape(0))};
}
Tensors jvp(const Forward& f) {
  Tensors all(f.out.size());
  all[0] = take(reshape(f.tangents[0], -1), unique_all(f.in[0]).indices);
  return all;
}

std::vector<Sample> samples() {
  std::vector<Sample> all;
  for (int k = 0; k < kDTypes; ++k)
    all.push_back({{sample_tensor(static_cast<DType>(k), {2, 4}, {3, 1, 3, 0, 2, 1, 1, 3})}, {}});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  all.push_back({{sample_tensor(c64, {5}, {{1, 2}, {1, -1}, {0, 5}, {1, 2}, {nan, 0}})}, {}, "nan: each is unique"});
  all.push_back({{sample_tensor(f64, {5}, {nan, 2, nan, 2, -1})}, {}, "nan: each is unique"});
  all.push_back({{sample_tensor(f16, {4}, {nan, 2, nan, 2})}, {}, "nan: each is unique"});
  all.push_back({{sample_tensor(f32, {4}, {0.0, -0.0, 1, -0.0})}, {}, "-0 and 0 are equal"});
  all.push_back({{sample_tensor(f32, {0, 2}, {0})}, {}, "empty"});
  all.push_back({{sample_tensor(i16, {}, {7})}, {}});
  return all;
}

Op unique(Op op) {
  op.group = "set";
  op.params = {{"x", kinds::any, "Taken flattened."}};
  op.infer = no_outputs;
  op.notes = Notes::judges;
  op.flow = flow_everything;
  op.flow_base = base_everything;
  op.vjp = vjp;
  op.jvp = jvp;
  op.selects = true;
  op.saves_inputs = 1;
  op.branches = {"nan: each is unique", "-0 and 0 are equal", "empty"};
  op.samples = samples;
  return op;
}

}  // namespace

const Op op_unique_all = unique({
    .name = "unique_all",
    .doc = "The distinct elements of x in ascending order (complex: by real, then imaginary part); where each first "
           "occurs in the flattened x; for each element of x the place of its value; and how often each occurs. Each "
           "NaN "
           "is distinct and comes last; -0 and 0 are one value, the one that occurs first.",
    .outputs = {"values", "indices", "inverse_indices", "counts"},
    .forward =
        [](Call& c) {
          const Groups g(c.in[0]);
          add_values(c, g);
          add_indices(c, g);
          add_inverse(c, g);
          add_counts(c, g);
        },
});

const Op op_unique_counts = unique({
    .name = "unique_counts",
    .doc = "The distinct elements of x in ascending order, and how often each occurs; as unique_all.",
    .outputs = {"values", "counts"},
    .forward =
        [](Call& c) {
          const Groups g(c.in[0]);
          add_values(c, g);
          add_counts(c, g);
        },
});

const Op op_unique_inverse = unique({
    .name = "unique_inverse",
    .doc = "The distinct elements of x in ascending order, and for each element of x the place of its value; as "
           "unique_all.",
    .outputs = {"values", "inverse_indices"},
    .forward =
        [](Call& c) {
          const Groups g(c.in[0]);
          add_values(c, g);
          add_inverse(c, g);
        },
});

const Op op_unique_values = unique({
    .name = "unique_values",
    .doc = "The distinct elements of x in ascending order; as unique_all.",
    .forward = [](Call& c) { add_values(c, Groups(c.in[0])); },
});

}  // namespace wp
