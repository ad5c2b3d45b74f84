// Let Ω = Zᴴ dZ = X − Xᴴ and F = Zᴴ dA Z. Then dT = F − (Ω T − T Ω), and X is what keeps T's form: below the diagonal
// (and its 2 × 2 blocks) dT is 0, and the two diagonal elements of a block [a b; c a] stay equal, which for a real A
// fixes the turn inside it. With S(M) those elements of M, half the difference of a block's diagonal standing at its
// lower left, X solves L(X) = S(Ω T − T Ω) = S(F), by substitution from the lower left corner. The phases of complex
// columns are free. For cotangents gT, gZ, W = Zᴴ gZ − gT Tᴴ + Tᴴ gT, and C the lower triangle of W − Wᴴ:
//   gA = Z (gT + S*(Y)) Zᴴ  with  L*(Y) = C.
#include "linalg/schur_rule.hpp"

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "linalg/dense.hpp"
#include "linalg/members.hpp"
#include "linalg/rule_kit.hpp"
#include "linalg/solving.hpp"
#include "ops/dispatch.hpp"
#include "ops/moves.hpp"
#include "ops/shapes.hpp"
#include "wellposed/creation.hpp"
#include "wellposed/ops.hpp"

namespace wp::linalg {
extern const Op op_schur_turning;
namespace {

// X B − A X = C, of at most 2 × 2 elements each, by elimination; X stands in C's place.
template <class T>
void small_sylvester(std::int64_t p, std::int64_t q, const T* a, const T* b, T* c) {
  const std::int64_t n = p * q;
  T m[4][5] = {};
  for (std::int64_t i = 0; i < p; ++i)
    for (std::int64_t j = 0; j < q; ++j) {
      T* const line = m[i * q + j];
      for (std::int64_t k = 0; k < q; ++k) line[i * q + k] += b[k * q + j];
      for (std::int64_t k = 0; k < p; ++k) line[k * q + j] -= a[i * p + k];
      line[4] = c[i * q + j];
    }
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t pivot = k;
    for (std::int64_t i = k + 1; i < n; ++i)
      if (std::abs(m[i][k]) > std::abs(m[pivot][k])) pivot = i;
    std::swap(m[k], m[pivot]);
    for (std::int64_t i = k + 1; i < n; ++i) {
      const T f = m[i][k] / m[k][k];
      for (std::int64_t j = k; j < 5; ++j) m[i][j] -= times(f, m[k][j]);
    }
  }
  for (std::int64_t k = n; k-- > 0;) {
    T sum = m[k][4];
    for (std::int64_t j = k + 1; j < n; ++j) sum -= times(m[k][j], c[j]);
    c[k] = sum / m[k][k];
  }
}

// One member: L(X) = R, or L*(Y) = R.
template <class T>
class Turning {
 public:
  Turning(const Dense<T>& t, Dense<T> r) : t_(t), x_(std::move(r)) {
    for (std::int64_t i = 0; i < t.n; i += size_.back()) {
      start_.push_back(i);
      size_.push_back(i + 1 < t.n && t(i + 1, i) != T(0) ? 2 : 1);
    }
  }
  const Dense<T>& solve(bool adjoint) {
    const auto blocks = static_cast<std::int64_t>(start_.size());
    if (adjoint) {
      for (std::int64_t i = 0; i < blocks; ++i) inside_adjoint(i);
      for (std::int64_t far = 1; far < blocks; ++far)
        for (std::int64_t j = 0; j + far < blocks; ++j) below(j + far, j, true);
    } else {
      for (std::int64_t j = 0; j < blocks; ++j)
        for (std::int64_t i = blocks; i-- > j + 1;) below(i, j, false);
      for (std::int64_t i = 0; i < blocks; ++i) inside(i);
    }
    for (std::int64_t i = 0; i < t_.n; ++i)
      for (std::int64_t j = i; j < t_.n; ++j) x_(i, j) = T(0);
    return x_;
  }

