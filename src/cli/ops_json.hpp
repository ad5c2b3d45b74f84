#pragma once
#include <nlohmann/json.hpp>

#include "ops/op.hpp"

namespace wp::cli {
using json = nlohmann::ordered_json;
// The op table as data: names, parameters, attributes with defaults, outputs, domains.
json ops_json();
json ops_json(const Op& op);  // the same document with one op
json attr_json(const Attr& a);
}  // namespace wp::cli
