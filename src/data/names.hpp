// The nearest of several names, for messages.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace wp::data {

// " Did you mean 'range'?", or nothing when no name is near.
std::string nearest(std::string_view name, const std::vector<std::string>& known);

}  // namespace wp::data
