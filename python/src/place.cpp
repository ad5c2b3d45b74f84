// The line of the user's program, taken at every call: the frame's code and instruction are looked up in a table;
// only a new pair costs a search in the code's line table.
#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "foreign.hpp"
#include "ops/attr.hpp"
#include "python.hpp"

namespace wp::python {
namespace {

struct Entry {
  PyCodeObject* code = nullptr;  // owned: its address cannot come back as another's
  int instruction = -1;
  bool inside = false;  // a frame of this package: the caller's is looked at
  Spot spot{nullptr, nullptr, 0, 0};
};
constexpr std::size_t kEntries = 4096;  // a power of two
Entry entries[kEntries];

std::string package_folder() {
  const Ref module(PyImport_ImportModule("wellposed"));
  const Ref path(module ? PyObject_GetAttrString(module.get(), "__file__") : nullptr);
  PyErr_Clear();
  std::string name = path && PyUnicode_Check(path.get()) ? std::string(text_of(path.get())) : std::string();
  return name.substr(0, name.rfind('/') + 1);
}
// Files in these are not the user's: this package, and frameworks that adapters look into.
std::vector<std::string>& folders() {
  static std::vector<std::string> all{package_folder()};
  return all;
}

bool in_package(std::string_view file) {
  for (const std::string& folder : folders())
    if (!folder.empty() && file.starts_with(folder)) return true;
  return false;
}

[[gnu::noinline]] void fill(Entry& e, PyCodeObject* code, int instruction) {
  const std::string_view file = text_of(code->co_filename);
  Py_INCREF(code);
  Py_XDECREF(e.code);
  e.code = code;
  e.instruction = instruction;
  e.inside = in_package(file);
  e.spot = {intern(std::string(file) + '\0').data(), intern(std::string(text_of(code->co_name)) + '\0').data(),
            static_cast<std::uint32_t>(std::max(PyCode_Addr2Line(code, instruction), 0)), 0};
}

Entry& look_up(PyFrameObject* frame) {
  PyCodeObject* const code = PyFrame_GetCode(frame);
  Py_DECREF(code);  // the frame keeps it
  const int instruction = PyFrame_GetLasti(frame);
  const std::size_t hash = reinterpret_cast<std::size_t>(code) / 64 * 31 + static_cast<std::size_t>(instruction) / 2;
  Entry& e = entries[hash % kEntries];
  if (e.code != code || e.instruction != instruction) [[unlikely]]
    fill(e, code, instruction);
  return e;
}

}  // namespace

void pass_over(const std::string& folder) {
  if (std::find(folders().begin(), folders().end(), folder) != folders().end()) return;
  folders().push_back(folder);
  for (Entry& e : entries) e.instruction = -1;  // judged again
}

Spot here() noexcept {
  PyFrameObject* frame = PyEval_GetFrame();
  if (!frame) return {};
  const Entry* e = &look_up(frame);
  if (!e->inside) [[likely]]
    return e->spot;
  Ref outer(reinterpret_cast<PyObject*>(PyFrame_GetBack(frame)));
  while (outer) {
    frame = reinterpret_cast<PyFrameObject*>(outer.get());
    e = &look_up(frame);
    if (!e->inside) return e->spot;
    outer = Ref(reinterpret_cast<PyObject*>(PyFrame_GetBack(frame)));
  }
  return {};
}

std::source_location Spot::location() const noexcept {
  static_assert(sizeof(std::source_location) == sizeof(const Spot*));
  return std::bit_cast<std::source_location>(this);
}

}  // namespace wp::python
