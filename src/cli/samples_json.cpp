#include "cli/samples_json.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "ops/dispatch.hpp"
#include "tensor/note.hpp"

namespace wp::cli {
namespace {

// Exact text: integers in decimal, floats as hexadecimal, complex as a pair.
json number(const Tensor& t, std::int64_t e) {
  const DType d = t.dtype();
  if (d == DType::boolean) return value_at(t, e).real() != 0;
  if (is_integer(d)) return text_at(t, e);
  const complex128 v = value_at(t, e);
  if (!is_complex(d)) return fmt::format("{:a}", v.real());
  return {fmt::format("{:a}", v.real()), fmt::format("{:a}", v.imag())};
}

json tensor_json(const Tensor& t) {
  if (!t.defined()) return nullptr;
  json values = json::array();
  for (std::int64_t e = 0; e < t.size(); ++e) values.push_back(number(t, e));
  return {{"dtype", name(t.dtype())},
          {"shape", std::vector<std::int64_t>(t.shape().begin(), t.shape().end())},
          {"values", values}};
}

json sample_json(const Op& op, const Sample& s) {
  json in = json::array(), attrs = json::object(), out = json::array();
  std::vector<const Tensor*> pointers;
  for (const Tensor& t : s.in) {
    in.push_back(tensor_json(t));
    pointers.push_back(&t);
  }
  for (std::size_t i = 0; i < s.attrs.size(); ++i) attrs[std::string(op.attrs[i].name)] = attr_json(s.attrs[i]);
  json result = {{"covers", s.covers}, {"in", in}, {"attrs", attrs}};
  try {
    for (const Tensor& t : call(op, Inputs(pointers.data(), pointers.size()), s.attrs, {}))
      out.push_back(tensor_json(t));
    result["out"] = out;
  } catch (const Error& e) {
    result["error"] = e.what();
  }
  return result;
}

}  // namespace

json samples_json() {
  json ops = json::array();
  for (const Op* op : op_table()) {
    json samples = json::array();
    if (op->samples)
      for (const Sample& s : op->samples()) samples.push_back(sample_json(*op, s));
    ops.push_back({{"name", op->name}, {"namespace", op->ns}, {"samples", samples}});
  }
  return {{"schema_version", 1}, {"ops", ops}};
}

}  // namespace wp::cli
