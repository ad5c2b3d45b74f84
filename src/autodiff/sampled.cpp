#include "autodiff/sampled.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "linalg/clusters.hpp"
#include "linalg/rules.hpp"
#include "wellposed/creation.hpp"
#include "wellposed/ops.hpp"

namespace wp::autodiff {
namespace {

thread_local bool asks = false;

constexpr int kSide = 4;  // points on each side
constexpr std::size_t kPoints = 2 * kSide + 1;
constexpr double kFirst = 0.9 / 16;  // step: no number at which values would often meet
double point(std::size_t p) {
  return static_cast<double>(p) - kSide;
}
using Weights = std::vector<std::array<double, kPoints>>;  // by order of the derivative, then point −4 … 4

// Weights of the points −side … side for derivatives at 0 of the polynomial through them (B. Fornberg, Math. Comp. 51
// (1988) 699-706).
Weights weights_of(int side, int order) {
  const auto orders = static_cast<std::size_t>(order);
  Weights w(orders + 1, std::array<double, kPoints>{});
  const auto node = [&](std::size_t i) { return static_cast<double>(i) - side; };
  const std::size_t first = static_cast<std::size_t>(kSide - side), n = static_cast<std::size_t>(2 * side);
  w[0][first] = 1;
  double before = 1;
  for (std::size_t i = 1; i <= n; ++i) {
    double product = 1;
    const std::size_t most = std::min(i, orders);
    for (std::size_t j = 0; j < i; ++j) {
      const double apart = node(i) - node(j);
      product *= apart;
      if (j + 1 == i)
        for (std::size_t k = most + 1; k-- > 0;)
          w[k][first + i] = before *
                            ((k > 0 ? static_cast<double>(k) * w[k - 1][first + j] : 0) - node(j) * w[k][first + j]) /
                            product;
      for (std::size_t k = most + 1; k-- > 0;)
        w[k][first + j] =
            (node(i) * w[k][first + j] - (k > 0 ? static_cast<double>(k) * w[k - 1][first + j] : 0)) / apart;
    }
    before = product;
  }
  return w;
}

using Many = std::vector<Tensor>;
using Samples = std::array<Many, kPoints>;

Tensor combined(const Samples& at, const std::array<double, kPoints>& weights, std::size_t i) {
  Tensor all;
  for (std::size_t p = 0; p < kPoints; ++p) {
    if (weights[p] == 0 || !at[p][i].defined()) continue;
    const Tensor term = multiply(at[p][i], weights[p]);
    all = all.defined() ? add(all, term) : term;
  }
  return all;
}

// What is known of one member at its step h: f, its slope, by how much that would be another without the two points
// that are farthest away, and what the steps add to the loss.
struct Seen {
  double h = kFirst, value = 0, slope = 0, off = HUGE_VAL, loss = 0;
};
// The search for a step: more where rounding hides the slope, less where the polynomial does not follow.
struct Search {
  Seen now, best;
  bool done = false;
  int way = 0, turns = 0;

  // Whether rounding of f may be all that one sees of its slope.
  bool hides(double eps) const { return std::max(now.slope, now.loss) < std::pow(eps, 0.3) * now.value; }
  void go_on(double eps) {
    if (!std::isfinite(now.off)) return fail();
    const double enough = std::pow(eps, 0.6) * (hides(eps) ? std::max(now.slope, now.loss) : now.value);
    if (now.off < best.off) best = now;
    const bool worse = way != 0 && now.off > 2 * best.off, rounding = now.off <= 256 * eps * now.value / now.h;
    if (way == 0) way = rounding ? 1 : -1;
    const bool turned = (way > 0) != rounding;
    const double by = way < 0 ? 0.25 : enough > 0 ? std::clamp(now.off / enough, 0x1p4, 0x1p80) : 0x1p20;
    end(now.off <= enough || (worse && (way > 0 || found(eps))) || turned || now.h > 1e30, by);
  }
  void fail() {  // some point was no point of f
    end(way > 0, 0.25);
    way = -1;
  }
  void end(bool settled, double by) {
    done = settled || ++turns > 6;
    now.h = done ? best.h : now.h * by;
  }
  bool found(double eps) const {
    return best.off <= std::max(std::pow(eps, 0.4) * std::max(best.slope, best.loss), std::sqrt(eps) * best.value);
  }
};

class Sampling {
 public:
  Sampling(const Function& f, const Many& x, const Many& v, std::size_t batch) : f_(f), x_(x), v_(v) {
    const auto first = std::find_if(v.begin(), v.end(), [](const Tensor& t) { return t.defined(); });
    for (std::size_t a = 0; a < batch; ++a) members_.push_back(first->shape()[a]);
    at_[kSide] = f(x);
    for (const Tensor& y : at_[kSide])
      if (y.defined()) eps_ = std::max(eps_, finfo(y.dtype()).eps);
    std::int64_t count = 1;
    for (const std::int64_t n : members_) count *= n;
    all_.resize(static_cast<std::size_t>(count), {.best = {.off = 0}, .done = true});
    for (const Tensor& t : v)  // members that do not move have nothing to search for
      if (t.defined()) await_moving(t);
  }

