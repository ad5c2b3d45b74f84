#include <cmath>
#include <cstring>

#include "base/text.hpp"
#include "kernels/copy.hpp"
#include "ops/indices.hpp"

namespace wp {
extern const Op op_zeros, op_ones, op_empty, op_full;
extern const Op op_zeros_like, op_ones_like, op_empty_like, op_full_like;
namespace {

// The number in the memory of dtype d. A finite number that d can only hold as Inf is refused.
Tensor number(const Scalar& v, DType d) {
  simd::Status status;
  const Tensor t = value_for(Tensor(v), d, "fill_value", status);
  if (status.bits && std::isfinite(v.real()) && std::isfinite(v.imag()))
    refuse<DomainError>("WP-DOM-003",
                        say("fill_value = ", Attr(v).show(), " is beyond ", finfo(d).max, ", the largest ", d, "."),
                        "Choose a wider dtype.");
  return t;
}

void fill_with(Call& c, const Scalar& v, DType d, const Dims& shape) {
  const Tensor value = number(v, d);
  const Tensor& y = c.output(d, shape);
  kernels::fill(y.node()->data, value.node()->data, size_of(d), y.size());
}

DType chosen(const Attr& dtype, DType otherwise) {
  return dtype ? dtype.dtype() : otherwise;
}

template <int value>
void constant(Call& c) {
  fill_with(c, value == 0 ? Scalar(false) : Scalar(true), chosen(c.attr(1), f64), c.attr(0).ints());
}
template <int value>
void constant_like(Call& c) {
  fill_with(c, value == 0 ? Scalar(false) : Scalar(true), chosen(c.attr(0), c.in[0].dtype()), c.in[0].shape());
}
void full(Call& c) {
  const Scalar& v = c.attr(1).scalar();
  fill_with(c, v, chosen(c.attr(2), v.dtype()), c.attr(0).ints());
}
void full_like(Call& c) {
  fill_with(c, c.attr(0).scalar(), chosen(c.attr(1), c.in[0].dtype()), c.in[0].shape());
}

std::vector<Sample> constant_samples() {
  std::vector<Sample> all;
  for (int k = 0; k < kDTypes; ++k) all.push_back({{}, {Dims{2, 3}, static_cast<DType>(k)}});
  all.push_back({{}, {Dims{}, Attr()}, "default dtype"});
  all.push_back({{}, {Dims{2, 0}, Attr()}, "empty"});
  return all;
}
std::vector<Sample> like_samples() {
  std::vector<Sample> all;
  for (int k = 0; k < kDTypes; ++k) all.push_back({{counting(static_cast<DType>(k), {2, 3})}, {Attr()}});
  all.push_back({{view_of(counting(i64, {2, 3}), {3, 2}, {1, 3})}, {f32}, "another dtype"});
  return all;
}
std::vector<Sample> full_samples() {
  std::vector<Sample> all;
  for (int k = 0; k < kDTypes; ++k)
    all.push_back({{}, {Dims{2}, k == 0 ? Scalar(true) : Scalar(7), static_cast<DType>(k)}});
  all.push_back({{}, {Dims{2}, Scalar(true), Attr()}});
  all.push_back({{}, {Dims{2}, Scalar(-3), Attr()}});
  all.push_back({{}, {Dims{2}, Scalar(~std::uint64_t{0}), Attr()}});
  all.push_back({{}, {Dims{2}, Scalar(0.1), Attr()}});
  all.push_back({{}, {Dims{2}, Scalar(complex128(1, -2)), Attr()}});
  all.push_back({{}, {Dims{2}, Scalar(0.1), f32}});
  all.push_back({{}, {Dims{2}, Scalar(-HUGE_VAL), f16}, "infinite on purpose"});
  return all;
}
std::vector<Sample> full_like_samples() {
  std::vector<Sample> all;
  for (int k = 0; k < kDTypes; ++k)
    all.push_back({{counting(static_cast<DType>(k), {2, 3})}, {k == 0 ? Scalar(false) : Scalar(5), Attr()}});
  all.push_back({{counting(i64, {2})}, {Scalar(0.5), f32}, "another dtype"});
  return all;
}

const AttrSpec shape_attr = {.name = "shape", .type = AttrType::ints, .doc = "The shape.", .required = true};
const AttrSpec dtype_attr = {.name = "dtype", .type = AttrType::dtype, .doc = "The dtype; none: f64."};
const AttrSpec like_attr = {.name = "dtype", .type = AttrType::dtype, .doc = "The dtype; none: x's."};
const AttrSpec fill_attr = {.name = "fill_value",
                            .type = AttrType::scalar,
                            .doc = "The number; its kind must not be above the dtype's (no 0.5 in an integer array).",
                            .required = true};
constexpr std::string_view why_none = "its values do not depend on any argument that could be differentiated.";

Op creation(std::string_view name, std::string_view doc, void (*infer)(Call&)) {
  return {.name = name,
          .group = "creation",
          .doc = doc,
          .params = {},
          .attrs = {shape_attr, dtype_attr},
          .infer = infer,
          .forward = [](Call&) {},
          .notes = Notes::gives,
          .flow = flow_nothing,
          .no_derivative = why_none,
          .branches = {"default dtype", "empty"},
          .samples = constant_samples};
}
Op creation_like(std::string_view name, std::string_view doc, void (*infer)(Call&)) {
  return {.name = name,
          .group = "creation",
          .doc = doc,
          .params = {{.name = "x", .doc = "Gives shape and dtype."}},
          .attrs = {like_attr},
          .infer = infer,
          .forward = [](Call&) {},
          .notes = Notes::gives,
          .flow = flow_nothing,
          .no_derivative = why_none,
          .branches = {"another dtype"},
          .samples = like_samples};
}

}  // namespace

const Op op_zeros = creation("zeros", "An array of zeros.", constant<0>);
const Op op_ones = creation("ones", "An array of ones.", constant<1>);
const Op op_empty = creation("empty",
                             "An array of zeros. Memory with arbitrary values is never handed out: results must not "
                             "depend on what ran before.",
                             constant<0>);
const Op op_zeros_like = creation_like("zeros_like", "Zeros in the shape of x.", constant_like<0>);
const Op op_ones_like = creation_like("ones_like", "Ones in the shape of x.", constant_like<1>);
const Op op_empty_like =
    creation_like("empty_like", "Zeros in the shape of x; see empty for why they are zeros.", constant_like<0>);

const Op op_full = {
    .name = "full",
    .group = "creation",
    .doc = "An array in which every element is one number.",
    .params = {},
    .attrs = {shape_attr,
              fill_attr,
              {.name = "dtype",
               .type = AttrType::dtype,
               .doc = "The dtype; none: bool, i64, f64 or c128 by the number."}},
    .infer = full,
    .forward = [](Call&) {},
    .notes = Notes::gives,
    .flow = flow_nothing,
    .no_derivative = why_none,
    .branches = {"infinite on purpose"},
    .samples = full_samples,
};

const Op op_full_like = {
    .name = "full_like",
    .group = "creation",
    .doc = "An array in the shape of x in which every element is one number.",
    .params = {{.name = "x", .doc = "Gives shape and dtype."}},
    .attrs = {fill_attr, like_attr},
    .infer = full_like,
    .forward = [](Call&) {},
    .notes = Notes::gives,
    .flow = flow_nothing,
    .no_derivative = why_none,
    .branches = {"another dtype"},
    .samples = full_like_samples,
};

}  // namespace wp
