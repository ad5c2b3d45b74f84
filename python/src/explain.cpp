// Calls that nanobind refuses: its list of overloads becomes a sentence that names the argument.
#include <unordered_map>

#include "bind.hpp"

namespace wp::python {
namespace {

std::unordered_map<PyObject*, vectorcallfunc> originals;  // by function; these live as long as the module

vectorcallfunc& vectorcall_of(PyObject* f) {
  return *reinterpret_cast<vectorcallfunc*>(reinterpret_cast<char*>(f) + Py_TYPE(f)->tp_vectorcall_offset);
}

// With a TypeError set that says little.
void explain(PyObject* f, PyObject* const* args, std::size_t count, PyObject* names) {
  nb::python_error error;
  const nb::str words(error.value());
  if (std::string_view(words.c_str()).find("incompatible function arguments") == std::string_view::npos)
    return error.restore();
  nb::list given;
  for (std::size_t i = 0; i < count; ++i) given.append(nb::handle(args[i]));
  nb::dict by_name;
  for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); ++i)
    by_name[nb::handle(PyTuple_GET_ITEM(names, i))] = nb::handle(args[count + static_cast<std::size_t>(i)]);
  const nb::object better = nb::module_::import_("wellposed._errors").attr("_explain")(nb::handle(f), given, by_name);
  if (better.is_none()) return error.restore();
  PyErr_SetObject(PyExc_TypeError, better.ptr());
}

PyObject* explained(PyObject* f, PyObject* const* args, std::size_t flags, PyObject* names) {
  PyObject* const result = originals.find(f)->second(f, args, flags, names);
  if (!result && PyErr_ExceptionMatches(PyExc_TypeError)) [[unlikely]]
    (void)guarded([&] {
      explain(f, args, flags & 0xFFFFFFFFU, names);  // the upper bits are flags, of Python's and nanobind's
      return true;
    });
  return result;
}

void explain_all(PyObject* dict, bool classes) {
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value);) {
    const std::string_view type = Py_TYPE(value)->tp_name;
    if (classes && PyType_Check(value)) explain_all(reinterpret_cast<PyTypeObject*>(value)->tp_dict, false);
    if (type != "nanobind.nb_func" && type != "nanobind.nb_method") continue;
    if (originals.emplace(value, vectorcall_of(value)).second) vectorcall_of(value) = explained;
  }
}

}  // namespace

void explain_calls(nb::module_& m) {
  explain_all(PyModule_GetDict(m.ptr()), true);
}

}  // namespace wp::python
