// The type wellposed.Tensor.
#include <vector>

#include "autodiff/outside.hpp"
#include "kernels/convert.hpp"
#include "ops/dispatch.hpp"
#include "python.hpp"
#include "tensor/note.hpp"

namespace wp::python {

PyTypeObject* tensor_type = nullptr;

PyObject* wrap(Tensor t) {
  if (!t.defined()) Py_RETURN_NONE;
  auto* const o = reinterpret_cast<TensorObject*>(tensor_type->tp_alloc(tensor_type, 0));
  if (!o) throw ErrorIsSet();
  new (&o->value) Tensor(std::move(t));
  return reinterpret_cast<PyObject*>(o);
}

namespace {

void dealloc(PyObject* self) {
  auto* const o = reinterpret_cast<TensorObject*>(self);
  if (o->weak_references) PyObject_ClearWeakRefs(self);
  o->value.~Tensor();
  PyTypeObject* const type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* refuse_new(PyTypeObject*, PyObject*, PyObject*) {
  PyErr_SetString(PyExc_TypeError, "make tensors with wellposed.asarray(values), zeros(shape), load(path), ….");
  return nullptr;
}

PyObject* tuple_of(const Dims& d) {
  Ref t = Ref::checked(PyTuple_New(static_cast<Py_ssize_t>(d.size())));
  for (std::size_t k = 0; k < d.size(); ++k)
    PyTuple_SET_ITEM(t.get(), static_cast<Py_ssize_t>(k), PyLong_FromLongLong(d[k]));
  return t.release();
}

// One element as a number of Python.
PyObject* number_at(const Tensor& t, std::int64_t element) {
  const char* const at = t.node()->data + offset_of(t, element) * static_cast<std::int64_t>(size_of(t.dtype()));
  if (t.dtype() == DType::boolean) return PyBool_FromLong(*at != 0);
  if (is_integer(t.dtype())) {
    std::int64_t v = 0;
    kernels::convert(&v, i64, at, t.dtype(), 1, 1);
    return t.dtype() == u64 ? PyLong_FromUnsignedLongLong(static_cast<std::uint64_t>(v)) : PyLong_FromLongLong(v);
  }
  const complex128 v = value_at(t, element);
  return is_complex(t.dtype()) ? PyComplex_FromDoubles(v.real(), v.imag()) : PyFloat_FromDouble(v.real());
}

Ref only_number(PyObject* self, const char* sink) {
  const Tensor& t = tensor_of(self);
  if (t.size() != 1)
    value_error(say(sink, " needs a tensor of one element; got shape ", t.shape(),
                    ". Index it first, or reduce it (any, all, sum)."));
  if (t.node()->note) {
    escape(t, sink, Counts::made, here().place());
    tell_findings();
  }
  return Ref::checked(number_at(t, 0));
}

PyObject* nested(const Tensor& t, std::size_t axis, std::int64_t& element) {
  if (axis == t.shape().size()) return number_at(t, element++);
  const std::int64_t n = t.shape()[axis];
  Ref list = Ref::checked(PyList_New(n));
  for (std::int64_t i = 0; i < n; ++i)
    PyList_SET_ITEM(list.get(), i, Ref::checked(nested(t, axis + 1, element)).release());
  return list.release();
}

PyObject* item(PyObject* self, PyObject*) {
  return guarded([&] { return only_number(self, "item").release(); });
}
PyObject* tolist(PyObject* self, PyObject*) {
  return guarded([&] {
    const Tensor& t = tensor_of(self);
    escape(t, "tolist", Counts::made, here().place());
    autodiff::given_away(t);
    tell_findings();
    std::int64_t element = 0;
    return nested(t, 0, element);
  });
}
int to_bool(PyObject* self) {
  return guarded([&] { return PyObject_IsTrue(only_number(self, "bool").get()); }, -1);
}
PyObject* to_int(PyObject* self) {
  return guarded([&] {
    const Ref v = only_number(self, "int");
    if (PyComplex_Check(v.get())) type_error("int() of a complex tensor; take real(x) first.");
    return PyNumber_Long(v.get());
  });
}
PyObject* to_float(PyObject* self) {
  return guarded([&] {
    const Ref v = only_number(self, "float");
    if (PyComplex_Check(v.get())) type_error("float() of a complex tensor; take real(x) first.");
    return PyNumber_Float(v.get());
  });
}
PyObject* to_complex(PyObject* self, PyObject*) {
  return guarded([&] {
    const Ref v = only_number(self, "complex");
    const Py_complex c = PyComplex_AsCComplex(v.get());
    return PyComplex_FromCComplex(c);
  });
}
PyObject* to_index(PyObject* self) {
  return guarded([&] {
    const Tensor& t = tensor_of(self);
    if (!is_integer(t.dtype()) || t.ndim() != 0)
      type_error(
          say("only an integer tensor without axes is an index; this one is ", t.dtype(), " ", t.shape(), "."));
    return only_number(self, "index").release();
  });
}

// x.sum: the package has it as a function.
PyObject* attribute(PyObject* self, PyObject* name) {
  PyObject* const found = PyObject_GenericGetAttr(self, name);
  if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  return guarded([&]() -> PyObject* {
    PyErr_Clear();
    const std::string_view word = text_of(name);
    const Ref package(PyImport_ImportModule("wellposed"));
    const Ref function(package && !word.starts_with('_') ? PyObject_GetAttr(package.get(), name) : nullptr);
    PyErr_Clear();
    const bool helps = function && PyCallable_Check(function.get()) && !PyType_Check(function.get());
    PyErr_SetString(PyExc_AttributeError,
                    say("'wellposed.Tensor' object has no attribute '", word, "'",
                        helps ? say("; functions are functions: wellposed.", word, "(x).") : std::string("."))
                        .c_str());
    return nullptr;
  });
}
PyObject* repr(PyObject* self) {
  return guarded([&] { return text(tensor_of(self).to_string()); });
}
Py_ssize_t length(PyObject* self) {
  return guarded(
      [&]() -> Py_ssize_t {
        if (tensor_of(self).ndim() == 0) type_error("a tensor without axes has no length.");
        return tensor_of(self).shape()[0];
      },
      -1);
}
// v in x: some element equals v.
int contains(PyObject* self, PyObject* v) {
  return guarded(
      [&] {
        const Ref equal = Ref::checked(PyObject_RichCompare(self, v, Py_EQ));
        if (!is_tensor(equal.get())) return PyObject_IsTrue(equal.get());
        static const Op* const op = find_op("any");
        const Tensor* const in[] = {&tensor_of(equal.get())};
        const Attr attrs[] = {op->attrs[0].fallback, op->attrs[1].fallback};
        return PyObject_IsTrue(Ref::checked(wrap(call1(*op, Inputs(in), attrs, here().place()))).get());
      },
      -1);
}
PyObject* iterate(PyObject* self) {
  return guarded([&] {
    if (tensor_of(self).ndim() == 0) type_error("a tensor without axes cannot be iterated over.");
    return PySeqIter_New(self);
  });
}

// ---- attributes
// -----------------------------------------------------------------------------------------------------
PyObject* get_shape(PyObject* self, void*) {
  return guarded([&] { return tuple_of(tensor_of(self).shape()); });
}
PyObject* get_strides(PyObject* self, void*) {
  return guarded([&] { return tuple_of(tensor_of(self).strides()); });
}
PyObject* get_dtype(PyObject* self, void*) {
  return Py_NewRef(dtype_object(tensor_of(self).dtype()));
}
PyObject* get_ndim(PyObject* self, void*) {
  return PyLong_FromLongLong(tensor_of(self).ndim());
}
PyObject* get_size(PyObject* self, void*) {
  return PyLong_FromLongLong(tensor_of(self).size());
}
PyObject* get_nbytes(PyObject* self, void*) {
  return PyLong_FromSize_t(tensor_of(self).nbytes());
}
PyObject* get_device(PyObject*, void*) {
  return PyUnicode_InternFromString("cpu");
}
PyObject* get_priority(PyObject*, void*) {  // NumPy leaves operators with tensors to them
  return PyFloat_FromDouble(1000);
}
PyObject* get_transposed(PyObject* self, void* matrices) {
  return guarded([&] {
    const Tensor& t = tensor_of(self);
    if (matrices ? t.ndim() < 2 : t.ndim() != 2)
      value_error(matrices ? say("mT needs at least two axes; got shape ", t.shape(), ".")
                           : say("T needs two axes; got shape ", t.shape(), ". Use mT or permute_dims."));
    static const Op* const op = find_op("matrix_transpose");
    const Tensor* const in[] = {&t};
    return wrap(call1(*op, Inputs(in), Attrs(), here().place()));
  });
}

PyObject* dlpack_device(PyObject*, PyObject*) {
  return Py_BuildValue("(ii)", 1, 0);
}
PyObject* to_device(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject*) {
  return guarded([&] {
    const bool cpu = count == 1 && PyUnicode_Check(args[0]) && text_of(args[0]) == "cpu";
    if (!cpu) value_error("to_device: the only device is 'cpu'.");
    return Py_NewRef(self);
  });
}

PyGetSetDef getters[] = {
    {"shape", get_shape, nullptr, "The lengths of the axes.", nullptr},
    {"strides", get_strides, nullptr, "How many elements lie between neighbours along each axis.", nullptr},
    {"dtype", get_dtype, nullptr, "The type of the elements.", nullptr},
    {"ndim", get_ndim, nullptr, "The number of axes.", nullptr},
    {"size", get_size, nullptr, "The number of elements.", nullptr},
    {"nbytes", get_nbytes, nullptr, "Bytes that the elements take.", nullptr},
    {"device", get_device, nullptr, "'cpu'.", nullptr},
    {"T", get_transposed, nullptr, "The transposed matrix, a view.", nullptr},
    {"mT", get_transposed, nullptr, "Each matrix of a stack transposed, a view.", const_cast<char*>("m")},
    {"__array_priority__", get_priority, nullptr, nullptr, nullptr},
    {}};
PyMethodDef methods[] = {
    {"item", item, METH_NOARGS,
     "item($self, /)\n--\n\nThe only element, as a number of Python. Made Inf and NaN raise here."},
    {"tolist", tolist, METH_NOARGS,
     "tolist($self, /)\n--\n\nAll elements as nested lists. Made Inf and NaN raise here."},
    {"__complex__", to_complex, METH_NOARGS, "__complex__($self, /)\n--\n\nThe only element, as a complex number."},
    {"__dlpack__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(to_dlpack)),
     METH_FASTCALL | METH_KEYWORDS,
     "__dlpack__($self, /, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\nA DLPack capsule that "
     "shares the memory, read-only."},
    {"__dlpack_device__", dlpack_device, METH_NOARGS, "__dlpack_device__($self, /)\n--\n\n(1, 0): the CPU."},
    {"to_device", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(to_device)),
     METH_FASTCALL | METH_KEYWORDS,
     "to_device($self, device, /, *, stream=None)\n--\n\nThe tensor itself; the only device is 'cpu'."},
    {}};

template <class F>
PyType_Slot slot(int id, F* f) {
  return {id, reinterpret_cast<void*>(f)};
}

}  // namespace

void add_tensor(PyObject* module) {
  static PyMemberDef members[] = {
      {"__weaklistoffset__", T_PYSSIZET, offsetof(TensorObject, weak_references), READONLY, nullptr}, {}};
  std::vector<PyType_Slot> slots = {slot(Py_tp_dealloc, dealloc),
                                    slot(Py_tp_new, refuse_new),
                                    slot(Py_tp_repr, repr),
                                    slot(Py_tp_getattro, attribute),
                                    slot(Py_tp_iter, iterate),
                                    slot(Py_tp_hash, PyObject_HashNotImplemented),
                                    slot(Py_mp_length, length),
                                    slot(Py_mp_subscript, subscript),
                                    slot(Py_mp_ass_subscript, assign_subscript),
                                    slot(Py_sq_length, length),
                                    slot(Py_sq_item, sequence_item),
                                    slot(Py_sq_contains, contains),
                                    slot(Py_nb_bool, to_bool),
                                    slot(Py_nb_int, to_int),
                                    slot(Py_nb_float, to_float),
                                    slot(Py_nb_index, to_index),
                                    slot(Py_bf_getbuffer, get_buffer),
                                    slot(Py_bf_releasebuffer, release_buffer),
                                    {Py_tp_getset, getters},
                                    {Py_tp_methods, methods},
                                    {Py_tp_members, members},
                                    {Py_tp_doc, const_cast<char*>("An n-dimensional array with value semantics.")}};
  for (const PyType_Slot* s = operator_slots;; ++s) {
    slots.push_back(*s);
    if (!s->slot) break;
  }
  PyType_Spec spec = {"wellposed.Tensor", sizeof(TensorObject), 0, Py_TPFLAGS_DEFAULT, slots.data()};
  tensor_type = reinterpret_cast<PyTypeObject*>(Ref::checked(PyType_FromSpec(&spec)).release());
  PyModule_AddObjectRef(module, "Tensor", reinterpret_cast<PyObject*>(tensor_type));
}

}  // namespace wp::python
