// Memory shared with others by Python's buffer protocol (PEP 3118): NumPy, array, memoryview, bytes.
#include <bit>
#include <cstring>

#include "autodiff/outside.hpp"
#include "python.hpp"
#include "tensor/note.hpp"

namespace wp::python {
namespace {

constexpr const char* formats[kDTypes] = {"?", "b", "h",     "i", "l", "B",  "H", "I",
                                          "L", "e", nullptr, "f", "d", "Zf", "Zd"};

// The dtype of a struct-module format; throws with what is accepted.
DType parse_format(const char* format, Py_ssize_t item, std::string_view what) {
  std::string_view f = format ? format : "B";
  const std::string whole(f);
  if (!f.empty() && (f[0] == '>' || f[0] == '!') && item > 1)
    type_error(say(what, " has big-endian elements (format '", whole,
                   "'); this machine is little-endian. Convert with x.astype(x.dtype.newbyteorder('='))."));
  if (!f.empty() && std::string_view("@=<>!").find(f[0]) != std::string_view::npos) f.remove_prefix(1);
  if (f == "?") return DType::boolean;
  if (f == "e") return f16;
  if (f == "f") return f32;
  if (f == "d") return f64;
  if (f == "Zf") return c64;
  if (f == "Zd") return c128;
  if (f.size() == 1) {
    const int power = item == 1 ? 0 : item == 2 ? 1 : item == 4 ? 2 : 3;
    constexpr DType with_sign[] = {i8, i16, i32, i64}, without[] = {u8, u16, u32, u64};
    if (std::string_view("bhilqn").find(f[0]) != std::string_view::npos) return with_sign[power];
    if (std::string_view("BHILQN").find(f[0]) != std::string_view::npos) return without[power];
  }
  type_error(say(what, " has elements of format '", whole, f == "O" ? "' (Python objects)" : "'",
                 "; accepted are bools, integers, floats up to 64 bits and complex numbers."));
}

struct Lent {  // a buffer that a tensor shows
  Py_buffer view;
  static void give_back(Lent* l) {
    if (!Py_IsInitialized()) return;  // the interpreter has gone, and the memory with it
    const PyGILState_STATE state = PyGILState_Ensure();
    PyBuffer_Release(&l->view);
    delete l;
    PyGILState_Release(state);
  }
};

}  // namespace

Tensor from_buffer(PyObject* o, std::string_view what) {
  auto lent = std::make_unique<Lent>();
  if (PyObject_GetBuffer(o, &lent->view, PyBUF_RECORDS_RO) != 0) return {};
  const Py_buffer& v = lent->view;
  if (v.ndim > 0 && (!v.shape || !v.strides)) {  // dates of NumPy: bytes without a layout, which was asked for
    PyBuffer_Release(&lent->view);
    return {};
  }
  try {
    const DType dtype = parse_format(v.format, v.itemsize, what);
    const auto item = static_cast<std::int64_t>(size_of(dtype));
    Dims shape, strides;
    bool whole = reinterpret_cast<std::uintptr_t>(v.buf) % std::min<std::size_t>(size_of(dtype), 8) == 0;
    for (int k = 0; k < v.ndim; ++k) {
      shape.push_back(v.shape[k]);
      strides.push_back(v.strides[k] / item);
      whole = whole && v.strides[k] % item == 0;
    }
    if (v.suboffsets) type_error(say(what, " is an array of pointers to its rows; copy it into one piece first."));
    if (!whole) {  // unaligned fields of records: copied
      Tensor t = Tensor::adopt(detail::make_node(dtype, shape));
      if (PyBuffer_ToContiguous(t.node()->data, &v, v.len, 'C') != 0) throw ErrorIsSet();
      PyBuffer_Release(&lent->view);
      return t;
    }
    Lent* const kept = lent.get();
    Tensor t = Tensor::borrow(v.buf, dtype, shape, strides, [kept] { Lent::give_back(kept); });
    (void)lent.release();
    return t;
  } catch (...) {
    if (lent) PyBuffer_Release(&lent->view);
    throw;
  }
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) noexcept {
  return guarded(
      [&] {
        const Tensor& t = tensor_of(self);
        const char* const format = formats[static_cast<int>(t.dtype())];
        view->obj = nullptr;
        if ((flags & PyBUF_WRITABLE) == PyBUF_WRITABLE) {
          PyErr_SetString(PyExc_BufferError, "tensors are values: their memory is read-only. Copy it to write.");
          throw ErrorIsSet();
        }
        if (!format) {
          PyErr_SetString(PyExc_BufferError,
                          "bfloat16 has no buffer format; convert with astype(wellposed.float32).");
          throw ErrorIsSet();
        }
        if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES && !t.is_contiguous()) {
          PyErr_SetString(PyExc_BufferError, "the tensor is not contiguous; ask for strides.");
          throw ErrorIsSet();
        }
        if (t.node()->note && context().level != CheckLevel::off) {
          const checks warning(CheckLevel::warn);
          escape(t, "data", Counts::made, here().place());
          tell_findings();
        }
        autodiff::given_away(t);
        const std::size_t n = t.shape().size();
        auto* const lists = new Py_ssize_t[2 * n + 1];
        for (std::size_t k = 0; k < n; ++k) {
          lists[k] = t.shape()[k];
          lists[n + k] = t.strides()[k] * static_cast<std::int64_t>(size_of(t.dtype()));
        }
        // The view keeps a tensor of its own: assigning to self gives it other memory.
        view->obj = wrap(t);
        view->buf = t.node()->data;
        view->len = static_cast<Py_ssize_t>(t.nbytes());
        view->itemsize = static_cast<Py_ssize_t>(size_of(t.dtype()));
        view->readonly = 1;
        view->ndim = static_cast<int>(n);
        view->format = (flags & PyBUF_FORMAT) ? const_cast<char*>(format) : nullptr;
        view->shape = lists;
        view->strides = lists + n;
        view->suboffsets = nullptr;
        view->internal = lists;
        return 0;
      },
      -1);
}
void release_buffer(PyObject*, Py_buffer* view) noexcept {
  delete[] static_cast<Py_ssize_t*>(view->internal);
}

