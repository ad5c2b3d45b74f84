// Memory shared by DLPack (https://dmlc.github.io/dlpack/latest/c_api.html), versions 0 and 1.
#include <algorithm>
#include <array>
#include <memory>

#include "autodiff/lent.hpp"
#include "autodiff/outside.hpp"
#include "dlpack.hpp"
#include "python.hpp"
#include "tensor/note.hpp"
#include "wellposed/ops.hpp"

namespace wp::python {

dlpack::Type dlpack::type_of(DType d) {
  const auto bits = static_cast<std::uint8_t>(8 * size_of(d));
  return {d == DType::boolean            ? boolean_code
          : d == bf16                    ? bfloat
          : is(d, kinds::signed_integer) ? integer
          : is_integer(d)                ? natural
          : is_complex(d)                ? complex
                                         : real,
          bits};
}
std::optional<DType> dlpack::dtype_of(Type t) noexcept {
  static const auto words = [] {
    std::array<std::uint16_t, kDTypes> all{};
    for (int d = 0; d < kDTypes; ++d) {
      const Type own = type_of(static_cast<DType>(d));
      all[static_cast<std::size_t>(d)] = static_cast<std::uint16_t>(own.code << 8 | own.bits);
    }
    return all;
  }();
  const auto found = std::find(words.begin(), words.end(), static_cast<std::uint16_t>(t.code << 8 | t.bits));
  if (found == words.end() || t.lanes != 1) return {};
  return static_cast<DType>(found - words.begin());
}

namespace {

using dlpack::Array, dlpack::Type, dlpack::dtype_of, dlpack::type_of;

struct Managed {
  Array array;
  void* context;
  void (*deleter)(Managed*);
};
struct Versioned {
  std::uint32_t major, minor;
  void* context;
  void (*deleter)(Versioned*);
  std::uint64_t flags;  // bit 0: read-only; bit 1: it is a copy
  Array array;
};
constexpr const char *kPlain = "dltensor", *kVersioned = "dltensor_versioned";

DType dtype_from(Type t, std::string_view what) {
  if (const std::optional<DType> d = dtype_of(t)) return *d;
  type_error(
      say(what, " has elements that wellposed has no dtype for (DLPack code ", t.code, ", ", t.bits, " bits)."));
}

// ---- out
// ------------------------------------------------------------------------------------------------------------
template <class M>
struct Lending {  // what the consumer gets, and what it keeps alive
  M managed;
  Tensor tensor;
  Dims shape, strides;
};
template <class M>
M* lend(const Tensor& t) {
  auto* const l = new Lending<M>{{}, t, t.shape(), t.strides()};
  l->managed.array = {.data = t.node()->data,
                      .device = {},
                      .ndim = static_cast<std::int32_t>(t.ndim()),
                      .dtype = type_of(t.dtype()),
                      .shape = l->shape.data(),
                      .strides = l->strides.data(),
                      .byte_offset = 0};
  l->managed.context = l;
  l->managed.deleter = [](M* m) { delete static_cast<Lending<M>*>(m->context); };
  return &l->managed;
}
template <class M>
void drop(PyObject* capsule, const char* name) {
  if (!PyCapsule_IsValid(capsule, name)) return;  // taken: its name was changed
  auto* const m = static_cast<M*>(PyCapsule_GetPointer(capsule, name));
  if (m->deleter) m->deleter(m);
}

PyObject* capsule_of(Tensor t, bool versioned, bool is_copy) {
  if (!versioned) return PyCapsule_New(lend<Managed>(t), kPlain, [](PyObject* c) { drop<Managed>(c, kPlain); });
  Versioned* const m = lend<Versioned>(t);
  m->major = 1;
  m->minor = 0;
  m->flags = is_copy ? 2 : 1;
  return PyCapsule_New(m, kVersioned, [](PyObject* c) { drop<Versioned>(c, kVersioned); });
}

// ---- in
// -------------------------------------------------------------------------------------------------------------
template <class M>
Tensor take(PyObject* capsule, const char* name, const char* used, std::string_view what) {
  auto* const m = static_cast<M*>(PyCapsule_GetPointer(capsule, name));
  if (!m) throw ErrorIsSet();
  if constexpr (std::is_same_v<M, Versioned>)  // the layout of what follows belongs to the major version
    if (m->major != 1) value_error(say(what, " comes by DLPack ", m->major, ".", m->minor, "; known are 0 and 1."));
  const Array& a = m->array;
  if (a.device.type != 1) value_error(say(what, " is not in the memory of the CPU; move it there first."));
  const DType dtype = dtype_from(a.dtype, what);
  const Dims shape(a.shape, a.shape + a.ndim);
  const Dims strides = a.strides ? Dims(a.strides, a.strides + a.ndim) : Dims();
  if (!a.data && std::find(shape.begin(), shape.end(), 0) == shape.end())
    value_error(say(what, " has elements but no memory (a zero tensor of PyTorch's forward mode); use x.clone()."));
  char* const data = static_cast<char*>(a.data) + a.byte_offset;
  Tensor t = Tensor::borrow(data, dtype, shape, strides, [m] {
    if (!m->deleter || !Py_IsInitialized()) return;
    const PyGILState_STATE state = PyGILState_Ensure();
    m->deleter(m);
    PyGILState_Release(state);
  });
  PyCapsule_SetName(capsule, used);
  PyCapsule_SetDestructor(capsule, nullptr);
  return reinterpret_cast<std::uintptr_t>(data) % std::min<std::size_t>(size_of(dtype), 8) == 0 ? t : copied(t);
}

// The lender's own words, and whose argument it is.
[[noreturn]] void refused(PyObject* o, std::string_view what) {
#if PY_VERSION_HEX >= 0x030C0000
  const Ref error(PyErr_GetRaisedException());
#else
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  const Ref owned_type(type), error(value), owned_trace(trace);
#endif
  const Ref words(error ? PyObject_Str(error.get()) : nullptr);
  PyErr_Clear();
  std::string_view reason = words ? text_of(words.get()) : std::string_view("no reason given");
  while (reason.ends_with('.')) reason.remove_suffix(1);
  value_error(say(what, " (", type_name(o), ") does not lend its memory: ", reason,
                  ". Accepted are tensors in the memory of the CPU that record no gradient of their own."));
}

void need_cpu(PyObject* o, std::string_view what) {
  const Ref device(PyObject_CallMethod(o, "__dlpack_device__", nullptr));
  if (!device) refused(o, what);
  if (!PyTuple_Check(device.get()) || PyTuple_GET_SIZE(device.get()) < 1)
    type_error(say(what, ": __dlpack_device__ must give a tuple."));
  const std::int64_t kind = integer_of(PyTuple_GET_ITEM(device.get(), 0), "device");
  if (kind != 1)
    value_error(say(what, " is on another device (DLPack device ", kind, kind == 2 ? ", CUDA" : "",
                    "); wellposed computes on the CPU. Move it there first: x.cpu(), or jax.device_put(x, cpu)."));
}

}  // namespace

Tensor from_dlpack(PyObject* o, std::string_view what) {
  if (PyCapsule_IsValid(o, kVersioned)) return take<Versioned>(o, kVersioned, "used_dltensor_versioned", what);
  if (PyCapsule_IsValid(o, kPlain)) return take<Managed>(o, kPlain, "used_dltensor", what);
  if (PyCapsule_CheckExact(o)) value_error(say(what, " is a capsule that was used already, or none of DLPack's."));
  if (!PyObject_HasAttrString(o, "__dlpack__"))
    type_error(say(what, " must have __dlpack__ and __dlpack_device__; got ", type_name(o), "."));
  need_cpu(o, what);
  if (PyObject_HasAttrString(o, "is_neg")) {  // PyTorch lends memory whose signs it only means to turn
    const Ref turned = Ref::checked(PyObject_CallMethod(o, "is_neg", nullptr));
    if (PyObject_IsTrue(turned.get()) == 1)
      return from_dlpack(Ref::checked(PyObject_CallMethod(o, "resolve_neg", nullptr)).get(), what);
  }
  const Ref method = Ref::checked(PyObject_GetAttrString(o, "__dlpack__"));
  const Ref none = Ref::checked(PyTuple_New(0));
  const Ref version = Ref::checked(Py_BuildValue("{s(ii)}", "max_version", 1, 0));
  Ref capsule(PyObject_Call(method.get(), none.get(), version.get()));
  if (!capsule && PyErr_ExceptionMatches(PyExc_TypeError)) {  // from before the argument existed
    PyErr_Clear();
    capsule = Ref(PyObject_Call(method.get(), none.get(), nullptr));
  }
  if (!capsule) refused(o, what);
  if (!PyCapsule_CheckExact(capsule.get())) type_error(say(what, ": __dlpack__ must give a capsule."));
  return from_dlpack(capsule.get(), what);
}

PyObject* to_dlpack(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) noexcept {
  return guarded([&]() -> PyObject* {
    if (count) type_error("__dlpack__ takes keyword arguments only.");
    bool versioned = false, streamed = false;
    PyObject* copy = Py_None;
    const Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0;
    for (Py_ssize_t i = 0; i < named; ++i) {
      const std::string_view key = text_of(PyTuple_GET_ITEM(names, i));
      PyObject* const value = args[i];
      if (key == "max_version") {
        versioned = value != Py_None && ints_of(value, "max_version")[0] >= 1;
      } else if (key == "copy") {
        copy = value;
      } else if (key == "dl_device") {
        if (value != Py_None && ints_of(value, "dl_device")[0] != 1) {
          PyErr_SetString(PyExc_BufferError, "wellposed has tensors on the CPU only: dl_device must be (1, 0).");
          throw ErrorIsSet();
        }
      } else if (key == "stream") {
        streamed = true;
      } else {
        type_error(say("__dlpack__ has no argument '", key, "'."));
      }
    }
    const Tensor& t = tensor_of(self);
    if (t.node()->note && context().level != CheckLevel::off) {
      const checks warning(CheckLevel::warn);
      escape(t, "data", Counts::made, here().place());
      tell_findings();
    }
    autodiff::given_away(t);
    // A consumer that knows no read-only flag might write: it gets its own memory, unless it insists. JAX, whose
    // arrays are values too, names no version, but is the only one that names a stream on the CPU.
    const bool own = copy == Py_True || (copy != Py_False && !versioned && !streamed);
    if (!own) autodiff::lend_out(t);  // PyTorch writes to what is read-only
    return Ref::checked(capsule_of(own ? copied(t) : t, versioned, own)).release();
  });
}

}  // namespace wp::python
