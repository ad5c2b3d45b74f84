// What adapters for other frameworks say: findings and ways back, in the words of everything else.
#include "bind.hpp"
#include "foreign.hpp"
#include "kernels/scan.hpp"
#include "ops/attr.hpp"
#include "ops/witness.hpp"
#include "simd/float_state.hpp"
#include "tensor/note.hpp"
#include "watcher.hpp"
#include "wellposed/blame.hpp"
#include "wellposed/context.hpp"

namespace wp::python {
namespace {

Place place_of(const std::string& file, std::uint32_t line) {
  return file.empty() ? Place() : Place(intern(file + '\0').data(), line);
}

// Fields that are not named keep their defaults.
template <class T>
void take(const nb::dict& from, const char* name, T& to) {
  if (from.contains(name)) to = nb::cast<T>(from[name]);
}
Place take_place(const nb::dict& from) {
  std::string file;
  std::uint32_t line = 0;
  take(from, "file", file);
  take(from, "line", line);
  return place_of(file, line);
}

BlameLink link_of(const nb::dict& d) {
  BlameLink l;
  take(d, "op", l.op);
  take(d, "element", l.element);
  take(d, "dtype", l.dtype);
  take(d, "shape", l.shape);
  take(d, "value", l.value);
  take(d, "scope", l.scope);
  take(d, "step", l.step);
  l.place = take_place(d);
  return l;
}

Blame make_blame(const nb::dict& d) {
  Blame b;
  std::string source = "unknown";
  take(d, "source", source);
  b.source = source == "op"      ? Blame::Source::op
             : source == "data"  ? Blame::Source::data
             : source == "given" ? Blame::Source::given
                                 : Blame::Source::unknown;
  if (d.contains("asked")) b.asked = link_of(nb::cast<nb::dict>(d["asked"]));
  if (d.contains("chain"))
    for (const nb::handle l : nb::cast<nb::list>(d["chain"])) b.chain.push_back(link_of(nb::cast<nb::dict>(l)));
  take(d, "operands", b.operands);
  take(d, "advice", b.advice);
  take(d, "name", b.name);
  take(d, "row", b.row);
  take(d, "entry", b.entry);
  take(d, "value", b.value);
  take(d, "rows", b.rows);
  take(d, "rows_name", b.rows_name);
  take(d, "spread", b.spread);
  take(d, "missing", b.missing);
  return b;
}

Finding make_finding(const nb::dict& d) {
  Finding f;
  std::string severity = "warning";
  take(d, "code", f.code);
  take(d, "severity", severity);
  f.severity = severity == "note" ? Severity::note : severity == "error" ? Severity::error : Severity::warning;
  take(d, "op", f.op);
  take(d, "message", f.message);
  take(d, "advice", f.advice);
  take(d, "measured", f.measured);
  take(d, "threshold", f.threshold);
  take(d, "count", f.count);
  take(d, "members", f.members);
  take(d, "worst_member", f.worst_member);
  take(d, "element", f.element);
  take(d, "operands", f.operands);
  take(d, "dtype", f.dtype);
  take(d, "shape", f.shape);
  take(d, "scope", f.scope);
  take(d, "step", f.step);
  f.place = take_place(d);
  return f;
}

// The first element that is Inf or NaN, in row-major order; −1: none. None: it cannot be looked at.
nb::object first_nonfinite(nb::handle x) {
  Seen seen;
  const Look look = see(x.ptr(), seen);
  if (look == Look::hidden) return nb::none();
  if (look == Look::seen) return nb::int_(seen.nonfinite() ? next_nonfinite(seen.tensor(), 0) : -1);
  const Tensor t = from_array(x.ptr(), "x");
  if (!t.defined()) return nb::none();
  return nb::int_(next_nonfinite(t, 0));
}

// The same memory as a tensor, by the C exchange table: a tenth of what a capsule costs. None: another way is needed.
nb::object shown(nb::object x) {
  Seen seen;
  if (see(x.ptr(), seen) != Look::seen || seen.size == 0) return nb::none();
  Tensor t = seen.tensor([o = x.release().ptr()] {
    if (!Py_IsInitialized()) return;
    const PyGILState_STATE state = PyGILState_Ensure();
    Py_DECREF(o);
    PyGILState_Release(state);
  });
  if (reinterpret_cast<std::uintptr_t>(seen.data()) % std::min<std::size_t>(size_of(seen.dtype), 8) != 0)
    t = copied(t);
  return nb::steal(wrap(t));
}

// A call of another framework in the recording: begun when it is made, ended by done() or left().
class Recorded {
 public:
  Recorded(std::string_view name, const std::vector<Tensor>& in) : in_(in), spot_(here()), place_(spot_.place()) {
    for (const Tensor& t : in_) pointers_.push_back(&t);
    call_ = std::make_unique<Call>(*foreign_op(name), Inputs(pointers_.data(), pointers_.size()), Attrs(), place_);
    witness_before(*call_);
  }
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;
  ~Recorded() { left(); }
  void done(const std::vector<Tensor>& out, bool bad) {
    if (!call_) return;
    for (const Tensor& t : out) call_->out.push_back(t);
    if (bad) call_->status.bits |= simd::Status::nonfinite;
    witness_after(*call_);
    call_.reset();
  }
  void left() {
    if (call_) witness_left(*call_);
    call_.reset();
  }

 private:
  std::vector<Tensor> in_;
  std::vector<const Tensor*> pointers_;
  Spot spot_;
  Place place_;
  std::unique_ptr<Call> call_;
};

}  // namespace

void bind_adapters(nb::module_& m) {
  add_watcher(m.ptr());
  nb::class_<Recorded>(m, "Recorded")
      .def(nb::init<std::string_view, const std::vector<Tensor>&>(), nb::arg("name"), nb::arg("inputs"))
      .def("done", &Recorded::done, nb::arg("outputs"), nb::arg("bad"))
      .def("left", &Recorded::left);
  m.def("make_blame", make_blame, nb::arg("fields"));
  m.def("make_finding", make_finding, nb::arg("fields"));
  m.def("report", [](const Finding& f) {
    report(f);
    tell_findings();
  });
  m.def("first_nonfinite", first_nonfinite, nb::arg("x"));
  m.def("shown", shown, nb::arg("x"));
  // A tensor whose lender writes to it no more, or says so itself: tapes need not sum it up.
  m.def("unchanging", [](nb::object x) {
    if (!is_tensor(x.ptr())) type_error("unchanging: needs a tensor.");
    tensor_of(x.ptr()).node()->borrowed = false;
    return x;
  });
  // The same memory as a tensor of its own: lent out by itself, it is no business of a tape that keeps x. The
  // borrower answers for writes.
  m.def("alias", [](const Tensor& x) {
    Tensor t = Tensor::borrow(x.node()->data, x.dtype(), x.shape(), x.strides(), [x] {});
    t.node()->borrowed = false;
    return t;
  });
  m.def("standard_floats", [](const nb::callable& f) {  // f() in a thread of another framework
    const simd::StandardFloats floats;
    return f();
  });
  m.def("pass_over", pass_over, nb::arg("folder"));
  m.def("user_line", [] {
    const Spot s = here();
    return std::make_pair(std::string(s.file), s.line);
  });
  m.def("current_step", [] { return context().step; });
}

}  // namespace wp::python
