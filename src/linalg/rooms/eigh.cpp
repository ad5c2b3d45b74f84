#include <cmath>

#include "linalg/eigen.hpp"
#include "linalg/interpret.hpp"
#include "linalg/small.hpp"
#include "linalg/solving.hpp"
#include "linalg/spectral_rules.hpp"
#include "ops/reduce.hpp"

namespace wp {
extern const Op op_linalg_eigh;
extern const Op op_linalg_eigvalsh;
namespace {

using namespace linalg;

void infer(Call& c) {
  const std::int64_t n = square_size(c.in[0], "x");
  need_countable(c);
  c.key = float_result(c.in[0].dtype());
  Dims values = batch_of(c.in[0]);
  values.push_back(n);
  c.output(real_of(c.key), values);
  if (c.op.outputs.size() == 2) c.output(c.key, c.in[0].shape());
}

struct Wanted {
  std::string_view uplo;
  bool high, vectors;
};

template <class T>
void run(const Tensor& a, const Dims& batch, const Wanted& wanted, Verdicts& verdicts,
         typename kernels::RealOf<T>::type* values, T* vectors, std::vector<double>& asymmetry,
         std::vector<Bounds>& bounds) {
  using R = typename kernels::RealOf<T>::type;
  const std::int64_t n = a.shape().back();
  const Stack<T> stack(a, batch);
  asymmetry.resize(verdicts.size());
  bounds.resize(verdicts.size());
  for_members(static_cast<std::int64_t>(verdicts.size()), n, [&](std::int64_t i) {
    Hermitian<T> h(n, stack[i], wanted.uplo);
    asymmetry[static_cast<std::size_t>(i)] = h.asymmetry;
    R* const w = values + i * n;
    T* const v = vectors ? vectors + i * n * n : nullptr;
    Verdict& verdict = verdicts[static_cast<std::size_t>(i)];
    verdict.structure = Structure::symmetric;
    verdict.method = Method::eigen;
    const EigenResult result = hermitian_eigen<T>(n, h, wanted.high, w, v);
    bounds[static_cast<std::size_t>(i)] = result.bounds;
    result.judge(n, verdict);
    if (verdict.status == Status::ok) return;
    std::fill_n(w, n, std::numeric_limits<R>::quiet_NaN());
    if (v) std::fill_n(v, n * n, T(std::numeric_limits<R>::quiet_NaN()));
  });
}

// Through lanes; members in doubt, which are returned, as a stack of their own. `which`: the members of which
// `asymmetry` tells.
std::vector<std::int64_t> run_small(const Tensor& a, const Wanted& wanted, const Tensors& out,
                                    Diagnosis::State& state, std::vector<double>& asymmetry,
                                    std::vector<std::int64_t>& which, std::vector<Bounds>& bounds,
                                    const Tensor& relative) {
  const std::int64_t n = a.shape().back();
  const Tensor vectors = wanted.vectors ? out[1] : Tensor();
  std::vector<std::int64_t> asymmetric;
  Verdict common;
  common.structure = Structure::symmetric;
  common.method = Method::eigen;
  which = through_lanes(
      {.a = a,
       .batch = state.batch,
       .size = n,
       .outputs = {out[0], vectors},
       .common = common,
       .numbers = relative,
       .to_tell = &asymmetric},
      state.verdicts,
      [&]<class T>(const Sources<T>& from, Range range, Marks marks) {
        kernels::batched::eigh<T>(n, from.a, reads_of(wanted.uplo), range, data_of<T>(out[0]), data_of<T>(vectors),
                                  marks);
        doubt_denormal(data_of<T>(out[0]), n, range, marks);
      },
      [&](const std::vector<std::int64_t>& doubtful, const Tensors& to, Verdicts& own) {
        std::vector<double> apart;
        std::vector<Bounds> these;
        run<double>(members_of(a, state.batch, doubtful, f64), {static_cast<std::int64_t>(doubtful.size())}, wanted,
                    own, data_of<double>(to[0]), data_of<double>(to[1]), apart, these);
        asymmetry.insert(asymmetry.end(), apart.begin(), apart.end());
        bounds.insert(bounds.end(), these.begin(), these.end());
      });
  std::vector<std::int64_t> doubtful = which;
  measure_asymmetry(a, state.batch, asymmetric, asymmetry, which);
  return doubtful;
}

void forward(Call& c) {
  const std::int64_t n = c.in[0].shape().back();
  const bool both = c.out.size() == 2;
  const DecompositionOptions options = decomposition_options(c, 1);
  const bool small = fits_lanes(c.key, count_of(batch_of(c.in[0])), n, n) && !options.high;
  auto state = new_state(c, batch_of(c.in[0]), names_of(c, 3), !small);
  const DType work = small ? c.key : working_dtype(c.key, n);
  const Tensor a = brought(c.in[0], work);
  const Wanted wanted{c.attr(0) ? c.attr(0).text() : std::string_view(), options.high, both};
  std::vector<double> asymmetry;
  std::vector<Bounds> bounds;
  std::vector<std::int64_t> which, doubtful;
  const Tensor relative = small && n > 2 ? number_of_each(batch_of(c.in[0])) : Tensor();
  c.beside().keeps_after = true;
  if (small) {
    doubtful = run_small(a, wanted, c.out, *state, asymmetry, which, bounds, relative);
  } else {
    Result values(c.out[0], real_of(work)), vectors(c.out[both ? 1 : 0], both ? work : real_of(work));
    with_float(work, [&]<class T>(T) {
      using R = typename kernels::RealOf<T>::type;
      run<T>(a, state->batch, wanted, state->verdicts, values.data<R>(), both ? vectors.data<T>() : nullptr,
             asymmetry, bounds);
    });
    values.finish();
    if (both) vectors.finish();
  }
  report_asymmetry(c, asymmetry, c.in[0].dtype(), which);
  StackBounds all = small ? lane_bounds(std::move(bounds), std::move(doubtful), n) : StackBounds{std::move(bounds)};
  all.relative = relative;
  if (c.key != working_dtype(c.key, n)) all.rounding = round_off(c.key);
  keep_bounds(c, *state, c.out[0], std::move(all));
  settle(c, std::move(state), options.if_ill, "Look at the matrix: its eigenvalues could not be found.");
}

std::vector<Sample> samples(const Op& op) {
  std::vector<Sample> out;
  const auto add = [&](DType d, const Dims& shape, const std::vector<complex128>& v, std::string_view covers,
                       Attr uplo = {}, Attr if_ill = "raise", Attr accuracy = "normal") {
    out.push_back({{sample_tensor(d, shape, v)}, {uplo, if_ill, accuracy, Attr()}, covers});
  };
  for (int k = 0; k < kDTypes; ++k)
    if (const auto d = static_cast<DType>(k); is(d, op.params[0].kinds))
      add(d, {3, 3}, {4, 1, 2, 1, 5, 3, 2, 3, 9}, {});
  for (const DType d : {c64, c128}) add(d, {2, 2}, {4, {1, 2}, {1, -2}, 5}, {});
  add(f64, {2, 2, 2}, {4, 1, 1, 3, 1, 5, 5, 2}, "a batch");
  add(f64, {2, 2}, {4, 7, 1, 3}, "one triangle", "lower");
  add(f64, {2, 2}, {4, 7, 1, 3}, "one triangle", "upper");
  add(f64, {2, 2}, {4, 2, 1, 3}, "not symmetric: its symmetric part");
  add(f64, {2, 2}, {1e300, 2e300, 2e300, 5e300}, "near overflow");
  add(f64, {3, 3}, {1, 1e-20, 5e-41, 1e-20, 1e-39, 1e-60, 5e-41, 1e-60, 1e-79}, "graded");
  add(c128, {2, 2}, {1, {0, 1e-20}, {0, -1e-20}, 0}, "graded, indefinite");
  add(f64, {3, 3}, {1, 1e-20, 2e-40, 1e-20, -1e-39, 1e-60, 2e-40, 1e-60, 1e-79}, "graded, indefinite");
  add(f64, {3, 3}, {4, 1, 2, 1, 5, 3, 2, 3, 9}, "high accuracy", {}, "raise", "high");
  add(f64, {4, 4}, {0, 2, 0, 0, 2, 0, 0, 0, 0, 0, 0, 2, 0, 0, 2, 0}, "high accuracy", {}, "raise", "high");
  add(f64, {0, 0}, {0}, "empty");
  add(f64, {2, 2}, {1, HUGE_VAL, HUGE_VAL, 1}, "not finite", {}, "nan");
  return out;
}

Op decomposition(Op op) {
  op.ns = "linalg";
  op.group = "linear algebra";
  op.params = {{"x", kinds::numeric}};
  op.attrs = decomposition_attrs({uplo_attr()});
  op.infer = infer;
  op.forward = forward;
  op.diagnoses = true;
  op.notes = Notes::gives;
  op.flow = [](const FlowQuery& q, Visit visit) { flow_hermitian(q, q.call.attr(0), visit); };
  op.branches = {"a batch",       "one triangle", "not symmetric: its symmetric part",
                 "near overflow", "graded",       "graded, indefinite",
                 "high accuracy", "empty",        "not finite"};
  return op;
}

}  // namespace

const Op op_linalg_eigh = decomposition({
    .name = "eigh",
    .doc = "The eigenvalues, rising, and orthonormal eigenvectors (columns) of each symmetric or Hermitian matrix. "
           "Where rows differ widely in size, small eigenvalues keep their digits.",
    .outputs = {"eigenvalues", "eigenvectors"},
    .takes_out = true,
    .vjp = vjp_eigh,
    .jvp = jvp_eigh,
    .saves_outputs = 3,
    .samples = [] { return samples(op_linalg_eigh); },
});

const Op op_linalg_eigvalsh = decomposition({
    .name = "eigvalsh",
    .doc = "The eigenvalues of each symmetric or Hermitian matrix, rising.",
    .takes_out = true,
    .vjp = vjp_eigvalsh,
    .jvp = jvp_eigvalsh,
    .saves_inputs = 1,
    .samples = [] { return samples(op_linalg_eigvalsh); },
});

}  // namespace wp
