#include "data/names.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace wp::data {
namespace {

// Levenshtein's distance: the fewest letters to add, drop or change.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest(std::string_view name, const std::vector<std::string>& known) {
  if (name.size() > 64) return {};
  const std::string* best = nullptr;
  std::size_t far = std::max<std::size_t>(name.size() / 2, 2) + 1;
  for (const std::string& k : known)
    if (const std::size_t d = distance(name, k); k.size() <= 64 && d < far && d < name.size()) {
      far = d;
      best = &k;
    }
  return best ? say(" Did you mean '", *best, "'?") : std::string();
}

}  // namespace wp::data
