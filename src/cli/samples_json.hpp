#pragma once
#include "cli/ops_json.hpp"

namespace wp::cli {
// Every sample of every op with its inputs, attributes and results, exactly; for tests that compare with the truth.
json samples_json();
}  // namespace wp::cli