 private:
  std::int64_t at(std::int64_t block) const { return start_[static_cast<std::size_t>(block)]; }
  std::int64_t size(std::int64_t block) const { return size_[static_cast<std::size_t>(block)]; }
  // (X T − T X)_IJ = R_IJ, or (Y Tᴴ − Tᴴ Y)_IJ = R_IJ, for the one block that is not known yet.
  void below(std::int64_t I, std::int64_t J, bool adjoint) {
    const std::int64_t p = size(I), q = size(J), r = at(I), s = at(J), n = t_.n;
    T a[4], b[4], c[4];
    const auto of = [&](std::int64_t i, std::int64_t j) { return adjoint ? conjugate(t_(j, i)) : t_(i, j); };
    for (std::int64_t i = 0; i < p; ++i)
      for (std::int64_t k = 0; k < p; ++k) a[i * p + k] = of(r + i, r + k);
    for (std::int64_t j = 0; j < q; ++j)
      for (std::int64_t k = 0; k < q; ++k) b[j * q + k] = of(s + j, s + k);
    for (std::int64_t i = 0; i < p; ++i)
      for (std::int64_t j = 0; j < q; ++j) {
        T sum = x_(r + i, s + j);
        const std::int64_t from = adjoint ? s + q : 0, to = adjoint ? r : s;
        for (std::int64_t k = from; k < to; ++k) sum -= times(x_(r + i, k), of(k, s + j));
        const std::int64_t first = adjoint ? s + q : r + p, last = adjoint ? r : n;
        for (std::int64_t k = first; k < last; ++k) sum += times(of(r + i, k), x_(k, s + j));
        c[i * q + j] = sum;
      }
    small_sylvester<T>(p, q, a, b, c);
    for (std::int64_t i = 0; i < p; ++i)
      for (std::int64_t j = 0; j < q; ++j) x_(r + i, s + j) = c[i * q + j];
  }
  // Ω T − T Ω of a block [a b; c a] turned by ω has the diagonal ∓ω (b + c).
  T spread(std::int64_t r) const { return -(t_(r, r + 1) + t_(r + 1, r)); }
  void inside(std::int64_t I) {
    if (size(I) == 1) return;
    using R = typename Dense<T>::Real;
    const std::int64_t r = at(I), n = t_.n;
    T d[2] = {};
    for (std::int64_t i = 0; i < 2; ++i) {
      for (std::int64_t k = 0; k < r; ++k) d[i] += times(x_(r + i, k), t_(k, r + i));
      for (std::int64_t k = r + 2; k < n; ++k) d[i] -= times(t_(r + i, k), x_(k, r + i));
    }
    x_(r + 1, r) = (x_(r + 1, r) - (d[0] - d[1]) * R(0.5)) / spread(r);
  }
  void inside_adjoint(std::int64_t I) {
    if (size(I) == 1) return;
    using R = typename Dense<T>::Real;
    const std::int64_t r = at(I), n = t_.n;
    x_(r + 1, r) /= spread(r);
    const T y[2] = {x_(r + 1, r) * R(0.5), x_(r + 1, r) * R(-0.5)};
    for (std::int64_t i = 0; i < 2; ++i) {
      for (std::int64_t k = 0; k < r; ++k) x_(r + i, k) -= times(y[i], conjugate(t_(k, r + i)));
      for (std::int64_t k = r + 2; k < n; ++k) x_(k, r + i) += times(conjugate(t_(r + i, k)), y[i]);
    }
  }

