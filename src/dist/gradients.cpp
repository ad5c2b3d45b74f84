// Sums that every rank has, tapes of distributed matrices, and batches shared out over ranks.
#include <cmath>

#include "base/text.hpp"
#include "dist/calling.hpp"
#include "dist/noting.hpp"
#include "dist/products.hpp"
#include "dist/stage.hpp"
#include "dist/team.hpp"
#include "kernels/numbers.hpp"
#include "linalg/stack.hpp"
#include "ops/moves.hpp"
#include "wellposed/index.hpp"
#include "wellposed/ops.hpp"

namespace wp::dist {
namespace {

// Σ Re(conj(a) b) over all ranks, in twice the precision of f64 on each.
double inner(const Matrix& a, const Matrix& b) {
  double sum = 0, rest = 0;
  linalg::with_float(a.dtype(), [&]<class T>(T) {
    const Local<T> x = local<T>(a), y = local<T>(b);
    for (std::int64_t e = 0; e < x.rows() * x.columns(); ++e) {
      const complex128 u(x.data[e]), w(y.data[e]);
      const double v = u.real() * w.real() + u.imag() * w.imag(), next = sum + v, z = next - sum;
      rest += (sum - (next - z)) + (v - z);
      sum = next;
    }
  });
  double total = sum + rest;
  all_sum(&total, 1);
  return total;
}
Tensor number(double v, DType dtype) {
  const Tensor t = Tensor(Scalar(v));
  return dtype == f32 || dtype == c64 ? wp::astype(t, f32) : t;
}

}  // namespace

Matrix scaled_by(const Tensor& g, const Matrix& a, const Place& place) {
  if (context().listeners) return with_storage(a, multiply(g, a.state().storage));
  return combined(wp::astype(g, f64).item<double>(), a, 0, a, place);
}

void watch(GradientTape& tape, const Matrix& a) {
  tape.watch(a.state().storage);
}

Matrix gradient(GradientTape& tape, const Tensor& loss, const Matrix& a, const GradientOptions& options,
                Where where) {
  const Stage stage("dist.gradient", where);
  meet(say("dist.gradient of ", facts(a), ", unconnected ", options.unconnected));
  const Tensor g = [&] {
    const checks off(CheckLevel::off);  // what leaves is asked of all ranks, below
    return tape.gradient(loss, a.state().storage, options, where);
  }();
  if (!g.defined()) return {};
  const Matrix whole = with_storage(a, g);
  escape(whole, "gradient", Counts::made_and_given, where);
  return whole;
}

Tensor sum(const Matrix& a, Where where) {
  const Stage stage("dist.sum", where);
  meet(say("dist.sum ", facts(a)));
  need_defined(a, "A");
  if (is_complex(a.dtype()))
    refuse<DtypeError>("WP-DTY-003", "the sum is of real matrices; use dot for complex ones.");
  const Place place(where);
  return taped_number(
      "dist.sum", {a},
      [](const Many& in) {
        Matrix one = make_like(in[0]);
        linalg::with_float(one.dtype(), [&]<class T>(T) {
          const Local<T> l = local<T>(one);
          std::fill_n(l.data, l.rows() * l.columns(), T(1));
        });
        return number(inner(one, in[0]), one.dtype());
      },
      [](const Many& in, const Tensor&, const Tensor& g) -> Many {
        return {with_storage(in[0], multiply(g, ones_like(in[0].state().storage)))};
      },
      place);
}

Tensor dot(const Matrix& a, const Matrix& b, Where where) {
  const Stage stage("dist.dot", where);
  meet(say("dist.dot ", facts(a), ", ", facts(b)));
  need_defined(a, "A");
  need_defined(b, "B");
  if (a.rows() != b.rows() || a.columns() != b.columns())
    refuse<ShapeError>("WP-MPI-009", say("both must have one shape; got ", facts(a), " and ", facts(b), "."));
  const auto [left, right] = alike(a, b, where);
  const Place place(where);
  return taped_number(
      "dist.dot", {left, right}, [](const Many& in) { return number(inner(in[0], in[1]), in[0].dtype()); },
      [place](const Many& in, const Tensor&, const Tensor& g) -> Many {
        return {scaled_by(g, in[1], place), scaled_by(g, in[0], place)};
      },
      place);
}

namespace {

// By rank and member, in one message from each rank: of each member the length of its verdict, and that.
std::vector<Verdict> verdicts_of_all(const linalg::Diagnosis& own) {
  std::string mine;
  for (std::int64_t i = 0; i < own.size(); ++i) {
    const std::string one = packed_verdict(std::as_const(*own.state()).verdicts[static_cast<std::size_t>(i)]);
    const std::size_t length = one.size();
    mine.append(reinterpret_cast<const char*>(&length), sizeof length) += one;
  }
  std::vector<Verdict> all;
  for (const std::string& theirs : all_texts(mine))
    for (std::size_t at = 0, length = 0; at < theirs.size(); at += length) {
      std::memcpy(&length, theirs.data() + at, sizeof length);
      at += sizeof length;
      all.push_back(unpacked_verdict(theirs.substr(at, length)));
    }
  return all;
}

}  // namespace

Diagnosed<Tensor> map(const Tensor& stack, const std::function<Diagnosed<Tensor>(const Tensor&)>& f, Where where) {
  const Stage stage("dist.map", where);
  meet(say("dist.map ", stack.defined() ? say(stack.dtype(), ' ', stack.shape()) : "nothing"));
  if (!stack.defined() || stack.ndim() == 0)
    refuse<ShapeError>("WP-MPI-009", "a stack with a leading axis is needed.");
  const std::int64_t members = stack.shape()[0], each = (members + size() - 1) / size();
  const std::int64_t first = std::min(members, each * rank()), count = std::min(members, first + each) - first;
  Diagnosed<Tensor> own;
  together([&] {
    if (count == 0 && members > 0) return;
    const Tensor share = stack.at({slice(first, first + count)});
    own = f(share);
    if (own.value.ndim() == 0 || own.value.shape()[0] != count ||
        (own.diagnosis.size() != 0 && own.diagnosis.size() != count))
      refuse<ShapeError>("WP-MPI-009",
                         say("the function must give one result per member: ", count, " members, got ",
                             own.value.shape(), " and ", plural(own.diagnosis.size(), "diagnosis entry"), "."));
    own.value = contiguous(own.value);
  });
  if (members == 0) return own;
  // Shape and dtype of a member's result, from rank 0, which always has one.
  std::string form = count > 0 ? say(static_cast<int>(own.value.dtype())) : std::string();
  for (std::size_t k = 1; count > 0 && k < own.value.shape().size(); ++k) form += say(' ', own.value.shape()[k]);
  form = broadcast_text(form);
  Diagnosed<Tensor> out;
  Dims shape{members};
  const char* at = form.c_str();
  char* end = nullptr;
  const auto dtype = static_cast<DType>(std::strtol(at, &end, 10));
  for (at = end; *at; at = end) shape.push_back(std::strtoll(at, &end, 10));
  together([&] {
    Dims mine = shape;
    mine[0] = count;
    if (count > 0 && (own.value.dtype() != dtype || own.value.shape() != mine))
      refuse<ShapeError>("WP-MPI-009", say("results of all members must be alike; got ", own.value.dtype(), ' ',
                                           own.value.shape(), ", others ", dtype, ' ', mine, "."));
    out.value = Tensor::adopt(detail::make_node(dtype, shape));
  });
  std::memset(out.value.node()->data, 0, out.value.nbytes());
  const std::size_t bytes = out.value.nbytes() / static_cast<std::size_t>(members);
  if (count > 0)
    std::memcpy(out.value.node()->data + static_cast<std::size_t>(first) * bytes, own.value.node()->data,
                static_cast<std::size_t>(count) * bytes);
  all_join(out.value.node()->data, out.value.nbytes());
  // Verdicts of all members; what is asked later is answered from the stack, which every rank has.
  auto state = std::make_shared<linalg::Diagnosis::State>();
  state->batch = {members};
  state->op = broadcast_text(own.diagnosis.state() ? own.diagnosis.state()->op : "");
  const std::vector<Verdict> verdicts = verdicts_of_all(own.diagnosis);
  state->verdicts.resize(verdicts.size());
  for (std::size_t i = 0; i < verdicts.size(); ++i) state->verdicts[i] = verdicts[i];
  double threshold = own.diagnosis.state() ? own.diagnosis.state()->threshold : 0;
  broadcast(&threshold, sizeof threshold);
  state->threshold = threshold;
  if (stack.ndim() == 3) state->matrix = stack;
  if (static_cast<std::int64_t>(state->verdicts.size()) == members) out.diagnosis = linalg::Diagnosis(state);
  // Connected with what f used, too: its results are copied from rank to rank, which no tape sees.
  std::vector<Tensor> from{stack};
  if (count > 0) from.push_back(own.value);
  without_rule("dist.map", from, {&out.value});
  return out;
}

}  // namespace wp::dist
