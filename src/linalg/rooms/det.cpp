#include <cmath>

#include "base/text.hpp"
#include "linalg/determinant.hpp"
#include "linalg/kept.hpp"
#include "linalg/lost_digits.hpp"
#include "linalg/rules.hpp"
#include "linalg/small.hpp"
#include "linalg/solving.hpp"
#include "ops/derivative.hpp"
#include "ops/reduce.hpp"
#include "tensor/note.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_linalg_det;
extern const Op op_linalg_slogdet;
namespace {

using namespace linalg;

void infer(Call& c) {
  square_size(c.in[0], "x");
  c.key = float_result(c.in[0].dtype());
  c.output(c.key, batch_of(c.in[0]));
  if (c.op.outputs.size() == 2) c.output(real_of(c.key), batch_of(c.in[0]));
}

template <class T>
void put(T* to, std::int64_t i, std::complex<double> v) {
  using R = typename kernels::RealOf<T>::type;
  if constexpr (kernels::RealOf<T>::parts == 2)
    to[i] = {static_cast<R>(v.real()), static_cast<R>(v.imag())};
  else
    to[i] = static_cast<R>(v.real());
}

std::complex<double> scaled(std::complex<double> v, std::int64_t e) {
  const int n = static_cast<int>(std::clamp<std::int64_t>(e, -5000, 5000));
  return {std::ldexp(v.real(), n), std::ldexp(v.imag(), n)};
}

// A determinant that is not zero, but too small for its dtype: 0, or a number that has lost digits.
void find_too_small(const Determinant& d, DType dtype, Verdict& v) {
  const auto exponent = static_cast<int>(std::clamp<std::int64_t>(d.exponent, -5000, 5000));
  const double least = least_number(dtype), u = round_off(dtype);
  long double size = 0, lost = 0;
  for (const double part : {d.mantissa.real(), d.mantissa.imag()}) {
    const long double exact = std::ldexp(static_cast<long double>(part), exponent);
    size = std::max(size, std::fabs(exact));
    lost = std::max(lost, std::fabs(exact - std::nearbyint(exact / least) * least));
  }
  if (v.status > Status::ill_conditioned || d.mantissa == 0.0 || size >= least_normal(dtype) || lost <= u * size)
    return;
  v.forward_error = std::min(1.0, v.forward_error + static_cast<double>(lost / size));
  v.digits = digits_of(v.forward_error, u);
  v.status = Status::overflow;
  v.reason = say("has a determinant below the range of ", dtype, ", and not 0: ", std::lround(std::floor(v.digits)),
                 " of its digits are left.");
}

// det, or sign and logarithm if `log`, of every member, for results in `dtype`.
template <class T>
void run(const Tensor& a, const Factors* factors, const Dims& batch, DType dtype, Verdicts& verdicts, T* first,
         typename kernels::RealOf<T>::type* log) {
  using R = typename kernels::RealOf<T>::type;
  const std::int64_t n = a.shape().back();
  const Stack<T> stack(a, batch);
  const KeptFor<T> kept(factors, batch);
  for_members(static_cast<std::int64_t>(verdicts.size()), n, [&](std::int64_t i) {
    const Determinant d = determinant<T>(n, stack[i], kept ? &kept.system(i) : nullptr);
    verdicts[static_cast<std::size_t>(i)] = d.verdict;
    if (d.mantissa == 0.0) verdicts[static_cast<std::size_t>(i)].rcond = 0;
    const double size = std::abs(d.mantissa), nan = std::numeric_limits<double>::quiet_NaN();
    const bool bad = d.verdict.status == Status::nonfinite_input;
    if (!log && !bad) find_too_small(d, dtype, verdicts[static_cast<std::size_t>(i)]);
    if (!log) return put(first, i, bad ? nan : scaled(d.mantissa, d.exponent));
    put(first, i, bad ? nan : size > 0 ? d.mantissa / size : 0);
    log[i] = static_cast<R>(bad ? nan : d.log);
    if (!bad) judge_log(d.log, round_off(dtype), verdicts[static_cast<std::size_t>(i)]);
  });
}

// Through lanes; members in doubt as a stack of their own. out: the determinant, or its sign and logarithm.
void run_small(const Tensor& a, const Tensors& out, Diagnosis::State& state) {
  const std::int64_t n = a.shape().back();
  const Tensor log = out.size() == 2 ? out[1] : Tensor();
  Verdict common;
  common.method = Method::lu;
  Verdicts::Detail detail = system_detail(a, state.batch, {}, determinant_error);
  if (log.defined())
    detail = [detail, log](std::int64_t member, Verdict& v) {
      detail(member, v);
      const double value = value_at(log, member).real();
      if (v.structure >= Structure::lower && std::fabs(value) < kernels::batched::kNearOne / 2)
        v.forward_error = kUnit<double> * std::fabs(value);  // pivots are as given
      judge_log(value, round_off(log.dtype()), v);
    };
  through_lanes(
      {.a = a,
       .batch = state.batch,
       .size = n,
       .outputs = {out[0], log},
       .common = common,
       .detail = std::move(detail)},
      state.verdicts,
      [&]<class T>(const Sources<T>& from, Range range, Marks marks) {
        kernels::batched::determinant<T>(n, from.a, range, data_of<T>(out[0]), data_of<T>(log), marks);
      },
      [&](const std::vector<std::int64_t>& doubtful, const Tensors& to, Verdicts& own) {
        run<double>(members_of(a, state.batch, doubtful, f64), nullptr, {static_cast<std::int64_t>(doubtful.size())},
                    out[0].dtype(), own, data_of<double>(to[0]), data_of<double>(to[1]));
      });
}

void keep_hard(const Call& c, const Diagnosis::State& s);

void forward(Call& c) {
  const std::int64_t n = c.in[0].shape().back();
  const Factors* const factors = factors_of(c);
  const bool logs = c.out.size() == 2,
             small = fits_lanes(c.key, count_of(batch_of(c.in[0])), n, n) &&
                     (!factors || (free_to_factor(factors->kept->options()) && !factors->adjoint));
  auto state = new_state(c, batch_of(c.in[0]), {}, !small);
  const DType work = small ? c.key : working_dtype(c.key, n);
  const Tensor a = brought(small && factors ? factors->kept->matrix() : c.in[0], work);
  if (small) {
    run_small(a, c.out, *state);
  } else {
    Result first(c.out[0], work), log(c.out[logs ? 1 : 0], logs ? real_of(work) : work);
    with_float(work, [&]<class T>(T) {
      using R = typename kernels::RealOf<T>::type;
      run<T>(a, factors, state->batch, c.key, state->verdicts, first.data<T>(), logs ? log.data<R>() : nullptr);
    });
    first.finish();
    if (logs) log.finish();
  }
  if (!logs) keep_hard(c, *state);
  settle(c, std::move(state), policy_of(c, 0), "Use slogdet, or a matrix of better condition.", !logs);
}

void flow(const FlowQuery& q, Visit visit) {
  const std::int64_t n = q.call.in[0].shape().back();
  flow_members(q, n * n, 1, visit);
}

// Members whose inverse is not known well, or whose determinant is not a normal float: their derivative takes another
// way.
void keep_hard(const Call& c, const Diagnosis::State& s) {
  Tensor hard;
  const double least = real_of(c.key) == f64 ? std::numeric_limits<double>::min() : std::numeric_limits<float>::min();
  s.verdicts.each_own([&](std::size_t i, const Verdict& v) {
    const double size = std::abs(value_at(c.out[0], static_cast<std::int64_t>(i)));
    if (v.rcond > 1e-8 && size >= least && std::isfinite(size)) return;
    if (!hard.defined()) {
      hard = Tensor::adopt(detail::make_node(DType::boolean, s.batch));
      std::fill_n(data_of<bool>(hard), s.verdicts.size(), false);
    }
    data_of<bool>(hard)[i] = true;
  });
  if (hard.defined()) c.beside().residuals = {hard};
}

// ∂det/∂A are the cofactors, det A · A⁻ᵀ where A is far from singular.
Tensors vjp_det(const Backward& b) {
  const Tensor& a = b.in[0];
  if (a.shape().back() == 0) return {zeros_for(b.facts[0])};
  const auto plain = [&](const Tensor& x) {
    return multiply(each(conj_of(b.out[0])), adjoint(diagnosed::inv(x).value));
  };
  if (b.residuals.empty()) return {multiply(each(b.g()), plain(a))};
  const Tensor hard = each(b.residuals[0]);
  const Tensor other = conj_of(cofactors(a)), one = identity(a.shape().back(), a.dtype());
  return {multiply(each(b.g()), where(hard, other, plain(where(hard, one, a))))};
}

// log det A = log|det A| + i arg det A has the derivative A⁻¹; of the sign s only arg is seen: ds = i s d arg.
Tensors vjp_slogdet(const Backward& b) {
  const Tensor &sign = b.cotangents[0], &log = b.cotangents[1];
  const bool complex = is_complex(b.dtype(0));
  Tensor g = log;
  if (sign.defined() && complex) {
    const Tensor turn = multiply(imag(multiply(conj(sign), b.out[0])), complex128(0, -1));
    g = g.defined() ? add(g, turn) : turn;
  }
  if (!g.defined()) return {zeros_for(b.facts[0])};
  const Tensor inverse = inverse_of_regular(b, b.in[0], g, "detect");
  find_lost_digits(b);  // of what is not refused
  return {multiply(each(g), adjoint(inverse))};
}

std::vector<Sample> samples(const Op& op) {
  std::vector<Sample> out;
  const auto add = [&](DType d, const Dims& shape, const std::vector<complex128>& v, std::string_view covers,
                       Attr if_ill = "raise") {
    out.push_back({{sample_tensor(d, shape, v)}, {if_ill}, covers});
  };
  for (int k = 0; k < kDTypes; ++k)
    if (const auto d = static_cast<DType>(k); is(d, op.params[0].kinds)) add(d, {2, 2}, {4, 1, 2, 3}, {});
  add(c128, {2, 2}, {{1, 1}, {2, 0}, {0, 3}, {4, -1}}, {});
  add(f64, {2, 2, 2}, {4, 1, 2, 3, 1, 5, 0.5, 2}, "a batch");
  add(f64, {3, 3}, {4, 1, 2, 1, 5, 3, 2, 3, 7}, "positive definite");
  add(f64, {2, 2}, {1, 1, 1.00001, 1.00001}, "singular: 0");
  add(f64, {2, 2}, {4.1, 2.8, 9.676, 6.608}, "nearly singular");
  add(f64, {2, 2}, {1e-200, 0, 0, 1e-200}, "beyond the range of floats");
  add(f64, {0, 0}, {0}, "empty: 1");
  add(f64, {2, 2}, {1, HUGE_VAL, 0, 1}, "not finite", "nan");
  return out;
}

Op measure(Op op) {
  op.ns = "linalg";
  op.group = "linear algebra";
  op.params = {{"x", kinds::numeric}};
  op.attrs = {policy_attr()};
  op.infer = infer;
  op.forward = forward;
  op.diagnoses = true;
  op.notes = Notes::gives;
  op.flow = flow;
  op.saves_inputs = 1;
  op.saves_outputs = 1;
  op.branches = {"a batch",  "positive definite", "singular: 0", "nearly singular", "beyond the range of floats",
                 "empty: 1", "not finite"};
  return op;
}

}  // namespace

const Op op_linalg_det = measure({
    .name = "det",
    .doc =
        "The determinant of each square matrix; 0 only for a matrix that is proved singular, or below the range of "
        "floats.",
    .takes_out = true,
    .vjp = vjp_det,
    .samples = [] { return samples(op_linalg_det); },
});

const Op op_linalg_slogdet = measure({
    .name = "slogdet",
    .doc = "The sign of the determinant and the logarithm of its absolute value; (0, -inf) only for a matrix that is "
           "proved singular.",
    .outputs = {"sign", "logabsdet"},
    .takes_out = true,
    .vjp = vjp_slogdet,
    .samples = [] { return samples(op_linalg_slogdet); },
});

}  // namespace wp
