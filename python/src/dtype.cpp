// wellposed.float64 and its like: 15 objects, one per dtype.
#include "python.hpp"

namespace wp::python {
namespace {

struct DTypeObject {
  PyObject_HEAD DType value;
};
PyTypeObject* dtype_type = nullptr;
PyObject* objects[kDTypes] = {};

constexpr const char* long_names[kDTypes] = {"bool",     "int8",    "int16",   "int32",     "int64",
                                             "uint8",    "uint16",  "uint32",  "uint64",    "float16",
                                             "bfloat16", "float32", "float64", "complex64", "complex128"};

DType value_of(PyObject* self) {
  return reinterpret_cast<DTypeObject*>(self)->value;
}
const char* long_name(PyObject* self) {
  return long_names[static_cast<int>(value_of(self))];
}
PyObject* repr(PyObject* self) {
  return PyUnicode_FromFormat("wellposed.%s", long_name(self));
}
PyObject* str(PyObject* self) {
  return PyUnicode_FromString(long_name(self));
}
Py_hash_t hash(PyObject* self) {
  return static_cast<Py_hash_t>(value_of(self)) + 7001;
}
PyObject* get_name(PyObject* self, void*) {
  return str(self);
}
PyObject* get_size(PyObject* self, void*) {
  return PyLong_FromSize_t(size_of(value_of(self)));
}
PyObject* get_short_name(PyObject* self, void*) {
  return text(name(value_of(self)));
}
PyObject* reduce(PyObject* self, PyObject*) {  // a text: pickled as the name in module wellposed
  return str(self);
}
PyObject* compare(PyObject* self, PyObject* other, int operation) {
  if (operation != Py_EQ && operation != Py_NE) Py_RETURN_NOTIMPLEMENTED;
  bool equal = self == other;
  if (!equal && !is_dtype(other)) {
    // Names and NumPy's dtypes count as the dtype they stand for.
    const bool named =
        PyUnicode_Check(other) ||
        (PyType_Check(other) ? std::string_view(reinterpret_cast<PyTypeObject*>(other)->tp_name).starts_with("numpy.")
                             : PyObject_HasAttrString(other, "itemsize") && PyObject_HasAttrString(other, "name"));
    if (!named) Py_RETURN_NOTIMPLEMENTED;
    try {
      equal = dtype_of(other, "dtype") == value_of(self);
    } catch (const ErrorIsSet&) {
      PyErr_Clear();
    }
  }
  return PyBool_FromLong(equal == (operation == Py_EQ));
}

PyGetSetDef getters[] = {{"name", get_name, nullptr, "NumPy's name: 'float32'.", nullptr},
                         {"short_name", get_short_name, nullptr, "'f32'.", nullptr},
                         {"itemsize", get_size, nullptr, "Bytes per element.", nullptr},
                         {}};
PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr}, {}};
PyType_Slot slots[] = {{Py_tp_repr, reinterpret_cast<void*>(repr)},
                       {Py_tp_str, reinterpret_cast<void*>(str)},
                       {Py_tp_hash, reinterpret_cast<void*>(hash)},
                       {Py_tp_richcompare, reinterpret_cast<void*>(compare)},
                       {Py_tp_getset, getters},
                       {Py_tp_methods, methods},
                       {Py_tp_doc, const_cast<char*>("The type of a tensor's elements.")},
                       {0, nullptr}};
PyType_Spec spec = {"wellposed.DType", sizeof(DTypeObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE, slots};

}  // namespace

bool is_dtype(PyObject* o) noexcept {
  return Py_TYPE(o) == dtype_type;
}
PyObject* dtype_object(DType d) {
  return objects[static_cast<int>(d)];
}

DType dtype_of(PyObject* o, const char* what) {
  if (is_dtype(o)) return value_of(o);
  if (o == reinterpret_cast<PyObject*>(&PyBool_Type)) return DType::boolean;
  if (o == reinterpret_cast<PyObject*>(&PyLong_Type)) return i64;
  if (o == reinterpret_cast<PyObject*>(&PyFloat_Type)) return f64;
  if (o == reinterpret_cast<PyObject*>(&PyComplex_Type)) return c128;
  // NumPy: np.dtype('f4') has .name, the class np.float32 has .__name__.
  const Ref named =
      PyUnicode_Check(o) ? Ref::borrowed(o) : Ref(PyObject_GetAttrString(o, PyType_Check(o) ? "__name__" : "name"));
  if (!named) PyErr_Clear();
  if (named && PyUnicode_Check(named.get())) {
    std::string_view word = text_of(named.get());
    if (word == "bool_") word = "bool";
    try {
      return parse_dtype(word);
    } catch (const Error&) {
    }
  }
  type_error(say(what, " must be a dtype such as wellposed.float64, or a name such as 'f32' or 'float32'; got ",
                 named && PyUnicode_Check(named.get()) ? say("'", text_of(named.get()), "'") : type_name(o), "."));
}

void add_dtypes(PyObject* module) {
  dtype_type = reinterpret_cast<PyTypeObject*>(Ref::checked(PyType_FromSpec(&spec)).release());
  PyModule_AddObjectRef(module, "DType", reinterpret_cast<PyObject*>(dtype_type));
  for (int d = 0; d < kDTypes; ++d) {
    auto* const o = PyObject_New(DTypeObject, dtype_type);
    if (!o) throw ErrorIsSet();
    o->value = static_cast<DType>(d);
    objects[d] = reinterpret_cast<PyObject*>(o);
    PyModule_AddObjectRef(module, long_names[d], objects[d]);
    if (d) PyModule_AddObjectRef(module, std::string(name(o->value)).c_str(), objects[d]);
  }
}

}  // namespace wp::python
