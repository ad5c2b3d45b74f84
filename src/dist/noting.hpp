// Inf and NaN in what all ranks hold together: made or given, told and raised by all of them alike.
#pragma once
#include <span>
#include <string_view>

#include "dist/matrix.hpp"
#include "ops/op.hpp"
#include "tensor/note.hpp"

namespace wp::dist {

// What an op did with Inf and NaN, y being this rank's part of its result (of `whole`; null: a tensor that every rank
// has) and `in` of its operands. A result that is not finite on some rank, of operands that are on all, was made
// here: that is noted, warned of or raised by the check level, on all ranks. What was made before goes along.
// Collective.
void note(std::string_view op, std::span<const Tensor> in, const Tensor& y, const Matrix* whole, Notes notes,
          const Place& place);
// wp::escape of a matrix: all ranks raise, or none.
void escape(const Matrix& a, std::string_view sink, Counts counts, const Place& place);

}  // namespace wp::dist
