// x[...] and x[...] = v.
#include <limits>

#include "ops/dispatch.hpp"
#include "python.hpp"
#include "wellposed/index.hpp"

namespace wp::python {
namespace {

constexpr std::int64_t kNotGiven = std::numeric_limits<std::int64_t>::min();

// The attribute and the index tensors of the ops index and index_set.
struct Key {
  Dims items;
  Tensors lists;

  void add(PyObject* o) {
    if (PyLong_CheckExact(o)) return integer(o);
    if (PySlice_Check(o)) return slice(o);
    if (o == Py_None) return items.push_back(IndexItem::new_axis);
    if (o == Py_Ellipsis) return items.push_back(IndexItem::rest);
    if (PyList_Check(o) && PyList_GET_SIZE(o) == 0) return listed(Tensor::adopt(detail::make_node(i64, {0})));
    if (PyList_Check(o) || is_tensor(o) || PyBool_Check(o)) return listed(as_tensor(o, "the index"));
    Tensor t = PyObject_CheckBuffer(o) ? from_array(o, "the index") : Tensor();
    const bool lends = PyObject_HasAttrString(reinterpret_cast<PyObject*>(Py_TYPE(o)), "__dlpack__");
    if (!t.defined() && (lends || !PyIndex_Check(o))) t = tensor_from(o, "the index");
    if (t.defined()) return listed(t);
    if (PyIndex_Check(o)) return integer(o);
    PyErr_SetString(
        PyExc_IndexError,
        say("an index is made of integers, slices, None, ..., integer arrays and masks; got ", type_name(o), ".")
            .c_str());
    throw ErrorIsSet();
  }

 private:
  void integer(PyObject* o) {
    const Py_ssize_t i = PyNumber_AsSsize_t(o, PyExc_IndexError);
    if (i == -1 && PyErr_Occurred()) throw ErrorIsSet();
    items.push_back(IndexItem::integer);
    items.push_back(i);
  }
  void listed(const Tensor& t) {
    if (!is_integer(t.dtype()) && t.dtype() != DType::boolean) {
      PyErr_SetString(PyExc_IndexError,
                      say("an index array must have integers or bools; got ", t.dtype(), ".").c_str());
      throw ErrorIsSet();
    }
    items.push_back(IndexItem::listed);
    lists.push_back(t);
  }
  void slice(PyObject* o) {
    auto* const s = reinterpret_cast<PySliceObject*>(o);
    const auto bound = [](PyObject* b, std::int64_t none) {
      if (b == Py_None) return none;
      const Ref index = Ref::checked(PyNumber_Index(b));
      const Py_ssize_t v = PyNumber_AsSsize_t(index.get(), nullptr);  // beyond 64 bits: the nearest
      return std::max<std::int64_t>(v, kNotGiven + 1);
    };
    items.push_back(IndexItem::range);
    items.push_back(bound(s->start, kNotGiven));
    items.push_back(bound(s->stop, kNotGiven));
    items.push_back(bound(s->step, 1));
  }
};

Key parse(PyObject* o) {
  Key key;
  if (PyTuple_Check(o))
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i) key.add(PyTuple_GET_ITEM(o, i));
  else
    key.add(o);
  return key;
}

PyObject* read(const Tensor& x, const Key& key) {
  static const Op* const op = find_op("index");
  SmallVector<const Tensor*, 8> in;
  in.push_back(&x);
  for (const Tensor& t : key.lists) in.push_back(&t);
  const Attr attrs[] = {Attr(key.items)};
  Tensor y = call1(*op, Inputs(in.data(), in.size()), attrs, here().place());
  tell_findings();
  return wrap(std::move(y));
}

}  // namespace

PyObject* subscript(PyObject* self, PyObject* key) noexcept {
  return guarded([&] { return read(tensor_of(self), parse(key)); });
}

PyObject* sequence_item(PyObject* self, Py_ssize_t i) noexcept {
  return guarded([&]() -> PyObject* {
    const Tensor& x = tensor_of(self);
    if (x.ndim() == 0) type_error("a tensor without axes has no items; use x[()], or item().");
    if (i < 0 || i >= x.shape()[0]) {  // also the end of an iteration
      PyErr_SetString(PyExc_IndexError, "index out of range");
      return nullptr;
    }
    Key key;
    key.items = {IndexItem::integer, i};
    return read(x, key);
  });
}

int assign_subscript(PyObject* self, PyObject* key, PyObject* value) noexcept {
  return guarded(
      [&] {
        if (!value) type_error("elements of a tensor cannot be deleted.");
        static const Op* const op = find_op("index_set");
        const Key k = parse(key);
        Tensor v = as_tensor(value, "the value");
        Tensor& x = tensor_of(self);
        SmallVector<const Tensor*, 8> in;
        in.push_back(&x);
        in.push_back(&v);
        for (const Tensor& t : k.lists) in.push_back(&t);
        const Attr attrs[] = {Attr(k.items), Attr("set")};
        x = call_consuming(*op, Inputs(in.data(), in.size()), attrs, here().place());
        tell_findings();
        return 0;
      },
      -1);
}

}  // namespace wp::python
