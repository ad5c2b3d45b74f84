// Python's numbers and nested lists as tensors.
#include "kernels/convert.hpp"
#include "autodiff/outside.hpp"
#include "kernels/copy.hpp"
#include "python.hpp"
#include "tensor/note.hpp"
#include "wellposed/ops.hpp"

namespace wp::python {

void type_error(const std::string& words) {
  PyErr_SetString(PyExc_TypeError, words.c_str());
  throw ErrorIsSet();
}
void value_error(const std::string& words) {
  PyErr_SetString(PyExc_ValueError, words.c_str());
  throw ErrorIsSet();
}
PyObject* integer_overflow() {
  static PyObject* const type = [] {
    const Ref bases = Ref::checked(PyTuple_Pack(2, PyExc_ValueError, PyExc_OverflowError));
    return Ref::checked(PyErr_NewExceptionWithDoc("wellposed.IntegerOverflow",
                                                  "An integer that no dtype, or not the one asked for, holds.",
                                                  bases.get(), nullptr))
        .release();
  }();
  return type;
}
void overflow_error(const std::string& words) {
  PyErr_SetString(integer_overflow(), words.c_str());
  throw ErrorIsSet();
}
std::string type_name(PyObject* o) {
  if (o == Py_None) return "None";
  const Ref type_module(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(o)), "__module__"));
  PyErr_Clear();
  const std::string_view module =
      type_module && PyUnicode_Check(type_module.get()) ? text_of(type_module.get()) : std::string_view("builtins");
  const std::string_view full = Py_TYPE(o)->tp_name;
  const std::string_view last = full.substr(full.rfind('.') + 1);  // of a static type the name has its module
  return module == "builtins" ? std::string(last) : say(module, ".", last);
}
std::string_view text_of(PyObject* unicode) {
  Py_ssize_t n = 0;
  const char* const s = PyUnicode_AsUTF8AndSize(unicode, &n);
  if (!s) {
    PyErr_Clear();
    return "?";
  }
  return {s, static_cast<std::size_t>(n)};
}
PyObject* text(std::string_view s) {
  return PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), "replace");
}

bool is_number(PyObject* o) noexcept {
  return PyFloat_Check(o) || PyLong_Check(o) || PyComplex_Check(o);  // a bool is an int
}

Scalar scalar_of(PyObject* o, std::string_view what) {
  if (PyFloat_Check(o)) return PyFloat_AS_DOUBLE(o);
  if (PyBool_Check(o)) return o == Py_True;
  if (PyLong_Check(o)) {
    int beyond = 0;
    const long long v = PyLong_AsLongLongAndOverflow(o, &beyond);
    if (!beyond) return std::int64_t{v};
    if (beyond > 0) {
      const unsigned long long u = PyLong_AsUnsignedLongLong(o);
      if (!PyErr_Occurred()) return std::uint64_t{u};
      PyErr_Clear();
    }
    overflow_error(say(what, " is an integer that no dtype holds; the range is -2**63 to 2**64 - 1."));
  }
  if (PyComplex_Check(o)) {
    const Py_complex c = PyComplex_AsCComplex(o);
    return complex128(c.real, c.imag);
  }
  if (is_tensor(o) && tensor_of(o).ndim() == 0) {
    const Tensor& t = tensor_of(o);
    escape(t, "item", Counts::made, here().place());
    if (t.dtype() == DType::boolean) return value_at(t, 0).real() != 0;
    if (is_integer(t.dtype())) {
      std::int64_t v = 0;
      kernels::convert(&v, i64, t.node()->data, t.dtype(), 1, 1);
      return t.dtype() == u64 ? Scalar(static_cast<std::uint64_t>(v)) : Scalar(v);
    }
    return is_complex(t.dtype()) ? Scalar(value_at(t, 0)) : Scalar(value_at(t, 0).real());
  }
  if (PyIndex_Check(o)) {  // np.int64
    const Ref i = Ref::checked(PyNumber_Index(o));
    return scalar_of(i.get(), what);
  }
  if (PyNumber_Check(o) && !is_tensor(o)) {  // np.float32, Fraction, Decimal
    const Ref f(PyNumber_Float(o));
    if (f) return PyFloat_AS_DOUBLE(f.get());
    PyErr_Clear();
  }
  type_error(say(what, " must be a number; got ", type_name(o), "."));
}

std::int64_t integer_of(PyObject* o, std::string_view what) {
  if (PyLong_Check(o) || PyIndex_Check(o)) {
    const Ref i = Ref::checked(PyNumber_Index(o));
    const long long v = PyLong_AsLongLong(i.get());
    if (v != -1 || !PyErr_Occurred()) return v;
    PyErr_Clear();
    overflow_error(say(what, " must fit into 64 bits."));
  }
  type_error(say(what, " must be an integer; got ", type_name(o), "."));
}

Dims ints_of(PyObject* o, std::string_view what) {
  if (PyLong_Check(o)) return {integer_of(o, what)};
  Dims out;
  if (PyTuple_Check(o) || PyList_Check(o)) {
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
    for (Py_ssize_t i = 0; i < n; ++i) out.push_back(integer_of(PySequence_Fast_GET_ITEM(o, i), what));
    return out;
  }
  const Ref all(PyUnicode_Check(o) || !PySequence_Check(o) ? nullptr : PySequence_Fast(o, ""));
  if (!all) {
    PyErr_Clear();
    if (PyIndex_Check(o)) return {integer_of(o, what)};
    type_error(say(what, " must be an integer or a sequence of integers; got ", type_name(o), "."));
  }
  return ints_of(all.get(), what);
}

