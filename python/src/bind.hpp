// nanobind, and how it sees what the raw part of the module defines.
#pragma once
#include "python.hpp"
// after Python.h
#include <nanobind/nanobind.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "wellposed/diagnosis.hpp"
#include "wellposed/setting.hpp"

namespace nb = nanobind;

namespace nanobind::detail {

// Whether a conversion went through; what it raised is nothing to the caller, who tries the next overload.
template <class F>
bool taken(F&& convert) noexcept {
  try {
    convert();
    return true;
  } catch (...) {
    PyErr_Clear();
    return false;
  }
}

// Tensors come in as anything that has elements, and go out as wellposed.Tensor; undefined ones as None.
template <>
struct type_caster<wp::Tensor> {
  NB_TYPE_CASTER(wp::Tensor, const_name("Tensor"))
  bool from_python(handle source, std::uint8_t, cleanup_list*) noexcept {
    return taken([&] {
             value = source.is_none() ? wp::Tensor() : wp::python::tensor_from(source.ptr(), "the argument");
             if (value.defined() && value.node()->weak) value.node()->weak = wp::python::is_tensor(source.ptr());
           }) &&
           (source.is_none() || value.defined());
  }
  static handle from_cpp(const wp::Tensor& t, rv_policy, cleanup_list*) noexcept {
    return wp::python::guarded([&] { return wp::python::wrap(t); });
  }
};

template <>
struct type_caster<wp::DType> {
  NB_TYPE_CASTER(wp::DType, const_name("DType"))
  bool from_python(handle source, std::uint8_t, cleanup_list*) noexcept {
    return taken([&] { value = wp::python::dtype_of(source.ptr(), "dtype"); });
  }
  static handle from_cpp(wp::DType d, rv_policy, cleanup_list*) noexcept {
    return Py_NewRef(wp::python::dtype_object(d));
  }
};

template <>
struct type_caster<wp::Dims> {
  NB_TYPE_CASTER(wp::Dims, const_name("tuple[int, ...]"))
  bool from_python(handle source, std::uint8_t, cleanup_list*) noexcept {
    return taken([&] { value = wp::python::ints_of(source.ptr(), "shape"); });
  }
  static handle from_cpp(const wp::Dims& d, rv_policy, cleanup_list*) noexcept {
    PyObject* const t = PyTuple_New(static_cast<Py_ssize_t>(d.size()));
    for (std::size_t k = 0; t && k < d.size(); ++k)
      PyTuple_SET_ITEM(t, static_cast<Py_ssize_t>(k), PyLong_FromLongLong(d[k]));
    return t;
  }
};

}  // namespace nanobind::detail

namespace wp::python {

PyObject* wrap_diagnosis(const linalg::Diagnosis& d);
// The name of the class of an error.
const char* class_name(const Error& e);

// A number, or the name of a rule.
Setting setting_of(nb::handle o, std::string_view what);

// Runs f without Python's lock, with the user's line; then tells what was found.
template <class F>
auto unlocked(const F& f) {
  const Spot spot = here();
  if constexpr (std::is_void_v<decltype(f(spot.location()))>) {
    {
      const Unlocked u(true);
      f(spot.location());
    }
    tell_findings();
  } else {
    auto result = [&] {
      const Unlocked u(true);
      return f(spot.location());
    }();
    tell_findings();
    return result;
  }
}

// __enter__ and __exit__ for an object that works while it lives.
template <class T, class... Arguments>
class While {
 public:
  explicit While(Arguments... arguments) : arguments_(std::move(arguments)...) {}
  While(const While&) = delete;
  While& operator=(const While&) = delete;
  void enter() {
    lives_.push_back(std::apply([](const auto&... a) { return std::make_unique<T>(a...); }, arguments_));
  }
  void exit() {
    if (!lives_.empty()) lives_.pop_back();
  }
  T* current() { return lives_.empty() ? nullptr : lives_.back().get(); }

 private:
  std::tuple<Arguments...> arguments_;
  std::vector<std::unique_ptr<T>> lives_;  // the same object may be entered again inside
};
template <class C>
void add_with(nb::class_<C>& c) {
  c.def("__enter__", [](nb::object self) {
     nb::cast<C&>(self).enter();
     return self;
   }).def("__exit__", [](C& self, nb::args) { self.exit(); });
}

void bind_context(nb::module_& m);
void bind_linalg(nb::module_& m);
void bind_iterative(nb::module_& m);
void bind_autodiff(nb::module_& m);
void bind_trace(nb::module_& m);
void bind_io(nb::module_& m);
void bind_data(nb::module_& m);
void bind_summary(nb::module_& m);
void bind_nn(nb::module_& m);
void bind_adapters(nb::module_& m);
void bind_xla(nb::module_& m);
void bind_tensorflow(nb::module_& m);
// After all of these: refused calls of what they bound name the argument that is wrong.
void explain_calls(nb::module_& m);

}  // namespace wp::python
