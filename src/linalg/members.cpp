#include "linalg/cutoff.hpp"

#include "base/text.hpp"
#include "linalg/solving.hpp"

namespace wp::linalg {

std::shared_ptr<Diagnosis::State> new_state(const Call& c, const Dims& batch, std::vector<std::string> names,
                                            bool own) {
  if (const std::int64_t columns = c.in[0].shape().back();
      !names.empty() && static_cast<std::int64_t>(names.size()) != columns)
    refuse<ArgumentError>("WP-ARG-001", say("names must have one label per column; got ",
                                            plural(static_cast<std::int64_t>(names.size()), "label"), " for ",
                                            plural(columns, "column"), "."));
  auto state = std::make_shared<Diagnosis::State>();
  state->op = c.op.name;
  state->batch = batch;
  state->matrix = c.in[0];
  state->names = std::move(names);
  if (own) state->verdicts.resize(static_cast<std::size_t>(count_of(batch)));
  return state;
}

AttrSpec policy_attr() {
  return {.name = "if_ill",
          .type = AttrType::text,
          .fallback = "raise",
          .doc = "What becomes of a matrix that is not finite, or on which the iteration does not converge.",
          .choices = {"raise", "warn", "nan", "ignore"}};
}

Policy policy_of(const Call& c, std::size_t attr) {
  const std::string_view text = c.attr(attr).text();
  return text == "raise"  ? Policy::raise
         : text == "warn" ? Policy::warn
         : text == "nan"  ? Policy::nan
                          : Policy::ignore;
}

AttrSpec rtol_attr() {
  return {.name = "rtol",
          .type = AttrType::real,
          .doc = "Singular values up to rtol times the largest count as zero; none: max(m, n) eps."};
}

AttrSpec atol_attr() {
  return {.name = "atol",
          .type = AttrType::real,
          .fallback = 0.0,
          .doc = "Singular values up to atol count as zero too."};
}

Cutoff cutoff_of(const std::optional<double>& rtol, double atol, DType dtype, std::int64_t longest) {
  if (!(atol >= 0)) refuse<ArgumentError>("WP-ARG-001", say("atol must not be negative; got ", atol, "."));
  if (rtol && !(*rtol >= 0)) refuse<ArgumentError>("WP-ARG-001", say("rtol must not be negative; got ", *rtol, "."));
  // An absolute threshold alone means just that.
  const double usual = atol == 0 ? 2 * round_off(dtype) * static_cast<double>(longest) : 0;
  return {rtol.value_or(usual), atol};
}
Cutoff cutoff_of(const Call& c, std::size_t first, DType dtype, std::int64_t longest) {
  const Attr& rtol = c.attr(first);
  return cutoff_of(rtol ? std::optional(rtol.real()) : std::nullopt, c.attr(first + 1).real(), dtype, longest);
}

std::vector<AttrSpec> decomposition_attrs(std::vector<AttrSpec> own) {
  own.push_back(policy_attr());
  own.push_back({.name = "accuracy",
                 .type = AttrType::text,
                 .fallback = "normal",
                 .doc = "high: small values of graded matrices keep their digits; slower.",
                 .choices = {"normal", "high"}});
  own.push_back(names_attr());
  return own;
}

DecompositionOptions decomposition_options(const Call& c, std::size_t first) {
  return {policy_of(c, first), c.attr(first + 1).text() == "high"};
}

AttrSpec names_attr() {
  return {.name = "names",
          .type = AttrType::texts,
          .doc = "Labels of the columns, for messages; of a symmetric matrix also of the rows."};
}

std::vector<std::string> names_of(const Call& c, std::size_t attr) {
  return attr < c.attrs.size() && c.attr(attr) ? c.attr(attr).texts() : std::vector<std::string>();
}

AttrSpec certify_attr() {
  return {.name = "certify", .type = AttrType::boolean, .fallback = false, .doc = "Prove a bound of the error."};
}

bool flag_of(const Call& c, std::size_t attr) {
  return attr < c.attrs.size() && c.attr(attr).flag();
}

void need_matrices(const Tensor& a, std::string_view name) {
  if (a.ndim() < 2)
    refuse<ShapeError>("WP-SHP-018",
                       say(name, " must be a matrix or a stack of them, [..., m, n]; got ", a.shape(), "."));
}

MatrixSizes::MatrixSizes(const Tensor& x) {
  need_matrices(x, "x");
  batch = batch_of(x);
  m = x.shape()[x.shape().size() - 2];
  n = x.shape().back();
  k = std::min(m, n);
}

Dims MatrixSizes::with(std::initializer_list<std::int64_t> more) const {
  Dims shape = batch;
  for (const std::int64_t d : more) shape.push_back(d);
  return shape;
}

void flow_matrices(const FlowQuery& q, Visit visit) {
  const MatrixSizes s(q.call.in[0]);
  const std::int64_t members = s.members();
  flow_members(q, s.m * s.n, members ? q.call.out[q.output].size() / members : 1, visit);
}

}  // namespace wp::linalg
