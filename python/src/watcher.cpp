// The hot path of adapters: runs an op of another framework, looks at its results, and calls Python only when one is
// not finite. Written with Python's C interface: it stands in front of every op of somebody's model.
#include <cmath>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/scope.hpp"
#include "foreign.hpp"
#include "ops/attr.hpp"
#include "ops/witness.hpp"
#include "watcher.hpp"

namespace wp::python {
namespace {

enum class Kind : std::uint8_t {
  plain,   // results are looked at
  views,   // results show memory of arguments: nothing is made
  unseen,  // results have no values yet (empty)
};

struct OpInfo {
  PyObject* call = nullptr;  // owned, as is the key
  const Op* op = nullptr;    // its name, for recordings
  Kind kind = Kind::plain;
};

// Where an op of the forward pass ran, by the number of its node in the framework's graph of derivatives.
struct Mark {
  std::int64_t number = -1;
  Spot spot;
  const ScopeName* scope = nullptr;
  PyObject* function = nullptr;  // borrowed from the table of ops
};
constexpr std::size_t kMarks = 1 << 15;

// A note about memory that holds an Inf or NaN that was made.
struct Noted {
  std::uintptr_t first, end;
  PyObject* note;  // owned
};

struct State {
  Ref classify, slow, failed, sequence, look;  // functions of Python; null or None: not used
  std::unordered_map<PyObject*, OpInfo> ops;
  std::vector<Mark> marks{kMarks};
  std::int64_t last = -1, calls = 0;
  std::vector<Noted> notes;
  bool recording = false;

  ~State() {
    for (const Noted& n : notes) Py_DECREF(n.note);
    for (const auto& [key, info] : ops) {
      Py_DECREF(key);
      Py_DECREF(info.call);
    }
  }
};

struct WatcherObject {
  PyObject_HEAD State* state;
};
State& state_of(PyObject* self) {
  return *reinterpret_cast<WatcherObject*>(self)->state;
}
bool given(const Ref& r) {
  return r && r.get() != Py_None;
}

}  // namespace

// Ops of other frameworks have no room; a record of their name serves recordings.
const Op* foreign_op(std::string_view name) {
  static std::unordered_map<std::string_view, std::unique_ptr<Op>> all;
  std::unique_ptr<Op>& slot = all[intern(std::string(name) + '\0').substr(0, name.size())];
  if (!slot) {
    slot = std::make_unique<Op>();
    slot->name = intern(std::string(name) + '\0').substr(0, name.size());
  }
  return slot.get();
}

namespace {

OpInfo& info_of(State& s, PyObject* function) {
  const auto at = s.ops.find(function);
  if (at != s.ops.end()) [[likely]]
    return at->second;
  const Ref told = Ref::checked(PyObject_CallOneArg(s.classify.get(), function));  // (name, kind, callable)
  OpInfo info;
  info.op = foreign_op(text_of(PyTuple_GetItem(told.get(), 0)));
  info.kind = static_cast<Kind>(integer_of(PyTuple_GetItem(told.get(), 1), "kind"));
  info.call = Py_NewRef(PyTuple_GetItem(told.get(), 2));
  return s.ops.emplace(Py_NewRef(function), info).first->second;
}

// A new node of the graph of derivatives belongs to the line that runs now.
void mark(State& s, PyObject* function) {
  if (!given(s.sequence)) return;
  const Ref number(PyObject_CallNoArgs(s.sequence.get()));
  const std::int64_t next = number ? PyLong_AsLongLong(number.get()) : -1;
  if (PyErr_Occurred()) {
    PyErr_Clear();
    return;
  }
  if (next <= s.last) return;
  const Spot spot = here();
  for (std::int64_t k = std::max(s.last, next - 4); k < next; ++k)
    if (k >= 0) s.marks[static_cast<std::size_t>(k) % kMarks] = {k, spot, context().scope, function};
  s.last = next;
}

void forget(State& s, std::uintptr_t first, std::uintptr_t end) {
  for (std::size_t i = s.notes.size(); i-- > 0;) {
    if (s.notes[i].first >= end || first >= s.notes[i].end) continue;
    PyObject* const note = s.notes[i].note;
    s.notes.erase(s.notes.begin() + static_cast<std::ptrdiff_t>(i));
    Py_DECREF(note);
  }
}

// Whether a result holds an Inf or NaN; finite results lose the notes of the memory they are in.
bool look_at(State& s, PyObject* out) {
  if (PyTuple_CheckExact(out) || PyList_CheckExact(out)) {
    bool bad = false;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(out); ++i)
      bad |= look_at(s, PySequence_Fast_GET_ITEM(out, i));
    return bad;
  }
  if (out == Py_None || PyLong_Check(out)) return false;
  if (PyFloat_CheckExact(out)) return !std::isfinite(PyFloat_AS_DOUBLE(out));
  Seen seen;
  const Look look = see(out, seen);
  if (look == Look::seen) {
    if (seen.nonfinite()) return true;
    if (!s.notes.empty()) [[unlikely]] {
      const auto [first, end] = seen.range();
      forget(s, first, end);
    }
    return false;
  }
  if (!given(s.look)) return false;
  const Ref told = Ref::checked(PyObject_CallOneArg(s.look.get(), out));
  return PyObject_IsTrue(told.get()) == 1;
}

// Tensors among the arguments, also in lists.
void tensors_in(PyObject* o, std::vector<Tensor>& to) {
  if (PyTuple_CheckExact(o) || PyList_CheckExact(o)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o) && to.size() < 3; ++i)
      tensors_in(PySequence_Fast_GET_ITEM(o, i), to);
    return;
  }
  Seen seen;
  if (see(o, seen) != Look::seen) return;
  to.push_back(seen.tensor());
  to.back().node()->borrowed = false;  // the framework holds it while the op runs
}

