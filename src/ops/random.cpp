#include "ops/random.hpp"

#include <cmath>

#include "base/text.hpp"

namespace wp {
namespace {

void append(std::vector<AttrSpec>& to, std::vector<AttrSpec>& from) {
  for (AttrSpec& spec : from) to.push_back(std::move(spec));
}

AttrSpec needed(std::string_view name, AttrType type, std::string_view doc) {
  return {.name = name, .type = type, .doc = doc, .required = true};
}

}  // namespace

std::vector<AttrSpec> stream_attrs(std::vector<AttrSpec> required, std::vector<AttrSpec> options) {
  std::vector<AttrSpec> all = std::move(required);
  all.push_back(needed("key", AttrType::integer, "Which sequence of random numbers: 64 bits."));
  all.push_back(needed("counter", AttrType::integer, "Where in it to begin: the number of a 128-bit block."));
  append(all, options);
  return all;
}

std::vector<AttrSpec> random_attrs(std::vector<AttrSpec> required, std::vector<AttrSpec> options) {
  std::vector<AttrSpec> all{needed("shape", AttrType::ints, "The shape of the result.")};
  append(all, required);
  return stream_attrs(std::move(all), std::move(options));
}

AttrSpec dtype_option(DType fallback) {
  return {"dtype", AttrType::dtype, fallback, "The dtype of the result."};
}

const Attr& attr(const Call& c, std::string_view name) {
  std::size_t i = 0;
  while (c.op.attrs[i].name != name) ++i;
  return c.attrs[i];
}

kernels::Stream stream_of(const Call& c) {
  return {static_cast<std::uint64_t>(attr(c, "key").integer()),
          static_cast<std::uint64_t>(attr(c, "counter").integer())};
}

DType draw_dtype(const Call& c, Kinds kinds, std::string_view advice) {
  const DType d = attr(c, "dtype").dtype();
  if (!is(d, kinds))
    refuse<DtypeError>("WP-DTY-003", say("dtype must be ", kinds_text(kinds), "; got ", d, "."), std::string(advice));
  return d;
}

DType real_dtype(const Call& c) {
  return draw_dtype(c, kinds::real_floating, "For integers use random.integers; for complex, draw both parts.");
}

void refuse_value(const Call& c, std::string_view name, std::string_view rule, std::string_view advice) {
  refuse<ArgumentError>("WP-ARG-001", say(name, " must be ", rule, "; got ", attr(c, name).show(), "."),
                        std::string(advice));
}

double finite(const Call& c, std::string_view name) {
  const double v = attr(c, name).real();
  if (!std::isfinite(v)) refuse_value(c, name, "finite", "Look where the number comes from.");
  return v;
}

double positive(const Call& c, std::string_view name, std::string_view advice) {
  const double v = attr(c, name).real();
  if (!(v > 0) || !std::isfinite(v)) refuse_value(c, name, "a finite number > 0", advice);
  return v;
}

void need_range(const Call& c, DType dtype, double largest) {
  const double limit = finfo(dtype).max;
  if (largest <= limit) return;
  std::string given;
  for (std::size_t i = 0; i < c.op.attrs.size(); ++i)
    if (c.op.attrs[i].type == AttrType::real)
      given += say(given.empty() ? "" : ", ", c.op.attrs[i].name, " = ", c.attrs[i].show());
  refuse<ArgumentError>("WP-ARG-001",
                        say("draws must fit ", dtype, ", whose largest number is ", limit, "; with ", given,
                            " they may reach ", largest, "."),
                        dtype == f64 ? "Scale the parameters down." : "Scale the parameters down, or draw in f64.");
}

}  // namespace wp
