// Gradients. Functions of Python's become functions of tensors; structures of arguments are flattened in Python.
#include "bind.hpp"
#include "wellposed/autodiff.hpp"
#include "wellposed/gradcheck.hpp"

namespace wp::python {
namespace {

using List = std::vector<Tensor>;

// A tape with a switch for `with`: recording goes on from __enter__ to __exit__.
class Tape {
 public:
  explicit Tape(bool persistent) : tape_(TapeOptions{persistent}) {}
  void enter() { stopped_.reset(); }
  void exit() { stop(); }
  void stop() {
    if (!stopped_) stopped_.reset(new GradientTape::Stopped(tape_.stop_recording()));
  }
  bool is_stopped() const { return stopped_ != nullptr; }
  GradientTape& operator*() { return tape_; }
  GradientTape* operator->() { return &tape_; }

 private:
  GradientTape tape_;
  std::unique_ptr<GradientTape::Stopped> stopped_;  // dies first
};

GradientOptions options_of(List seeds, std::string_view unconnected, std::optional<bool> verify) {
  return {.output_gradients = std::move(seeds), .unconnected = intern(unconnected), .verify = verify};
}

void bind_tape(nb::module_& m) {
  nb::class_<Tape>(m, "Tape")
      .def(nb::init<bool>(), nb::arg("persistent"))
      .def("enter", &Tape::enter)
      .def("stop", &Tape::stop)
      .def_prop_ro("is_stopped", &Tape::is_stopped)
      .def("watch", [](Tape& t, const Tensor& x) { t->watch(x, here().location()); })
      .def(
          "gradient",
          [](Tape& t, const List& ys, const List& xs, List seeds, std::string_view unconnected,
             std::optional<bool> verify) {
            return unlocked([&](auto where) {
              return t->gradient(ys, xs, options_of(std::move(seeds), unconnected, verify), where);
            });
          },
          nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none())
      .def(
          "jacobian",
          [](Tape& t, const Tensor& y, const Tensor& x, std::string_view unconnected, std::optional<bool> verify) {
            return unlocked(
                [&](auto where) { return t->jacobian(y, x, options_of({}, unconnected, verify), where); });
          },
          nb::arg(), nb::arg(), nb::arg(), nb::arg().none())
      .def(
          "batch_jacobian",
          [](Tape& t, const Tensor& y, const Tensor& x, std::string_view unconnected, std::optional<bool> verify) {
            return unlocked(
                [&](auto where) { return t->batch_jacobian(y, x, options_of({}, unconnected, verify), where); });
          },
          nb::arg(), nb::arg(), nb::arg(), nb::arg().none())
      .def(
          "hessian",
          [](Tape& t, const Tensor& y, const Tensor& x, std::string_view unconnected, std::optional<bool> verify) {
            return unlocked([&](auto where) { return t->hessian(y, x, options_of({}, unconnected, verify), where); });
          },
          nb::arg(), nb::arg(), nb::arg(), nb::arg().none())
      .def("hook", [](Tape& t, const Tensor& x, TensorFunction f) { t->hook(x, std::move(f), here().location()); })
      .def("findings", [](Tape& t) { return t->findings(); })
      .def("reset",
           [](Tape& t) {
             t.enter();
             t->reset();
           })
      .def_prop_ro("recorded", [](Tape& t) { return t->recorded(); })
      .def_prop_ro("bytes", [](Tape& t) { return t->bytes(); });
}

// f, but what an op refused inside of it is the library's own error again: jvp may know another way.
TensorsFunction own_errors(const TensorsFunction& f) {
  return [&f](const List& at) {
    try {
      return f(at);
    } catch (nb::python_error& e) {
      const nb::gil_scoped_acquire locked;
      if (e.value().is_valid() && nb::hasattr(e.value(), "_error"))
        std::rethrow_exception(
            *static_cast<std::exception_ptr*>(nb::cast<nb::capsule>(e.value().attr("_error")).data()));
      throw;
    }
  };
}

void bind_gradcheck(nb::module_& m) {
  using E = GradcheckEntry;
  using R = GradcheckReport;
  nb::class_<E>(m, "GradcheckEntry")
      .def_ro("name", &E::name)
      .def_ro("computed", &E::computed)
      .def_ro("expected", &E::expected)
      .def_ro("uncertainty", &E::uncertainty)
      .def_ro("reverse", &E::reverse)
      .def_ro("one_sided", &E::one_sided);
  nb::class_<R>(m, "GradcheckReport")
      .def_ro("wrong", &R::wrong)
      .def_ro("entries", &R::entries)
      .def_ro("wrong_count", &R::wrong_count)
      .def_ro("unjudged", &R::unjudged)
      .def_ro("kinks", &R::kinks)
      .def_ro("worst", &R::worst)
      .def_ro("findings", &R::findings)
      .def("__bool__", [](const R& r) { return static_cast<bool>(r); })
      .def("__repr__", &R::to_string);
  m.def("gradcheck", [](const TensorsFunction& f, const List& x, int order, double rtol, double atol) {
    return unlocked([&](auto) { return gradcheck(own_errors(f), x, order, {rtol, atol}); });
  });
}

void bind_functions(nb::module_& m) {
  m.def("jvp", [](const TensorsFunction& f, const List& x, const List& v) {
    auto r = unlocked([&](auto w) { return jvp(own_errors(f), x, v, w); });
    return std::pair(r.values, r.tangents);
  });
  m.def("vjp", [](const TensorsFunction& f, const List& x) {
    auto r = unlocked([&](auto w) { return vjp(f, x, w); });
    return std::pair(r.values, TensorsFunction([pull = r.pullback](const List& g) {
                       return unlocked([&](auto) { return pull(g); });
                     }));
  });
  m.def(
      "linearize",
      [](const TensorFunction& f, const Tensor& x) {
        auto r = unlocked([&](auto w) { return linearize(f, x, w); });
        return std::pair(r.value, TensorFunction([map = r.map](const Tensor& v) {
                           return unlocked([&](auto) { return map(v); });
                         }));
      },
      nb::arg("f"), nb::arg("x"));
  m.def(
      "gradient",
      [](const TensorFunction& f, const Tensor& x) { return unlocked([&](auto w) { return gradient(f, x, w); }); },
      nb::arg("f"), nb::arg("x"));
  m.def(
      "jacobian",
      [](const TensorFunction& f, const Tensor& x) { return unlocked([&](auto w) { return jacobian(f, x, w); }); },
      nb::arg("f"), nb::arg("x"));
  m.def(
      "hessian",
      [](const TensorFunction& f, const Tensor& x) { return unlocked([&](auto w) { return hessian(f, x, w); }); },
      nb::arg("f"), nb::arg("x"));
  m.def(
      "hvp",
      [](const TensorFunction& f, const Tensor& x, const Tensor& v) {
        return unlocked([&](auto w) { return hvp(f, x, v, w); });
      },
      nb::arg("f"), nb::arg("x"), nb::arg("v"));
  m.def("per_sample_gradients",
        [](const std::function<Tensor(const List&, const List&)>& f, const List& parameters, const List& data) {
          return unlocked([&](auto w) { return per_sample_gradients(f, parameters, data, w); });
        });
  m.def("checkpoint", [](const TensorsFunction& f, const List& x) {
    return unlocked([&](auto w) { return checkpoint(f, x, w); });
  });
  using WithRule = std::function<std::pair<List, TensorsFunction>(const List&)>;
  m.def("custom_gradient", [](const WithRule& f, const List& x) {
    return unlocked([&](auto w) {
      return custom_gradient(
          [f](const List& in) {  // called again where what follows a decomposition is computed again
            auto [values, pullback] = f(in);
            return VjpResults{std::move(values), std::move(pullback)};
          },
          x, w);
    });
  });
  using Rule = std::function<List(const List&, const List&, const List&)>;
  m.def(
      "custom_op",
      [](std::string name, TensorsFunction forward, nb::object vjp_rule, nb::object jvp_rule,
         std::string no_derivative, bool elementwise) {
        CustomOp op{.name = std::move(name),
                    .forward = std::move(forward),
                    .no_derivative = std::move(no_derivative),
                    .elementwise = elementwise};
        if (!vjp_rule.is_none()) op.vjp = nb::cast<Rule>(vjp_rule);
        if (!jvp_rule.is_none()) op.jvp = nb::cast<Rule>(jvp_rule);
        return TensorsFunction([f = custom_op(std::move(op), here().location())](const List& x) {
          return unlocked([&](auto) { return f(x); });
        });
      },
      nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg(), nb::arg());
  m.def("implicit_root", [](const std::function<Tensor(const Tensor&, const List&)>& F,
                            const std::function<Tensor(const List&)>& solve, const List& parameters) {
    return unlocked([&](auto w) { return implicit_root(F, solve, parameters, w); });
  });
  m.def(
      "through_svd",
      [](const Tensor& x, const std::function<Tensor(const Tensor&, const Tensor&, const Tensor&)>& f) {
        return unlocked([&](auto w) { return linalg::through_svd(x, f, w); });
      },
      nb::arg("x"), nb::arg("f"));
  m.def(
      "through_eigh",
      [](const Tensor& x, const std::function<Tensor(const Tensor&, const Tensor&)>& f) {
        return unlocked([&](auto w) { return linalg::through_eigh(x, f, w); });
      },
      nb::arg("x"), nb::arg("f"));
}

}  // namespace

void bind_autodiff(nb::module_& m) {
  bind_tape(m);
  bind_gradcheck(m);
  bind_functions(m);
}

}  // namespace wp::python
