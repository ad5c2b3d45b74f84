// Real coordinates of tensors, for differences along each of them.
#pragma once
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "autodiff/differences.hpp"
#include "base/text.hpp"
#include "tensor/note.hpp"
#include "wellposed/creation.hpp"
#include "wellposed/ops.hpp"

namespace wp::autodiff {

// Real coordinates of floating-point tensors: element by element, of complex numbers both parts.
class Coordinates {
 public:
  Coordinates(const std::vector<Tensor>& all, std::string letter) : like_(all), letter_(std::move(letter)) {
    for (std::size_t k = 0; k < all.size(); ++k) {
      first_.push_back(size_);
      if (!all[k].defined() || !is_floating(all[k].dtype())) continue;
      const std::size_t parts = is_complex(all[k].dtype()) ? 2 : 1;
      for (std::size_t e = 0; e < parts * static_cast<std::size_t>(all[k].size()); ++e) owner_.push_back(k);
      size_ = owner_.size();
    }
  }
  std::size_t size() const noexcept { return size_; }
  Values of(const std::vector<Tensor>& all) const {
    Values v;
    v.reserve(size_);
    for (std::size_t k = 0; k < like_.size(); ++k) {
      const Tensor& t = all[k];
      if (!like_[k].defined() || !is_floating(like_[k].dtype())) continue;
      for (std::int64_t e = 0; e < like_[k].size(); ++e) {
        const complex128 z = t.defined() ? value_at(t, e) : complex128(0);
        v.push_back(z.real());
        if (is_complex(like_[k].dtype())) v.push_back(z.imag());
      }
    }
    return v;
  }
  // `base` with coordinate c changed by h.
  std::vector<Tensor> moved(const std::vector<Tensor>& base, std::size_t c, double h) const {
    std::vector<Tensor> all = base;
    all[owner_[c]] = add(base[owner_[c]], multiply(unit(c), h));
    return all;
  }
  // 1 (or i) at coordinate c of its tensor.
  Tensor unit(std::size_t c) const {
    const Tensor& t = like_[owner_[c]];
    const bool wide = is_complex(t.dtype());
    const std::size_t place = c - first_[owner_[c]];
    const auto e = static_cast<std::int64_t>(wide ? place / 2 : place);
    const Tensor one = reshape(equal(arange(t.size()), e), t.shape());
    return wide && place % 2 ? multiply(astype(one, t.dtype()), complex128(0, 1)) : astype(one, t.dtype());
  }
  std::size_t owner(std::size_t c) const { return owner_[c]; }
  // Of each coordinate's number: what its rounding errors are relative to, in f64.
  Values magnitudes(const Values& v) const {
    Values all(v.size());
    for (std::size_t c = 0; c < v.size(); ++c) {
      const bool wide = is_complex(like_[owner_[c]].dtype());
      const std::size_t other = (c - first_[owner_[c]]) % 2 ? c - 1 : c + 1;
      const DType d = real_of(like_[owner_[c]].dtype());
      all[c] = (wide ? std::hypot(v[c], v[other]) : std::fabs(v[c])) * (finfo(d).eps / finfo(f64).eps);
    }
    return all;
  }
  // The largest |element| of the tensor that coordinate c belongs to; 1 if that is 0.
  double largest(const std::vector<Tensor>& all, std::size_t c) const {
    double most = 0;
    for (std::int64_t e = 0; e < all[owner_[c]].size(); ++e)
      if (const double v = std::abs(value_at(all[owner_[c]], e)); std::isfinite(v)) most = std::max(most, v);
    return most > 0 ? most : 1;
  }
  std::string name(std::size_t c) const {
    const Tensor& t = like_[owner_[c]];
    const bool wide = is_complex(t.dtype());
    const std::size_t place = c - first_[owner_[c]];
    std::string text = letter_ + (like_.size() > 1 ? say(owner_[c] + 1) : std::string());
    if (t.ndim()) text += say(unravel(static_cast<std::int64_t>(wide ? place / 2 : place), t.shape()));
    return wide ? say(place % 2 ? "Im " : "Re ", text) : text;
  }

 private:
  std::vector<Tensor> like_;
  std::string letter_;
  std::vector<std::size_t> owner_, first_;
  std::size_t size_ = 0;
};

}  // namespace wp::autodiff
