// Random draws: the stream, the attributes and the checks that their rooms share.
#pragma once
#include "kernels/random.hpp"
#include "ops/op.hpp"

namespace wp {

// shape, the room's required attributes, key, counter; then the options.
std::vector<AttrSpec> random_attrs(std::vector<AttrSpec> required, std::vector<AttrSpec> options);
// key and counter alone, after the room's own attributes.
std::vector<AttrSpec> stream_attrs(std::vector<AttrSpec> required, std::vector<AttrSpec> options = {});
AttrSpec dtype_option(DType fallback);

kernels::Stream stream_of(const Call& c);
// An attribute that the op has, by name.
const Attr& attr(const Call& c, std::string_view name);

// The dtype attribute, refused unless it is among `kinds`.
DType draw_dtype(const Call& c, Kinds kinds, std::string_view advice);
DType real_dtype(const Call& c);

// Refuses an attribute: "std must be a finite number ≥ 0; got -1."
[[noreturn]] void refuse_value(const Call& c, std::string_view name, std::string_view rule, std::string_view advice);
// The attribute as a finite number.
double finite(const Call& c, std::string_view name);
// The attribute as a finite number > 0.
double positive(const Call& c, std::string_view name, std::string_view advice);
// Refuses parameters whose draws may be as large as `largest`, when the dtype does not hold that.
void need_range(const Call& c, DType dtype, double largest);

inline constexpr std::string_view kNoDerivative =
    "random draws do not depend on any argument that could be differentiated.";
inline constexpr std::string_view kIntegerDraws = "random integers do not depend smoothly on anything.";

}  // namespace wp
