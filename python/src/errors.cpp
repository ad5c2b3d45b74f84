// Exceptions and warnings. Their classes are in wellposed/_errors.py, under the names of the C++ classes.
#include <chrono>
#include <exception>
#include <mutex>
#include <new>
#include <vector>

#include "base/interrupt.hpp"
#include "bind.hpp"
#include "wellposed/context.hpp"
#include "wellposed/validate.hpp"

namespace wp::python {

thread_local bool findings_wait = false;
std::atomic<bool> others_wait{false};

// Derived classes before their bases.
const char* class_name(const Error& e) {
  if (dynamic_cast<const SingularMatrix*>(&e)) return "SingularMatrix";
  if (dynamic_cast<const NotPositiveDefinite*>(&e)) return "NotPositiveDefinite";
  if (dynamic_cast<const NotConverged*>(&e)) return "NotConverged";
  if (dynamic_cast<const LinalgError*>(&e)) return "LinalgError";
  if (dynamic_cast<const ValidationError*>(&e)) return "ValidationError";
  if (dynamic_cast<const ArgumentError*>(&e)) return "ArgumentError";
  if (dynamic_cast<const ShapeError*>(&e)) return "ShapeError";
  if (dynamic_cast<const DtypeError*>(&e)) return "DtypeError";
  if (dynamic_cast<const IndexError*>(&e)) return "IndexError";
  if (dynamic_cast<const DomainError*>(&e)) return "DomainError";
  if (dynamic_cast<const NonFiniteError*>(&e)) return "NonFiniteError";
  if (dynamic_cast<const AssertionError*>(&e)) return "AssertionError";
  if (dynamic_cast<const GaugeError*>(&e)) return "GaugeError";
  if (dynamic_cast<const GradientError*>(&e)) return "GradientError";
  if (dynamic_cast<const OutOfMemory*>(&e)) return "OutOfMemory";
  if (dynamic_cast<const FormatError*>(&e)) return "FormatError";
  if (dynamic_cast<const FileError*>(&e)) return "FileError";
  if (dynamic_cast<const InternalError*>(&e)) return "InternalError";
  return "Error";
}

namespace {

nb::object class_of(const char* name) {
  nb::object errors = nb::module_::import_("wellposed._errors");
  return errors.attr("_class")(name);
}

void set_from(const Error& e) {
  nb::object made = class_of(class_name(e))(nb::str(e.what()));
  made.attr("finding") = nb::cast(e.finding());
  made.attr("_error") = nb::capsule(new std::exception_ptr(std::current_exception()), "wellposed.error",
                                    [](void* p) noexcept { delete static_cast<std::exception_ptr*>(p); });
  if (const auto* v = dynamic_cast<const ValidationError*>(&e)) made.attr("report") = nb::cast(v->report());
  if (const auto* l = dynamic_cast<const LinalgError*>(&e)) {
    made.attr("diagnosis") = nb::steal(wrap_diagnosis(l->diagnosis()));
    nb::list values;
    for (const Tensor& t : l->value()) values.append(nb::steal(wrap(t)));
    made.attr("value") = values.size() == 1 ? nb::object(values[0]) : nb::object(nb::tuple(values));
  }
  PyErr_SetObject(made.type().ptr(), made.ptr());
}

// ---- findings
// ------------------------------------------------------------------------------------------------------- Those of
// this thread, and of threads that Python does not know.
thread_local std::vector<Finding>* mine = nullptr;
std::mutex others_mutex;
std::vector<Finding> others;

void keep(const Finding& f) {
  if (f.severity == Severity::note) return;
  if (!Py_IsInitialized() || !PyGILState_GetThisThreadState()) {
    const std::lock_guard lock(others_mutex);
    others.push_back(f);
    others_wait = true;
    return;
  }
  if (!mine) mine = new std::vector<Finding>;
  mine->push_back(f);
  findings_wait = true;
}

// Asked between pieces of long work: runs Python's signal handlers, at most every 50 ms.
bool signalled() {
  using Clock = std::chrono::steady_clock;
  thread_local Clock::time_point next;
  const Clock::time_point now = Clock::now();
  if (now < next) return false;
  next = now + std::chrono::milliseconds(50);
  if (!Py_IsInitialized() || !PyGILState_GetThisThreadState()) return false;
  const PyGILState_STATE state = PyGILState_Ensure();
  const bool stop = PyErr_CheckSignals() != 0;
  PyGILState_Release(state);
  return stop;
}

void warn(const Finding& f) {
  nb::object errors = nb::module_::import_("wellposed._errors");
  errors.attr("_warn")(f);
}

}  // namespace

void set_error() noexcept {
  try {
    try {
      throw;
    } catch (const ErrorIsSet&) {
    } catch (const Interrupted&) {  // the handler of the signal has set KeyboardInterrupt
      if (!PyErr_Occurred()) PyErr_SetNone(PyExc_KeyboardInterrupt);
    } catch (nb::python_error& e) {
      e.restore();
    } catch (const Error& e) {
      set_from(e);
    } catch (const std::bad_alloc&) {
      PyErr_NoMemory();
    } catch (const std::exception& e) {
      PyErr_SetString(PyExc_RuntimeError, e.what());
    } catch (...) {
      PyErr_SetString(PyExc_SystemError,
                      "wellposed: an exception of an unknown kind. This is a defect; please report it.");
    }
  } catch (nb::python_error& e) {
    e.restore();
  } catch (...) {
    PyErr_NoMemory();
  }
}

void tell_findings_slow() {
  findings_wait = false;
  std::vector<Finding> now;
  if (mine) now.swap(*mine);
  {
    const std::lock_guard lock(others_mutex);
    now.insert(now.end(), others.begin(), others.end());
    others.clear();
    others_wait = false;
  }
  for (const Finding& f : now) warn(f);
}

void add_findings() {
  on_finding(keep);
  set_interrupt_hook(signalled);
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const Error& e) {
      set_from(e);
    } catch (const ErrorIsSet&) {
      // it is set
    } catch (const Interrupted&) {
      if (!PyErr_Occurred()) PyErr_SetNone(PyExc_KeyboardInterrupt);
    }
  });
}

}  // namespace wp::python
