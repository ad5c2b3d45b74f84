#pragma once
#include "python.hpp"

namespace wp::python {

// An op of another framework for recordings: a name, and nothing else. Lives as long as the process.
const Op* foreign_op(std::string_view name);

void add_watcher(PyObject* module);  // the type Watcher
void add_inside(PyObject* module);   // the type Inside

}  // namespace wp::python
