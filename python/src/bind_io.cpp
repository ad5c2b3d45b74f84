// Files, and what Python alone needs: asarray, generators, properties of dtypes.
#include "autodiff/outside.hpp"
#include "bind.hpp"
#include "ops/dispatch.hpp"
#include "wellposed/io.hpp"
#include "wellposed/ops.hpp"
#include "wellposed/row_reader.hpp"

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
  if (is_tensor(o.ptr())) return wrap(copy.ptr() == Py_True ? copied(tensor_of(o.ptr())) : tensor_of(o.ptr()));
  const Tensor t = from_dlpack(o.ptr(), "from_dlpack: x");
  return wrap(autodiff::taken_back(copy.ptr() == Py_True ? copied(t) : t));
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

LoadOptions load_options(const nb::dict& d) {
  LoadOptions o;
  for (const auto& [key, value] : d) {
    const auto name = nb::cast<std::string_view>(key);
    if (name == "copy") o.copy = nb::cast<bool>(value);
    if (name == "header") o.header = nb::cast<std::optional<bool>>(value);
    if (name == "delimiter") o.delimiter = nb::cast<std::string>(value).c_str()[0];
    if (name == "names") o.names = nb::cast<std::vector<std::string>>(value);
    if (name == "dense") o.dense = nb::cast<bool>(value);
    if (name == "dtype" && !value.is_none()) o.dtype = dtype_of(value.ptr(), "dtype");
    if (name == "shape" && !value.is_none()) o.shape = ints_of(value.ptr(), "shape");
    if (name == "offset") o.offset = nb::cast<std::uint64_t>(value);
    if (name == "max_unfolded") o.max_unfolded = nb::cast<std::uint64_t>(value);
  }
  return o;
}

// A RowWriter that Python closes or leaves.
struct Rows {
  std::optional<RowWriter> writer;
};

// Files. Python's side has the parameters and their documentation (_files.py).
void bind_files(nb::module_& m) {
  m.def("load", [](const std::string& path, const nb::dict& options) {
    return unlocked([&, o = load_options(options)](auto where) { return load(path, o, where); });
  });
  m.def("load_all", [](const std::string& path, const nb::dict& options) {
    return unlocked([&, o = load_options(options)](auto where) { return load_all(path, o, where); });
  });
  m.def("load_metadata",
        [](const std::string& path) { return unlocked([&](auto where) { return load_metadata(path, where); }); });
  m.def("save", [](const std::string& path, const Tensor& x, std::vector<std::string> names, bool compress,
                   Metadata metadata) {
    const SaveOptions options{.names = std::move(names), .compress = compress, .metadata = std::move(metadata)};
    unlocked([&](auto where) { save(path, x, options, where); });
  });
  m.def("save_all", [](const std::string& path, const NamedTensors& arrays, bool compress, Metadata metadata) {
    const SaveOptions options{.compress = compress, .metadata = std::move(metadata)};
    unlocked([&](auto where) { save_all(path, arrays, options, where); });
  });
  nb::class_<Rows>(m, "Rows")
      .def("__init__",
           [](Rows* self, const std::string& path, std::vector<std::string> names, bool compress, Metadata metadata) {
             new (self) Rows;
             const SaveOptions options{
                 .names = std::move(names), .compress = compress, .metadata = std::move(metadata)};
             unlocked([&](auto where) { self->writer.emplace(path, options, where); });
           })
      .def("append",
           [](Rows& self, const Tensor& rows) {
             if (!self.writer) value_error("append: the writer is closed.");
             unlocked([&](auto where) { self.writer->append(rows, where); });
           })
      .def("close",
           [](Rows& self) {
             if (self.writer) unlocked([&](auto where) { self.writer->close(where); });
             self.writer.reset();
           })
      .def("leave", [](Rows& self) { self.writer.reset(); });
  nb::class_<RowReader>(m, "RowReader")
      .def("__init__",
           [](RowReader* self, const std::string& path, const nb::dict& options) {
             unlocked([&, o = load_options(options)](auto where) { new (self) RowReader(path, o, where); });
           })
      .def("next", [](RowReader& self,
                      std::int64_t limit) { return unlocked([&](auto where) { return self.next(limit, where); }); })
      .def_prop_ro("rows", &RowReader::rows)
      .def_prop_ro("row", &RowReader::row);
}

}  // namespace

void bind_io(nb::module_& m) {
  m.def(
      "asarray", [](nb::object o, nb::object dtype, nb::object copy) { return nb::steal(asarray(o, dtype, copy)); },
      nb::arg("obj").none(), nb::arg("dtype").none(), nb::arg("copy").none());
  m.def(
      "from_dlpack",
      [](nb::object o, nb::object device, nb::object copy) { return nb::steal(take_dlpack(o, device, copy)); },
      nb::arg("x").none(), nb::arg("device").none(), nb::arg("copy").none());
  m.def("from_tensor", [](const Tensor& x) { return x; });
  m.def("bytes_of", bytes_of);
  m.def("from_bytes", from_bytes);
  bind_files(m);
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
