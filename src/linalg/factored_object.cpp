#include <cmath>
#include <ostream>

#include "base/text.hpp"
#include "linalg/kept.hpp"
#include "linalg/rules.hpp"
#include "linalg/solving.hpp"
#include "ops/dispatch.hpp"
#include "wellposed/creation.hpp"
#include "wellposed/factored.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_linalg_solve, op_linalg_inv, op_linalg_lstsq, op_linalg_pinv, op_linalg_det, op_linalg_slogdet,
    op_linalg_logdet;
namespace linalg {

struct Factored::State {
  Tensor a;
  std::shared_ptr<const Kept> kept;
  std::vector<Attr> system;  // attributes of solve and inv
  std::vector<Attr> svd;     // of lstsq; those of pinv are the first two and the last
  bool by_svd;
  Diagnosis diagnosis;

  Tensor meant() const;
  Tensors run(const Op& op, Tensor matrix, const Tensor* b, std::vector<Attr> attrs, bool adjoint, const Place& place,
              Diagnosis* out = nullptr) const;
  Tensor solve(const Tensor& b, const FactoredSolveOptions& o, const Place& place, Diagnosis* out) const;
  Tensor inverse(const Place& place, Diagnosis* out) const;
  Tensor pseudo_inverse(const Place& place, Diagnosis* out) const;
};

namespace {

// The verdict of singular values, as lstsq's without a right-hand side.
template <class T>
Verdict verdict_of(const Spectral<T>& svd, Cutoff cutoff) {
  Verdict v;
  v.method = Method::svd;
  svd.judge(v);
  if (v.status != Status::ok) return v;
  v.rcond = svd.rcond(svd.rank(cutoff(svd.largest())));
  conclude_least_squares<T>(v, kUnit<T> / v.rcond);
  return v;
}

// Every member is decomposed now, with the matrices shared out among threads.
template <class T>
void decompose(const Kept& kept, bool by_svd, Cutoff cutoff, Diagnosis::State& state) {
  const KeptIn<T>& here = kept.in<T>();
  state.threshold = System<T>::threshold;
  for_members(here.members(), MatrixSizes(kept.matrix()).longest(), [&](std::int64_t i) {
    state.verdicts[static_cast<std::size_t>(i)] =
        by_svd ? verdict_of(here.spectral(i), cutoff) : here.system(i).verdict();
  });
}

}  // namespace

// The matrices that the factors belong to, by ops: what assume, shift and method make of A.
Tensor Factored::State::meant() const {
  const Options& o = kept->options();
  Tensor x = a;
  switch (o.assume) {
    case Assume::lower: x = tril(a); break;
    case Assume::upper: x = triu(a); break;
    case Assume::diagonal: x = tril(triu(a)); break;
    case Assume::symmetric:
    case Assume::spd: x = a * 0.5 + adjoint(a) * 0.5; break;
    default: break;
  }
  return o.shift == 0 ? x : x + eye(a.shape().back(), {.dtype = x.dtype()}) * o.shift;
}

Tensors Factored::State::run(const Op& op, Tensor matrix, const Tensor* b, std::vector<Attr> attrs, bool adjoint,
                             const Place& place, Diagnosis* out) const {
  const Tensor* const in[] = {&matrix, b};
  auto [values, diagnosis] = call_prepared(op, Inputs(in, b ? 2 : 1), attrs, place,
                                           std::make_shared<const Factors>(kept, adjoint), out != nullptr);
  if (out) *out = diagnosis;
  return std::move(values);
}

Tensor Factored::State::solve(const Tensor& b, const FactoredSolveOptions& o, const Place& place,
                              Diagnosis* out) const {
  if (o.adjoint && o.transposed)
    raise<ArgumentError>("WP-ARG-001", "linalg.factored", "adjoint and transposed exclude each other.");
  const Op& op = by_svd ? op_linalg_lstsq : op_linalg_solve;
  if (!o.adjoint && !o.transposed) return run(op, a, &b, by_svd ? svd : system, false, place, out)[0];
  std::vector<Attr> attrs = by_svd ? svd : system;
  if (!by_svd && kept->options().assume == Assume::lower) attrs[4] = Attr("upper");
  if (!by_svd && kept->options().assume == Assume::upper) attrs[4] = Attr("lower");
  // Aᵀ x = b is Aᴴ x̄ = b̄.
  const bool conjugates = o.transposed && (is_complex(a.dtype()) || is_complex(b.dtype()));
  const Tensor right = conjugates ? conj_of(b) : b;
  const Tensor x = run(op, adjoint(a), &right, attrs, true, place, out)[0];
  return conjugates ? conj(x) : x;
}

Tensor Factored::State::inverse(const Place& place, Diagnosis* out) const {
  return by_svd ? pseudo_inverse(place, out) : run(op_linalg_inv, a, nullptr, system, false, place, out)[0];
}
Tensor Factored::State::pseudo_inverse(const Place& place, Diagnosis* out) const {
  return run(op_linalg_pinv, a, nullptr, {svd[0], svd[1], svd[4], svd[6]}, false, place, out)[0];
}

namespace {

// Errors name this function.
class Entered : detail::Restore<&Context::running> {
 public:
  explicit Entered(const Place& place) : running_{"factored", &place} { context().running = &running_; }

