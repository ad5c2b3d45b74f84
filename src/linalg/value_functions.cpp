// Derivatives of functions of singular values and eigenvalues by divided differences.
// A's singular values are the positive eigenvalues of the dilation H = [0 A; Aᴴ 0], and functions of them are odd or
// even functions of H. For Hermitian H = Z Λ Zᴴ and directions Cᵢ = Zᴴ Eᵢ Z,
//   Dᵏh(H)[E₁ … E_k] = Z G Zᴴ,  G = Σ over orders π and paths i₀ … i_k of h[λ_i₀ … λ_i_k] Π C_π(a)(i_a−1, i_a)
// (Daleckii & Krein 1965; Higham 2008, §3.2 and theorem 3.11), where divided differences of equal arguments are
// derivatives: no pole at repeated values. Φ(E₀ … E_k) = Re tr(E₀ Dᵏh[E₁ … E_k]) is symmetric in all E, so that every
// derivative of these ops, of any order, is one of them.
#include <algorithm>
#include <cmath>

#include "linalg/dense.hpp"
#include "linalg/members.hpp"
#include "linalg/rules.hpp"
#include "linalg/solving.hpp"
#include "linalg/spectral.hpp"
#include "ops/dispatch.hpp"
#include "ops/moves.hpp"
#include "ops/shapes.hpp"
#include "wellposed/creation.hpp"
#include "wellposed/index.hpp"
#include "wellposed/ops.hpp"

namespace wp::linalg {
extern const Op op_spectral_derivative;
namespace {

// What a slot E stands for: [0 E; Eᴴ 0], [(E + Eᴴ)/2 0; 0 0], or (E + Eᴴ)/2 where A itself is Hermitian.
enum class Slot : std::uint8_t { dilation, corner, whole };

struct Form {
  SpectralFunction f;
  Slot out, first, other;
  explicit Form(Attrs attrs)
      : f(static_cast<SpectralFunction>(attrs[0].integer())),
        out(static_cast<Slot>(attrs[1].integer())),
        first(static_cast<Slot>(attrs[2].integer())),
        other(f == SpectralFunction::positive ? Slot::whole : Slot::dilation) {}
  Slot of(std::size_t direction) const { return direction == 0 ? first : other; }
};

// ∂Φ/∂E of the slot `out`, from directions of which only the first may be a corner.
Tensor derivative(SpectralFunction f, Slot out, const Tensor& kept, const Tensor& a, std::vector<Tensor> e,
                  Slot first, const Place& place) {
  std::vector<const Tensor*> in{&kept, &a};
  for (const Tensor& t : e) in.push_back(&t);
  const Attr attrs[] = {static_cast<std::int64_t>(f), static_cast<std::int64_t>(out),
                        static_cast<std::int64_t>(first)};
  return call1(op_spectral_derivative, Inputs(in.data(), in.size()), attrs, place);
}

// Divided differences of h, which is one simple function on each class of eigenvalues.
class Differences {
 public:
  Differences(SpectralFunction f, std::vector<double> w, std::int64_t first, std::int64_t count, std::int64_t values)
      : f_(f), w_(std::move(w)), class_(w_.size(), 0) {
    const std::size_t n = w_.size();
    for (std::int64_t i = first; i < first + count && i < values; ++i) {
      const auto k = static_cast<std::size_t>(i);
      class_[n - 1 - k] = 1;
      if (f != SpectralFunction::positive) class_[k] = f == SpectralFunction::signs ? 2 : 1;
    }
  }
  double operator()(const std::size_t* at, std::size_t count) const {
    for (std::size_t i = 1; i < count; ++i)
      if (class_[at[i]] != class_[at[0]]) return across(at, count);
    return inside(at, count);
  }

