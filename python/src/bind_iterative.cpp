// Linear operators and the solvers that need no matrix.
#include "bind.hpp"
#include "wellposed/iterative.hpp"

namespace wp::python {
namespace {

using namespace linalg;

// Functions of Python's that an operator calls.
struct Callables {
  nb::object apply, adjoint;
};
using Held = std::shared_ptr<Callables>;

Held hold(nb::object apply, nb::object adjoint) {
  return {new Callables{std::move(apply), std::move(adjoint)}, [](Callables* c) {
            if (!Py_IsInitialized()) return;
            const nb::gil_scoped_acquire lock;
            delete c;
          }};
}
LinearOperator::Apply calling(const Held& held, nb::object Callables::*which) {
  if (((*held).*which).is_none()) return {};
  return [held, which](const Tensor& x) {
    const nb::gil_scoped_acquire lock;
    const nb::object f = (*held).*which;
    if (!f.is_valid()) throw std::runtime_error("LinearOperator: its function was collected as garbage.");
    return nb::cast<Tensor>(f(x));
  };
}

// An operator, and the functions that it and those it was made from call: the garbage collector must see them.
struct Operator : LinearOperator {
  explicit Operator(LinearOperator a, std::vector<Held> its = {})
      : LinearOperator(std::move(a)), held(std::move(its)) {}
  Operator(LinearOperator a, const Operator& from) : Operator(std::move(a), from.held) {}
  Operator(LinearOperator a, const Operator& left, const Operator& right) : Operator(std::move(a), left.held) {
    held.insert(held.end(), right.held.begin(), right.held.end());
  }
  std::vector<Held> held;
};

// Functions that no other operator calls: one pointer is the operator's own, the others those of calling().
template <class F>
int each_own(PyObject* self, const F& f) {
  if (!nb::inst_ready(self)) return 0;
  for (const Held& h : nb::inst_ptr<Operator>(self)->held)
    if (h.use_count() == (h->adjoint.is_none() ? 2 : 3))
      if (const int stop = f(*h)) return stop;
  return 0;
}
int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return each_own(self, [&](const Callables& c) {
    Py_VISIT(c.apply.ptr());
    Py_VISIT(c.adjoint.ptr());
    return 0;
  });
}
int clear(PyObject* self) {
  return each_own(self, [](Callables& c) {
    const Callables gone = std::exchange(c, {});
    return 0;
  });
}
PyType_Slot collected[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)}, {Py_tp_clear, reinterpret_cast<void*>(clear)}, {0, nullptr}};

// A matrix counts as an operator.
LinearOperator operator_of(nb::handle o, std::string_view what) {
  if (nb::isinstance<Operator>(o)) return nb::cast<Operator&>(o);
  return LinearOperator(as_tensor(o.ptr(), what));
}

template <class Options>
Options options_of(nb::object rtol, double atol, nb::object max_iterations, const Tensor& x0,
                   nb::object preconditioner, std::string_view if_ill, nb::object progress, bool judge) {
  Options o;
  if (!rtol.is_none()) o.rtol = nb::cast<double>(rtol);
  o.atol = atol;
  if (!max_iterations.is_none()) o.max_iterations = nb::cast<std::int64_t>(max_iterations);
  o.x0 = x0;
  if (!preconditioner.is_none()) o.preconditioner = operator_of(preconditioner, "preconditioner");
  o.if_ill = intern(if_ill);
  if (!progress.is_none()) o.progress = nb::cast<std::function<void(std::int64_t, double)>>(progress);
  o.judge = judge;
  return o;
}