  const Dense<T>& t_;
  Dense<T> x_;
  std::vector<std::int64_t> start_, size_;
};

void infer(Call& c) {
  c.key = c.in[0].dtype();
  Dims shape = broadcast(batch_of(c.in[0]), batch_of(c.in[1]));
  shape.push_back(c.in[0].shape().back());
  shape.push_back(c.in[0].shape().back());
  c.output(c.key, shape);
}

void forward(Call& c) {
  const std::int64_t n = c.in[0].shape().back();
  const DType work = working_dtype(c.key, n);
  const Dims batch = batch_of(c.out[0]);
  const Tensor t = brought(c.in[0], work), r = brought(c.in[1], work);
  Result out(c.out[0], work);
  with_float(work, [&]<class T>(T) {
    const Stack<T> left(t, batch), right(r, batch);
    for_members(count_of(batch), n, [&](std::int64_t i) {
      const Dense<T> form(n, n, left[i]);
      Turning<T> turning(form, Dense<T>(n, n, right[i]));
      const Dense<T>& x = turning.solve(c.attr(0).flag());
      std::copy(x.data.begin(), x.data.end(), out.data<T>() + i * n * n);
    });
  });
  out.finish();
}

Tensor turning(const Tensor& t, const Tensor& r, bool adjoint, const Place& place) {
  const Tensor* const in[] = {&t, &r};
  const Attr attrs[] = {adjoint};
  return call1(op_schur_turning, Inputs(in), attrs, place);
}

// Which elements stand below T's diagonal blocks, and which are the lower left ones of a block.
struct Form {
  Tensor below, inner;
  explicit Form(const Tensor& t) {
    const Unrecorded here;
    const std::int64_t n = t.shape().back();
    const Tensor beside = eye(n, {.k = -1, .dtype = DType::boolean});
    inner = logical_and(beside, not_equal(t, 0));
    below = logical_and(logical_not(inner), astype(tril(ones({n, n}), {.k = -1}), DType::boolean));
  }
  Tensor picked(const Tensor& f) const {  // S
    const Tensor d = diagonal(f), apart = multiply(subtract(row(d), column(d)), 0.5);
    return where(inner, apart, where(below, f, 0));
  }
  Tensor spread(const Tensor& y) const {  // S*
    const Tensor own = multiply(where(inner, y, 0), 0.5);
    return add(where(below, y, 0), on_diagonal(subtract(sum(own, {.axis = -2}), sum(own, {.axis = -1}))));
  }
  Tensor support(const Tensor& t) const { return where(below, 0, t); }
};

// −⟨Y, L(X)⟩ has this derivative in T.
Tensor form_cotangent(const Form& form, const Tensor& x, const Tensor& y) {
  const Tensor turn = adjoint(subtract(x, adjoint(x))), whole = form.spread(y);
  return form.support(subtract(matmul(whole, turn), matmul(turn, whole)));
}

Tensors vjp_turning(const Backward& b) {
  const bool adjoint = b.attr(0).flag();
  const Tensor other = turning(b.in[0], b.g(), !adjoint, b.place);
  const Tensor &x = adjoint ? other : b.out[0], &y = adjoint ? b.out[0] : other;
  return {form_cotangent(Form(b.in[0]), x, y), other};
}

// How far eigenvalues of different blocks are apart, at least, and how far a block is from one that every turn keeps;
// relative to T.
double least_gap(const Tensor& t) {
  const Unrecorded here;
  const auto n = static_cast<std::size_t>(t.shape().back());
  const std::vector<complex128> all = astype(t, c128).to_vector<complex128>();
  double least = HUGE_VAL;
  for (std::size_t first = 0; first < all.size(); first += n * n) {
    const auto at = [&](std::size_t i, std::size_t j) { return all[first + i * n + j]; };
    double most = 0, gap = HUGE_VAL;
    for (std::size_t e = first; e < first + n * n; ++e) most = std::max(most, std::abs(all[e]));
    std::vector<complex128> values;
    for (std::size_t i = 0; i < n; ++i) {
      if (i + 1 < n && at(i + 1, i) != 0.0) {
        const complex128 half = std::sqrt(at(i, i + 1) * at(i + 1, i));
        values.insert(values.end(), {at(i, i) + half, at(i, i) - half});
        gap = std::min(gap, std::abs(at(i, i + 1) + at(i + 1, i)));
        ++i;
      } else {
        values.push_back(at(i, i));
      }
    }
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < i; ++j) gap = std::min(gap, std::abs(values[i] - values[j]));
    if (most > 0) least = std::min(least, gap / most);
    if (most == 0 && n > 1) least = 0;
  }
  return least;
}