PyObject* run_recorded(State& s, const OpInfo& info, PyObject* args, PyObject* kwargs, bool* bad) {
  std::vector<Tensor> in;
  tensors_in(args, in);
  const Tensor* pointers[3] = {};
  for (std::size_t i = 0; i < std::min<std::size_t>(in.size(), 3); ++i) pointers[i] = &in[i];
  const Spot spot = here();
  const Place place = spot.place();
  Call call(*info.op, Inputs(pointers, std::min<std::size_t>(in.size(), 3)), {}, place);
  witness_before(call);
  Ref out(PyObject_Call(info.call, args, kwargs));
  if (!out) {
    witness_left(call);
    return nullptr;
  }
  *bad = info.kind == Kind::plain && look_at(s, out.get());
  std::vector<Tensor> results;
  if (info.kind != Kind::unseen) tensors_in(out.get(), results);
  for (const Tensor& t : results) call.out.push_back(t);
  if (*bad) call.status.bits |= simd::Status::nonfinite;
  witness_after(call);
  return out.release();
}

// An error of the framework: the adapter may have something to add to it.
void tell_failure(State& s, PyObject* function, PyObject* args, PyObject* kwargs) {
  if (!given(s.failed)) return;
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  PyObject* const words[] = {function, args, kwargs ? kwargs : Py_None, value ? value : Py_None};
  const Ref none(PyObject_Vectorcall(s.failed.get(), words, 4, nullptr));
  PyErr_Clear();
  PyErr_Restore(type, value, trace);
}

// dispatch(mode, function, types, args, kwargs): what a TorchDispatchMode is asked.
PyObject* dispatch(PyObject* self, PyObject* const* a, Py_ssize_t count) noexcept {
  return guarded([&]() -> PyObject* {
    if (count < 4) type_error("dispatch: needs a mode, a function, types, arguments and named arguments.");
    State& s = state_of(self);
    PyObject *const function = a[1], *const args = a[3];
    PyObject* kwargs = count > 4 && a[4] != Py_None ? a[4] : nullptr;
    if (kwargs && PyDict_GET_SIZE(kwargs) == 0) kwargs = nullptr;
    const OpInfo info = info_of(s, function);
    ++s.calls;
    if (info.kind == Kind::plain) mark(s, function);
    bool bad = false;
    Ref out(s.recording ? run_recorded(s, info, args, kwargs, &bad) : PyObject_Call(info.call, args, kwargs));
    if (!out) {
      tell_failure(s, function, args, kwargs);
      return nullptr;
    }
    if (!s.recording && info.kind == Kind::plain) bad = look_at(s, out.get());
    if (bad) [[unlikely]] {
      PyObject* const words[] = {function, args, kwargs ? kwargs : Py_None, out.get()};
      const Ref none = Ref::checked(PyObject_Vectorcall(s.slow.get(), words, 4, nullptr));
    }
    return out.release();
  });
}

// note(tensor, note): what is known of the Inf or NaN in its memory; note(tensor, None) forgets.
PyObject* set_note(PyObject* self, PyObject* const* a, Py_ssize_t count) noexcept {
  return guarded([&]() -> PyObject* {
    if (count != 2) type_error("note: needs a tensor and a note.");
    State& s = state_of(self);
    Seen seen;
    if (see(a[0], seen) != Look::seen || seen.size == 0) Py_RETURN_NONE;
    const auto [first, end] = seen.range();
    forget(s, first, end);
    if (a[1] == Py_None) Py_RETURN_NONE;
    if (s.notes.size() >= 4096) forget(s, s.notes.front().first, s.notes.front().end);
    s.notes.push_back({first, end, Py_NewRef(a[1])});
    Py_RETURN_NONE;
  });
}

// The newest note of the memory that a tensor shows; None: what is not finite in it was given.
PyObject* note_of(PyObject* self, PyObject* o) noexcept {
  return guarded([&]() -> PyObject* {
    State& s = state_of(self);
    Seen seen;
    if (see(o, seen) != Look::seen || seen.size == 0) Py_RETURN_NONE;
    const auto [first, end] = seen.range();
    for (std::size_t i = s.notes.size(); i-- > 0;)
      if (s.notes[i].first < end && first < s.notes[i].end) return Py_NewRef(s.notes[i].note);
    Py_RETURN_NONE;
  });
}