void bind_operator(nb::module_& m) {
  nb::class_<Operator>(m, "LinearOperator", nb::type_slots(collected),
                       "A linear map known by what it does to vectors.")
      .def(
          "__init__",
          [](Operator* self, std::int64_t rows, std::int64_t columns, DType dtype, nb::callable apply,
             std::optional<nb::callable> adjoint) {
            const Held held = hold(apply, adjoint ? nb::object(*adjoint) : nb::none());
            new (self) Operator(LinearOperator(rows, columns, dtype, calling(held, &Callables::apply),
                                               calling(held, &Callables::adjoint)),
                                {held});
          },
          nb::arg("rows"), nb::arg("columns"), nb::arg("dtype"), nb::arg("apply"),
          nb::arg("adjoint").none() = nb::none())
      .def(
          "__init__", [](Operator* self, const Tensor& matrix) { new (self) Operator(LinearOperator(matrix)); },
          nb::arg("matrix"))
      .def_static(
          "csr",
          [](const Tensor& indptr, const Tensor& indices, const Tensor& data, std::int64_t rows,
             std::int64_t columns) { return Operator(LinearOperator::csr(indptr, indices, data, rows, columns)); },
          nb::arg("indptr"), nb::arg("indices"), nb::arg("data"), nb::arg("rows"), nb::arg("columns"))
      .def_prop_ro("rows", [](const Operator& a) { return a.rows(); })
      .def_prop_ro("columns", [](const Operator& a) { return a.columns(); })
      .def_prop_ro("shape", [](const Operator& a) { return std::pair(a.rows(), a.columns()); })
      .def_prop_ro("dtype", [](const Operator& a) { return a.dtype(); })
      .def_prop_ro("has_adjoint", [](const Operator& a) { return a.has_adjoint(); })
      .def("__call__", [](const Operator& a, const Tensor& x) { return a(x); })
      .def("apply_adjoint", [](const Operator& a, const Tensor& y) { return a.apply_adjoint(y); })
      .def("adjoint", [](const Operator& a) { return Operator(a.adjoint(), a); })
      .def(
          "__add__", [](const Operator& a, const Operator& b) { return Operator(a + b, a, b); }, nb::is_operator())
      .def("__matmul__",
           [](const Operator& a, nb::object b) -> nb::object {
             if (nb::isinstance<Operator>(b)) {
               const auto& right = nb::cast<Operator&>(b);
               return nb::cast(Operator(a * right, a, right));
             }
             return nb::cast(a(nb::cast<Tensor>(b)));
           })
      .def(
          "__mul__", [](const Operator& a, double s) { return Operator(s * a, a); }, nb::is_operator())
      .def(
          "__rmul__", [](const Operator& a, double s) { return Operator(s * a, a); }, nb::is_operator())
      .def("__repr__", [](const Operator& a) {
        return say("<LinearOperator ", a.rows(), " × ", a.columns(), " ", a.dtype(), ">");
      });
}

}  // namespace

void bind_iterative(nb::module_& m) {
  bind_operator(m);
  using R = IterativeResult;
  nb::class_<R>(m, "IterativeResult")
      .def_ro("x", &R::x)
      .def_prop_ro("status", [](const R& r) { return linalg::name(r.status); })
      .def_ro("iterations", &R::iterations)
      .def_ro("residuals", &R::residuals)
      .def_ro("residual", &R::residual)
      .def_ro("normal_residual", &R::normal_residual)
      .def_ro("target", &R::target)
      .def_ro("condition", &R::condition)
      .def_ro("forward_error", &R::forward_error)
      .def_ro("digits", &R::digits)
      .def_ro("message", &R::message)
      .def("__repr__", [](const R& r) { return "<" + std::string(linalg::name(r.status)) + ": " + r.message + ">"; });
#define WP_COMMON                                                                                                \
  nb::arg("rtol").none() = nb::none(), nb::arg("atol") = 0.0, nb::arg("max_iterations").none() = nb::none(),     \
  nb::arg("x0").none() = nb::none(), nb::arg("preconditioner").none() = nb::none(), nb::arg("if_ill") = "raise", \
  nb::arg("progress").none() = nb::none(), nb::arg("judge") = true
  m.def(
      "cg",
      [](nb::object a, const Tensor& b, nb::object rtol, double atol, nb::object most, const Tensor& x0,
         nb::object pre, std::string_view if_ill, nb::object progress, bool judge) {
        const auto o = options_of<IterativeOptions>(rtol, atol, most, x0, pre, if_ill, progress, judge);
        const LinearOperator op = operator_of(a, "cg: a");
        return unlocked([&](auto where) { return cg(op, b, o, where); });
      },
      nb::arg("a").none(), nb::arg("b"), nb::kw_only(), WP_COMMON);
  m.def(
      "gmres",
      [](nb::object a, const Tensor& b, nb::object rtol, double atol, nb::object most, const Tensor& x0,
         nb::object pre, std::string_view if_ill, nb::object progress, bool judge, std::int64_t restart) {
        auto o = options_of<GmresOptions>(rtol, atol, most, x0, pre, if_ill, progress, judge);
        o.restart = restart;
        const LinearOperator op = operator_of(a, "gmres: a");
        return unlocked([&](auto where) { return gmres(op, b, o, where); });
      },
      nb::arg("a").none(), nb::arg("b"), nb::kw_only(), WP_COMMON, nb::arg("restart") = 30);
  m.def(
      "lsmr",
      [](nb::object a, const Tensor& b, nb::object rtol, double atol, nb::object most, const Tensor& x0,
         nb::object pre, std::string_view if_ill, nb::object progress, bool judge, double damp) {
        auto o = options_of<LsmrOptions>(rtol, atol, most, x0, pre, if_ill, progress, judge);
        o.damp = damp;
        const LinearOperator op = operator_of(a, "lsmr: a");
        return unlocked([&](auto where) { return lsmr(op, b, o, where); });
      },
      nb::arg("a").none(), nb::arg("b"), nb::kw_only(), WP_COMMON, nb::arg("damp") = 0.0);
#undef WP_COMMON
}

}  // namespace wp::python
