// The functions of the op table as objects of Python, in modules by namespace.
#include <algorithm>
#include <deque>
#include <map>

#include "bind.hpp"
#include "ops/dispatch.hpp"
#include "signature.hpp"

namespace wp::python {
namespace {

// What a function of Python's keeps as __self__. It is pickled as its module, where the function is found by name.
struct Handle {
  const PyObject_HEAD Function* function;
  PyObject* module;
};
PyObject* reduce(PyObject* self, PyObject*) {
  const Ref module(PyImport_ImportModule("importlib"));
  if (!module) return nullptr;
  return Py_BuildValue("N(O)", PyObject_GetAttrString(module.get(), "import_module"),
                       reinterpret_cast<Handle*>(self)->module);
}
PyTypeObject* handle_type() {
  static PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr}, {}};
  static PyType_Slot slots[] = {{Py_tp_methods, methods}, {0, nullptr}};
  static PyType_Spec spec = {"wellposed._core.Handle", sizeof(Handle), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  static auto* const type = reinterpret_cast<PyTypeObject*>(Ref::checked(PyType_FromSpec(&spec)).release());
  return type;
}

PyObject* entry(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) noexcept {
  return guarded([&] { return call_function(*reinterpret_cast<Handle*>(self)->function, args, count, names); });
}

// A named tuple with the names of the outputs.
PyObject* named_tuple(const Op& op) {
  std::string fields, type;
  bool upper = true;
  for (const std::string_view o : op.outputs) fields += say(o, " ");
  for (const char c : op.name) {
    if (c != '_') type += static_cast<char>(upper ? std::toupper(c) : c);
    upper = c == '_';
  }
  const Ref module = Ref::checked(PyImport_ImportModule("collections"));
  const Ref made =
      Ref::checked(PyObject_CallMethod(module.get(), "namedtuple", "ss", (type + "Result").c_str(), fields.c_str()));
  const Ref home = Ref::checked(text(op.ns.empty() ? "wellposed" : say("wellposed.", op.ns)));
  if (PyObject_SetAttrString(made.get(), "__module__", home.get()) != 0) throw ErrorIsSet();
  return Py_NewRef(made.get());
}

void add_function(PyObject* module, const Op& op, bool diagnosed) {
  static auto* const functions = new std::deque<Function>;
  Function& f = functions->emplace_back();
  f.op = &op;
  f.diagnosed = diagnosed;
  f.name = op.name;
  if (constexpr std::string_view suffix = "_generalized"; op.name.ends_with(suffix))
    for (Function& narrow : *functions)
      if (narrow.diagnosed == diagnosed && narrow.op->ns == op.ns && f.name == narrow.name + std::string(suffix))
        narrow.wider = &f;
  set_parameters(f);
  f.doc = documentation(f);
  const bool plain = f.variadic < 0 && !diagnosed && op.outputs.size() == 1 && !op.outputs[0].ends_with("...") &&
                     op.params.size() <= 4;
  bool all_default = true;
  for (const Parameter& p : f.parameters) all_default &= !p.required || p.role == Parameter::tensor;
  if (plain && all_default && !op.params.empty()) f.simple = op.params.size();
  if (op.outputs.size() > 1) {
    static auto* const types = new std::map<const Op*, PyObject*>;
    PyObject*& type = (*types)[&op];
    if (!type) {
      type = named_tuple(op);
      const Ref name = Ref::checked(PyObject_GetAttrString(type, "__name__"));
      PyObject_SetAttr(module, name.get(), type);
    }
    f.result_type = type;
  }
  f.definition = {f.name.c_str(), reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(entry)),
                  METH_FASTCALL | METH_KEYWORDS, f.doc.c_str()};
  const Ref home = Ref::checked(PyUnicode_FromString(PyModule_GetName(module)));
  const Ref self = Ref::checked(reinterpret_cast<PyObject*>(PyObject_New(Handle, handle_type())));
  reinterpret_cast<Handle*>(self.get())->function = &f;
  reinterpret_cast<Handle*>(self.get())->module = Py_NewRef(home.get());
  const Ref function = Ref::checked(PyCFunction_NewEx(&f.definition, self.get(), home.get()));
  PyModule_AddObjectRef(module, f.name.c_str(), function.get());
}

// wellposed.linalg, as a module that `import wellposed.linalg` finds.
Ref submodule(PyObject* parent, const std::string& name) {
  const std::string full = say("wellposed.", name);
  Ref module = Ref::checked(PyModule_New(full.c_str()));
  PyDict_SetItemString(PyImport_GetModuleDict(), full.c_str(), module.get());
  if (PyObject_SetAttrString(parent, name.substr(name.rfind('.') + 1).c_str(), module.get()) != 0) throw ErrorIsSet();
  return module;
}

}  // namespace

std::optional<Planned> plan_of(PyObject* function, PyObject* options, std::size_t tensors) {
  if (!PyCFunction_Check(function)) return {};
  PyObject* const self = PyCFunction_GET_SELF(function);
  if (!self || Py_TYPE(self) != handle_type()) return {};
  const Function* f = reinterpret_cast<Handle*>(self)->function;
  if (f->wider && tensors > f->positional) f = f->wider;
  if (f->diagnosed || f->variadic >= 0 || f->op->params.size() != tensors) return {};
  Planned plan{f->op, f->defaults};
  PyObject *name = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(options, &at, &name, &value);) {
    const auto p = std::ranges::find_if(f->parameters, [&](const Parameter& q) {
      return q.role == Parameter::attribute && PyUnicode_Compare(q.name, name) == 0;
    });
    if (p == f->parameters.end()) return {};
    plan.attrs[p->index] = attribute_of(value, f->op->attrs[p->index], f->name);
  }
  return plan;
}

void add_functions(PyObject* module) {
  std::map<std::string, Ref, std::less<>> spaces;
  const auto space = [&](const std::string& ns, PyObject* parent) -> PyObject* {
    Ref& m = spaces[ns];
    if (!m) m = submodule(parent, ns);
    return m.get();
  };
  for (const Op* op : op_table()) {
    PyObject* const home = op->ns.empty() ? module : space(std::string(op->ns), module);
    add_function(home, *op, false);
    if (op->diagnoses) add_function(space(std::string(op->ns) + ".diagnosed", home), *op, true);
  }
}

}  // namespace wp::python