namespace {

// Arrays whose buffer does not say all: what it leaves out must not be lost in silence.
void refuse_masked(PyObject* o, std::string_view what) {
  for (PyTypeObject* t = Py_TYPE(o); t; t = t->tp_base)
    if (std::string_view(t->tp_name).ends_with("MaskedArray"))
      type_error(
          say(what, " is a masked array, whose mask would be lost; fill it with x.filled(value), or use x.data."));
}

bool has(PyObject* o, const char* name) {
  return PyObject_HasAttrString(reinterpret_cast<PyObject*>(Py_TYPE(o)), name);
}

}  // namespace

Tensor from_array(PyObject* o, std::string_view what) {
  if (o == Py_None || PyUnicode_Check(o) || PyBytes_Check(o) || PyType_Check(o)) return {};
  if (PyObject_CheckBuffer(o)) {
    refuse_masked(o, what);
    if (Tensor t = from_buffer(o, what); t.defined()) return t;
    if (!has(o, "__dlpack__") || has(o, "__array_interface__")) {  // NumPy says what is wrong: dates, bfloat16
      PyErr_Clear();
      const Ref type(PyObject_GetAttrString(o, "dtype"));
      PyErr_Clear();
      const Ref shown(type ? PyObject_Str(type.get()) : nullptr);
      PyErr_Clear();
      if (!shown) return {};
      type_error(say(what, " has elements of dtype ", text_of(shown.get()),
                     "; accepted are bools, integers, floats up to 64 bits and complex numbers."));
    }
    PyErr_Clear();
  }
  if (has(o, "__dlpack__")) return from_dlpack(o, what);
  if (has(o, "__array__")) {
    const Ref array = Ref::checked(PyObject_CallMethod(o, "__array__", nullptr));
    if (PyObject_CheckBuffer(array.get()) && !is_tensor(array.get())) return from_array(array.get(), what);
  }
  return {};
}

}  // namespace wp::python