 private:
  const Running running_;
};

// The attributes as the op takes them, checked.
Options system_options(const Tensor& a, const std::vector<Attr>& attrs, const Place& place) {
  const Tensor* const in[] = {&a, &a};
  const Call call(op_linalg_solve, Inputs(in), attrs, place);
  check_arguments(call);
  return options_of(call, 0);
}
Cutoff cutoff_for(const Tensor& a, const std::vector<Attr>& attrs, const Place& place) {
  const Tensor* const in[] = {&a, &a};
  const Call call(op_linalg_lstsq, Inputs(in), attrs, place);
  check_arguments(call);
  return cutoff_of(call, 0, float_result(a.dtype()), MatrixSizes(a).longest());
}

}  // namespace

Factored factored(const In& in, const FactoredOptions& o, std::source_location where) {
  const Tensor& a = in.tensor();
  const Place place(where);
  const Entered entered(place);
  auto state = std::make_shared<Factored::State>();
  state->a = a;
  const auto text = [](std::string_view t) { return Attr(intern(t)); };
  const std::string_view if_ill = o.if_ill == "pinv" || o.if_ill == "ridge" ? "raise" : o.if_ill;
  const bool svd = o.method == "svd";
  state->system = {text(o.if_ill),
                   Attr(o.ridge),
                   Attr(o.noise),
                   Attr(o.shift),
                   text(o.assume),
                   Attr(o.refine),
                   Attr(o.certify),
                   Attr(o.min_digits),
                   Attr(o.names),
                   text(o.accuracy),
                   text(svd ? "auto" : o.method)};
  state->svd = {Attr(o.rtol), Attr(o.atol),    Attr(o.ridge), Attr(o.noise),
                text(if_ill), Attr(o.certify), Attr(o.names)};
  Options options = system_options(a, state->system, place);
  const Cutoff cutoff = cutoff_for(a, state->svd, place);
  const MatrixSizes sizes(a);
  state->by_svd = svd || (o.method == "auto" && sizes.m != sizes.n);
  if (!state->by_svd) square_size(a, "a");
  const bool values = state->by_svd || (options.ridge.rule != RidgeRule::none && options.if_ill != Policy::ridge);
  auto verdicts = std::make_shared<Diagnosis::State>();
  verdicts->op = "factored";
  verdicts->batch = sizes.batch;
  verdicts->matrix = a;
  verdicts->names = options.names;
  verdicts->verdicts.resize(static_cast<std::size_t>(sizes.members()));
  state->kept = std::make_shared<const Kept>(a.node()->borrowed ? astype(a, a.dtype()) : a, std::move(options));
  with_float(working_dtype(float_result(a.dtype()), sizes.longest()),
             [&]<class T>(T) { decompose<T>(*state->kept, values, cutoff, *verdicts); });
  state->diagnosis = Diagnosis(std::move(verdicts));
  return Factored(std::move(state));
}

const Tensor& Factored::matrix() const noexcept {
  return state_->a;
}
const Diagnosis& Factored::diagnosis() const noexcept {
  return state_->diagnosis;
}
std::int64_t Factored::decompositions() const noexcept {
  return state_->kept->made();
}

Tensor Factored::solve(const In& b, const FactoredSolveOptions& options, std::source_location where) const {
  return state_->solve(b.tensor(), options, where, nullptr);
}
Diagnosed<Tensor> Factored::diagnosed_solve(const In& b, const FactoredSolveOptions& options,
                                            std::source_location where) const {
  Diagnosed<Tensor> out;
  out.value = state_->solve(b.tensor(), options, where, &out.diagnosis);
  return out;
}
Tensor Factored::lstsq(const In& b, std::source_location where) const {
  return state_->run(op_linalg_lstsq, state_->a, &b.tensor(), state_->svd, false, where)[0];
}
Tensor Factored::inv(std::source_location where) const {
  return state_->inverse(where, nullptr);
}
Diagnosed<Tensor> Factored::diagnosed_inv(std::source_location where) const {
  Diagnosed<Tensor> out;
  out.value = state_->inverse(where, &out.diagnosis);
  return out;
}
Tensor Factored::pinv(std::source_location where) const {
  return state_->pseudo_inverse(where, nullptr);
}
Tensor Factored::det(std::source_location where) const {
  return state_->run(op_linalg_det, state_->meant(), nullptr, {state_->svd[4]}, false, where)[0];
}
SlogdetResult Factored::slogdet(std::source_location where) const {
  Tensors out = state_->run(op_linalg_slogdet, state_->meant(), nullptr, {state_->svd[4]}, false, where);
  return {std::move(out[0]), std::move(out[1])};
}
Tensor Factored::logdet(std::source_location where) const {
  return state_->run(op_linalg_logdet, state_->meant(), nullptr, {Attr(), state_->svd[4], state_->svd[6]}, false,
                     where)[0];
}

namespace {

template <class T>
void put(Tensor& to, const Dims& shape, std::int64_t member, const T* from, std::int64_t count) {
  if (count == 0) return;
  if (!to.defined()) to = Tensor::adopt(detail::make_node(dtype_v<T>, shape));
  std::copy_n(from, count, reinterpret_cast<T*>(to.node()->data) + member * count);
}

// Null: there are none as matrices, or they are of another method than the first member's.
template <class T>
bool put_factors(const System<T>& system, const MatrixSizes& s, std::int64_t i, FactoredParts& out) {
  using R = typename System<T>::Real;
  const auto p = system.parts();
  if (!p) return false;
  const std::string method(name(p->method));
  if (i > 0 && method != out.method) return false;
  out.method = method;
  const Dims square = s.with({s.n, s.n});
  Dense<T> order(p->order.empty() ? 0 : s.n, p->order.empty() ? 0 : s.n);
  for (std::size_t k = 0; k < p->order.size(); ++k) order(p->order[k], static_cast<std::int64_t>(k)) = T(1);
  const std::pair<Tensor*, const Dense<T>*> all[] = {{&out.P, &order}, {&out.L, &p->l}, {&out.D, &p->d},
                                                     {&out.U, &p->u},  {&out.U, &p->r}, {&out.Q, &p->q}};
  for (const auto& [to, from] : all) put<T>(*to, square, i, from->data.data(), from->m * from->n);
  for (const auto& [to, from] : {std::pair(&out.row_scale, &p->rows), std::pair(&out.column_scale, &p->columns)}) {
    std::vector<R> powers;
    for (const int e : *from) powers.push_back(std::ldexp(R(1), e));
    put<R>(*to, s.with({s.n}), i, powers.data(), s.n);
  }
  return true;
}

template <class T>
bool put_factors(const Spectral<T>& svd, const MatrixSizes& s, std::int64_t i, FactoredParts& out) {
  if (svd.status() != Status::ok) return false;
  using R = typename Spectral<T>::Real;
  out.method = name(Method::svd);
  const std::vector<R> sigma(svd.sigma().begin(), svd.sigma().end());
  put<T>(out.U, s.with({s.m, s.k}), i, svd.u().data, s.m * s.k);
  put<T>(out.Vh, s.with({s.k, s.n}), i, svd.vh().data, s.k * s.n);
  put<R>(out.S, s.with({s.k}), i, sigma.data(), s.k);
  return true;
}

}  // namespace

FactoredParts Factored::parts(std::source_location where) const {
  const Place place(where);
  const Entered entered(place);
  const MatrixSizes sizes(state_->a);
  FactoredParts out;
  with_float(working_dtype(float_result(state_->a.dtype()), sizes.longest()), [&]<class T>(T) {
    const KeptIn<T>& here = state_->kept->template in<T>();
    for (std::int64_t i = 0; i < here.members(); ++i)
      if (!(state_->by_svd ? put_factors(here.spectral(i), sizes, i, out)
                           : put_factors(here.system(i), sizes, i, out)))
        refuse<ArgumentError>("WP-ARG-001",
                              say("the factors of matrix ", i,
                                  " are not of the same form as the others', are those of a "
                                  "band, or do not exist."),
                              "Ask for a method, and look at the diagnosis.");
  });
  return out;
}

std::string Factored::to_string() const {
  std::string methods;
  const Diagnosis& d = diagnosis();
  d.state()->verdicts.each_own([&](std::size_t, const Verdict& v) {
    if (const std::string_view m = name(v.method); methods.find(m) == std::string::npos)
      methods += say(methods.empty() ? "" : ", ", m);
  });
  return say("Factored ", state_->a.dtype(), " ", state_->a.shape(), methods.empty() ? "" : " by ", methods, "\n",
             d.text());
}

std::ostream& operator<<(std::ostream& out, const Factored& f) {
  return out << f.to_string();
}

}  // namespace linalg
}  // namespace wp
