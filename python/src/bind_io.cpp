// Files, and what Python alone needs: asarray, generators, properties of dtypes.
#include "bind.hpp"
#include "ops/dispatch.hpp"
#include "wellposed/io.hpp"
#include "wellposed/ops.hpp"

namespace wp::python {
namespace {

// What `asarray` gives: copy None: shared where possible; True: its own memory; False: shared, or ValueError.
PyObject* asarray(nb::object o, nb::object dtype, nb::object copy) {
  const bool lists = PyList_Check(o.ptr()) || PyTuple_Check(o.ptr()) || is_number(o.ptr());
  Tensor t = as_tensor(o.ptr(), "asarray: obj");
  if (!is_tensor(o.ptr())) t.node()->weak = false;
  const bool own = copy.ptr() == Py_True, never = copy.ptr() == Py_False;
  if (never && (lists || (!dtype.is_none() && dtype_of(dtype.ptr(), "asarray: dtype") != t.dtype())))
    value_error("asarray: copy=False, but a copy is needed (numbers of Python, or another dtype).");
  const DType to = dtype.is_none() ? t.dtype() : dtype_of(dtype.ptr(), "asarray: dtype");
  if (to != t.dtype() || (own && !lists)) {
    const bool large = t.size() >= kLarge;
    const Spot spot = here();
    const Unlocked u(large);
    t = astype(t, to, {.copy = true}, spot.location());
  } else if (is_tensor(o.ptr())) {
    return Py_NewRef(o.ptr());
  }
  return wrap(t);
}

PyObject* take_dlpack(nb::object o, nb::object device, nb::object copy) {
  if (!device.is_none() && !(PyUnicode_Check(device.ptr()) && text_of(device.ptr()) == "cpu"))
    value_error("from_dlpack: the only device is 'cpu'.");
  Tensor t = is_tensor(o.ptr()) ? tensor_of(o.ptr()) : from_dlpack(o.ptr(), "from_dlpack: x");
  return wrap(copy.ptr() == Py_True ? copied(t) : t);
}

nb::tuple bytes_of(const Tensor& t) {  // dtype, shape, the elements in row-major order
  const Tensor c = t.is_contiguous() ? t : copied(t);
  return nb::make_tuple(std::string(name(c.dtype())), c.shape(), nb::bytes(c.node()->data, c.nbytes()));
}
Tensor from_bytes(DType dtype, const Dims& shape, nb::bytes data) {
  Tensor t = Tensor::adopt(detail::make_node(dtype, shape));
  if (t.nbytes() != data.size())
    raise<FormatError>("WP-FMT-001", "unpickle",
                       say(dtype, " ", shape, " needs ", t.nbytes(), " bytes; got ", data.size(), "."));
  if (data.size()) std::memcpy(t.node()->data, data.c_str(), data.size());
  return t;
}

}  // namespace

void bind_io(nb::module_& m) {
  m.def(
      "asarray", [](nb::object o, nb::object dtype, nb::object copy) { return nb::steal(asarray(o, dtype, copy)); },
      nb::arg("obj"), nb::arg("dtype").none(), nb::arg("copy").none());
  m.def(
      "from_dlpack",
      [](nb::object o, nb::object device, nb::object copy) { return nb::steal(take_dlpack(o, device, copy)); },
      nb::arg("x"), nb::arg("device").none(), nb::arg("copy").none());
  m.def("from_tensor", [](const Tensor& x) { return x; });
  m.def("bytes_of", bytes_of);
  m.def("from_bytes", from_bytes);
  m.def(
      "load",
      [](const std::string& path, bool copy, std::optional<bool> header, std::string_view delimiter) {
        return unlocked([&](auto where) {
          return load(path, {.copy = copy, .header = header, .delimiter = delimiter.empty() ? '\0' : delimiter[0]},
                      where);
        });
      },
      nb::arg("path"), nb::arg("copy"), nb::arg("header").none(), nb::arg("delimiter"));
  m.def("save", [](const std::string& path, const Tensor& x, std::vector<std::string> names) {
    unlocked([&](auto where) { save(path, x, {.names = std::move(names)}, where); });
  });
  m.def("promote", &promote);
  m.def("can_cast", &can_cast);
  m.def("isdtype", [](DType d, std::string_view kind) { return isdtype(d, kind); });
  nb::class_<FloatInfo>(m, "finfo_object")
      .def_ro("bits", &FloatInfo::bits)
      .def_ro("eps", &FloatInfo::eps)
      .def_ro("max", &FloatInfo::max)
      .def_ro("min", &FloatInfo::min)
      .def_ro("smallest_normal", &FloatInfo::smallest_normal)
      .def_ro("dtype", &FloatInfo::dtype);
  nb::class_<IntegerInfo>(m, "iinfo_object")
      .def_ro("bits", &IntegerInfo::bits)
      .def_ro("min", &IntegerInfo::min)
      .def_ro("max", &IntegerInfo::max)
      .def_ro("dtype", &IntegerInfo::dtype);
  m.def("finfo", &finfo);
  m.def("iinfo", &iinfo);
}

}  // namespace wp::python
