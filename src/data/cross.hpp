// Predicates over several tensors that have the same rows.
#pragma once
#include "data/inputs.hpp"

namespace wp::data {

// Reads the tensors that the predicate names once more, side by side.
RuleReport judge_across(const std::string& predicate, const std::vector<Input>& inputs, const Schema& schema,
                        const ValidateOptions& options);

}  // namespace wp::data
