#include "foreign.hpp"

#include <array>

#include "kernels/scan.hpp"

namespace wp::python {
namespace {

// DLPack's C exchange table, as far as it is used here.
struct Exchange {
  std::uint32_t major, minor;
  Exchange* before;
  void *allocate, *lend, *take;
  int (*show)(void* object, dlpack::Array* to);  // no owner: valid until control returns
};

struct Known {
  PyTypeObject* type = nullptr;  // owned: its address cannot come back as another's
  const Exchange* exchange = nullptr;
};

const Exchange* exchange_of(PyTypeObject* type) noexcept {
  static std::array<Known, 16> known;
  Known& k = known[reinterpret_cast<std::uintptr_t>(type) / 64 % known.size()];
  if (k.type == type) [[likely]]
    return k.exchange;
  const Exchange* found = nullptr;
  const Ref capsule(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__dlpack_c_exchange_api__"));
  if (capsule && PyCapsule_IsValid(capsule.get(), "dlpack_exchange_api"))
    found = static_cast<const Exchange*>(PyCapsule_GetPointer(capsule.get(), "dlpack_exchange_api"));
  PyErr_Clear();
  while (found && found->major > 1) found = found->before;
  if (found && !found->show) found = nullptr;
  Py_INCREF(type);
  Py_XDECREF(k.type);
  k = {type, found};
  return found;
}

// Elements without gaps in some order of the axes are one block.
bool dense(const Seen& s) noexcept {
  if (!s.array.strides) return true;
  std::int64_t reach = 0;
  for (int d = 0; d < s.array.ndim; ++d) {
    if (s.array.shape[d] > 1 && s.array.strides[d] <= 0) return false;
    if (s.array.shape[d] > 1) reach += (s.array.shape[d] - 1) * s.array.strides[d];
  }
  return reach + 1 == s.size;
}

// Axes that repeat elements are looked at once; runs of the last axis are one block if they can be.
bool any_bad(const Seen& s, int axis, const char* at) noexcept {
  const auto bytes = static_cast<std::int64_t>(size_of(s.dtype));
  if (axis == s.array.ndim) return kernels::any_nonfinite(s.dtype, at, 1);
  const std::int64_t step = s.array.strides[axis], n = step == 0 ? 1 : s.array.shape[axis];
  if (axis + 1 == s.array.ndim && step == 1) return kernels::any_nonfinite(s.dtype, at, n);
  for (std::int64_t i = 0; i < n; ++i)
    if (any_bad(s, axis + 1, at + i * step * bytes)) return true;
  return false;
}

}  // namespace

std::pair<std::uintptr_t, std::uintptr_t> Seen::range() const noexcept {
  const auto first = reinterpret_cast<std::uintptr_t>(data());
  std::int64_t reach = size - 1;
  if (array.strides) {
    reach = 0;
    for (int d = 0; d < array.ndim; ++d) reach += (array.shape[d] - 1) * array.strides[d];
  }
  return {first, first + static_cast<std::uintptr_t>(reach + 1) * size_of(dtype)};
}

bool Seen::nonfinite() const noexcept {
  if (size == 0 || !is_floating(dtype)) return false;
  return dense(*this) ? kernels::any_nonfinite(dtype, data(), size) : any_bad(*this, 0, data());
}

Tensor Seen::tensor(std::function<void()> release) const {
  const Dims shape(array.shape, array.shape + array.ndim);
  const Dims strides = array.strides ? Dims(array.strides, array.strides + array.ndim) : Dims();
  return Tensor::borrow(const_cast<char*>(data()), dtype, shape, strides, std::move(release));
}

Look see(PyObject* o, Seen& to) noexcept {
  const Exchange* const e = exchange_of(Py_TYPE(o));
  if (!e) return Look::no_tensor;
  if (e->show(o, &to.array) != 0) {
    PyErr_Clear();
    return Look::hidden;
  }
  const std::optional<DType> dtype = dlpack::dtype_of(to.array.dtype);
  if (to.array.device.type != 1 || !dtype) return Look::hidden;
  to.dtype = *dtype;
  to.size = 1;
  for (int d = 0; d < to.array.ndim; ++d) to.size *= to.array.shape[d];
  return to.array.data || to.size == 0 ? Look::seen : Look::hidden;  // PyTorch's zero tensors have no memory
}

}  // namespace wp::python