// mark_of(number): (file, line, scope, function) of the op that made this node; None: it is too long ago.
PyObject* mark_of(PyObject* self, PyObject* number) noexcept {
  return guarded([&]() -> PyObject* {
    State& s = state_of(self);
    const std::int64_t k = integer_of(number, "number");
    const Mark& m = s.marks[static_cast<std::size_t>(k) % kMarks];
    if (k < 0 || m.number != k) Py_RETURN_NONE;
    return Py_BuildValue("(sIsO)", m.spot.file, m.spot.line, m.scope ? m.scope->path.c_str() : "", m.function);
  });
}

PyObject* clear_notes(PyObject* self, PyObject*) noexcept {
  State& s = state_of(self);
  while (!s.notes.empty()) {
    PyObject* const note = s.notes.back().note;
    s.notes.pop_back();
    Py_DECREF(note);
  }
  Py_RETURN_NONE;
}

// Watcher(classify, slow, failed, sequence, look)
PyObject* make_watcher(PyTypeObject* type, PyObject* args, PyObject*) noexcept {
  PyObject* f[5] = {};
  if (!PyArg_ParseTuple(args, "OOOOO", &f[0], &f[1], &f[2], &f[3], &f[4])) return nullptr;
  PyObject* const self = type->tp_alloc(type, 0);
  if (!self) return nullptr;
  return guarded([&] {
    auto s = std::make_unique<State>();
    s->classify = Ref::borrowed(f[0]);
    s->slow = Ref::borrowed(f[1]);
    s->failed = Ref::borrowed(f[2]);
    s->sequence = Ref::borrowed(f[3]);
    s->look = Ref::borrowed(f[4]);
    reinterpret_cast<WatcherObject*>(self)->state = s.release();
    return self;
  });
}
void drop_watcher(PyObject* self) noexcept {
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  delete reinterpret_cast<WatcherObject*>(self)->state;
  type->tp_free(self);
  Py_DECREF(type);
}
int visit_watcher(PyObject* self, visitproc visit, void* arg) noexcept {
  Py_VISIT(Py_TYPE(self));
  const State* const s = reinterpret_cast<WatcherObject*>(self)->state;
  if (!s) return 0;
  for (const Ref* r : {&s->classify, &s->slow, &s->failed, &s->sequence, &s->look}) Py_VISIT(r->get());
  for (const Noted& n : s->notes) Py_VISIT(n.note);
  return 0;
}
int clear_watcher(PyObject* self) noexcept {
  State* const s = reinterpret_cast<WatcherObject*>(self)->state;
  if (!s) return 0;
  clear_notes(self, nullptr);
  for (Ref* r : {&s->classify, &s->slow, &s->failed, &s->sequence, &s->look}) *r = Ref();
  return 0;
}

PyObject* get_recording(PyObject* self, void*) noexcept {
  return PyBool_FromLong(state_of(self).recording);
}
int set_recording(PyObject* self, PyObject* value, void*) noexcept {
  state_of(self).recording = value && PyObject_IsTrue(value) == 1;
  return 0;
}
PyObject* get_calls(PyObject* self, void*) noexcept {
  return PyLong_FromLongLong(state_of(self).calls);
}
PyObject* get_notes(PyObject* self, void*) noexcept {
  return PyLong_FromSize_t(state_of(self).notes.size());
}

}  // namespace

void add_watcher(PyObject* module) {
  static PyMethodDef methods[] = {
      {"dispatch", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(dispatch)), METH_FASTCALL, nullptr},
      {"note", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(set_note)), METH_FASTCALL, nullptr},
      {"note_of", note_of, METH_O, nullptr},
      {"mark_of", mark_of, METH_O, nullptr},
      {"clear_notes", clear_notes, METH_NOARGS, nullptr},
      {nullptr, nullptr, 0, nullptr}};
  static PyGetSetDef fields[] = {{"recording", get_recording, set_recording, nullptr, nullptr},
                                 {"calls", get_calls, nullptr, nullptr, nullptr},
                                 {"notes", get_notes, nullptr, nullptr, nullptr},
                                 {nullptr, nullptr, nullptr, nullptr, nullptr}};
  PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(make_watcher)},
                         {Py_tp_dealloc, reinterpret_cast<void*>(drop_watcher)},
                         {Py_tp_traverse, reinterpret_cast<void*>(visit_watcher)},
                         {Py_tp_clear, reinterpret_cast<void*>(clear_watcher)},
                         {Py_tp_methods, methods},
                         {Py_tp_getset, fields},
                         {0, nullptr}};
  PyType_Spec spec{"wellposed._core.Watcher", sizeof(WatcherObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
                   slots};
  const Ref type = Ref::checked(PyType_FromSpec(&spec));
  if (PyModule_AddObjectRef(module, "Watcher", type.get()) != 0) throw ErrorIsSet();
  add_inside(module);
}

}  // namespace wp::python
