#pragma once
#include <nlohmann/json.hpp>

#include "ops/attr.hpp"

namespace wp::cli {
using json = nlohmann::ordered_json;
// The op table as data: names, parameters, attributes with defaults, outputs, domains.
json ops_json();
json attr_json(const Attr& a);
}  // namespace wp::cli
