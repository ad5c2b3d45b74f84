// Inside(function, scope, owner): calls the function with the scope set. It stands in a module's place for its
// forward function while it is watched.
#include "base/scope.hpp"
#include "watcher.hpp"
#include "wellposed/context.hpp"

namespace wp::python {
namespace {

struct InsideObject {
  PyObject_HEAD PyObject *function, *owner;
  const ScopeName* scope;
  vectorcallfunc call;
};
InsideObject& of(PyObject* self) {
  return *reinterpret_cast<InsideObject*>(self);
}

PyObject* run(PyObject* self, PyObject* const* args, std::size_t count, PyObject* names) noexcept {
  const ScopeName* const outer = std::exchange(context().scope, of(self).scope);
  PyObject* const out = PyObject_Vectorcall(of(self).function, args, count, names);
  context().scope = outer;
  return out;
}

// The name as it is, whatever surrounds this call; it lives as long as the process.
const ScopeName* scope_named(std::string_view path) {
  const detail::Restore<&Context::scope> outer;
  context().scope = nullptr;
  const scope named(path);
  return context().scope;
}

PyObject* make(PyTypeObject* type, PyObject* args, PyObject*) noexcept {
  PyObject *function = nullptr, *owner = nullptr;
  const char* path = nullptr;
  if (!PyArg_ParseTuple(args, "OsO", &function, &path, &owner)) return nullptr;
  PyObject* const self = type->tp_alloc(type, 0);
  if (!self) return nullptr;
  of(self).function = Py_NewRef(function);
  of(self).owner = Py_NewRef(owner);
  of(self).scope = scope_named(path);
  of(self).call = run;
  return self;
}
int visit(PyObject* self, visitproc visit, void* arg) noexcept {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(of(self).function);
  Py_VISIT(of(self).owner);
  return 0;
}
int clear(PyObject* self) noexcept {
  Py_CLEAR(of(self).function);
  Py_CLEAR(of(self).owner);
  return 0;
}
void drop(PyObject* self) noexcept {
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  clear(self);
  type->tp_free(self);
  Py_DECREF(type);
}

// A copy of the owner has the function of its class, bound to itself.
PyObject* deep_copy(PyObject* self, PyObject* memo) noexcept {
  const Ref key(PyLong_FromVoidPtr(of(self).owner));
  PyObject* const copy = key ? PyDict_GetItemWithError(memo, key.get()) : nullptr;
  if (!copy) return PyErr_Occurred() ? nullptr : Py_NewRef(self);
  const Ref function(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(copy)), "forward"));
  return function ? PyMethod_New(function.get(), copy) : nullptr;
}
PyObject* reduce(PyObject* self, PyObject*) noexcept {
  const Ref builtins(PyImport_ImportModule("builtins"));
  const Ref get(builtins ? PyObject_GetAttrString(builtins.get(), "getattr") : nullptr);
  return get ? Py_BuildValue("(O(Os))", get.get(), of(self).owner, "forward") : nullptr;
}
PyObject* get_wrapped(PyObject* self, void*) noexcept {
  return Py_NewRef(of(self).function);
}

}  // namespace

void add_inside(PyObject* module) {
  static PyMethodDef methods[] = {{"__deepcopy__", deep_copy, METH_O, nullptr},
                                  {"__reduce__", reduce, METH_NOARGS, nullptr},
                                  {nullptr, nullptr, 0, nullptr}};
  static PyGetSetDef fields[] = {{"__wrapped__", get_wrapped, nullptr, nullptr, nullptr},
                                 {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", T_PYSSIZET, static_cast<Py_ssize_t>(offsetof(InsideObject, call)), READONLY, nullptr},
      {nullptr, 0, 0, 0, nullptr}};
  PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(make)},
                         {Py_tp_dealloc, reinterpret_cast<void*>(drop)},
                         {Py_tp_traverse, reinterpret_cast<void*>(visit)},
                         {Py_tp_clear, reinterpret_cast<void*>(clear)},
                         {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                         {Py_tp_methods, methods},
                         {Py_tp_getset, fields},
                         {Py_tp_members, members},
                         {0, nullptr}};
  PyType_Spec spec{"wellposed._core.Inside", sizeof(InsideObject), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, slots};
  const Ref type = Ref::checked(PyType_FromSpec(&spec));
  if (PyModule_AddObjectRef(module, "Inside", type.get()) != 0) throw ErrorIsSet();
}

}  // namespace wp::python
