#include "linalg/lost_digits.hpp"
#include "linalg/members.hpp"
#include "linalg/refine.hpp"
#include "linalg/rules.hpp"
#include "linalg/solving.hpp"
#include "ops/derivative.hpp"
#include "ops/dispatch.hpp"
#include "ops/reduce.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_linalg_solve_triangular;
namespace {

using namespace linalg;

struct Form {
  bool lower, adjoint, unit;
  explicit Form(const Call& c) : lower(c.attr(0).flag()), adjoint(c.attr(1).flag()), unit(c.attr(2).flag()) {}
  bool reads(std::int64_t i, std::int64_t j) const { return i == j ? !unit : lower == (i > j); }
};

// The triangle that is meant, with zeros beside it, as it stands in the system.
template <class T>
Tensor meant(const Tensor& a, const Form& form) {
  const std::int64_t n = a.shape().back();
  const Dims batch = batch_of(a);
  const Stack<T> stack(a, batch);
  Tensor out = Tensor::adopt(detail::make_node(dtype_v<T>, a.shape()));
  T* const to = reinterpret_cast<T*>(out.node()->data);
  for_members(count_of(batch), n, [&](std::int64_t m) {
    const kernels::View<T> from = stack[m];
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        T v = T(form.unit && i == j ? 1 : 0);
        const std::int64_t r = form.adjoint ? j : i, s = form.adjoint ? i : j;
        if (form.reads(r, s)) v = from.data[r * from.rows + s * from.columns];
        to[(m * n + i) * n + j] = form.adjoint ? conjugate(v) : v;
      }
  });
  return out;
}

Problem problem_of(const Call& c) {
  Problem p;
  p.a = c.in[0];
  const std::int64_t n = square_size(p.a, "x1");
  take_right_side(p, c, n, batch_of(p.a));
  p.advice = "A zero on the diagonal has no answer: look at how the triangle was made.";
  return p;
}

void infer(Call& c) {
  c.key = float_result(common_dtype(c));
  c.output(c.key, answer_shape(problem_of(c), c.in[1].ndim() == 1));
}

void forward(Call& c) {
  Problem p = problem_of(c);
  const Form form(c);
  const DType work = working_dtype(c.key, p.n);
  const Tensor given = brought(p.a, work);
  with_float(work, [&]<class T>(T) { p.a = packed(meant<T>(given, form), c.key); });
  Options options = structured_options(c, 3);
  options.assume = p.triangle = form.lower != form.adjoint ? Assume::lower : Assume::upper;
  run_systems(c, p, options);
}

void flow(const FlowQuery& q, Visit visit) {
  const Problem p = problem_of(q.call);
  if (q.input == 1) return flow_right_side(q, p, visit);
  const Form form(q.call);
  const std::int64_t member = own_member(q.element / (p.n * p.k), p.batch, batch_of(p.a));
  for (std::int64_t i = 0; i < p.n; ++i)
    for (std::int64_t j = 0; j < p.n; ++j)
      if (form.reads(i, j)) visit((member * p.n + i) * p.n + j);
}

// Of b A⁻ᴴ g, of the triangle −(A⁻ᴴ g) xᴴ; where Aᴴ is solved with, A has the adjoint of that.
Tensors vjp(const Backward& b) {
  find_lost_digits(b);
  const bool lower = b.attr(0).flag(), turned = b.attr(1).flag(), unit = b.attr(2).flag();
  const bool vector = b.shape(1).size() == 1;
  std::vector<Attr> attrs(b.attrs.begin(), b.attrs.end());
  attrs[1] = !turned;
  attrs[3] = "ignore";  // the verdict on A has been given
  const Tensor g = as_columns(b.g(), vector);
  const Tensor* const in[] = {&b.in[0], &g};
  const Tensor right = call_diagnosed(op_linalg_solve_triangular, Inputs(in), attrs, b.place).value[0];
  Tensors all{{}, from_columns(right, vector)};
  if (!b.wants(0)) return all;
  const Tensor x = as_columns(b.out[0], vector);
  const Tensor own = negative(turned ? matmul(x, adjoint(right)) : matmul(right, adjoint(x)));
  all[0] = lower ? tril(own, {.k = unit ? -1 : 0}) : triu(own, {.k = unit ? 1 : 0});
  return all;
}

