// One op as a Python function: its parameters in Python's order. Derived from the op table and from nothing else
// (tools/stubs.py writes the same signatures into the .pyi files; a test compares).
#pragma once
#include <string>
#include <vector>

#include "python.hpp"

namespace wp::python {

struct Parameter {
  enum Role : std::uint8_t { tensor, attribute, out, device } role;
  std::size_t index = 0;  // among the op's tensors, or its attributes
  enum Kind : std::uint8_t { positional_only, either, keyword_only, variadic } kind = keyword_only;
  bool required = false;
  PyObject* name = nullptr;  // interned
};

struct Function {
  const Op* op = nullptr;
  bool diagnosed = false;  // of linalg.diagnosed: (value, Diagnosis)
  std::vector<Parameter> parameters;
  std::size_t positional = 0;     // how many can be given by position
  int variadic = -1;              // which parameter takes any number of tensors
  int names = -1;                 // the attribute that labels reach by themselves
  int copy = -1;                  // the attribute that may ask for the tensor itself
  std::size_t simple = SIZE_MAX;  // that many tensors and nothing else are an ordinary call with one result
  bool large_attributes = false;  // makes a tensor of any size out of none
  std::vector<Attr> defaults;
  PyObject* result_type = nullptr;  // a named tuple, or null
  const Function* wider = nullptr;  // takes one tensor more: eigh(a, b) is eigh_generalized(a, b)
  std::string name, doc;
  PyMethodDef definition = {};
};

// tensors that must be given, before them attributes that lead; then (by position or name) optional tensors and
// attributes without default, and of functions that take no tensor the attributes before dtype; the rest by name.
void set_parameters(Function& f);
// "log(x, /)\n--\n\n" and the documentation.
std::string documentation(const Function& f);

// The call itself: arguments by position, then those of `names`.
PyObject* call_function(const Function& f, PyObject* const* args, Py_ssize_t count, PyObject* names);
// A Python object as an attribute of the function of this name.
Attr attribute_of(PyObject* o, const AttrSpec& a, std::string_view function);

}  // namespace wp::python
