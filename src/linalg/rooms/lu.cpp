#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/lu.hpp"
#include "linalg/lost_range.hpp"
#include "linalg/members.hpp"
#include "linalg/prescaled.hpp"
#include "linalg/rules.hpp"
#include "linalg/small.hpp"
#include "linalg/solving.hpp"
#include "ops/derivative.hpp"
#include "ops/reduce.hpp"
#include "wellposed/creation.hpp"
#include "wellposed/index.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_linalg_lu;
namespace {

using namespace linalg;

void infer(Call& c) {
  const MatrixSizes s(c.in[0]);
  c.key = float_result(c.in[0].dtype());
  c.output(i64, s.with({s.m}));
  c.output(c.key, s.with({s.m, s.k}));
  c.output(c.key, s.with({s.k, s.n}));
}

// Whether factors of A, whose numbers have this reach, may have lost something to the ends of the range of `held`.
// Columns do not matter to L, so rows of A with columns near 1 tell: an element of L has the size of its row beside
// that of others. A pivot is small if elimination made it so.
template <class T>
bool may_have_lost(const MatrixSizes& s, kernels::View<T> a, const kernels::Reach& reach, kernels::View<T> factors,
                   DType held) {
  if (reach.most == kernels::kNoExponent) return false;
  const int room = room_of(held), spread = reach.least - reach.most, least = least_exponent_with_digits(held);
  bool pivots = false;
  for (std::int64_t i = 0; i < s.k && spread < room / 4; ++i)
    pivots = pivots || size_of_number(factors.data[i * (factors.rows + 1)]) < std::ldexp(1.0, room);
  if (pivots) return true;
  if (spread >= room && reach.least >= least) return false;
  std::vector<int> none(static_cast<std::size_t>(s.m), 0), down(static_cast<std::size_t>(s.n), 0);
  const auto any_below = [](const std::vector<int>& exponents, int limit) {
    return std::any_of(exponents.begin(), exponents.end(),
                       [&](int e) { return e != kernels::kNoExponent && e < limit; });
  };
  const std::vector<int> columns = kernels::largest_exponents<T>(s.m, s.n, a, none, down).columns;
  if (any_below(columns, least)) return true;
  std::transform(columns.begin(), columns.end(), down.begin(),
                 [](int e) { return e == kernels::kNoExponent ? 0 : -e; });
  return any_below(kernels::largest_exponents<T>(s.m, s.n, a, none, down).rows, room);
}
template <class T>
double lost(const MatrixSizes& s, kernels::View<T> a, const std::int64_t* p, const T* l, const T* u, DType held) {
  std::vector<Wide<T>> given, left, right;
  for (std::int64_t i = 0; i < s.m; ++i)
    for (std::int64_t j = 0; j < s.n; ++j) given.push_back(Wide<T>(a.data[p[i] * a.rows + j * a.columns]));
  for (std::int64_t e = 0; e < s.m * s.k; ++e) left.push_back(as_held(l[e], held));
  for (std::int64_t e = 0; e < s.k * s.n; ++e) right.push_back(as_held(u[e], held));
  return lost_in_product(s.m, s.n, s.k, given, left, right);
}

// P, L (m × k) and U (k × n) of one member; `held`: the dtype that they will have.
template <class T>
void factor(const MatrixSizes& s, kernels::View<T> a, DType held, std::int64_t* p, T* l, T* u, Verdict& v) {
  EvenColumns<T> x(s.m, s.n, a, true);
  v.status = x.finite ? Status::ok : Status::nonfinite_input;
  if (!x.finite) return;
  T* const f = x.data.data();
  const auto largest = kernels::largest<T>(s.m, s.n, {f, s.n, 1});
  std::vector<std::int64_t> pivots(static_cast<std::size_t>(s.k));
  kernels::lu_factor<T>(s.m, s.n, f, s.n, pivots.data());
  v.growth = static_cast<double>(kernels::lu_growth<T>(s.m, s.n, {f, s.n, 1}, largest));
  std::iota(p, p + s.m, std::int64_t{0});
  for (std::int64_t i = 0; i < s.k; ++i) std::swap(p[i], p[pivots[static_cast<std::size_t>(i)]]);
  for (std::int64_t i = 0; i < s.m; ++i)
    for (std::int64_t j = 0; j < s.k; ++j) l[i * s.k + j] = j < i ? f[i * s.n + j] : T(i == j ? 1 : 0);
  for (std::int64_t i = 0; i < s.k; ++i)
    for (std::int64_t j = 0; j < s.n; ++j)
      u[i * s.n + j] = j < i ? T(0) : times_power(f[i * s.n + j], -x.columns[static_cast<std::size_t>(j)]);
  if (may_have_lost<T>(s, a, x.reach, {f, s.n, 1}, held)) tell_lost(lost<T>(s, a, p, l, u, held), held, "L U", v);
}

template <class T>
void run(const MatrixSizes& s, const Tensor& a, DType held, Verdicts& verdicts, std::int64_t* p, T* l, T* u) {
  const Stack<T> stack(a, s.batch);
  for_members(s.members(), s.longest(), [&](std::int64_t i) {
    T *const to_l = l + i * s.m * s.k, *const to_u = u + i * s.k * s.n;
    Verdict& v = verdicts[static_cast<std::size_t>(i)];
    v.method = Method::lu;
    factor<T>(s, stack[i], held, p + i * s.m, to_l, to_u, v);
    if (v.status <= Status::overflow) return;
    std::fill_n(p + i * s.m, s.m, std::int64_t{-1});
    fill_nan(to_l, s.m * s.k);
    fill_nan(to_u, s.k * s.n);
  });
}

// How much elimination made a member's elements grow, found out when it is asked for.
Verdicts::Detail growth_of(const MatrixSizes& s, const Tensor& a) {
  return [s, a](std::int64_t member, Verdict& v) {
    const Tensor one = members_of(a, s.batch, {member}, f64);
    std::vector<std::int64_t> p(static_cast<std::size_t>(s.m));
    std::vector<double> l(static_cast<std::size_t>(s.m * s.k)), u(static_cast<std::size_t>(s.k * s.n));
    Verdict own;
    factor<double>(s, {data_of<const double>(one), s.n, 1}, a.dtype(), p.data(), l.data(), u.data(), own);
    v.growth = own.growth;
  };
}

// Through lanes; members in doubt as a stack of their own.
void run_small(const MatrixSizes& s, const Tensor& a, Verdicts& verdicts, const Tensors& out) {
  Verdict common;
  common.method = Method::lu;
  through_lanes(
      {.a = a, .batch = s.batch, .size = s.longest(), .outputs = out, .common = common, .detail = growth_of(s, a)},
      verdicts,
      [&]<class T>(const Sources<T>& from, Range range, Marks marks) {
        kernels::batched::lu<T>(s.m, s.n, from.a, range, data_of<std::int64_t>(out[0]), data_of<T>(out[1]),
                                data_of<T>(out[2]), marks);
      },
      [&](const std::vector<std::int64_t>& doubtful, const Tensors& to, Verdicts& own) {
        run<double>(s.of(doubtful), members_of(a, s.batch, doubtful, f64), out[2].dtype(), own,
                    data_of<std::int64_t>(to[0]), data_of<double>(to[1]), data_of<double>(to[2]));
      });
}

void forward(Call& c) {
  const MatrixSizes s(c.in[0]);
  const bool small = fits_lanes(c.key, s.members(), s.m, s.n);
  const DType work = small ? c.key : working_dtype(c.key, s.longest());
  const Tensor a = brought(c.in[0], work);
  auto state = new_state(c, s.batch, {}, !small);
  if (small) {
    run_small(s, a, state->verdicts, c.out);
  } else {
    Result l(c.out[1], work), u(c.out[2], work);
    with_float(work, [&]<class T>(T) {
      run<T>(s, a, c.key, state->verdicts, data_of<std::int64_t>(c.out[0]), l.data<T>(), u.data<T>());
    });
    l.finish();
    u.finish();
  }
  settle(c, std::move(state), policy_of(c, 0), "Look at the matrix: it could not be factored.");
}

// A₁ = L U square: L⁻ᴴ (tril(Lᴴ gL, −1) + triu(gU Uᴴ)) U⁻ᴴ.
Tensor square_cotangent(const Tensor& l, const Tensor& u, const Tensor& gl, const Tensor& gu) {
  const Tensor inner = add(tril(matmul(adjoint(l), gl), {.k = -1}), triu(matmul(gu, adjoint(u))));
  const Tensor left = diagnosed::solve_triangular(
                          l, inner, {.lower = true, .adjoint = true, .unit_diagonal = true, .if_ill = "ignore"})
                          .value;
  return adjoint(diagnosed::solve_triangular(u, adjoint(left), {.if_ill = "ignore"}).value);
}

// Of the rows below the square part L₂ = A₂ U⁻¹, of the columns beside it U₂ = L⁻¹ A₂.
Tensors vjp(const Backward& b) {
  const Tensor &l = b.out[1], &u = b.out[2];
  const std::int64_t m = l.shape()[l.shape().size() - 2], n = u.shape().back(), k = std::min(m, n);
  if (k == 0) return {zeros_for(b.facts[0])};
  Tensor gl = b.cotangents[1].defined() ? b.cotangents[1] : zeros(l.shape(), {.dtype = l.dtype()});
  Tensor gu = b.cotangents[2].defined() ? b.cotangents[2] : zeros(u.shape(), {.dtype = u.dtype()});
  const auto part = [](const Tensor& t, Slice rows, Slice columns) { return t[{ellipsis, rows, columns}]; };
  const Slice head = slice(0, k), tail = slice(k, none), all = slice();
  const Tensor l1 = part(l, head, all), u1 = part(u, all, head);
  if (any_true(equal(linalg::diagonal(u1), 0)))
    no_derivative_here("a pivot is 0: the rows of L below it are arbitrary, and there is no derivative.",
                       "Use a decomposition that exists there, as svd.");
  Tensor g;
  if (m > n) {
    const Tensor gl2 = part(gl, tail, all), l2 = part(l, tail, all);
    const Tensor of_a2 = adjoint(diagnosed::solve_triangular(u, adjoint(gl2), {.if_ill = "ignore"}).value);
    gu = subtract(gu, matmul(adjoint(l2), of_a2));
    g = concat({square_cotangent(l1, u, part(gl, head, all), gu), of_a2}, {.axis = -2});
  } else if (n > m) {
    const Tensor of_a2 =
        diagnosed::solve_triangular(l, part(gu, all, tail),
                                    {.lower = true, .adjoint = true, .unit_diagonal = true, .if_ill = "ignore"})
            .value;
    gl = subtract(gl, matmul(of_a2, adjoint(part(u, all, tail))));
    g = concat({square_cotangent(l, u1, gl, part(gu, all, head)), of_a2}, {.axis = -1});
  } else {
    g = square_cotangent(l, u, gl, gu);
  }
  return {matmul(matrix_transpose(rows_matrix(b.out[0], g.dtype())), g)};
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  const auto add = [&](DType d, const Dims& shape, const std::vector<complex128>& v, std::string_view covers,
                       Attr if_ill = "raise") {
    out.push_back({{sample_tensor(d, shape, v)}, {if_ill}, covers});
  };
  for (int k = 0; k < kDTypes; ++k)
    if (const auto d = static_cast<DType>(k); is(d, op_linalg_lu.params[0].kinds)) add(d, {2, 2}, {1, 4, 3, 2}, {});
  for (const DType d : {f32, f64, c64, c128}) {
    add(d, {3, 2}, {{4, 1}, 1, 2, {3, -1}, 5, 7}, "tall");
    add(d, {2, 3}, {4, {1, 2}, 2, 7, 5, 7}, "wide");
  }
  add(f64, {2, 2, 2}, {4, 1, 2, 3, 1, 5, 0.5, 2}, "a batch");
  add(f64, {3, 3}, {1, 2, 4, 1, 2, 4, 1, 2, 4}, "singular");
  add(f64, {0, 2}, {0}, "empty");
  add(f64, {2, 2}, {1e300, 2e300, 1.5e300, -1e300}, "near overflow");
  add(f64, {2, 2}, {1, HUGE_VAL, 0, 1}, "not finite", "nan");
  return out;
}

}  // namespace

const Op op_linalg_lu = {
    .name = "lu",
    .ns = "linalg",
    .group = "linear algebra",
    .doc =
        "The factors x[P] = L U of each matrix with its rows in the order P (partial pivoting): L unit lower "
        "triangular or trapezoidal, |L| of at most about 1, U upper. A matrix that is not finite has P = -1 with "
        "if_ill = nan.",
    .params = {{"x", kinds::numeric}},
    .attrs = {policy_attr()},
    .outputs = {"P", "L", "U"},
    .infer = infer,
    .forward = forward,
    .diagnoses = true,
    .takes_out = true,
    .notes = Notes::gives,
    .flow = flow_matrices,
    .vjp = vjp,
    .saves_outputs = 7,
    .branches = {"tall", "wide", "a batch", "singular", "empty", "near overflow", "not finite"},
    .samples = samples,
};

}  // namespace wp