  std::optional<std::vector<Many>> taylor(int order) {
    if (all_.empty()) return taylor_at(order);
    step();
    bool again = std::any_of(all_.begin(), all_.end(), [](const Search& m) { return m.now.h != kFirst; });
    for (; !std::all_of(all_.begin(), all_.end(), [](const Search& m) { return m.done; }); again = true) {
      const linalg::Unrecorded here;
      step();
    }
    if (!std::all_of(all_.begin(), all_.end(), [&](const Search& m) { return m.found(eps_); })) return std::nullopt;
    if (again) sample();
    return taylor_at(order);
  }

 private:
  void await_moving(const Tensor& direction) {
    const linalg::Unrecorded here;
    const std::vector<double> each = largest_of_members(direction);
    for (std::size_t m = 0; m < all_.size(); ++m)
      if (each[m] > 0) all_[m] = Search();
  }
  // The members' steps, for a tensor of this rank.
  Tensor steps(std::size_t rank) const {
    std::vector<double> h;
    for (const Search& m : all_) h.push_back(m.now.h);
    Dims shape = members_;
    while (shape.size() < rank) shape.push_back(1);
    return Tensor::from(h, shape);
  }
  void sample() {
    for (std::size_t p = 0; p < kPoints; ++p) {
      if (p == kSide) continue;
      Many beside = x_;
      for (std::size_t i = 0; i < x_.size(); ++i)
        if (v_[i].defined())
          beside[i] =
              add(x_[i],
                  multiply(v_[i], astype(multiply(steps(v_[i].shape().size()), point(p)), real_of(v_[i].dtype()))));
      at_[p] = f_(beside);
    }
  }
  void step() {
    try {
      sample();
    } catch (const NonFiniteError&) {
      return fail();
    } catch (const GradientError&) {
      return fail();
    }
    look();
    for (Search& m : all_)
      if (!m.done) m.go_on(eps_);
  }
  void fail() {
    for (Search& m : all_)
      if (!m.done) m.fail();
  }
  void look() {
    const linalg::Unrecorded here;
    static const Weights nine = weights_of(kSide, 1), seven = weights_of(kSide - 1, 1);
    for (Search& m : all_) m.now = {m.now.h, 0, 0, 0, 0};
    const auto most = [&](const Tensor& x, double Seen::*field, bool per_step) {
      const std::vector<double> each = largest_of_members(x);
      for (std::size_t m = 0; m < all_.size(); ++m) {
        const double y = per_step ? each[m] / all_[m].now.h : each[m];
        all_[m].now.*field = std::max(all_[m].now.*field, std::isfinite(y) ? y : HUGE_VAL);
      }
    };
    for (std::size_t i = 0; i < at_[kSide].size(); ++i) {
      if (!at_[kSide][i].defined()) continue;
      const Tensor slope = combined(at_, nine[1], i);
      most(slope, &Seen::slope, true);
      most(subtract(slope, combined(at_, seven[1], i)), &Seen::off, true);
      for (const Many& values : at_)
        if (values[i].defined()) most(values[i], &Seen::value, false);
      if (v_[i].defined()) most(multiply(at_[kSide][i], v_[i]), &Seen::loss, false);
    }
  }
  std::vector<double> largest_of_members(const Tensor& x) const {
    Dims shape{static_cast<std::int64_t>(all_.size()), -1};
    return linalg::doubles_of(x.size() ? max(abs(reshape(x, shape)), {.axis = -1}) : zeros(members_));
  }
  std::optional<std::vector<Many>> taylor_at(int order) const {
    const Weights nine = weights_of(kSide, order);
    std::vector<Many> found{at_[kSide]};
    for (std::size_t k = 1; k < nine.size() && !all_.empty(); ++k) {
      Many& next = found.emplace_back();
      for (std::size_t i = 0; i < at_[kSide].size(); ++i) {
        Tensor d = combined(at_, nine[k], i);
        if (d.defined())
          for (std::size_t n = 0; n < k; ++n) d = divide(d, astype(steps(d.shape().size()), real_of(d.dtype())));
        next.push_back(d);
      }
    }
    found.resize(nine.size(), at_[kSide]);
    return found;
  }

  const Function& f_;
  const Many &x_, &v_;
  Dims members_;
  std::vector<Search> all_;
  Samples at_;
  double eps_ = 0;
};

}  // namespace

std::optional<std::vector<Many>> sampled_taylor(const Function& f, const Many& x, const Many& v, int order,
                                                std::size_t batch) {
  const checks unchecked(CheckLevel::off);
  const detail::Restore<&Context::saw_nonfinite> seen;
  struct Asking {
    bool before = std::exchange(asks, true);
    ~Asking() { asks = before; }
  } const asking;
  return Sampling(f, x, v, batch).taylor(order);
}
bool sampling() noexcept {
  return asks;
}

}  // namespace wp::autodiff
