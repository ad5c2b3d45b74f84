#include "data/names.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace wp::data {

std::string nearest(std::string_view name, const std::vector<std::string>& known) {
  if (name.size() > 64) return {};
  const std::string* best = nullptr;
  std::size_t far = std::max<std::size_t>(name.size() / 2, 2) + 1;
  for (const std::string& k : known)
    if (const std::size_t d = edit_distance(name, k); k.size() <= 64 && d < far && d < name.size()) {
      far = d;
      best = &k;
    }
  return best ? say(" Did you mean '", *best, "'?") : std::string();
}

}  // namespace wp::data
