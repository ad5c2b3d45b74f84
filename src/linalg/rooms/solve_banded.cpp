#include "base/text.hpp"
#include "kernels/condition.hpp"
#include "linalg/banded.hpp"
#include "linalg/judgement.hpp"
#include "linalg/lost_digits.hpp"
#include "linalg/members.hpp"
#include "linalg/rules.hpp"
#include "linalg/solving.hpp"
#include "linalg/system.hpp"
#include "ops/derivative.hpp"
#include "ops/dispatch.hpp"
#include "ops/reduce.hpp"
#include "wellposed/creation.hpp"
#include "wellposed/index.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_linalg_solve_banded;
namespace {

using namespace linalg;

Band band_of(const Call& c) {
  const Tensor& ab = c.in[0];
  need_matrices(ab, "ab");
  const Band band{c.attr(0).integer(), c.attr(1).integer()};
  const std::int64_t rows = ab.shape()[ab.shape().size() - 2];
  if (band.below < 0 || band.above < 0 || band.below > rows || band.above > rows || band.width() != rows)
    refuse<ShapeError>("WP-SHP-016",
                       say("ab must have l + u + 1 rows, one per diagonal; got l = ", band.below,
                           ", u = ", band.above, ", ab ", ab.shape(), "."),
                       "Element (i, j) of the matrix is ab[u + i - j, j].");
  return band;
}

Problem problem_of(const Call& c) {
  band_of(c);
  Problem p;
  p.a = c.in[0];
  take_right_side(p, c, p.a.shape().back(), batch_of(p.a));
  return p;
}

void infer(Call& c) {
  c.key = float_result(common_dtype(c));
  c.output(c.key, answer_shape(problem_of(c), c.in[1].ndim() == 1));
}

template <class T>
Verdict solve(const Problem& p, Band band, kernels::View<T> ab, kernels::View<T> b, const Options& options, T* x) {
  const auto each = [&](auto&& f) {
    for (std::int64_t i = 0; i < p.n; ++i)
      for (std::int64_t j = std::max<std::int64_t>(0, i - band.below); j <= std::min(p.n - 1, i + band.above); ++j)
        f(i, j, ab.data[(band.above + i - j) * ab.rows + j * ab.columns]);
  };
  std::vector<T> rows(static_cast<std::size_t>(p.n * band.width()));
  each([&](std::int64_t i, std::int64_t j, T v) {
    rows[static_cast<std::size_t>(i * band.width() + j - i + band.below)] = v;
  });
  for (std::int64_t i = 0; i < p.n; ++i)
    for (std::int64_t j = 0; j < p.k; ++j) x[i * p.k + j] = b.data[i * b.rows + j * b.columns];
  const Banded<T> system(p.n, band, std::move(rows), options);
  Verdict v = system.verdict();
  if (!std::isfinite(kernels::norms<T>(p.n, p.k, b).largest)) v.status = Status::nonfinite_input;
  if (v.status != Status::nonfinite_input && system.misjudged()) {
    std::vector<T> dense(static_cast<std::size_t>(p.n * p.n), T(0));
    each([&](std::int64_t i, std::int64_t j, T entry) { dense[static_cast<std::size_t>(i * p.n + j)] = entry; });
    v = System<T>(p.n, {dense.data(), p.n, 1}, options).solve(p.k, {x, p.k, 1});
  } else if (v.status != Status::nonfinite_input) {
    v = system.solve(p.k, {x, p.k, 1});
  }
  if (v.status == Status::nonfinite_input || (v.status == Status::singular && options.if_ill != Policy::ignore))
    std::fill_n(x, p.n * p.k, T(std::numeric_limits<typename kernels::RealOf<T>::type>::quiet_NaN()));
  return v;
}

void forward(Call& c) {
  const Problem p = problem_of(c);
  const Band band = band_of(c);
  const Options options = structured_options(c, 2);
  const DType work = working_dtype(c.key, p.n);
  const Tensor ab = brought(p.a, work), b = brought(p.b, work);
  Result x(c.out[0], work);
  auto state = new_state(c, p.batch);
  state->matrix = Tensor();  // the band is not the matrix
  with_float(work, [&]<class T>(T) {
    state->threshold = kSingular<T>;
    const Stack<T> bands(ab, p.batch), right(b, p.batch);
    for_members(count_of(p.batch), 1, [&](std::int64_t i) {
      state->verdicts[static_cast<std::size_t>(i)] =
          solve<T>(p, band, bands[i], right[i], options, x.data<T>() + i * p.n * p.k);
    });
  });
  x.finish();
  settle(c, std::move(state), options.if_ill, "Remove what depends on the rest, or solve the dense matrix with pinv.",
         true, columns_of(b, p.batch, p.n));
}

// The elements of the band that lie in the matrix.
void flow(const FlowQuery& q, Visit visit) {
  const Problem p = problem_of(q.call);
  if (q.input == 1) return flow_right_side(q, p, visit);
  const Band band = band_of(q.call);
  const std::int64_t member = own_member(q.element / (p.n * p.k), p.batch, batch_of(p.a));
  for (std::int64_t d = 0; d < band.width(); ++d)
    for (std::int64_t j = 0; j < p.n; ++j)
      if (const std::int64_t i = j + d - band.above; i >= 0 && i < p.n) visit((member * band.width() + d) * p.n + j);
}

// y[…, j] = x[…, j + shift] along the last axis, 0 from beyond its ends.
Tensor shifted(const Tensor& x, std::int64_t shift) {
  const std::int64_t n = x.shape().back(), gap = std::min(std::abs(shift), n);
  Dims shape = x.shape();
  shape.back() = gap;
  const Tensor zero = zeros(shape, {.dtype = x.dtype()});
  return shift >= 0 ? concat({x[{ellipsis, slice(gap, none)}], zero}, {.axis = -1})
                    : concat({zero, x[{ellipsis, slice(0, n - gap)}]}, {.axis = -1});
}
// Rows, one after the other, as the rows of a matrix.
Tensor stacked(std::vector<Tensor> rows) {
  Tensors all;
  for (const Tensor& r : rows) all.push_back(expand_dims(r, {.axis = -2}));
  return concat(all, {.axis = -2});
}

// Row r of Aᴴ's band is conj(row l + u − r of A's) moved by r − l. Of A's row r the cotangent is −Σ gᵢ conj(xⱼ) with
// i = j + r − u.
Tensors vjp(const Backward& b) {
  find_lost_digits(b);
  const std::int64_t l = b.attr(0).integer(), u = b.attr(1).integer();
  const bool vector = b.shape(1).size() == 1;
  const Tensor &ab = b.in[0], g = as_columns(b.g(), vector);
  if (ab.shape().back() == 0) return {zeros_for(b.facts[0]), zeros_for(b.facts[1])};
  std::vector<Tensor> rows;
  for (std::int64_t r = 0; r <= l + u; ++r)
    rows.push_back(shifted(conj_of(ab[{ellipsis, l + u - r, slice()}]), r - l));
  std::vector<Attr> attrs(b.attrs.begin(), b.attrs.end());
  std::swap(attrs[0], attrs[1]);
  attrs[2] = "ignore";  // the verdict on A has been given
  const Tensor band = stacked(rows);
  const Tensor* const in[] = {&band, &g};
  const Tensor right = call_diagnosed(op_linalg_solve_banded, Inputs(in), attrs, b.place).value[0];
  Tensors all{{}, from_columns(right, vector)};
  if (!b.wants(0)) return all;
  rows.clear();
  const Tensor turned = matrix_transpose(right), other = matrix_transpose(conj_of(as_columns(b.out[0], vector)));
  for (std::int64_t r = 0; r <= l + u; ++r)
    rows.push_back(negative(sum(multiply(shifted(turned, r - u), other), {.axis = -2})));
  all[0] = stacked(rows);
  return all;
}

std::vector<Attr> plain(int below, int above, Attr if_ill = "raise") {
  return {below, above, if_ill, Attr(), Attr()};
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  const auto add = [&](DType d, const Dims& ab, const std::vector<complex128>& v, const Dims& b,
                       const std::vector<complex128>& vb, std::string_view covers, std::vector<Attr> attrs) {
    out.push_back({{sample_tensor(d, ab, v), sample_tensor(d, b, vb)}, std::move(attrs), covers});
  };
  for (int k = 0; k < kDTypes; ++k)
    if (const auto d = static_cast<DType>(k); is(d, op_linalg_solve_banded.params[0].kinds)) {
      add(d, {3, 4}, {99, 1, 2, 1, 4, 5, 6, 3, 1, 2, 1, 99}, {4}, {1, 2, 3, 4}, "corners are not read", plain(1, 1));
      add(d, {2, 3}, {4, 5, 6, 1, 2, 99}, {3, 2}, {1, 2, 3, 4, 5, 6}, "lower", plain(1, 0));
    }
  add(c128, {3, 3}, {0, {1, 1}, 2, {4, 1}, 5, {6, -1}, 1, {2, 2}, 0}, {3}, {1, {0, 1}, 3}, {}, plain(1, 1));
  add(f64, {4, 3}, {0, 0, 3, 0, 1, 2, 4, 5, 6, 1, 2, 0}, {3}, {1, 2, 3}, "wider above", plain(1, 2));
  add(f64, {1, 3}, {4, 5, 6}, {3}, {1, 2, 3}, "diagonal", plain(0, 0));
  add(f64, {2, 3, 3}, {0, 1, 2, 4, 5, 6, 1, 2, 0, 0, 2, 1, 0, 3, 1, 5, 1, 0}, {3, 1}, {1, 2, 3}, "batches broadcast",
      plain(1, 1));
  add(f64, {3, 3}, {0, 1e-200, 2, 1e-200, 5e150, 6, 1e150, 2, 0}, {3}, {1, 1e200, 3}, "badly scaled", plain(1, 1));
  add(f64, {5, 2}, {0, 0, 0, 1, 4, 5, 1, 0, 0, 0}, {2}, {1, 2}, "diagonals beyond the corners", plain(2, 2));
  add(f64, {1, 0}, {0}, {0}, {0}, "empty", plain(0, 0));
  add(f64, {3, 2}, {0, 1, 1, 1, 1, 0}, {2}, {1, 2}, "singular", plain(1, 1, "nan"));
  return out;
}

}  // namespace

const Op op_linalg_solve_banded = {
    .name = "solve_banded",
    .ns = "linalg",
    .group = "linear algebra",
    .doc =
        "The solution x of A x = b for a banded A given by its diagonals: element (i, j) of A is ab[u + i - j, j]. "
        "O(n) "
        "for a fixed band, judged and improved as solve does; leading axes broadcast.",
    .params = {{"ab", kinds::numeric}, {"b", kinds::numeric}},
    .attrs = structured_attrs(
        {{.name = "l", .type = AttrType::integer, .doc = "Diagonals below the main one.", .required = true},
         {.name = "u", .type = AttrType::integer, .doc = "Diagonals above the main one.", .required = true}}),
    .infer = infer,
    .forward = forward,
    .diagnoses = true,
    .notes = Notes::gives,
    .flow = flow,
    .vjp = vjp,
    .saves_inputs = 1,
    .saves_outputs = 1,
    .outputs_for = 1,
    .branches = {"corners are not read", "lower", "wider above", "diagonal", "batches broadcast", "badly scaled",
                 "diagonals beyond the corners", "empty", "singular"},
    .samples = samples,
};

}  // namespace wp
