// What the files of the Python module share. Tensor and the functions of the op table use Python's C interface
// directly, because a call of a small op must cost as little as NumPy's; everything else goes through nanobind.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include <atomic>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "ops/op.hpp"
#include "wellposed/tensor.hpp"

namespace wp::python {

// ---- references
// ----------------------------------------------------------------------------------------------------- Python has an
// error set already; caught at the border.
struct ErrorIsSet {};

// Owns one reference.
class Ref {
 public:
  Ref() noexcept = default;
  explicit Ref(PyObject* owned) noexcept : object_(owned) {}
  static Ref borrowed(PyObject* o) noexcept { return Ref(Py_XNewRef(o)); }
  // What a function returned; null means that it has set an error.
  static Ref checked(PyObject* owned) {
    if (!owned) throw ErrorIsSet();
    return Ref(owned);
  }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { Py_XDECREF(object_); }
  PyObject* get() const noexcept { return object_; }
  PyObject* release() noexcept { return std::exchange(object_, nullptr); }
  explicit operator bool() const noexcept { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

[[noreturn]] void type_error(const std::string& words);
[[noreturn]] void value_error(const std::string& words);
// An integer that does not fit: a ValueError, and the OverflowError that Python and NumPy raise for it.
PyObject* integer_overflow();
[[noreturn]] void overflow_error(const std::string& words);
std::string type_name(PyObject* o);
std::string_view text_of(PyObject* unicode);
PyObject* text(std::string_view s);

// ---- tensors and dtypes
// ---------------------------------------------------------------------------------------------
struct TensorObject {
  PyObject_HEAD Tensor value;
  PyObject* weak_references;
};
extern PyTypeObject* tensor_type;
inline bool is_tensor(PyObject* o) noexcept {
  return Py_TYPE(o) == tensor_type;
}
inline Tensor& tensor_of(PyObject* o) noexcept {
  return reinterpret_cast<TensorObject*>(o)->value;
}
PyObject* wrap(Tensor t);  // undefined: None

PyObject* dtype_object(DType d);                // borrowed
DType dtype_of(PyObject* o, const char* what);  // a dtype of wellposed or NumPy, its name, or a Python type
bool is_dtype(PyObject* o) noexcept;

// A bool, int, float or complex of Python: weakly typed.
bool is_number(PyObject* o) noexcept;
Scalar scalar_of(PyObject* o, std::string_view what);
// Any integer, by __index__.
std::int64_t integer_of(PyObject* o, std::string_view what);
Dims ints_of(PyObject* o, std::string_view what);
// A tensor, number, nested list or array of another library (shown in place). Null: it is none of these.
Tensor tensor_from(PyObject* o, std::string_view what);
Tensor as_tensor(PyObject* o, std::string_view what);  // the same; raises TypeError that names the argument
// Arrays of others: buffers, DLPack, __array__. Undefined: it offers none of them.
Tensor from_array(PyObject* o, std::string_view what);
Tensor from_buffer(PyObject* o, std::string_view what);
Tensor from_dlpack(PyObject* o, std::string_view what);
Tensor from_list(PyObject* o, std::string_view what);
// Labels of a table (pandas' columns) name the rows and columns of a matrix in messages.
std::optional<std::vector<std::string>> labels_of(PyObject* o);
// x in memory of its own, not shared with a lender.
Tensor copied(const Tensor& x);

// A function of the op table with everything decided but its tensors, which it takes in order; options by name. None:
// it is something else, or has options that only its call can judge.
struct Planned {
  const Op* op;
  std::vector<Attr> attrs;
};
std::optional<Planned> plan_of(PyObject* function, PyObject* options, std::size_t tensors);

// ---- the user's line --------------------------------------------------------------------------------------------
// The line of the innermost frame outside of this package. Lives as long as the process.
struct Spot {
  const char* file = "";
  const char* function = "";
  std::uint32_t line = 0, column = 0;
  Place place() const noexcept { return {file, line, function}; }
  // As a source_location, which is a pointer to these four fields in libstdc++ and libc++ (a test looks).
  std::source_location location() const noexcept;
};
Spot here() noexcept;

// ---- errors, findings, threads ----------------------------------------------------------------------------------
// Turns the exception that is handled into Python's.
void set_error() noexcept;
template <class F>
auto guarded(const F& f, decltype(f()) failure = {}) noexcept -> decltype(f()) {
  try {
    return f();
  } catch (...) {
    set_error();
    return failure;
  }
}
// Findings wait until the call that caused them is over; then they become warnings. Those of threads that Python does
// not know (a writer of summaries) become warnings of the next call. Throws if a filter makes one an error.
void tell_findings_slow();
extern thread_local bool findings_wait;
extern std::atomic<bool> others_wait;
inline void tell_findings() {
  if (findings_wait || others_wait.load(std::memory_order_relaxed)) [[unlikely]]
    tell_findings_slow();
}
// Other Python threads run while it lives, if the work is large enough to pay for it.
class Unlocked {
 public:
  explicit Unlocked(bool large) noexcept : state_(large ? PyEval_SaveThread() : nullptr) {}
  ~Unlocked() {
    if (state_) PyEval_RestoreThread(state_);
  }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* state_;
};
inline constexpr std::int64_t kLarge = 2048;  // elements

// ---- parts of the module
// --------------------------------------------------------------------------------------------
void add_dtypes(PyObject* module);
void add_tensor(PyObject* module);
void add_functions(PyObject* module);
void add_findings();

// Slots of the tensor type.
PyObject* subscript(PyObject* self, PyObject* key) noexcept;
int assign_subscript(PyObject* self, PyObject* key, PyObject* value) noexcept;
PyObject* sequence_item(PyObject* self, Py_ssize_t i) noexcept;
int get_buffer(PyObject* self, Py_buffer* view, int flags) noexcept;
void release_buffer(PyObject* self, Py_buffer* view) noexcept;
PyObject* to_dlpack(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) noexcept;
extern const PyType_Slot* const operator_slots;  // ends with {0, nullptr}

}  // namespace wp::python
