#include <cmath>

#include "base/text.hpp"
#include "kernels/condition.hpp"
#include "linalg/bounds.hpp"
#include "linalg/explain.hpp"
#include "linalg/interpret.hpp"
#include "linalg/judgement.hpp"
#include "linalg/members.hpp"
#include "linalg/small.hpp"
#include "linalg/solving.hpp"
#include "linalg/spectral.hpp"
#include "linalg/spectral_rules.hpp"
#include "linalg/system.hpp"
#include "ops/reduce.hpp"

namespace wp {
extern const Op op_linalg_svd;
extern const Op op_linalg_svdvals;
namespace {

using namespace linalg;

void infer_svd(Call& c) {
  const MatrixSizes s(c.in[0]);
  need_countable(c);
  const bool full = c.attr(0).flag();
  c.key = float_result(c.in[0].dtype());
  c.output(c.key, s.with({s.m, full ? s.m : s.k}));
  c.output(real_of(c.key), s.with({s.k}));
  c.output(c.key, s.with({full ? s.n : s.k, s.n}));
}

void infer_values(Call& c) {
  const MatrixSizes s(c.in[0]);
  need_countable(c);
  c.key = float_result(c.in[0].dtype());
  c.output(real_of(c.key), s.with({s.k}));
}

// |σ̂ − σ| is at most the backward error (Weyl). One-sided Jacobi changes rows (of wide matrices; columns of tall
// ones) by little relative to each: with A = D·B, rows of B alike in size, singular values are off by the condition
// of B, relative to each (Demmel & Veselić 1992; Drmač & Veselić 2008). LAPACK's iteration (bdsqr) neglects elements
// beside the diagonal of up to 100u times it, which values hardly feel, but vectors do.
template <class T>
Bounds bounds_of(const MatrixSizes& s, const Spectral<T>& svd, kernels::View<T> a, bool high) {
  using R = typename kernels::RealOf<T>::type;
  const double steps = high ? 2 : 1, error = steps * growth_of_errors(s.longest()) * kUnit<T>;
  Bounds out;
  out.absolute = error * svd.sigma()[0];
  if (!high) out.of_vectors = std::max(error, 100 * kUnit<T>) * svd.sigma()[0];
  const double least = svd.scaled_sigma().back();
  if (!high || least == 0) return out;
  const bool tall = s.m > s.n;
  const kernels::View<T> lines = tall ? a.transposed() : a;
  const std::int64_t each = s.longest();
  std::vector<int> rows, none(static_cast<std::size_t>(each), 0);
  for (std::int64_t i = 0; i < s.k; ++i) {
    const double size = kernels::norms<T>(1, each, lines.from(i, 0)).largest;
    rows.push_back(size > 0 ? -std::ilogb(size) : 0);
  }
  std::vector<T> balanced(static_cast<std::size_t>(s.k * each));
  kernels::scale<T, T>(s.k, each, lines, rows.data(), none.data(), balanced.data());
  const Spectral<T> b(s.k, each, {balanced.data(), each, 1}, Parts::values);
  // Numbers that fall below the range, of A as it is scaled or on the way, move values by as much as they are (Weyl).
  const double size = static_cast<double>(s.longest()),
               below = 16 * size * size * static_cast<double>(std::numeric_limits<R>::denorm_min());
  if (!b.converged() || b.sigma().back() == 0) return out;
  const double relative = error * b.sigma()[0] / b.sigma().back() + below / least;
  // A value that is held as 0 is only known to be below the range if it was known before.
  if (relative < 0.5 || svd.sigma().back() > 0) out.relative = relative;
  return out;
}

// With high accuracy each value has digits of its own, unless the dtype has none for it: `least` is that of the
// matrix times 2^exponent.
void consider_range(double least, int exponent, DType held, const Bounds& bounds, Verdict& v) {
  const double down = std::ldexp(least, -exponent),
               kept = real_of(held) == f32 ? static_cast<double>(static_cast<float>(down)) : down,
               lost = std::fabs(least - std::ldexp(kept, exponent)) / least, u = round_off(held);
  const auto enough = [u](double error) { return status_of(digits_of(error, u), -1, u) == Status::ok; };
  if (!(least > 0) || !enough(bounds.relative) || enough(lost)) return;
  v.status = Status::overflow;
  v.reason = say("has singular values below the range of ", held, ": the least one ",
                 kept == 0 ? say("is not 0, but about 10^",
                                 std::lround(std::floor(std::log10(least) - exponent * std::log10(2.0))), ".")
                           : say("is ", few_digits(kept), ", which leaves ",
                                 std::lround(std::floor(digits_of(lost, u))), " digits."));
}

// Where the results go: u and vh only with vectors.
template <class T>
struct Places {
  T* u;
  typename kernels::RealOf<T>::type* s;
  T* vh;
};

template <class T>
void run(const MatrixSizes& s, const Tensor& a, DType held, Verdicts& verdicts, Parts parts, bool high,
         const Places<T>& to, std::vector<Bounds>& bounds) {
  using R = typename kernels::RealOf<T>::type;
  const Stack<T> stack(a, s.batch);
  const std::int64_t uc = parts == Parts::full ? s.m : s.k, vr = parts == Parts::full ? s.n : s.k;
  bounds.resize(verdicts.size());
  for_members(static_cast<std::int64_t>(verdicts.size()), std::max(s.m, s.n), [&](std::int64_t i) {
    const Spectral<T> svd(s.m, s.n, stack[i], parts, high);
    Verdict& v = verdicts[static_cast<std::size_t>(i)];
    v.method = Method::svd;
    svd.judge(v);
    const bool good = v.status == Status::ok;
    if (good && s.k > 0) {
      Bounds& own = bounds[static_cast<std::size_t>(i)];
      own = bounds_of(s, svd, stack[i], high);
      if (high) consider_range(svd.scaled_sigma().back(), svd.exponent(), held, own, v);
    }
    for (std::int64_t j = 0; j < s.k; ++j)
      to.s[i * s.k + j] =
          good ? static_cast<R>(svd.sigma()[static_cast<std::size_t>(j)]) : std::numeric_limits<R>::quiet_NaN();
    if (parts == Parts::values) return;
    const auto copy = [&](const T* from, T* into, std::int64_t count) {
      good ? std::copy_n(from, count, into) : std::fill_n(into, count, T(std::numeric_limits<R>::quiet_NaN()));
    };
    copy(svd.u().data, to.u + i * s.m * uc, s.m * uc);
    copy(svd.vh().data, to.vh + i * vr * s.n, vr * s.n);
  });
}

// Through lanes; members in doubt, which are returned, as a stack of their own.
std::vector<std::int64_t> run_small(const MatrixSizes& s, const Tensor& a, Verdicts& verdicts, Parts parts,
                                    const Tensors& out, std::vector<Bounds>& bounds) {
  const Tensors all = parts == Parts::values ? Tensors{Tensor(), out[0], Tensor()} : out;
  Verdict common;
  common.method = Method::svd;
  return through_lanes(
      {.a = a, .batch = s.batch, .size = s.longest(), .outputs = all, .common = common}, verdicts,
      [&]<class T>(const Sources<T>& from, Range range, Marks marks) {
        kernels::batched::svd<T>(s.m, s.n, parts == Parts::full, from.a, range, data_of<T>(all[0]),
                                 data_of<T>(all[1]), data_of<T>(all[2]), marks);
        doubt_denormal(data_of<T>(all[1]), s.k, range, marks);
      },
      [&](const std::vector<std::int64_t>& doubtful, const Tensors& to, Verdicts& own) {
        std::vector<Bounds> these;
        run<double>(s.of(doubtful), members_of(a, s.batch, doubtful, f64), a.dtype(), own, parts, false,
                    {data_of<double>(to[0]), data_of<double>(to[1]), data_of<double>(to[2])}, these);
        bounds.insert(bounds.end(), these.begin(), these.end());
      });
}

void forward(Call& c, Parts parts, std::size_t first) {
  const MatrixSizes s(c.in[0]);
  const DecompositionOptions options = decomposition_options(c, first);
  const bool vectors = parts != Parts::values;
  const bool small = fits_lanes(c.key, s.members(), s.m, s.n) && !options.high;
  auto state = new_state(c, s.batch, names_of(c, first + 2), !small);
  const DType work = small ? c.key : working_dtype(c.key, s.longest());
  const Tensor a = brought(c.in[0], work);
  std::vector<Bounds> own;
  StackBounds bounds;
  c.beside().keeps_after = true;
  if (small) {
    std::vector<std::int64_t> which = run_small(s, a, state->verdicts, parts, c.out, own);
    bounds = lane_bounds(std::move(own), std::move(which), s.longest());
  } else {
    std::vector<Result> results;
    for (std::size_t i = 0; i < c.out.size(); ++i)  // S is real
      results.emplace_back(c.out[i], !vectors || i == 1 ? real_of(work) : work);
    with_float(work, [&]<class T>(T) {
      using R = typename kernels::RealOf<T>::type;
      run<T>(s, a, real_of(c.key), state->verdicts, parts, options.high,
             {vectors ? results[0].data<T>() : nullptr, results[vectors ? 1 : 0].data<R>(),
              vectors ? results[2].data<T>() : nullptr},
             own);
    });
    for (Result& r : results) r.finish();
    bounds = {std::move(own)};
  }
  if (c.key != working_dtype(c.key, s.longest())) bounds.rounding = round_off(c.key);
  bounds.beside_zero = s.m != s.n;
  keep_bounds(c, *state, c.out[vectors ? 1 : 0], std::move(bounds));
  settle(c, std::move(state), options.if_ill, "Look at the matrix: a member did not give its singular values.");
}

std::vector<Sample> samples(const Op& op, bool vectors) {
  std::vector<Sample> out;
  const auto add = [&](DType d, const Dims& shape, const std::vector<complex128>& v, std::string_view covers,
                       Attr full = true, Attr if_ill = "raise", Attr accuracy = "normal") {
    std::vector<Attr> attrs{if_ill, accuracy, Attr()};
    if (vectors) attrs.insert(attrs.begin(), full);
    out.push_back({{sample_tensor(d, shape, v)}, attrs, covers});
  };
  for (int k = 0; k < kDTypes; ++k)
    if (const auto d = static_cast<DType>(k); is(d, op.params[0].kinds)) add(d, {2, 2}, {4, 1, 2, 3}, {});
  for (const DType d : {f32, f64, c64, c128}) {
    add(d, {3, 2}, {{4, 1}, 1, 2, {3, -1}, 5, 7}, "tall");
    add(d, {2, 3}, {4, {1, 2}, 2, 3, 5, 7}, "wide", false);
  }
  add(f64, {2, 2, 2}, {4, 1, 2, 3, 1, 5, 0.5, 2}, "a batch");
  add(f64, {0, 2}, {0}, "empty", false);
  add(f64, {2, 2}, {1e300, 2e300, 3e300, 5e300}, "near overflow");
  add(f64, {2, 2}, {1, 1e-20, 0, 1e-30}, "high accuracy", false, "raise", "high");
  add(f64, {2, 2}, {1, HUGE_VAL, 0, 1}, "not finite", false, "nan");
  return out;
}

Op decomposition(Op op) {
  op.ns = "linalg";
  op.group = "linear algebra";
  op.params = {{"x", kinds::numeric}};
  op.diagnoses = true;
  op.notes = Notes::gives;
  op.flow = flow_matrices;
  op.branches = {"tall", "wide", "a batch", "empty", "near overflow", "high accuracy", "not finite"};
  return op;
}

}  // namespace

const Op op_linalg_svd = decomposition({
    .name = "svd",
    .doc = "The singular value decomposition x = U diag(S) Vh, S falling; U and Vh are square, or thin with "
           "full_matrices = false.",
    .attrs = decomposition_attrs({{"full_matrices", AttrType::boolean, true, "Square U and Vh."}}),
    .outputs = {"U", "S", "Vh"},
    .infer = infer_svd,
    .forward = [](Call& c) { forward(c, c.attr(0).flag() ? Parts::full : Parts::thin, 1); },
    .takes_out = true,
    .vjp = vjp_svd,
    .jvp = jvp_svd,
    .saves_outputs = 7,
    .samples = [] { return samples(op_linalg_svd, true); },
});

const Op op_linalg_svdvals = decomposition({
    .name = "svdvals",
    .doc = "The singular values of each matrix, falling.",
    .attrs = decomposition_attrs(),
    .infer = infer_values,
    .forward = [](Call& c) { forward(c, Parts::values, 0); },
    .takes_out = true,
    .vjp = vjp_svdvals,
    .jvp = jvp_svdvals,
    .saves_inputs = 1,
    .samples = [] { return samples(op_linalg_svdvals, false); },
});

}  // namespace wp
