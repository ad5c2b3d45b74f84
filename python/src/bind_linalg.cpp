// Diagnosis and factored matrices.
#include <sstream>

#include "bind.hpp"
#include "linalg/verdict.hpp"
#include "wellposed/factored.hpp"
#include "wellposed/index.hpp"
#include "wellposed/linalg_apply.hpp"

namespace wp::python {

PyObject* wrap_diagnosis(const linalg::Diagnosis& d) {
  return nb::cast(d).release().ptr();
}

Setting setting_of(nb::handle o, std::string_view what) {
  if (PyUnicode_Check(o.ptr())) return Setting(intern(text_of(o.ptr())));
  return Setting(scalar_of(o.ptr(), what).real());
}

namespace {

using linalg::Cluster;
using linalg::Diagnosis;
using linalg::Factored;
using linalg::FactoredOptions;
using linalg::FactoredParts;
using linalg::Member;

std::int64_t member_at(const Diagnosis& d, std::int64_t i) {
  if (i < 0) i += d.size();
  if (i < 0 || i >= d.size()) throw nb::index_error();
  return i;
}

// The matrix that the least can be said of, for a picture of its spectrum; undefined if it was not kept.
Tensor matrix_of_worst(const Diagnosis& d) {
  if (!d.state() || !d.state()->matrix.defined() || d.state()->matrix.ndim() < 2 || d.worst() < 0 ||
      d.state()->matrix.size() == 0)
    return {};
  const Tensor& a = d.state()->matrix;
  return reshape(a, {-1, a.shape(-2), a.shape(-1)})[{d.worst()}];
}

void bind_diagnosis(nb::module_& m) {
  nb::class_<Cluster>(m, "Cluster")
      .def_ro("first", &Cluster::first)
      .def_ro("last", &Cluster::last)
      .def_ro("low", &Cluster::low)
      .def_ro("high", &Cluster::high);
  nb::class_<Member>(m, "Member",
                     "What can be said of one matrix of a batch. What was not measured is nan, -1 or empty.")
      .def_prop_ro("status", [](const Member& e) { return linalg::name(e.status); })
      .def_ro("exactly_singular", &Member::exactly_singular)
      .def_ro("rcond", &Member::rcond)
      .def_ro("cond", &Member::cond)
      .def_ro("rank", &Member::rank)
      .def_ro("rank_threshold", &Member::rank_threshold)
      .def_ro("rank_gap", &Member::rank_gap)
      .def_ro("rank_doubt", &Member::rank_doubt)
      .def_ro("structure", &Member::structure)
      .def_ro("method", &Member::method)
      .def_ro("digits", &Member::digits)
      .def_ro("forward_error", &Member::forward_error)
      .def_ro("backward_error", &Member::backward_error)
      .def_ro("certified", &Member::certified)
      .def_ro("ridge", &Member::ridge)
      .def_ro("freedom", &Member::freedom)
      .def_ro("growth", &Member::growth)
      .def_ro("null_vector", &Member::null_vector)
      .def_ro("dependent", &Member::dependent)
      .def_ro("dependent_columns", &Member::dependent_columns)
      .def_ro("clusters", &Member::clusters)
      .def_ro("value_error", &Member::value_error)
      .def_ro("vector_error", &Member::vector_error)
      .def_ro("eigenvalue_condition", &Member::eigenvalue_condition)
      .def_ro("message", &Member::message)
      .def("__repr__",
           [](const Member& e) { return "<" + std::string(linalg::name(e.status)) + ": " + e.message + ">"; });
  nb::class_<Diagnosis>(m, "Diagnosis", nb::dynamic_attr(),
                        "What linear algebra can say of its answers, one entry per matrix of the batch.")
      .def_prop_ro("batch", &Diagnosis::batch)
      .def_prop_ro("ok", &Diagnosis::ok)
      .def_prop_ro("worst", &Diagnosis::worst)
      .def_prop_ro("_status", &Diagnosis::statuses)
      .def_prop_ro("_structure", &Diagnosis::structures)
      .def_prop_ro("_method", &Diagnosis::methods)
      .def_prop_ro("rcond", &Diagnosis::rcond)
      .def_prop_ro("cond", &Diagnosis::cond)
      .def_prop_ro("rank", &Diagnosis::rank)
      .def_prop_ro("digits", &Diagnosis::digits)
      .def_prop_ro("forward_error", &Diagnosis::forward_error)
      .def_prop_ro("backward_error", &Diagnosis::backward_error)
      .def_prop_ro("growth", &Diagnosis::growth)
      .def_prop_ro("ridge", &Diagnosis::ridge)
      .def_prop_ro("exactly_singular", &Diagnosis::exactly_singular)
      .def_prop_ro("certified", &Diagnosis::certified)
      .def("__len__", &Diagnosis::size)
      .def("__getitem__", [](const Diagnosis& d, std::int64_t i) { return Member(d[member_at(d, i)]); })
      .def_prop_ro("matrix_of_worst", matrix_of_worst)
      .def("to_json", &Diagnosis::json)
      .def("__repr__", &Diagnosis::text);
}

void bind_factored(nb::module_& m) {
  nb::class_<FactoredParts>(m, "FactoredParts")
      .def_ro("method", &FactoredParts::method)
      .def_ro("P", &FactoredParts::P)
      .def_ro("L", &FactoredParts::L)
      .def_ro("D", &FactoredParts::D)
      .def_ro("U", &FactoredParts::U)
      .def_ro("Q", &FactoredParts::Q)
      .def_ro("S", &FactoredParts::S)
      .def_ro("Vh", &FactoredParts::Vh)
      .def_ro("row_scale", &FactoredParts::row_scale)
      .def_ro("column_scale", &FactoredParts::column_scale);
  nb::class_<Factored>(m, "Factored", "A stack of matrices factored once, for many right-hand sides.")
      .def_prop_ro("matrix", &Factored::matrix)
      .def_prop_ro("diagnosis", &Factored::diagnosis)
      .def_prop_ro("rank", &Factored::rank)
      .def_prop_ro("cond", &Factored::cond)
      .def_prop_ro("decompositions", &Factored::decompositions)
      .def("parts", [](const Factored& f) { return f.parts(here().location()); })
      .def(
          "solve",
          [](const Factored& f, const Tensor& b, bool adjoint, bool transposed) {
            return unlocked([&](auto where) { return f.solve(b, {adjoint, transposed}, where); });
          },
          nb::arg("b"), nb::kw_only(), nb::arg("adjoint") = false, nb::arg("transposed") = false)
      .def(
          "diagnosed_solve",
          [](const Factored& f, const Tensor& b, bool adjoint, bool transposed) {
            auto d = unlocked([&](auto where) { return f.diagnosed_solve(b, {adjoint, transposed}, where); });
            return std::pair(d.value, d.diagnosis);
          },
          nb::arg("b"), nb::kw_only(), nb::arg("adjoint") = false, nb::arg("transposed") = false)
      .def(
          "lstsq", [](const Factored& f, const Tensor& b) { return unlocked([&](auto w) { return f.lstsq(b, w); }); },
          nb::arg("b"))
      .def("inv", [](const Factored& f) { return unlocked([&](auto w) { return f.inv(w); }); })
      .def("diagnosed_inv",
           [](const Factored& f) {
             auto d = unlocked([&](auto w) { return f.diagnosed_inv(w); });
             return std::pair(d.value, d.diagnosis);
           })
      .def("pinv", [](const Factored& f) { return unlocked([&](auto w) { return f.pinv(w); }); })
      .def("det", [](const Factored& f) { return unlocked([&](auto w) { return f.det(w); }); })
      .def("slogdet",
           [](const Factored& f) {
             auto d = unlocked([&](auto w) { return f.slogdet(w); });
             return std::pair(d.sign, d.logabsdet);
           })
      .def("logdet", [](const Factored& f) { return unlocked([&](auto w) { return f.logdet(w); }); })
      .def("__repr__", &Factored::to_string);
  m.def(
      "factored",
      [](nb::handle matrix, std::string_view method, std::string_view if_ill, nb::object ridge, double noise,
         double shift, std::string_view assume, std::optional<bool> refine, bool certify,
         std::optional<double> min_digits, std::optional<std::vector<std::string>> names, std::string_view accuracy,
         std::optional<double> rtol, double atol) {
        const Tensor a = as_tensor(matrix.ptr(), "factored: a");
        if (!names) names = labels_of(matrix.ptr());
        FactoredOptions o{.method = intern(method),
                          .if_ill = intern(if_ill),
                          .noise = noise,
                          .shift = shift,
                          .assume = intern(assume),
                          .refine = refine,
                          .certify = certify,
                          .min_digits = min_digits,
                          .names = std::move(names),
                          .accuracy = intern(accuracy),
                          .rtol = rtol,
                          .atol = atol};
        if (!ridge.is_none()) o.ridge = setting_of(ridge, "factored: ridge");
        return unlocked([&](auto where) { return linalg::factored(a, o, where); });
      },
      nb::arg("a").none(), nb::kw_only(), nb::arg("method") = "auto", nb::arg("if_ill") = "raise",
      nb::arg("ridge").none() = nb::none(), nb::arg("noise") = 0.0, nb::arg("shift") = 0.0,
      nb::arg("assume") = "detect", nb::arg("refine").none() = nb::none(), nb::arg("certify") = false,
      nb::arg("min_digits").none() = nb::none(), nb::arg("names").none() = nb::none(), nb::arg("accuracy") = "normal",
      nb::arg("rtol").none() = nb::none(), nb::arg("atol") = 0.0);
}

}  // namespace

void bind_linalg(nb::module_& m) {
  bind_diagnosis(m);
  bind_factored(m);
  using Function = std::function<Tensor(const Tensor&)>;
  m.def(
      "eigh_apply",
      [](const Tensor& x, const Function& f) {
        return unlocked([&](auto where) { return linalg::eigh_apply(x, f, where); });
      },
      nb::arg("x"), nb::arg("f"));
  m.def(
      "svd_apply",
      [](const Tensor& x, const Function& f) {
        return unlocked([&](auto where) { return linalg::svd_apply(x, f, where); });
      },
      nb::arg("x"), nb::arg("f"));
}

}  // namespace wp::python