 private:
  double inside(const std::size_t* at, std::size_t count) const {
    const int c = class_[at[0]];
    if (c == 0) return 0;
    double p = -1;
    switch (f_) {
      case SpectralFunction::values:
      case SpectralFunction::positive: return count == 1 ? w_[at[0]] : count == 2 ? 1 : 0;
      case SpectralFunction::signs: return count > 1 ? 0 : c == 1 ? 1 : -1;
      case SpectralFunction::projector: return count > 1 ? 0 : 1;
      case SpectralFunction::reciprocals:
        for (std::size_t i = 0; i < count; ++i) p *= -1 / w_[at[i]];
        return p;
    }
    return 0;
  }
  // h[x₀ … x_k] = (h[x₁ … x_k] − h[x₀ … x_k−1])/(x_k − x₀) with the two of different classes that are farthest apart.
  double across(const std::size_t* at, std::size_t count) const {
    std::size_t p = 0, q = 0;
    double most = -1;
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t j = i + 1; j < count; ++j)
        if (const double gap = std::fabs(w_[at[i]] - w_[at[j]]); class_[at[i]] != class_[at[j]] && gap > most) {
          most = gap;
          p = i;
          q = j;
        }
    std::vector<std::size_t> without_p, without_q;
    for (std::size_t i = 0; i < count; ++i) {
      if (i != p) without_p.push_back(at[i]);
      if (i != q) without_q.push_back(at[i]);
    }
    const double d = (*this)(without_p.data(), count - 1) - (*this)(without_q.data(), count - 1);
    return d == 0 ? 0 : d / (w_[at[q]] - w_[at[p]]);
  }
  SpectralFunction f_;
  std::vector<double> w_;
  std::vector<int> class_;
};

// G of all orders of the directions.
template <class T>
class Paths {
 public:
  Paths(std::int64_t n, const Differences& h, const std::vector<Dense<T>>& c)
      : h_(h), c_(c), n_(n), used_(c.size()) {}
  Dense<T> run() {
    Dense<T> g(n_, n_);
    for (std::int64_t i = 0; i < n_; ++i) {
      at_.assign(1, static_cast<std::size_t>(i));
      extend(i, T(1), g);
    }
    return g;
  }

 private:
  void extend(std::int64_t from, T weight, Dense<T>& g) {
    if (at_.size() > c_.size()) {
      g(static_cast<std::int64_t>(at_[0]), from) +=
          weight * static_cast<typename Dense<T>::Real>(h_(at_.data(), at_.size()));
      return;
    }
    for (std::size_t a = 0; a < c_.size(); ++a) {
      if (used_[a]) continue;
      used_[a] = true;
      for (std::int64_t j = 0; j < n_; ++j) {
        if (c_[a](from, j) == T(0)) continue;
        at_.push_back(static_cast<std::size_t>(j));
        extend(j, times(weight, c_[a](from, j)), g);
        at_.pop_back();
      }
      used_[a] = false;
    }
  }
  const Differences& h_;
  const std::vector<Dense<T>>& c_;
  std::int64_t n_;
  std::vector<std::size_t> at_;
  std::vector<bool> used_;
};

template <class T>
Dense<T> embedded(Slot slot, std::int64_t m, std::int64_t n, kernels::View<T> e) {
  using R = typename Dense<T>::Real;
  const std::int64_t size = slot == Slot::whole ? m : m + n;
  Dense<T> out(size, size);
  const auto at = [&](std::int64_t i, std::int64_t j) { return e.data[i * e.rows + j * e.columns]; };
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < (slot == Slot::dilation ? n : m); ++j) {
      if (slot == Slot::dilation) {
        out(i, m + j) = at(i, j);
        out(m + j, i) = conjugate(at(i, j));
      } else {
        out(i, j) = at(i, j) * R(0.5) + conjugate(at(j, i)) * R(0.5);
      }
    }
  return out;
}

struct Shapes {
  Dims batch;
  std::int64_t m, n;
  explicit Shapes(const Call& c) : batch(batch_of(c.in[1])), m(c.in[1].shape()[c.in[1].shape().size() - 2]) {
    n = c.in[1].shape().back();
    for (std::size_t i = 2; i < c.in.size(); ++i) batch = broadcast(batch, batch_of(c.in[i]));
  }
};

