#include "base/text.hpp"
#include "linalg/judgement.hpp"
#include "linalg/lost_digits.hpp"
#include "linalg/members.hpp"
#include "linalg/rules.hpp"
#include "linalg/solving.hpp"
#include "linalg/sylvester.hpp"
#include "ops/derivative.hpp"
#include "ops/dispatch.hpp"
#include "ops/reduce.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_linalg_solve_sylvester;
namespace {

using namespace linalg;

struct Sizes {
  std::int64_t m, n;
  Dims batch;
  explicit Sizes(const Call& c) : m(square_size(c.in[0], "a")), n(square_size(c.in[1], "b")) {
    const Dims& q = c.in[2].shape();
    if (q.size() < 2 || q[q.size() - 2] != m || q.back() != n)
      refuse<ShapeError>("WP-SHP-017", say("q must have the rows of a and the columns of b; got a ", c.in[0].shape(),
                                           ", b ", c.in[1].shape(), ", q ", q, "."));
    batch = broadcast(broadcast(batch_of(c.in[0]), batch_of(c.in[1])), batch_of(c.in[2]));
  }
};

void infer(Call& c) {
  c.key = float_result(common_dtype(c));
  const Sizes s(c);
  Dims shape = s.batch;
  shape.push_back(s.m);
  shape.push_back(s.n);
  c.output(c.key, shape);
}

void forward(Call& c) {
  const Sizes s(c);
  const Options options = structured_options(c, 0);
  const DType work = working_dtype(c.key, std::max(s.m, s.n));
  const Tensor a = brought(c.in[0], work), b = brought(c.in[1], work), q = brought(c.in[2], work);
  Result x(c.out[0], work);
  auto state = new_state(c, s.batch);
  state->matrix = Tensor();  // the operator has none that is written down
  with_float(work, [&]<class T>(T) {
    state->threshold = kSingular<T>;
    const Stack<T> as(a, s.batch), bs(b, s.batch), qs(q, s.batch);
    for_members(count_of(s.batch), std::max(s.m, s.n), [&](std::int64_t k) {
      T* const to = x.data<T>() + k * s.m * s.n;
      const kernels::View<T> from = qs[k];
      for (std::int64_t i = 0; i < s.m; ++i)
        for (std::int64_t j = 0; j < s.n; ++j) to[i * s.n + j] = from.data[i * from.rows + j * from.columns];
      const Verdict v = sylvester<T>(s.m, s.n, as[k], bs[k], to, options);
      state->verdicts[static_cast<std::size_t>(k)] = v;
      if (v.status > Status::singular || (v.status == Status::singular && options.if_ill != Policy::ignore))
        std::fill_n(to, s.m * s.n, T(std::numeric_limits<typename kernels::RealOf<T>::type>::quiet_NaN()));
    });
  });
  x.finish();
  settle(c, std::move(state), options.if_ill,
         "a and -b have a common eigenvalue, or nearly: then there is no answer, or more than one.");
}

// Every element of the same member.
void flow(const FlowQuery& q, Visit visit) {
  const Sizes s(q.call);
  const Tensor& x = q.call.in[q.input];
  const std::int64_t each = x.shape()[x.shape().size() - 2] * x.shape().back();
  const std::int64_t member = own_member(q.element / (s.m * s.n), s.batch, batch_of(x));
  for (std::int64_t e = 0; e < each; ++e) visit(member * each + e);
}

// Aᴴ Y + Y Bᴴ = g: of q Y, of a −Y xᴴ, of b −xᴴ Y.
Tensors vjp(const Backward& b) {
  find_lost_digits(b);
  const Tensor ah = adjoint(b.in[0]), bh = adjoint(b.in[1]);
  const Tensor* const in[] = {&ah, &bh, &b.g()};
  std::vector<Attr> attrs(b.attrs.begin(), b.attrs.end());
  attrs[0] = "ignore";  // the verdict on the equation has been given
  const Tensor y = call_diagnosed(op_linalg_solve_sylvester, Inputs(in), attrs, b.place).value[0];
  if (!b.wants(0) && !b.wants(1)) return {{}, {}, y};
  const Tensor xh = adjoint(b.out[0]);
  return {negative(matmul(y, xh)), negative(matmul(xh, y)), y};
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  const auto add = [&](DType d, std::vector<Dims> shapes, const std::vector<complex128>& a,
                       const std::vector<complex128>& b, const std::vector<complex128>& q, std::string_view covers,
                       Attr if_ill = "raise") {
    out.push_back({{sample_tensor(d, shapes[0], a), sample_tensor(d, shapes[1], b), sample_tensor(d, shapes[2], q)},
                   {if_ill, Attr(), Attr()},
                   covers});
  };
  const std::vector<Dims> plain{{2, 2}, {3, 3}, {2, 3}};
  const std::vector<complex128> b{5, 1, 2, 0, 6, 1, 3, 0, 7};
  for (int k = 0; k < kDTypes; ++k)
    if (const auto d = static_cast<DType>(k); is(d, op_linalg_solve_sylvester.params[0].kinds))
      add(d, plain, {4, 1, 2, 3}, b, {1, 2, 3, 4, 5, 6}, {});
  add(f64, plain, {1, -4, 4, 1}, {0, 1, 0, -1, 0, 0, 2, 0, 3}, {1, 2, 3, 4, 5, 6}, "complex eigenvalues");
  add(c128, {{2, 2}, {1, 1}, {2, 1}}, {{4, 1}, 1, {0, 2}, 3}, {{1, -1}}, {1, {2, 1}}, {});
  add(f64, {{2, 1, 1}, {2, 2}, {1, 2}}, {4, 5}, {1, 2, 3, 4}, {1, 2}, "batches broadcast");
  add(f64, {{1, 1}, {1, 1}, {1, 1}}, {1e300}, {1e300}, {1e-300}, "near overflow");
  add(f64, {{1, 1}, {1, 1}, {1, 1}}, {1e-300}, {1e-300}, {1e-300}, "near overflow");
  add(f64, {{0, 0}, {2, 2}, {0, 2}}, {0}, {1, 2, 3, 4}, {0}, "empty");
  add(f64, {{2, 2}, {2, 2}, {2, 2}}, {1, 2, 0, 3}, {-1, 0, 1, 5}, {1, 2, 3, 4}, "a common eigenvalue", "nan");
  return out;
}

}  // namespace

const Op op_linalg_solve_sylvester = {
    .name = "solve_sylvester",
    .ns = "linalg",
    .group = "linear algebra",
    .doc =
        "The solution x of Sylvester's equation a x + x b = q, by Schur forms (Bartels & Stewart), improved with "
        "residuals in twice the precision; leading axes broadcast. It is singular where a and -b have a common "
        "eigenvalue.",
    .params = {{"a", kinds::numeric}, {"b", kinds::numeric}, {"q", kinds::numeric}},
    .attrs = structured_attrs(),
    .infer = infer,
    .forward = forward,
    .diagnoses = true,
    .notes = Notes::gives,
    .flow = flow,
    .vjp = vjp,
    .saves_inputs = 3,
    .saves_outputs = 1,
    .outputs_for = 3,
    .branches = {"complex eigenvalues", "batches broadcast", "near overflow", "empty", "a common eigenvalue"},
    .samples = samples,
};

}  // namespace wp
