#include "wellposed/validate.hpp"

#include "base/text.hpp"
#include "data/cross.hpp"
#include "data/names.hpp"
#include "data/run.hpp"

namespace wp {
namespace data {
namespace {

RuleReport absent(const std::string& name, const std::vector<Input>& inputs) {
  std::vector<std::string> known;
  for (const Input& i : inputs) known.push_back(i.name);
  RuleReport r;
  r.tensor = name;
  r.rule = "tensor";
  r.code = "WP-VAL-014";
  r.holds = false;
  r.failed = r.checked = 1;
  r.unit = "tensor";
  r.message = say("there is no tensor '", name, "' in the data.", nearest(name, known));
  return r;
}
RuleReport unexpected(const std::string& name) {
  RuleReport r = absent(name, {});
  r.message = say("the schema is strict and has no tensor '", name, "'");
  return r;
}

// Which rules belong to an input: those of its name; the unnamed ones; null: none.
const SchemaTensor* rules_for(const Schema& schema, const std::string& name) {
  const SchemaTensor* const named = schema.find(name);
  return named ? named : schema.find("");
}

Report validate_inputs(const std::vector<Input>& inputs, const Schema& schema, const ValidateOptions& options,
                       const std::source_location& where) {
  const OwnSymbols symbols;
  Report out;
  std::vector<Run> runs;
  std::uint64_t bytes = 0;
  for (const Input& input : inputs) {
    const SchemaTensor* const rules = rules_for(schema, input.name);
    if (!rules && schema.is_strict()) out.rules.push_back(unexpected(input.name));
    if (!rules) continue;
    bytes += runs.emplace_back(input, rules, options).bytes();
  }
  std::optional<Progress> progress;
  if (options.progress) progress.emplace("validating", static_cast<std::int64_t>(bytes), "bytes");
  for (Run& run : runs) {
    run.read(progress ? &*progress : nullptr);
    run.finish(out);
  }
  if (progress) progress->finish();
  for (const SchemaTensor& t : schema.tensors()) {
    const SchemaValue* const optional = t.find("optional");
    const bool there = std::any_of(inputs.begin(), inputs.end(), [&](const Input& i) { return i.name == t.name(); });
    if (!t.name().empty() && !there && !(optional && optional->boolean()))
      out.rules.push_back(absent(t.name(), inputs));
  }
  for (const std::string& p : schema.predicates()) out.rules.push_back(judge_across(p, inputs, schema, options));
  if (options.raise) out.raise(where);
  return out;
}

}  // namespace
}  // namespace data

Report validate(const Tensor& data, const Schema& schema, const ValidateOptions& options,
                std::source_location where) {
  const std::string name = schema.tensors().size() == 1 ? schema.tensors()[0].name() : "";
  return validate(NamedTensors{{name, data}}, schema, options, where);
}

Report validate(const NamedTensors& data, const Schema& schema, const ValidateOptions& options,
                std::source_location where) {
  return data::validate_inputs(data::inputs_of(data), schema, options, where);
}

Report validate_files(const std::vector<std::string>& files, const Schema& schema, const ValidateOptions& options,
                      std::source_location where) {
  const bool arrays = schema.find("indptr") || schema.find("indices") || schema.find("data") || schema.find("shape");
  std::vector<data::Input> inputs = data::inputs_of_files(
      files, {.columns = options.columns, .dense = !arrays, .max_unfolded = options.max_unfolded});
  // The schema of one named tensor, and one file of another name: it is meant.
  if (inputs.size() == 1 && schema.tensors().size() == 1 && schema.predicates().empty() &&
      !schema.tensors()[0].name().empty() && files[0].find('=') == std::string::npos)
    inputs[0].name = schema.tensors()[0].name();
  return data::validate_inputs(inputs, schema, options, where);
}

}  // namespace wp