namespace {

struct Leaves {
  Dims shape;
  bool arrays = false;  // some leaf is an array: the list is stacked
  bool ragged = false;  // depths or lengths differ
  int kind = -1;        // bool, int, float, complex
  bool large = false;   // some integer is beyond i64
};

void measure(PyObject* o, std::size_t depth, Leaves& l, bool& leaf_seen, std::string_view what) {
  if (PyList_Check(o) || PyTuple_Check(o)) {
    if (depth > 64) value_error(say(what, ": the list is nested more than 64 deep."));
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
    if (depth == l.shape.size()) {
      l.ragged |= leaf_seen;
      l.shape.push_back(n);
    } else {
      l.ragged |= l.shape[depth] != n;
    }
    for (Py_ssize_t i = 0; i < n; ++i) measure(PySequence_Fast_GET_ITEM(o, i), depth + 1, l, leaf_seen, what);
    return;
  }
  l.ragged |= depth != l.shape.size();
  leaf_seen = true;
  if (!PyFloat_Check(o) && !PyLong_Check(o) && !PyComplex_Check(o)) {
    l.arrays = true;
    return;
  }
  const int kind = PyBool_Check(o) ? 0 : PyLong_Check(o) ? 1 : PyFloat_Check(o) ? 2 : 3;
  if (kind == 1) l.large |= scalar_of(o, what).is_large_unsigned();
  l.kind = std::max(l.kind, kind);
}

void write(PyObject* o, DType dtype, char*& at, std::string_view what) {
  if (PyList_Check(o) || PyTuple_Check(o)) {
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
    for (Py_ssize_t i = 0; i < n; ++i) write(PySequence_Fast_GET_ITEM(o, i), dtype, at, what);
    return;
  }
  const Scalar s = scalar_of(o, what);
  if (dtype == f64) {
    *reinterpret_cast<double*>(at) = s.real();
  } else if (dtype == c128) {
    *reinterpret_cast<complex128*>(at) = {s.real(), s.imag()};
  } else {
    const std::int64_t v = s.integer();
    if (dtype == u64 && v < 0 && !s.is_large_unsigned())
      value_error(say(what, ": no integer dtype holds both negative numbers and numbers above 2**63 - 1."));
    kernels::convert(at, dtype, &v, i64, 1, 1);
  }
  at += size_of(dtype);
}

Tensor stacked(PyObject* o, std::string_view what) {
  if (!PyList_Check(o) && !PyTuple_Check(o)) return as_tensor(o, what);
  Tensors parts;
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
  for (Py_ssize_t i = 0; i < n; ++i) {
    parts.push_back(stacked(PySequence_Fast_GET_ITEM(o, i), what));
    if (!(parts.back().shape() == parts[0].shape()))
      raise<ShapeError>("WP-SHP-001", what.substr(0, what.find(':')),
                        say(what.substr(what.find(' ') + 1), " must have arrays of one shape in a list; got ",
                            parts[0].shape(), " at 0 and ", parts.back().shape(), " at ", i, "."),
                        "Pad them, or keep them in a list.");
  }
  return stack(parts, {}, here().location());
}

}  // namespace

Tensor from_list(PyObject* o, std::string_view what) {
  Leaves l;
  bool leaf_seen = false;
  measure(o, 0, l, leaf_seen, what);
  if (l.arrays) return stacked(o, what);
  if (l.ragged) value_error(say(what, ": a nested list must have one depth, and rows of one length."));
  constexpr DType by_kind[] = {f64, DType::boolean, i64, f64, c128};
  const DType dtype = l.large && l.kind == 1 ? u64 : by_kind[l.kind + 1];
  Tensor t = Tensor::adopt(detail::make_node(dtype, l.shape));
  char* at = t.node()->data;
  write(o, dtype, at, what);
  return t;
}

Tensor tensor_from(PyObject* o, std::string_view what) {
  if (is_tensor(o)) return tensor_of(o);
  const bool plain = PyFloat_CheckExact(o) || PyLong_CheckExact(o) || PyBool_Check(o) || PyComplex_CheckExact(o);
  if (plain) return Tensor(scalar_of(o, what));  // a constant; numbers of NumPy may be results of its functions
  if (is_number(o)) return autodiff::taken_back(Tensor(scalar_of(o, what)));
  if (PyList_Check(o) || PyTuple_Check(o)) return autodiff::taken_back(from_list(o, what));
  if (PyRange_Check(o)) return from_list(Ref::checked(PySequence_List(o)).get(), what);
  return autodiff::taken_back(from_array(o, what));
}

Tensor as_tensor(PyObject* o, std::string_view what) {
  Tensor t = tensor_from(o, what);
  if (!t.defined())
    type_error(say(what, " must be a tensor, a number, a nested list of numbers, or an array (NumPy, DLPack); got ",
                   type_name(o), "."));
  return t;
}

Tensor copied(const Tensor& x) {
  Tensor y = Tensor::adopt(detail::make_node(x.dtype(), x.shape()));
  kernels::copy(y.node()->data, y.strides(), x.node()->data, x.strides(), x.shape(), size_of(x.dtype()));
  y.node()->note = x.node()->note;
  return y;
}

}  // namespace wp::python