double refuse_equal(const Tensor& t) {
  const double gap = least_gap(t), u = finfo(real_of(t.dtype())).eps / 2;
  if (gap <= 16 * static_cast<double>(t.shape().back()) * u)
    no_derivative_here(
        say("eigenvalues of T, or the off-diagonal elements of one of its blocks and minus each other, are equal to "
            "within rounding (apart by ",
            gap, " of the largest element): Z is one of many there, and no derivative is known."),
        "Use a function of the matrix (expm, sqrtm, matrix_power), or eigh if it is symmetric; for a normal real "
        "matrix output = \"complex\".");
  return gap;
}

void find_amplified(const Backward& b, double gap, const Tensor& t, const Tensor& c, const Tensor& y) {
  const Unrecorded here;
  const double u = finfo(real_of(t.dtype())).eps / 2, grown = largest(y) * largest(t), from = largest(c);
  if (!(grown * std::sqrt(u) > from)) return;
  Finding f;
  f.code = "WP-GRD-008";
  f.measured = gap;
  f.threshold = std::sqrt(u);
  f.message = say("the loss depends on the vectors of eigenvalues that differ by ", gap,
                  " of the largest element only: the derivative is large (", grown / from,
                  " times what goes in), and its digits are lost accordingly.");
  f.advice = "Use what does not depend on the order and the basis: eigvals, expm, sqrtm, matrix_power.";
  b.find(std::move(f));
}

}  // namespace

const Op op_schur_turning = {
    .name = "schur_turning",
    .ns = "linalg",
    .group = "linear algebra",
    .doc = "How Z turns where a Schur form moves. Only rules call it.",
    .params = {{"t", kinds::floating}, {"r", kinds::floating}},
    .attrs = {{.name = "adjoint", .type = AttrType::boolean, .required = true}},
    .infer = infer,
    .forward = forward,
    .notes = Notes::gives,
    .flow = flow_everything,
    .vjp = vjp_turning,
    .saves_inputs = 1,
    .saves_outputs = 1,
};

Tensors vjp_schur(const Backward& b) {
  const Tensor &t = b.out[0], &z = b.out[1], &gz = b.cotangents[1];
  if (t.size() == 0) return {zeros_for(b.facts[0])};
  const double gap = refuse_equal(t);
  const Form form(t);
  const Tensor gt = b.cotangents[0].defined() ? form.support(b.cotangents[0]) : Tensor();
  Tensor w = gz.defined() ? matmul(adjoint(z), gz) : Tensor(), size;
  if (w.defined()) size = unrecorded([&] { return size_of(w); });
  if (gt.defined()) {
    const Tensor th = adjoint(t), from_right = matmul(gt, th);
    w = subtract(sum_of(w, matmul(th, gt)), from_right);
    unrecorded([&] { size = size.defined() ? maximum(size, size_of(from_right)) : size_of(from_right); });
  }
  const Tensor turn = subtract(w, adjoint(w));
  if (is_complex(t.dtype())) {
    const Tensor allowed = unrecorded([&] { return multiply(size, gauge_rounding(t.dtype(), t.shape(-1))); });
    must_vanish(b, diagonal(turn), squeeze(allowed, -1), "the phases of Z's columns");
  }
  const Tensor c = tril(turn, {.k = -1}), y = turning(t, c, true, b.place);
  find_amplified(b, gap, t, c, y);
  return {product(z, sum_of(gt, form.spread(y)), adjoint(z))};
}

Tensors jvp_schur(const Forward& f) {
  const Tensor &t = f.out[0], &z = f.out[1];
  if (t.size() == 0) return {zeros_for(f.output(0)), zeros_for(f.output(1))};
  refuse_equal(t);
  const Form form(t);
  const Tensor inner = product(adjoint(z), f.tangents[0], z);
  const Tensor x = turning(t, form.picked(inner), false, f.place), turn = subtract(x, adjoint(x));
  return {form.support(subtract(add(inner, matmul(t, turn)), matmul(turn, t))), matmul(z, turn)};
}

}  // namespace wp::linalg