void infer(Call& c) {
  const Shapes s(c);
  c.key = c.in[1].dtype();
  Dims shape = s.batch;
  shape.push_back(s.m);
  shape.push_back(Form(c.attrs).out == Slot::dilation ? s.n : s.m);
  c.output(c.key, shape);
}

// Eigenvalues and vectors of [0 A; Aᴴ 0], ascending, from A's singular values: ±σ stay exactly opposite, and their
// vectors [u; ±v]/√2 do not mix however small σ is.
template <class T>
bool dilated(std::int64_t m, std::int64_t n, kernels::View<T> a, std::vector<typename Dense<T>::Real>& w,
             Dense<T>& z) {
  using R = typename Dense<T>::Real;
  const Spectral<T> svd(m, n, a, Parts::full);
  if (svd.status() != Status::ok) return false;
  const std::int64_t size = m + n, k = std::min(m, n);
  const R half = std::sqrt(R(0.5));
  w.assign(static_cast<std::size_t>(size), 0);
  z = Dense<T>(size, size);
  const auto put = [&](std::int64_t column, std::int64_t of, R left, R right) {
    for (std::int64_t i = 0; i < m && left != 0; ++i) z(i, column) = svd.u().data[i * svd.u().rows + of] * left;
    for (std::int64_t j = 0; j < n && right != 0; ++j)
      z(m + j, column) = conjugate(svd.vh().data[of * svd.vh().rows + j]) * right;
  };
  for (std::int64_t i = 0; i < k; ++i) {
    const auto sigma = static_cast<R>(svd.sigma()[static_cast<std::size_t>(i)]);
    w[static_cast<std::size_t>(i)] = -sigma;
    w[static_cast<std::size_t>(size - 1 - i)] = sigma;
    put(i, i, half, -half);
    put(size - 1 - i, i, half, half);
  }
  for (std::int64_t i = k; i < size - k; ++i) put(i, i, m > n ? R(1) : R(0), m > n ? R(0) : R(1));
  return true;
}

// One member; false: no eigenvalues.
template <class T>
bool differentiate(const Form& form, const Shapes& s, const std::int64_t* kept, kernels::View<T> a,
                   const std::vector<kernels::View<T>>& e, T* to) {
  const bool whole = form.other == Slot::whole;
  std::vector<typename Dense<T>::Real> w;
  Dense<T> z;
  if (whole) {
    const Dense<T> h = embedded(form.other, s.m, s.n, a);
    if (!h.finite() || !eigen(h, w, z)) return false;
  } else if (!dilated(s.m, s.n, a, w, z)) {
    return false;
  }
  const Differences d(form.f, {w.begin(), w.end()}, kept[0], kept[1], whole ? s.m : std::min(s.m, s.n));
  const Dense<T> back = z.adjoint();
  std::vector<Dense<T>> c;
  for (std::size_t i = 0; i < e.size(); ++i) {
    c.push_back(back * embedded(form.of(i), s.m, s.n, e[i]) * z);
    // (uᴴEv − vᴴEᴴu)/2 between the vectors of σ and −σ is imaginary: divided by 2σ, its rounding would be large.
    for (std::int64_t k = 0; k < std::min(s.m, s.n) && kernels::RealOf<T>::parts == 1; ++k)
      if (form.of(i) == Slot::dilation) c.back()(k, z.n - 1 - k) = c.back()(z.n - 1 - k, k) = T(0);
  }
  const Dense<T> g = z * Paths<T>(z.n, d, c).run() * back;
  const bool wide = form.out == Slot::dilation;
  const std::int64_t columns = wide ? s.n : s.m;
  for (std::int64_t i = 0; i < s.m; ++i)
    for (std::int64_t j = 0; j < columns; ++j) to[i * columns + j] = wide ? g(i, s.m + j) + g(i, s.m + j) : g(i, j);
  return true;
}