std::vector<Attr> plain(bool lower = false, bool adjoint = false, bool unit = false, Attr if_ill = "raise") {
  return {lower, adjoint, unit, if_ill, Attr(), Attr()};
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  const auto add = [&](DType d, const Dims& a, const std::vector<complex128>& va, const Dims& b,
                       const std::vector<complex128>& vb, std::string_view covers,
                       std::vector<Attr> attrs = plain()) {
    out.push_back({{sample_tensor(d, a, va), sample_tensor(d, b, vb)}, std::move(attrs), covers});
  };
  for (int k = 0; k < kDTypes; ++k)
    if (const auto d = static_cast<DType>(k); is(d, op_linalg_solve_triangular.params[0].kinds)) {
      add(d, {3, 3}, {4, 1, 2, 9, 3, 5, 7, 8, 2}, {3}, {1, 2, 3}, "the other triangle is not read");
      add(d, {3, 3}, {4, 1, 2, 1, 3, 5, 7, 2, 2}, {3, 2}, {1, 2, 3, 0, 5, 6}, "lower", plain(true));
    }
  for (const bool lower : {false, true})
    add(c128, {2, 2}, {{1, 1}, {2, 3}, {0, 3}, {4, -1}}, {2}, {{1, 0}, {0, 1}}, "adjoint", plain(lower, true));
  add(f64, {3, 3}, {0, 1, 2, 1, 0, 5, 7, 2, 0}, {3}, {1, 2, 3}, "unit diagonal", plain(true, false, true));
  add(f64, {3, 3}, {0, 1, 2, 1, 0, 5, 7, 2, 0}, {3}, {1, 2, 3}, "unit diagonal", plain(false, true, true));
  add(f64, {2, 2, 2}, {4, 1, 2, 3, 1, 5, 0.5, 2}, {2, 1}, {1, 2}, "batches broadcast");
  add(f64, {2, 2}, {4, 1, 2, 3}, {2, 2, 1}, {1, 2, 3, 4}, "batches broadcast");
  add(f64, {3, 3}, {1e200, 1, 2, 0, 1e-200, 3, 0, 0, 1e-300}, {3}, {1e100, 1e-100, 1e-300}, "badly scaled");
  add(f64, {0, 0}, {0}, {0}, {0}, "empty");
  add(f64, {2, 2}, {1, 1, 0, 0}, {2}, {1, 1}, "a zero on the diagonal", plain(false, false, false, "nan"));
  add(f64, {3, 3}, {1e-12, 1, 1, 0, 1e-12, 1, 0, 0, 1e-12}, {3}, {1, 2, 3}, "ill-conditioned, but right");
  return out;
}

}  // namespace

const Op op_linalg_solve_triangular = {
    .name = "solve_triangular",
    .ns = "linalg",
    .group = "linear algebra",
    .doc =
        "The solution x of A x = x2, where A is a triangle of x1; the other one is not read. One vector (1-d x2) or "
        "matrices; leading axes broadcast. Triangular systems are often solved far more accurately than their "
        "condition says: where rcond gives up, a proved bound of the error decides.",
    .params = {{"x1", kinds::numeric}, {"x2", kinds::numeric}},
    .attrs = structured_attrs(
        {{.name = "lower", .type = AttrType::boolean, .fallback = false, .doc = "A is the lower triangle."},
         {.name = "adjoint", .type = AttrType::boolean, .fallback = false, .doc = "Solve Aᴴ x = x2 instead."},
         {.name = "unit_diagonal",
          .type = AttrType::boolean,
          .fallback = false,
          .doc = "The diagonal counts as ones and is not read."}}),
    .infer = infer,
    .forward = forward,
    .diagnoses = true,
    .notes = Notes::gives,
    .flow = flow,
    .vjp = vjp,
    .saves_inputs = 1,
    .saves_outputs = 1,
    .outputs_for = 1,
    .branches = {"the other triangle is not read", "lower", "adjoint", "unit diagonal", "batches broadcast",
                 "badly scaled", "empty", "a zero on the diagonal", "ill-conditioned, but right"},
    .samples = samples,
};

}  // namespace wp
