// Assertions: they look at a tensor, raise AssertionError with the element that is wrong, and give the tensor back,
// so that they stand in the middle of a computation:  log(assert_range(p, 0, 1, "p")). What follows them runs only if
// they hold. Tapes see through them.
#pragma once
#include <functional>
#include <source_location>
#include <string_view>

#include "wellposed/tensor.hpp"

namespace [[gnu::visibility("default")]] wp {

// No Inf and no NaN, made or given; NonFiniteError names the source.
Tensor assert_finite(const Tensor& x, std::string_view name = "x",
                     std::source_location where = std::source_location::current());
// −1 stands for any length.
Tensor assert_shape(const Tensor& x, const Dims& shape, std::string_view name = "x",
                    std::source_location where = std::source_location::current());
// As many axes as `most` has lengths, none longer than its own.
Tensor assert_dims_at_most(const Tensor& x, const Dims& most, std::string_view name = "x",
                           std::source_location where = std::source_location::current());
// low ≤ x ≤ high; NaN is outside.
Tensor assert_range(const Tensor& x, double low, double high, std::string_view name = "x",
                    std::source_location where = std::source_location::current());
// Symmetric (Hermitian) up to rounding and positive definite, every matrix of a batch.
Tensor assert_spd(const Tensor& x, std::string_view name = "x",
                  std::source_location where = std::source_location::current());
// From 0 to 1, and sums of 1 along the axis up to rounding.
Tensor assert_probability(const Tensor& x, std::int64_t axis = -1, std::string_view name = "x",
                          std::source_location where = std::source_location::current());
// `holds` gives a bool for every element (or one for all); `rule` says what must be true.
Tensor assert_that(const Tensor& x, const std::function<Tensor(const Tensor&)>& holds, std::string_view rule,
                   std::string_view name = "x", std::source_location where = std::source_location::current());

}  // namespace gnu::visibility("default")]]wp