void forward(Call& c) {
  const Form form(c.attrs);
  const Shapes s(c);
  const DType work = working_dtype(c.key, s.m + s.n);
  Result out(c.out[0], work);
  std::vector<Tensor> in;
  for (std::size_t i = 1; i < c.in.size(); ++i) in.push_back(brought(c.in[i], work));
  const Tensor kept = packed(c.in[0], i64);
  const auto* const counts = reinterpret_cast<const std::int64_t*>(kept.node()->data);
  const std::int64_t each = s.m * (form.out == Slot::dilation ? s.n : s.m);
  with_float(work, [&]<class T>(T) {
    std::vector<Stack<T>> stacks;
    for (const Tensor& t : in) stacks.emplace_back(t, s.batch);
    for_members(count_of(s.batch), s.m + s.n, [&](std::int64_t i) {
      std::vector<kernels::View<T>> e;
      for (std::size_t k = 1; k < stacks.size(); ++k) e.push_back(stacks[k][i]);
      T* const to = out.data<T>() + i * each;
      const std::int64_t* const own = counts + 2 * own_member(i, s.batch, batch_of(c.in[0], 1));
      if (each && !differentiate<T>(form, s, own, stacks[0][i], e, to))
        std::fill_n(to, each, T(std::numeric_limits<typename kernels::RealOf<T>::type>::quiet_NaN()));
    });
  });
  out.finish();
}

// The directions of `s` with another in front of them; a corner stays first.
std::vector<Tensor> joined(const Form& form, std::span<const Tensor> directions, Slot slot, const Tensor& other,
                           Slot& first) {
  std::vector<Tensor> e(directions.begin(), directions.end());
  const bool after = !e.empty() && form.first == Slot::corner;
  first = after || slot == Slot::corner ? Slot::corner : form.other;
  e.insert(after ? e.begin() + 1 : e.begin(), other);
  return e;
}

Tensors vjp(const Backward& b) {
  const Form form(b.attrs);
  Tensors all(b.in.size());
  const std::span<const Tensor> e = b.in.subspan(2);
  Slot first = form.other;
  if (b.wants(1)) {
    const std::vector<Tensor> more = joined(form, e, form.out, b.g(), first);
    all[1] = derivative(form.f, form.other, b.in[0], b.in[1], more, first, b.place);
  }
  for (std::size_t i = 0; i < e.size(); ++i) {
    if (!b.wants(i + 2)) continue;
    std::vector<Tensor> rest(e.begin(), e.end());
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    Form others = form;
    if (i == 0) others.first = form.other;
    const std::vector<Tensor> more = joined(others, rest, form.out, b.g(), first);
    all[i + 2] = derivative(form.f, form.of(i), b.in[0], b.in[1], more, first, b.place);
  }
  return all;
}

Tensors jvp(const Forward& f) {
  const Form form(f.attrs);
  Tensor sum;
  const auto add_term = [&](Tensor t) { sum = sum.defined() ? add(sum, t) : t; };
  const std::span<const Tensor> e = f.in.subspan(2);
  Slot first = form.other;
  if (f.tangents[1].defined()) {
    const std::vector<Tensor> more = joined(form, e, form.other, f.tangents[1], first);
    add_term(derivative(form.f, form.out, f.in[0], f.in[1], more, first, f.place));
  }
  for (std::size_t i = 0; i < e.size(); ++i) {
    if (!f.tangents[i + 2].defined()) continue;
    std::vector<Tensor> moved(e.begin(), e.end());
    moved[i] = f.tangents[i + 2];
    add_term(derivative(form.f, form.out, f.in[0], f.in[1], moved, form.first, f.place));
  }
  return {sum};
}

}  // namespace

