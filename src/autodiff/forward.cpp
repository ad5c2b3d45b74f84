#include "autodiff/forward.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include "autodiff/tape.hpp"
#include "base/text.hpp"
#include "ops/moves.hpp"
#include "wellposed/ops.hpp"

namespace wp::autodiff {
namespace {

// The tangent by transposing the reverse rule twice: for cotangents u, ⟨vjp(u), t⟩ = ⟨u, J t⟩, whose gradient in u is
// J t, whatever u is. (Zeros hide from the rule what depends on a choice: it tells of the choice.)
Tensors transposed(const Forward& f) {
  Tensors u(f.out.size());
  const std::unique_ptr<bool[]> wanted(new bool[f.in.size()]);
  for (std::size_t i = 0; i < f.in.size(); ++i) wanted[i] = f.tangents[i].defined();
  Tape tape(false);
  std::vector<Tensor> sources;
  for (std::size_t o = 0; o < f.out.size(); ++o)
    if (is_floating(f.output(o).dtype)) {
      u[o] = zeros_for(f.output(o));
      tape.watch(u[o]);
      sources.push_back(u[o]);
    }
  tape.start();
  const Alone rule(f, {u.begin(), u.size()}, {wanted.get(), f.in.size()});
  const Tensors back = f.op.vjp(rule);
  Tensor sum_of;
  for (std::size_t i = 0; i < back.size() && i < f.in.size(); ++i) {
    if (!wanted[i] || !back[i].defined()) continue;
    Tensor term = sum(real(multiply(conj_of(back[i]), f.tangents[i])));
    sum_of = sum_of.defined() ? add(sum_of, term) : term;
  }
  tape.stop();
  Tensors t(f.out.size());
  if (!sum_of.defined()) return t;
  const checks off(CheckLevel::off);  // it is on its way: nothing leaves the computation here
  const std::vector<Tensor> found = tape.gradient({.targets = {&sum_of, 1},
                                                   .seeds = {},
                                                   .sources = sources,
                                                   .zero_unconnected = true,
                                                   .place = f.place,
                                                   .function = "jvp"});
  std::size_t k = 0;
  for (std::size_t o = 0; o < u.size(); ++o)
    if (u[o].defined()) t[o] = found[k++];
  return t;
}

// A rule's result in the shape and dtype of the result that it belongs to.
Tensor like(Tensor t, const Tensor& y) {
  if (!(t.shape() == y.shape())) t = broadcast_to(t, y.shape());
  return t.dtype() == y.dtype() ? t : astype(t, y.dtype());
}

}  // namespace

void Tangents::set(const Tensor& x, Tensor tangent) {
  const auto slot = static_cast<std::size_t>(slots_.add(x));
  if (slot >= tangents_.size()) tangents_.resize(slot + 1);
  tangents_[slot] = std::move(tangent);
}
Tensor Tangents::of(const Tensor& x) const {
  const std::int32_t slot = x.defined() ? slots_.find(x) : -1;
  return slot < 0 ? Tensor() : tangents_[static_cast<std::size_t>(slot)];
}

void Tangents::after(Call& c) {
  if (c.op.flow == flow_nothing) return;
  const std::size_t n = c.in.size();
  bool any = false;
  for (std::size_t i = 0; i < n; ++i) any = any || of(c.in[i]).defined();
  if (!any || std::none_of(c.out.begin(), c.out.end(), [](const Tensor& y) { return is_floating(y.dtype()); }))
    return;
  if (!c.op.jvp && !c.op.vjp) refuse_derivative(c.op, "");
  separate_outputs(c);
  std::vector<Tensor> in(n), tangents(n);
  std::vector<Fact> facts(n + c.out.size());
  std::vector<const Fact*> places;
  for (std::size_t i = 0; i < n; ++i) {
    in[i] = c.in[i];
    tangents[i] = of(c.in[i]);
    if (in[i].defined()) facts[i] = {in[i].shape(), in[i].dtype()};
  }
  for (std::size_t o = 0; o < c.out.size(); ++o) facts[n + o] = {c.out[o].shape(), c.out[o].dtype()};
  for (const Fact& f : facts) places.push_back(&f);
  const Forward f{{c.op,
                   c.attrs,
                   in,
                   {c.out.begin(), c.out.size()},
                   c.aside ? std::span<const Tensor>(c.aside->residuals) : std::span<const Tensor>(),
                   places.data(),
                   c.place(),
                   c.aside ? c.aside->keepsake.get() : nullptr,
                   &chose},
                  tangents};
  const detail::Restore<&Context::rule> restore;
  context().rule = &c.running;
  const Tensors t = c.op.jvp ? c.op.jvp(f) : transposed(f);
  for (std::size_t o = 0; o < c.out.size() && o < t.size(); ++o)
    if (t[o].defined() && is_floating(c.out[o].dtype())) set(c.out[o], like(t[o], c.out[o]));
}

namespace {

// The forward mode that runs, also while it computes a tangent and does not listen.
thread_local bool* waiting = nullptr;
class Waiting {
 public:
  explicit Waiting(bool& chose) noexcept : chose_(chose), outer_(std::exchange(waiting, &chose)) {}
  ~Waiting() {
    waiting = outer_;
    if (outer_ && chose_) *outer_ = true;
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  bool& chose_;
  bool* outer_;
};

}  // namespace

bool* waiting_for_choice() noexcept {
  return waiting;
}

Tensor arbitrary(const Tensor& y) {
  const Unseen unseen;
  std::vector<complex128> v(static_cast<std::size_t>(y.size()));
  std::minstd_rand draw(1);
  const auto number = [&] {
    const double size = 0.5 + static_cast<double>(draw() % 1024) / 1024;
    return draw() % 2 ? size : -size;
  };
  for (complex128& e : v) e = {number(), number()};
  const Tensor all = Tensor::from(v, y.shape());
  return astype(is_complex(y.dtype()) ? all : real(all), y.dtype());
}

Tensor alias(const Tensor& x) {
  return reshape(x, x.shape());
}
std::vector<Tensor> aliases(const std::vector<Tensor>& xs) {
  std::vector<Tensor> all;
  for (const Tensor& x : xs) all.push_back(x.defined() ? alias(x) : Tensor());
  return all;
}

Pushed pushed(const Function& f, const std::vector<Tensor>& x, const std::vector<Tensor>& v) {
  const std::vector<Tensor> own = aliases(x);
  Tangents tangents;
  for (std::size_t i = 0; i < own.size(); ++i)
    if (v[i].defined()) tangents.set(own[i], v[i]);
  Pushed p;
  {
    const Waiting until_done(tangents.chose);
    const Listen listen(tangents);
    p.values = f(own);
  }
  p.chose = tangents.chose;
  for (const Tensor& y : p.values) {
    const Tensor t = tangents.of(y);
    p.tangents.push_back(t.defined() ? t : y.defined() ? zeros_for({y.shape(), y.dtype()}) : Tensor());
  }
  return p;
}

std::vector<std::vector<Tensor>> taylor(const Function& f, const std::vector<Tensor>& x, const std::vector<Tensor>& v,
                                        int order) {
  if (order == 0) return {f(x)};
  std::size_t each = 0;
  const auto flat = [&](const std::vector<Tensor>& at) {
    std::vector<Tensor> all;
    for (const std::vector<Tensor>& part : taylor(f, at, v, order - 1)) {
      each = part.size();
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  };
  const Pushed p = pushed(flat, x, v);
  std::vector<std::vector<Tensor>> all;
  for (auto at = p.values.begin(); at != p.values.end(); at += static_cast<std::ptrdiff_t>(each))
    all.emplace_back(at, at + static_cast<std::ptrdiff_t>(each));
  all.emplace_back(p.tangents.end() - static_cast<std::ptrdiff_t>(each), p.tangents.end());
  return all;
}

}  // namespace wp::autodiff
