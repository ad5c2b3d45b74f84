#include "signature.hpp"

namespace wp::python {
namespace {

std::string default_text(const AttrSpec& a) {
  const Attr& v = a.fallback;
  switch (v.type()) {
    case AttrType::none: return "None";
    case AttrType::boolean: return v.flag() ? "True" : "False";
    case AttrType::scalar:
    case AttrType::integer: return v.show();
    case AttrType::real: {
      const std::string s = v.show();
      return s.find_first_of(".en") == std::string::npos ? s + ".0" : s;
    }
    case AttrType::dtype: return say("'", v.show(), "'");
    case AttrType::text: return say("'", v.text(), "'");
    case AttrType::setting: return v.is_number() ? v.show() : say("'", v.text(), "'");
    case AttrType::ints: {
      std::string s = "(";
      for (const std::int64_t i : v.ints()) s += say(i, ", ");
      return v.ints().size() == 1 ? say(v.ints()[0]) : s.substr(0, s.size() - 2) + ")";
    }
    case AttrType::texts:
    case AttrType::object: break;
  }
  return "None";
}

// What an attribute accepts, in words.
std::string_view accepts(AttrType t) {
  constexpr std::string_view words[] = {
      "none", "bool",          "int",         "float", "number", "dtype", "int or tuple of ints",
      "str",  "number or str", "list of str", "object"};
  return words[static_cast<int>(t)];
}

void add(Function& f, Parameter::Role role, std::size_t index, Parameter::Kind kind, bool required,
         std::string_view name) {
  PyObject* interned = text(name);
  PyUnicode_InternInPlace(&interned);
  f.parameters.push_back({role, index, kind, required, interned});
}

}  // namespace

void set_parameters(Function& f) {
  const Op& op = *f.op;
  using P = Parameter;
  for (std::size_t i = 0; i < op.attrs.size(); ++i)
    if (op.attrs[i].leading) add(f, P::attribute, i, P::positional_only, true, op.attrs[i].name);
  for (std::size_t i = 0; i < op.params.size(); ++i) {
    const Param& p = op.params[i];
    if (p.variadic) f.variadic = static_cast<int>(f.parameters.size());
    add(f, P::tensor, i,
        p.variadic   ? P::variadic
        : p.optional ? P::either
                     : P::positional_only,
        !p.optional && !p.variadic, p.name);
  }
  for (std::size_t i = 0; i < op.attrs.size(); ++i)
    if (op.attrs[i].required && !op.attrs[i].leading)
      add(f, P::attribute, i, f.variadic < 0 ? P::either : P::keyword_only, true, op.attrs[i].name);
  bool by_position = op.params.empty();
  for (std::size_t i = 0; i < op.attrs.size(); ++i) {
    const AttrSpec& a = op.attrs[i];
    if (a.name == "names") f.names = static_cast<int>(i);
    if (a.name == "copy") f.copy = static_cast<int>(i);
    by_position = by_position && a.type != AttrType::dtype;
    if (!a.required) add(f, P::attribute, i, by_position ? P::either : P::keyword_only, false, a.name);
  }
  if (op.takes_out) add(f, P::out, 0, P::keyword_only, false, "out");
  const bool makes_arrays = op.group == "creation" || op.group == "data type";
  for (const AttrSpec& a : op.attrs)
    if (makes_arrays && a.type == AttrType::dtype) add(f, P::device, 0, P::keyword_only, false, "device");
  for (const P& p : f.parameters) f.positional += p.kind == P::positional_only || p.kind == P::either;
  for (const AttrSpec& a : op.attrs) {
    f.defaults.push_back(a.fallback);
    f.large_attributes |= op.params.empty() && (a.type == AttrType::ints || a.type == AttrType::integer);
  }
}

std::string documentation(const Function& f) {
  const Op& op = *f.op;
  std::string signature = f.name + "(", details;
  bool only_position = false, by_name = false;
  const auto item = [&](std::string_view s) { signature += say(signature.back() == '(' ? "" : ", ", s); };
  for (const Parameter& p : f.parameters) {
    const std::string_view name = text_of(p.name);
    if (only_position && p.kind != Parameter::positional_only && p.kind != Parameter::variadic) {
      item("/");
      only_position = false;
    }
    if (p.kind == Parameter::variadic) {
      if (only_position) item("/");
      only_position = false;
      by_name = true;
    }
    if (p.kind == Parameter::keyword_only && !by_name) {
      item("*");
      by_name = true;
    }
    only_position |= p.kind == Parameter::positional_only;
    item(say(p.kind == Parameter::variadic ? "*" : "", name));
    if (!p.required && p.kind != Parameter::variadic)
      signature += say("=", p.role == Parameter::attribute ? default_text(op.attrs[p.index]) : std::string("None"));
    details += say("\n  ", name, ": ");
    if (p.role == Parameter::tensor)
      details += say(kinds_text(op.params[p.index].kinds), ". ", op.params[p.index].doc);
    if (p.role == Parameter::attribute) {
      const AttrSpec& a = op.attrs[p.index];
      details += say(accepts(a.type), ". ", a.doc);
      for (std::size_t k = 0; k < a.choices.size(); ++k)
        details += say(k ? ", '" : " One of '", a.choices[k], k + 1 < a.choices.size() ? "'" : "'.");
    }
    if (p.role == Parameter::out)
      details += op.outputs.size() > 1
                     ? "a tuple of tensors of the results' dtypes and shapes whose memory nobody else sees."
                     : "a tensor of the result's dtype and shape whose memory nobody else sees.";
    if (p.role == Parameter::device) details += "None or 'cpu'.";
    while (details.back() == ' ') details.pop_back();
  }
  if (only_position) item("/");
  std::string text = say(signature, ")\n--\n\n", op.doc);
  if (f.diagnosed)
    text += "\n\nReturns (value, Diagnosis). Numerical trouble does not raise: the bad members are NaN.";
  if (!op.domain.empty()) text += say("\n\nDomain: ", op.domain, ".");
  return text + "\n" + details;
}

}  // namespace wp::python
