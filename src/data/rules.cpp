#include "data/rule.hpp"

namespace wp::data {

std::span<const Rule> rules() {
  static const std::vector<Rule> table = [] {
    std::vector<Rule> out;
    for (const auto group :
         {shape_rules(), value_rules(), unique_rules(), row_rules(), matrix_rules(), statistic_rules()})
      out.insert(out.end(), group.begin(), group.end());
    return out;
  }();
  return table;
}

const Rule* find_rule(std::string_view name) noexcept {
  for (const Rule& r : rules())
    if (r.name == name) return &r;
  return nullptr;
}

}  // namespace wp::data
