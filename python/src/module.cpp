// The module wellposed._core.
#include "bind.hpp"
#include "cli/command.hpp"
#include "wellposed/version.hpp"

namespace wp::python {
namespace {

int run_command(const std::vector<std::string>& arguments) {
  std::vector<const char*> all;
  for (const std::string& a : arguments) all.push_back(a.c_str());
  all.push_back(nullptr);
  return cli::run(static_cast<int>(arguments.size()), all.data());
}

}  // namespace
}  // namespace wp::python

NB_MODULE(_core, m) {
  using namespace wp::python;
  nb::set_leak_warnings(false);  // what a program keeps until its end is no leak
  m.doc() = "The compiled part of wellposed.";
  m.attr("__version__") = nb::str(wp::version().data(), wp::version().size());
  // The functions of the op table belong to the package, where users find them.
  nb::module_ package = nb::module_::import_("wellposed");
  try {
    add_findings();
    add_dtypes(package.ptr());
    add_tensor(package.ptr());
    add_functions(package.ptr());
    PyModule_AddObjectRef(package.ptr(), "IntegerOverflow", integer_overflow());
  } catch (const ErrorIsSet&) {
    nb::raise_python_error();
  }
  bind_context(m);
  bind_linalg(m);
  bind_iterative(m);
  bind_autodiff(m);
  bind_trace(m);
  bind_io(m);
  bind_data(m);
  bind_summary(m);
  bind_nn(m);
  bind_adapters(m);
  bind_xla(m);
  bind_tensorflow(m);
  m.def("run_command", run_command, nb::call_guard<nb::gil_scoped_release>());
  explain_calls(m);
}