const Op op_spectral_derivative = {
    .name = "spectral_derivative",
    .ns = "linalg",
    .group = "linear algebra",
    .doc = "A derivative of a function of singular values, along directions. Only rules call it.",
    .params = {{.name = "kept", .kinds = kinds::integer, .separate = true},
               {"x", kinds::floating},
               {.name = "directions", .kinds = kinds::floating, .variadic = true}},
    .attrs = {{.name = "function", .type = AttrType::integer, .required = true},
              {.name = "out", .type = AttrType::integer, .required = true},
              {.name = "first", .type = AttrType::integer, .required = true}},
    .infer = infer,
    .forward = forward,
    .notes = Notes::gives,
    .flow = flow_everything,
    .vjp = vjp,
    .jvp = jvp,
    .saves_inputs = ~0U,
};

Tensor spectral_value(SpectralFunction f, const Tensor& kept, const Tensor& a) {
  if (f == SpectralFunction::positive) return derivative(f, Slot::whole, kept, a, {}, Slot::whole, {});
  const Slot out = f == SpectralFunction::projector ? Slot::corner : Slot::dilation;
  const Tensor y = derivative(f, out, kept, a, {}, Slot::dilation, {});
  return f == SpectralFunction::projector ? y : multiply(y, 0.5);
}

Tensor values_that_are(Which which, const Tensor& a) {
  const Dims batch = batch_of(a);
  const std::int64_t m = a.shape()[a.shape().size() - 2], n = a.shape().back(), k = std::min(m, n);
  const DType work = working_dtype(a.dtype(), std::max(m, n));
  Dims shape = batch;
  shape.push_back(2);
  const Tensor out = Tensor::adopt(detail::make_node(i64, shape)), x = brought(a, work);
  auto* const to = reinterpret_cast<std::int64_t*>(out.node()->data);
  with_float(work, [&]<class T>(T) {
    const Stack<T> stack(x, batch);
    for_members(count_of(batch), std::max(m, n), [&](std::int64_t i) {
      const Spectral<T> svd(m, n, stack[i], Parts::values);
      const std::vector<double>& s = svd.sigma();
      const double tie = s.empty() ? 0 : 4 * static_cast<double>(std::max(m, n)) * Dense<T>::u * s[0];
      const double from = which == Which::largest && !s.empty() ? s[0] - 2 * tie : tie;
      const auto count = [&](double least) {
        return std::count_if(s.begin(), s.end(), [&](double v) { return v > least; });
      };
      const bool none = s.empty() || !(s[0] > 0) || (which == Which::least && s.back() <= tie);
      to[2 * i] = none || which != Which::least ? 0 : count(s.back() + 2 * tie);
      to[2 * i + 1] = none ? 0 : which == Which::least ? k - to[2 * i] : count(from);
    });
  });
  return out;
}

Tensor spectral_cotangent(SpectralFunction f, const Tensor& kept, const Tensor& a, const Tensor& g) {
  const Place place = Place();
  if (f == SpectralFunction::projector) return derivative(f, Slot::dilation, kept, a, {g}, Slot::corner, place);
  if (f == SpectralFunction::positive) return derivative(f, Slot::whole, kept, a, {g}, Slot::whole, place);
  return multiply(derivative(f, Slot::dilation, kept, a, {g}, Slot::dilation, place), 0.5);
}

// P = A A⁺ of a tall A of full rank: dP = (1 − P) dA A⁺ and its adjoint; else by the function of singular values that
// ran. A full row rank stays what it is.
Tensor projector_cotangent(const Tensor& kept, const Tensor& a, const Tensor& outside, const Tensor& g) {
  const std::int64_t m = a.shape()[a.shape().size() - 2], n = a.shape().back();
  const auto all_are = [&](std::int64_t k) { return !any_true(not_equal(kept[{ellipsis, 1}], k)); };
  if (all_are(m)) return zeros_like(a);
  if (!all_are(n)) return spectral_cotangent(SpectralFunction::projector, kept, a, g);
  return product(outside, add(g, adjoint(g)), adjoint(diagnosed::pinv(a, {.rtol = 0}).value));
}

}  // namespace wp::linalg
