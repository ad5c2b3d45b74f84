#include "linalg/kept.hpp"

#include "kernels/each_float.hpp"
#include "linalg/solving.hpp"

namespace wp::linalg {

template <class T>
KeptIn<T>::KeptIn(Tensor a, const Options& options, std::atomic<std::int64_t>& made)
    : a_(std::move(a)),
      sizes_(a_),
      stack_(a_, sizes_.batch),
      options_(options),
      made_(made),
      pieces_(static_cast<std::size_t>(sizes_.members())) {}

template <class T>
const System<T>& KeptIn<T>::system(std::int64_t i) const {
  return pieces_[static_cast<std::size_t>(i)].system.get(
      [&] { return made<System<T>>(sizes_.n, stack_[i], options_); });
}

template <class T>
const Spectral<T>& KeptIn<T>::spectral(std::int64_t i) const {
  return pieces_[static_cast<std::size_t>(i)].spectral.get(
      [&] { return made<Spectral<T>>(sizes_.m, sizes_.n, stack_[i]); });
}

template <class T>
const Balanced<T>& KeptIn<T>::balanced(std::int64_t i) const {
  return pieces_[static_cast<std::size_t>(i)].balanced.get(
      [&] { return made<Balanced<T>>(sizes_.m, sizes_.n, stack_[i]); });
}

template <class T>
const QuadLu<T>& KeptIn<T>::quad(std::int64_t i) const {
  return pieces_[static_cast<std::size_t>(i)].quad.get([&] { return made<QuadLu<T>>(sizes_.n, system(i).matrix()); });
}

const Factors* factors_of(const Call& c) {
  return c.aside ? dynamic_cast<const Factors*>(c.aside->prepared.get()) : nullptr;
}

template <class T>
std::int64_t KeptFor<T>::own(std::int64_t member) const {
  return own_member(member, batch_, own_);
}

#define WP_INSTANTIATE(T)   \
  template class KeptIn<T>; \
  template class KeptFor<T>;
WP_FOR_FLOATS(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::linalg
