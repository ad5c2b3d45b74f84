// What surrounds a computation: check levels, scopes, findings, threads.
#include "bind.hpp"
#include "wellposed/context.hpp"
#include "wellposed/record.hpp"
#include "wellposed/threads.hpp"

namespace wp::python {
namespace {

void bind_finding(nb::module_& m) {
  nb::class_<Finding>(m, "Finding",
                      "One fact about the numbers of one call: what was measured, what it means, what to do.")
      .def_ro("code", &Finding::code)
      .def_prop_ro("severity",
                   [](const Finding& f) {
                     constexpr const char* names[] = {"note", "warning", "error"};
                     return names[static_cast<int>(f.severity)];
                   })
      .def_ro("op", &Finding::op)
      .def_ro("message", &Finding::message)
      .def_ro("advice", &Finding::advice)
      .def_ro("measured", &Finding::measured)
      .def_ro("threshold", &Finding::threshold)
      .def_ro("count", &Finding::count)
      .def_ro("members", &Finding::members)
      .def_ro("worst_member", &Finding::worst_member)
      .def_ro("element", &Finding::element)
      .def_ro("operands", &Finding::operands)
      .def_ro("dtype", &Finding::dtype)
      .def_ro("shape", &Finding::shape)
      .def_ro("scope", &Finding::scope)
      .def_ro("step", &Finding::step)
      .def_prop_ro("file", [](const Finding& f) { return f.place.known() ? f.place.file : ""; })
      .def_prop_ro("line", [](const Finding& f) { return f.place.line; })
      .def("json", &Finding::json)
      .def("__str__", &Finding::text)
      .def("__repr__", [](const Finding& f) { return "<Finding " + f.code + " " + f.op + ": " + f.message + ">"; });
}

}  // namespace

void bind_context(nb::module_& m) {
  bind_finding(m);
  using Checks = While<checks, CheckLevel>;
  nb::class_<Checks> c(m, "Checks");
  c.def(
      "__init__", [](Checks* self, std::string_view level) { new (self) Checks(parse_check_level(level)); },
      nb::arg("level"));
  add_with(c);
  using Scope = While<scope, std::string>;
  nb::class_<Scope> s(m, "Scope");
  s.def(nb::init<std::string>(), nb::arg("name"));
  add_with(s);
  using Allow = While<allow_nonfinite>;
  nb::class_<Allow> a(m, "AllowNonfinite");
  a.def(nb::init<>());
  add_with(a);
  m.def(
      "set_checks", [](std::string_view level) { context().level = parse_check_level(level); }, nb::arg("level"));
  m.def("check_level", [] { return std::string(name(context().level)); });
  m.def("current_scope", &current_scope);
  m.def("set_step", &set_step, nb::arg("step"));
  m.def("set_rows", &set_rows, nb::arg("first"), nb::arg("count"));
  m.def("findings", &findings);
  m.def("clear_findings", &clear_findings);
  m.def("threads", &threads);
  m.def("set_threads", &set_threads, nb::arg("count"));
}

}  // namespace wp::python
