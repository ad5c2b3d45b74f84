// Runs at the end of the build: every room must have a sample for each dtype kind of each parameter, each branch it
// names, each optional parameter, and outside its domain.
#include <algorithm>
#include <cstdio>
#include <string>

#include "base/text.hpp"
#include "ops/dispatch.hpp"
#include "tensor/note.hpp"

namespace wp {
namespace {

struct Kind {
  Kinds kinds;
  const char* name;
};
constexpr Kind dtype_kinds[] = {{kinds::boolean, "bool"},
                                {kinds::integer, "integer"},
                                {kinds::real_floating, "real floating-point"},
                                {kinds::complex_floating, "complex"}};

int problems = 0;
void complain(const Op& op, const std::string& text) {
  std::fprintf(stderr, "room %s%s%s: %s\n", std::string(op.ns).c_str(), op.ns.empty() ? "" : ".",
               std::string(op.name).c_str(), text.c_str());
  ++problems;
}

void check_param(const Op& op, const std::vector<Sample>& samples, std::size_t i) {
  const Param& p = op.params[i];
  const auto some = [&](auto&& good) {
    return std::any_of(samples.begin(), samples.end(),
                       [&](const Sample& s) { return i < s.in.size() && s.in[i].defined() && good(s.in[i]); });
  };
  for (const Kind& k : dtype_kinds)
    if ((p.kinds & k.kinds) && !some([&](const Tensor& t) { return is(t.dtype(), k.kinds & p.kinds); }))
      complain(op, say("no sample with a ", k.name, " ", p.name));
}

// A sample must lie outside the domain: one whose result is not finite, or that is refused.
bool leaves_domain(const Op& op, const Sample& s) {
  std::vector<const Tensor*> in;
  for (const Tensor& t : s.in) in.push_back(&t);
  try {
    for (const Tensor& t : call(op, Inputs(in.data(), in.size()), s.attrs, {}))
      for (std::int64_t e = 0; e < t.size(); ++e)
        if (nonfinite_at(t, e)) return true;
  } catch (const Error&) {
    return true;
  }
  return false;
}

void check(const Op& op) {
  const std::vector<Sample> samples = op.samples ? op.samples() : std::vector<Sample>{};
  if (samples.empty()) return complain(op, "no samples");
  for (const Sample& s : samples)
    if (s.attrs.size() != op.attrs.size()) return complain(op, "a sample does not give every attribute");
  for (std::size_t i = 0; i < op.params.size(); ++i) check_param(op, samples, i);
  for (const std::string_view branch : op.branches)
    if (std::none_of(samples.begin(), samples.end(), [&](const Sample& s) { return s.covers == branch; }))
      complain(op, say("no sample covers the branch '", branch, "'"));
  for (const Sample& s : samples)
    if (!s.covers.empty() && std::find(op.branches.begin(), op.branches.end(), s.covers) == op.branches.end())
      complain(op, say("a sample covers '", s.covers, "', which is not among its branches"));
  if (!op.domain.empty() &&
      std::none_of(samples.begin(), samples.end(), [&](const Sample& s) { return leaves_domain(op, s); }))
    complain(op, say("no sample outside its domain ", op.domain));
}

}  // namespace
}  // namespace wp

int main() {
  for (const wp::Op* op : wp::op_table()) wp::check(*op);
  if (wp::problems) std::fprintf(stderr, "%s in the rooms\n", wp::plural(wp::problems, "problem").c_str());
  return wp::problems != 0;
}
