// Linear operators and the solvers that need no matrix.
#include "bind.hpp"
#include "wellposed/iterative.hpp"

namespace wp::python {
namespace {

using namespace linalg;

// A matrix counts as an operator.
LinearOperator operator_of(nb::handle o, std::string_view what) {
  if (nb::isinstance<LinearOperator>(o)) return nb::cast<LinearOperator>(o);
  return LinearOperator(as_tensor(o.ptr(), what));
}

template <class Options>
Options options_of(nb::object rtol, double atol, nb::object max_iterations, const Tensor& x0,
                   nb::object preconditioner, std::string_view if_ill, nb::object progress) {
  Options o;
  if (!rtol.is_none()) o.rtol = nb::cast<double>(rtol);
  o.atol = atol;
  if (!max_iterations.is_none()) o.max_iterations = nb::cast<std::int64_t>(max_iterations);
  o.x0 = x0;
  if (!preconditioner.is_none()) o.preconditioner = operator_of(preconditioner, "preconditioner");
  o.if_ill = intern(if_ill);
  if (!progress.is_none()) o.progress = nb::cast<std::function<void(std::int64_t, double)>>(progress);
  return o;
}

void bind_operator(nb::module_& m) {
  nb::class_<LinearOperator>(m, "LinearOperator", "A linear map known by what it does to vectors.")
      .def(
          "__init__",
          [](LinearOperator* self, std::int64_t rows, std::int64_t columns, DType dtype, LinearOperator::Apply apply,
             nb::object adjoint) {
            new (self) LinearOperator(
                rows, columns, dtype, std::move(apply),
                adjoint.is_none() ? LinearOperator::Apply() : nb::cast<LinearOperator::Apply>(adjoint));
          },
          nb::arg("rows"), nb::arg("columns"), nb::arg("dtype"), nb::arg("apply"),
          nb::arg("adjoint").none() = nb::none())
      .def(
          "__init__", [](LinearOperator* self, const Tensor& matrix) { new (self) LinearOperator(matrix); },
          nb::arg("matrix"))
      .def_static("csr", &LinearOperator::csr, nb::arg("indptr"), nb::arg("indices"), nb::arg("data"),
                  nb::arg("rows"), nb::arg("columns"))
      .def_prop_ro("rows", &LinearOperator::rows)
      .def_prop_ro("columns", &LinearOperator::columns)
      .def_prop_ro("shape", [](const LinearOperator& a) { return std::pair(a.rows(), a.columns()); })
      .def_prop_ro("dtype", &LinearOperator::dtype)
      .def_prop_ro("has_adjoint", &LinearOperator::has_adjoint)
      .def("__call__", [](const LinearOperator& a, const Tensor& x) { return a(x); })
      .def("apply_adjoint", &LinearOperator::apply_adjoint)
      .def("adjoint", &LinearOperator::adjoint)
      .def(
          "__add__", [](const LinearOperator& a, const LinearOperator& b) { return a + b; }, nb::is_operator())
      .def("__matmul__",
           [](const LinearOperator& a, nb::object b) -> nb::object {
             if (nb::isinstance<LinearOperator>(b)) return nb::cast(a * nb::cast<LinearOperator>(b));
             return nb::cast(a(nb::cast<Tensor>(b)));
           })
      .def(
          "__mul__", [](const LinearOperator& a, double s) { return s * a; }, nb::is_operator())
      .def(
          "__rmul__", [](const LinearOperator& a, double s) { return s * a; }, nb::is_operator())
      .def("__repr__", [](const LinearOperator& a) {
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
      .def_ro("message", &R::message)
      .def("__repr__", [](const R& r) { return "<" + std::string(linalg::name(r.status)) + ": " + r.message + ">"; });
#define WP_COMMON                                                                                                \
  nb::arg("rtol").none() = nb::none(), nb::arg("atol") = 0.0, nb::arg("max_iterations").none() = nb::none(),     \
  nb::arg("x0").none() = nb::none(), nb::arg("preconditioner").none() = nb::none(), nb::arg("if_ill") = "raise", \
  nb::arg("progress").none() = nb::none()
  m.def(
      "cg",
      [](nb::object a, const Tensor& b, nb::object rtol, double atol, nb::object most, const Tensor& x0,
         nb::object pre, std::string_view if_ill, nb::object progress) {
        const auto o = options_of<IterativeOptions>(rtol, atol, most, x0, pre, if_ill, progress);
        const LinearOperator op = operator_of(a, "cg: a");
        return unlocked([&](auto where) { return cg(op, b, o, where); });
      },
      nb::arg("a"), nb::arg("b"), nb::kw_only(), WP_COMMON);
  m.def(
      "gmres",
      [](nb::object a, const Tensor& b, nb::object rtol, double atol, nb::object most, const Tensor& x0,
         nb::object pre, std::string_view if_ill, nb::object progress, std::int64_t restart) {
        auto o = options_of<GmresOptions>(rtol, atol, most, x0, pre, if_ill, progress);
        o.restart = restart;
        const LinearOperator op = operator_of(a, "gmres: a");
        return unlocked([&](auto where) { return gmres(op, b, o, where); });
      },
      nb::arg("a"), nb::arg("b"), nb::kw_only(), WP_COMMON, nb::arg("restart") = 30);
  m.def(
      "lsmr",
      [](nb::object a, const Tensor& b, nb::object rtol, double atol, nb::object most, const Tensor& x0,
         nb::object pre, std::string_view if_ill, nb::object progress, double damp) {
        auto o = options_of<LsmrOptions>(rtol, atol, most, x0, pre, if_ill, progress);
        o.damp = damp;
        const LinearOperator op = operator_of(a, "lsmr: a");
        return unlocked([&](auto where) { return lsmr(op, b, o, where); });
      },
      nb::arg("a"), nb::arg("b"), nb::kw_only(), WP_COMMON, nb::arg("damp") = 0.0);
#undef WP_COMMON
}

}  // namespace wp::python
