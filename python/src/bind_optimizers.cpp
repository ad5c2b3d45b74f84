// Learning rates, rules and optimizers of wellposed.nn.
#include <nanobind/stl/map.h>

#include "base/text.hpp"
#include "bind_nn.hpp"
#include "wellposed/nn.hpp"

namespace wp::python {
namespace {

using namespace nn;

Schedule schedule_of(nb::handle o) {
  if (nb::isinstance<Schedule>(o)) return nb::cast<Schedule>(o);
  if (PyCallable_Check(o.ptr()))
    return [held = held_of(nb::borrow(o))](std::int64_t step) {
      const nb::gil_scoped_acquire lock;
      const nb::object given = (*held)(step);
      const double rate = PyFloat_AsDouble(given.ptr());
      if (!PyErr_Occurred()) return rate;
      PyErr_Clear();
      raise<DtypeError>(
          "WP-DTY-003", "Schedule",
          say("a learning rate is a number; the function gave ", nb::repr(given).c_str(), " for step ", step, "."));
    };
  const double rate = PyFloat_AsDouble(o.ptr());
  if (PyErr_Occurred()) throw ErrorIsSet();
  return rate;
}

// update(w, g, slots, rate, step) gives the new weight, and puts new slots into the list.
Rule rule_of(std::string name, nb::object update, std::vector<std::string> slots) {
  return {std::move(name), std::move(slots),
          [held = held_of(std::move(update))](const Tensor& w, const Tensor& g, std::span<Tensor> kept, double rate,
                                              std::int64_t step) {
            const nb::gil_scoped_acquire lock;
            nb::list list;
            for (const Tensor& t : kept) list.append(nb::cast(t));
            const nb::object made = (*held)(w, g, list, rate, step);
            if (list.size() != kept.size())
              raise<ArgumentError>("WP-ARG-001", "Rule",
                                   say("update must leave ", plural(static_cast<std::int64_t>(kept.size()), "slot"),
                                       " in the list; got ", list.size(), "."));
            for (std::size_t k = 0; k < kept.size(); ++k)
              kept[k] = as_tensor(nb::object(list[k]).ptr(), "Rule: slot");
            return as_tensor(made.ptr(), "Rule: update");
          }};
}

}  // namespace

void bind_optimizers(nb::module_& m) {
  nb::class_<Schedule>(m, "Schedule", "The learning rate of step 0, 1, 2, …")
      .def("__call__", &Schedule::operator(), nb::arg("step"));
  m.def("exponential_decay", &exponential_decay, nb::arg("rate"), nb::arg("factor"), nb::arg("every"));
  m.def("cosine_decay", &cosine_decay, nb::arg("rate"), nb::arg("steps"), nb::arg("least") = 0.0);
  m.def("piecewise", &piecewise, nb::arg("pieces"));
  m.def(
      "warmup", [](std::int64_t steps, nb::object then) { return warmup(steps, schedule_of(then)); },
      nb::arg("steps"), nb::arg("then"));
  m.def("clip_norm", &clip_norm, nb::arg("gradients"), nb::arg("most"));
  m.def("clip_value", &clip_value, nb::arg("gradients"), nb::arg("most"));
  nb::class_<Rule>(m, "Rule", "One step of one parameter: update(w, g, slots, rate, step) gives the new weight.")
      .def(
          "__init__",
          [](Rule* self, std::string name, nb::callable update, std::vector<std::string> slots) {
            new (self) Rule(rule_of(std::move(name), std::move(update), std::move(slots)));
          },
          nb::arg("name"), nb::arg("update"), nb::arg("slots") = std::vector<std::string>())
      .def_ro("name", &Rule::name)
      .def_ro("slots", &Rule::slots);
  nb::class_<Optimizer>(m, "Optimizer", "A rule, a schedule, and what the rule keeps of a model's parameters.")
      .def(
          "__init__",
          [](Optimizer* self, const Rule& rule, nb::object rate, double norm, double value) {
            new (self) Optimizer(rule, schedule_of(rate), {norm, value});
          },
          nb::arg("rule"), nb::arg("rate"), nb::kw_only(), nb::arg("clip_norm") = 0.0, nb::arg("clip_value") = 0.0)
      .def(
          "slots",
          [](const Optimizer& o, const Model& model) {
            const NamedTensors all = o.slots(model);
            return std::map(all.begin(), all.end());
          },
          nb::arg("model"))
      .def(
          "restore",
          [](Optimizer& o, const Model& model, const std::map<std::string, Tensor>& slots, std::int64_t steps,
             std::string_view source) {
            o.restore(model, {slots.begin(), slots.end()}, steps, source);
          },
          nb::arg("model"), nb::arg("slots"), nb::arg("steps"), nb::arg("source") = "the slots")
      .def(
          "step",
          [](Optimizer& o, Pass& p, const Tensor& loss) { unlocked([&](auto where) { o.step(p, loss, where); }); },
          nb::arg("p"), nb::arg("loss"))
      .def(
          "apply",
          [](Optimizer& o, Model& model, std::vector<Tensor> gradients) {
            unlocked([&](auto where) { o.apply(model, std::move(gradients), where); });
          },
          nb::arg("model"), nb::arg("gradients"))
      .def_prop_ro("steps", &Optimizer::steps)
      .def_prop_ro("rate", &Optimizer::rate)
      .def_prop_ro("name", &Optimizer::name);
  m.def(
      "sgd",
      [](nb::object rate, double momentum, bool nesterov, double weight_decay, double norm, double value) {
        return sgd({schedule_of(rate), momentum, nesterov, weight_decay, {norm, value}});
      },
      nb::arg("rate") = 0.01, nb::kw_only(), nb::arg("momentum") = 0.0, nb::arg("nesterov") = false,
      nb::arg("weight_decay") = 0.0, nb::arg("clip_norm") = 0.0, nb::arg("clip_value") = 0.0);
  m.def(
      "adam",
      [](nb::object rate, double beta1, double beta2, double epsilon, double norm, double value) {
        return adam({schedule_of(rate), beta1, beta2, epsilon, {norm, value}});
      },
      nb::arg("rate") = 1e-3, nb::kw_only(), nb::arg("beta1") = 0.9, nb::arg("beta2") = 0.999,
      nb::arg("epsilon") = 1e-8, nb::arg("clip_norm") = 0.0, nb::arg("clip_value") = 0.0);
  m.def(
      "adamw",
      [](nb::object rate, double beta1, double beta2, double epsilon, double decay, double norm, double value) {
        return adamw({schedule_of(rate), beta1, beta2, epsilon, decay, {norm, value}});
      },
      nb::arg("rate") = 1e-3, nb::kw_only(), nb::arg("beta1") = 0.9, nb::arg("beta2") = 0.999,
      nb::arg("epsilon") = 1e-8, nb::arg("weight_decay") = 0.01, nb::arg("clip_norm") = 0.0,
      nb::arg("clip_value") = 0.0);
}

}  // namespace wp::python
