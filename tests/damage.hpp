// Files that are cut at every byte, and in which every single bit is turned.
#pragma once
#include "base/memory.hpp"
#include "files.hpp"
#include "kernels/walk.hpp"

namespace {

// attempt(bytes, name of the damage) for every cut and every turned bit.
template <class Attempt>
void each_damage(const std::string& file, const Attempt& attempt) {
  for (std::size_t n = 0; n < file.size(); ++n) attempt(file.substr(0, n), "cut at byte " + std::to_string(n));
  for (std::size_t bit = 0; bit < file.size() * 8; ++bit) {
    std::string damaged = file;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    attempt(damaged, "bit " + std::to_string(bit % 8) + " of byte " + std::to_string(bit / 8));
  }
}

// Names, dtypes, shapes and bits of all arrays: equal when two files say the same.
inline std::string contents(const wp::NamedTensors& arrays) {
  std::string out;
  for (const auto& [name, t] : arrays) {
    out += name + ' ' + std::string(wp::name(t.dtype()));
    for (const std::int64_t n : t.shape()) out += ' ' + std::to_string(n);
    std::string bits(t.nbytes(), '\0');
    if (t.size())
      wp::kernels::gather(bits.data(), t.dtype(), t.node()->data, t.dtype(), t.shape(), t.strides(), 0, t.size());
    out += '\n' + bits + '\n';
  }
  return out;
}

}  // namespace
