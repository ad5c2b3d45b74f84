// Schemas, validation and data sets.
#include "base/text.hpp"
#include "bind.hpp"
#include "wellposed/dataset.hpp"

namespace wp::python {
namespace {

// None is no value; bools before integers, of which they are a kind in Python.
SchemaValue value_of(nb::handle o) {
  if (nb::isinstance<nb::bool_>(o)) return nb::cast<bool>(o);
  if (nb::isinstance<nb::int_>(o)) return nb::cast<std::int64_t>(o);
  if (nb::isinstance<nb::float_>(o)) return nb::cast<double>(o);
  if (nb::isinstance<nb::str>(o)) return nb::cast<std::string>(o);
  if (nb::isinstance<nb::list>(o) || nb::isinstance<nb::tuple>(o)) {
    SchemaValue::List items;
    for (nb::handle item : nb::borrow<nb::iterable>(o)) items.push_back(value_of(item));
    return SchemaValue::list(std::move(items));
  }
  DType d;
  if (nb::try_cast(o, d)) return std::string(name(d));
  throw nb::type_error("a schema takes bools, numbers, text and lists of them.");
}
void set_rules(SchemaField& f, const nb::kwargs& rules) {
  for (const auto& [key, value] : rules) f.set(nb::cast<std::string>(key), value_of(value));
}

// A file's name, text of TOML (it has a line break), a dict, or a schema.
Schema schema_of(nb::handle o) {
  if (nb::isinstance<Schema>(o)) return nb::cast<Schema>(o);
  if (nb::isinstance<nb::dict>(o))
    return Schema::from_json(nb::cast<std::string>(nb::module_::import_("json").attr("dumps")(o)), "the dict");
  const std::string text = nb::cast<std::string>(nb::module_::import_("os").attr("fspath")(o));
  return text.find('\n') == std::string::npos ? load_schema(text) : Schema::from_toml(text);
}

bool is_path(nb::handle o) {
  return nb::isinstance<nb::str>(o) || nb::hasattr(o, "__fspath__");
}
std::string path_of(nb::handle o) {
  return nb::cast<std::string>(nb::module_::import_("os").attr("fspath")(o));
}
// What data may be: files, named arrays, or one array.
struct Given {
  std::vector<std::string> files;
  NamedTensors tensors;
  bool one = false;
};
Given given(nb::handle data) {
  Given g;
  if (is_path(data)) {
    g.files.push_back(path_of(data));
  } else if (nb::isinstance<nb::dict>(data)) {
    for (const auto& [key, value] : nb::borrow<nb::dict>(data))
      g.tensors.emplace_back(nb::cast<std::string>(key), as_tensor(value.ptr(), "data"));
  } else if ((nb::isinstance<nb::list>(data) || nb::isinstance<nb::tuple>(data)) && nb::len(data) > 0 &&
             is_path(nb::object(data[0]))) {
    for (nb::handle item : nb::borrow<nb::iterable>(data)) g.files.push_back(path_of(item));
  } else {
    g.tensors.emplace_back("", as_tensor(data.ptr(), "data"));
    g.one = true;
  }
  return g;
}

Report validated(nb::object data, nb::object rules, int offenders, bool raise, bool progress, std::int64_t block,
                 std::vector<std::string> columns, std::uint64_t max_unfolded) {
  const Given g = given(data);
  const Schema schema = schema_of(rules);
  const ValidateOptions options{offenders, raise, progress, block, std::move(columns), max_unfolded};
  return unlocked([&](auto where) {
    if (!g.files.empty()) return validate_files(g.files, schema, options, where);
    return g.one ? validate(g.tensors[0].second, schema, options, where)
                 : validate(g.tensors, schema, options, where);
  });
}
Schema inferred(nb::object data, double slack, bool drift, bool progress, std::vector<std::string> columns,
                std::uint64_t max_unfolded) {
  const Given g = given(data);
  const InferOptions options{slack, drift, progress, std::move(columns), max_unfolded};
  return unlocked([&](auto) {
    if (!g.files.empty()) return infer_schema_files(g.files, options);
    return g.one ? infer_schema(g.tensors[0].second, options) : infer_schema(g.tensors, options);
  });
}

void bind_schema(nb::module_& m) {
  nb::class_<Schema>(m, "Schema", "What data must look like: rules of tensors and their columns.")
      .def(nb::init<>())
      .def(
          "__init__", [](Schema* self, nb::object rules) { new (self) Schema(schema_of(rules)); }, nb::arg("rules"))
      .def_static(
          "from_toml", [](std::string_view text) { return Schema::from_toml(text); }, nb::arg("text"))
      .def_static(
          "from_json", [](std::string_view text) { return Schema::from_json(text); }, nb::arg("text"))
      .def(
          "tensor",
          [](nb::object self, std::string_view name, const nb::kwargs& rules) {
            set_rules(nb::cast<Schema&>(self).tensor(name), rules);
            return self;
          },
          nb::arg("name") = "", nb::arg("rules"))
      .def(
          "column",
          [](nb::object self, std::string_view tensor, std::string_view name, const nb::kwargs& rules) {
            set_rules(nb::cast<Schema&>(self).tensor(tensor).column(name), rules);
            return self;
          },
          nb::arg("tensor"), nb::arg("name"), nb::arg("rules"))
      .def(
          "holds",
          [](nb::object self, std::string_view predicate) {
            nb::cast<Schema&>(self).holds(predicate);
            return self;
          },
          nb::arg("predicate"))
      .def(
          "strict",
          [](nb::object self, bool yes) {
            nb::cast<Schema&>(self).strict(yes);
            return self;
          },
          nb::arg("yes") = true)
      .def("toml", &Schema::toml)
      .def("json", &Schema::json)
      .def(
          "save", [](const Schema& s, nb::object path) { save_schema(path_of(path), s); }, nb::arg("path"))
      .def("__eq__",
           [](const Schema& a, nb::handle b) { return nb::isinstance<Schema>(b) && a == nb::cast<Schema>(b); })
      .def("__repr__", &Schema::toml);
  nb::class_<SchemaChange>(m, "SchemaChange")
      .def_ro("where", &SchemaChange::where)
      .def_ro("rule", &SchemaChange::rule)
      .def_ro("kind", &SchemaChange::kind)
      .def_ro("before", &SchemaChange::before)
      .def_ro("after", &SchemaChange::after)
      .def("__repr__", &SchemaChange::text);
  m.def(
      "schema_diff",
      [](nb::object before, nb::object after) { return schema_diff(schema_of(before), schema_of(after)); },
      nb::arg("before"), nb::arg("after"));
}

void bind_report(nb::module_& m) {
  nb::class_<Offender>(m, "Offender")
      .def_ro("index", &Offender::index)
      .def_ro("row", &Offender::row)
      .def_ro("value", &Offender::value)
      .def_ro("why", &Offender::why)
      .def("__repr__", [](const Offender& o) { return say("<", o.index, " = ", o.value, ' ', o.why, ">"); });
  nb::class_<RuleReport>(m, "RuleReport")
      .def_ro("tensor", &RuleReport::tensor)
      .def_ro("column", &RuleReport::column)
      .def_ro("rule", &RuleReport::rule)
      .def_ro("expected", &RuleReport::expected)
      .def_ro("code", &RuleReport::code)
      .def_ro("holds", &RuleReport::holds)
      .def_ro("failed", &RuleReport::failed)
      .def_ro("checked", &RuleReport::checked)
      .def_ro("unit", &RuleReport::unit)
      .def_ro("message", &RuleReport::message)
      .def_ro("note", &RuleReport::note)
      .def_ro("first", &RuleReport::first)
      .def_ro("worst", &RuleReport::worst)
      .def_ro("measured", &RuleReport::measured)
      .def("__repr__", [](const RuleReport& r) {
        return say("<", r.rule, ' ', r.expected, r.holds ? " holds" : ": ", r.message, ">");
      });
  nb::class_<FieldReport>(m, "FieldReport")
      .def_ro("tensor", &FieldReport::tensor)
      .def_ro("column", &FieldReport::column)
      .def_ro("dtype", &FieldReport::dtype)
      .def_ro("shape", &FieldReport::shape)
      .def_ro("values", &FieldReport::values)
      .def_ro("nans", &FieldReport::nans)
      .def_ro("infs", &FieldReport::infs)
      .def_ro("low", &FieldReport::low)
      .def_ro("high", &FieldReport::high)
      .def_ro("edges", &FieldReport::edges)
      .def_ro("counts", &FieldReport::counts)
      .def_ro("sampled", &FieldReport::sampled);
  nb::class_<Report>(m, "Report", "What validation found: rules, offenders, and what was seen of the data.")
      .def_prop_ro("ok", &Report::ok)
      .def("__bool__", &Report::ok)
      .def_ro("rules", &Report::rules)
      .def_ro("fields", &Report::fields)
      .def_prop_ro("findings", &Report::findings)
      .def("text", &Report::text)
      .def("json", &Report::json)
      .def(
          "html", [](const Report& r, nb::object path) { r.html(path_of(path)); }, nb::arg("path"))
      .def("raise_", [](const Report& r) { r.raise(here().location()); })
      .def("__repr__", &Report::text);
  m.def("validate", validated, nb::arg("data"), nb::arg("schema"), nb::kw_only(), nb::arg("offenders") = 5,
        nb::arg("raise_") = false, nb::arg("progress") = false, nb::arg("block") = 0,
        nb::arg("columns") = std::vector<std::string>(), nb::arg("max_unfolded") = 0);
  m.def("infer_schema", inferred, nb::arg("data"), nb::kw_only(), nb::arg("slack") = 0.1, nb::arg("drift") = false,
        nb::arg("progress") = false, nb::arg("columns") = std::vector<std::string>(), nb::arg("max_unfolded") = 0);
}

Dataset dataset_of(nb::object data, const DatasetOptions& options) {
  const Given g = given(data);
  return unlocked([&](auto) { return g.files.empty() ? Dataset(g.tensors, options) : Dataset(g.files, options); });
}

void bind_dataset(nb::module_& m) {
  nb::class_<Batch>(m, "Batch", "Rows of a data set, with their numbers.")
      .def_ro("rows", &Batch::rows)
      .def_ro("number", &Batch::number)
      .def_prop_ro("only", &Batch::only)
      .def_prop_ro("tensors",
                   [](const Batch& b) {
                     nb::dict out;
                     for (const auto& [name, tensor] : b.tensors) out[nb::str(name.c_str())] = nb::cast(tensor);
                     return out;
                   })
      .def("__getitem__", [](const Batch& b, std::string_view name) { return b[name]; })
      .def("__len__", [](const Batch& b) { return b.rows.size(); });
  nb::class_<Epoch>(m, "Epoch", "The batches of one epoch, once.")
      .def("__iter__", [](nb::object self) { return self; })
      .def("__next__", [](Epoch& e) {
        Batch b;
        const bool more = unlocked([&](auto) { return e.next(b); });
        if (!more) throw nb::stop_iteration();
        return b;
      });
  nb::class_<Dataset>(m, "Dataset", "Shuffled batches over files or arrays, with row numbers that blame knows.")
      .def(
          "__init__",
          [](Dataset* self, nb::object data, std::int64_t batch, bool shuffle, std::uint64_t seed, bool drop_last,
             int prefetch, nb::object schema, std::vector<std::string> columns) {
            DatasetOptions o{batch, shuffle, seed, drop_last, prefetch, std::nullopt, std::move(columns)};
            if (!schema.is_none()) o.schema = schema_of(schema);
            new (self) Dataset(dataset_of(data, o));
          },
          nb::arg("data"), nb::kw_only(), nb::arg("batch") = 32, nb::arg("shuffle") = true, nb::arg("seed") = 0,
          nb::arg("drop_last") = false, nb::arg("prefetch") = 2, nb::arg("schema").none() = nb::none(),
          nb::arg("columns") = std::vector<std::string>())
      .def_prop_ro("rows", &Dataset::rows)
      .def_prop_ro("batches", &Dataset::batches)
      .def_prop_ro("names", &Dataset::names)
      .def_prop_ro("report", &Dataset::report)
      .def(
          "epoch", [](const Dataset& d, std::int64_t n) { return unlocked([&](auto) { return d.epoch(n); }); },
          nb::arg("number") = 0)
      .def("__iter__", [](const Dataset& d) { return d.epoch(0); })
      .def("__len__", &Dataset::batches)
      .def("split", &Dataset::split, nb::arg("fraction"))
      .def("origin", &Dataset::origin, nb::arg("row"));
}

}  // namespace

void bind_data(nb::module_& m) {
  bind_schema(m);
  bind_report(m);
  bind_dataset(m);
}

}  // namespace wp::python
