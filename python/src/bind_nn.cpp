// Models and training: wellposed.nn. Functions of Python's get the pass and the batch; layers take the user's line
// along.
#include <nanobind/stl/map.h>

#include "bind_nn.hpp"
#include "wellposed/trainer.hpp"

namespace wp::python {
namespace {

using namespace nn;

struct Init {
  Initializer f;
};
Initializer init_of(const Init* i) {
  return i ? i->f : Initializer();
}

BatchFunction function_of(nb::object f, const char* what) {
  return [held = held_of(std::move(f)), what](Pass& pass, const Batch& batch) {
    const nb::gil_scoped_acquire lock;
    const nb::object value = (*held)(nb::cast(&pass, nb::rv_policy::reference), nb::cast(batch));
    return as_tensor(value.ptr(), what);
  };
}

// What a hook gets: it may keep it.
struct Seen {
  std::int64_t step, epoch;
  Batch batch;
  double loss, rate;
  std::vector<Tensor> gradients;
  std::map<std::string, Tensor> activations;
};

void bind_initializers(nb::module_& m) {
  nb::class_<Init>(m, "Initializer", "How the first value of a parameter is made.")
      .def(
          "__call__",
          [](const Init& i, const Dims& shape, DType dtype, std::uint64_t seed) {
            return unlocked([&](auto) {
              random::Generator g(seed);
              return i.f(shape, dtype, g);
            });
          },
          nb::arg("shape"), nb::arg("dtype") = DType::f32, nb::arg("seed") = 0);
  const auto plain = [&](const char* name, Initializer (*make)()) { m.def(name, [make] { return Init{make()}; }); };
  m.def(
      "constant", [](double value) { return Init{constant(value)}; }, nb::arg("value"));
  m.def(
      "normal", [](double std) { return Init{normal(std)}; }, nb::arg("std"));
  m.def(
      "uniform", [](double limit) { return Init{uniform(limit)}; }, nb::arg("limit"));
  m.def(
      "orthogonal", [](double gain) { return Init{orthogonal(gain)}; }, nb::arg("gain") = 1.0);
  plain("glorot_uniform", glorot_uniform);
  plain("glorot_normal", glorot_normal);
  plain("he_uniform", he_uniform);
  plain("he_normal", he_normal);
  plain("lecun_normal", lecun_normal);
}

using Words = std::pair<std::uint64_t, std::uint64_t>;
Words state_of(const Model& model) {
  return {model.random().state().key, model.random().state().counter};
}

void bind_model(nb::module_& m) {
  nb::class_<Model>(m, "Model", "Parameters by name, and the random numbers that passes draw.")
      .def(
          "__init__",
          [](Model* self, std::uint64_t seed, DType dtype) {
            new (self) Model({seed, dtype});
          },
          nb::kw_only(), nb::arg("seed") = 0, nb::arg("dtype") = DType::f32)
      .def_prop_ro("parameters",
                   [](const Model& model) {
                     nb::dict out;
                     for (const Parameter& p : model.parameters()) out[nb::str(p.name.c_str())] = nb::cast(p.value);
                     return out;
                   })
      .def_prop_ro("trained",
                   [](const Model& model) {
                     std::vector<std::string> names;
                     for (const Parameter& p : model.parameters())
                       if (p.trained) names.push_back(p.name);
                     return names;
                   })
      .def("__getitem__", [](const Model& model, std::string_view name) { return model[name]; })
      .def("__setitem__", [](Model& model, std::string_view name, const Tensor& value) { model.set(name, value); })
      .def_prop_ro("size", &Model::size)
      .def(
          "save",
          [](const Model& model, std::string path) { unlocked([&](auto where) { model.save(path, where); }); },
          nb::arg("path"))
      .def(
          "load", [](Model& model, std::string path) { unlocked([&](auto where) { model.load(path, where); }); },
          nb::arg("path"))
      .def("copy", [](const Model& model) { return Model(model); })
      .def_prop_rw(
          "_random", [](const Model& model) { return state_of(model); },
          [](Model& model, Words state) {
            model.random().set_state({state.first, state.second});
          });
  nb::class_<Pass>(m, "Pass", "One run of a model: layers ask it for their parameters.")
      .def(nb::init<Model&, bool>(), nb::arg("model"), nb::arg("training") = false, nb::keep_alive<1, 2>())
      .def_prop_ro("training", &Pass::training)
      .def_prop_ro(
          "model", [](Pass& p) -> Model& { return p.model(); }, nb::rv_policy::reference_internal)
      .def(
          "parameter",
          [](Pass& p, std::string_view name, const Dims& shape, const Init& first) {
            return unlocked([&](auto) { return p.parameter(name, shape, first.f); });
          },
          nb::arg("name"), nb::arg("shape"), nb::arg("first"))
      .def(
          "state",
          [](Pass& p, std::string_view name, const Dims& shape, const Init& first) {
            return unlocked([&](auto) { return p.state(name, shape, first.f); });
          },
          nb::arg("name"), nb::arg("shape"), nb::arg("first"))
      .def("set_state", &Pass::set_state, nb::arg("name"), nb::arg("value"))
      .def("again", &Pass::again)
      .def("commit", &Pass::commit)
      .def("see", &Pass::see, nb::arg("name"), nb::arg("value"))
      .def_prop_ro("seen", [](const Pass& p) { return std::map(p.seen().begin(), p.seen().end()); })
      .def(
          "gradients",
          [](Pass& p, const Tensor& loss) { return unlocked([&](auto where) { return p.gradients(loss, where); }); },
          nb::arg("loss"));
}

void bind_layers(nb::module_& m) {
  m.def(
      "dense",
      [](Pass& p, const Tensor& x, std::int64_t units, std::string_view name, std::string_view activation_name,
         bool bias, const Init* weights, const Init* offsets) {
        return unlocked([&](auto where) {
          return dense(p, x, units, {name, activation_name, bias, init_of(weights), init_of(offsets)}, where);
        });
      },
      nb::arg("p"), nb::arg("x"), nb::arg("units"), nb::kw_only(), nb::arg("name") = "dense",
      nb::arg("activation") = "none", nb::arg("bias") = true, nb::arg("weights").none() = nb::none(),
      nb::arg("offsets").none() = nb::none());
  m.def(
      "embedding",
      [](Pass& p, const Tensor& numbers, std::int64_t count, std::int64_t width, std::string_view name,
         const Init* weights) {
        return unlocked([&](auto where) {
          return embedding(p, numbers, count, width, {name, init_of(weights)}, where);
        });
      },
      nb::arg("p"), nb::arg("numbers"), nb::arg("count"), nb::arg("width"), nb::kw_only(),
      nb::arg("name") = "embedding", nb::arg("weights").none() = nb::none());
  m.def(
      "layer_norm",
      [](Pass& p, const Tensor& x, std::string_view name, double epsilon) {
        return unlocked([&](auto where) { return layer_norm(p, x, {name, epsilon}, where); });
      },
      nb::arg("p"), nb::arg("x"), nb::kw_only(), nb::arg("name") = "layer_norm", nb::arg("epsilon") = 1e-5);
  m.def(
      "batch_norm",
      [](Pass& p, const Tensor& x, std::string_view name, double epsilon, double momentum) {
        return unlocked([&](auto where) { return batch_norm(p, x, {name, epsilon, momentum}, where); });
      },
      nb::arg("p"), nb::arg("x"), nb::kw_only(), nb::arg("name") = "batch_norm", nb::arg("epsilon") = 1e-5,
      nb::arg("momentum") = 0.9);
  m.def(
      "dropout",
      [](Pass& p, const Tensor& x, double rate) {
        return unlocked([&](auto where) { return dropout(p, x, rate, where); });
      },
      nb::arg("p"), nb::arg("x"), nb::arg("rate"));
  m.def(
      "activation",
      [](std::string_view name, const Tensor& x) {
        return unlocked([&](auto where) { return activation(name, x, where); });
      },
      nb::arg("name"), nb::arg("x"));
  m.def(
      "mse",
      [](const Tensor& y, const Tensor& target) {
        return unlocked([&](auto where) { return mse(y, target, where); });
      },
      nb::arg("y"), nb::arg("target"));
  m.def(
      "huber",
      [](const Tensor& y, const Tensor& target, double delta) {
        return unlocked([&](auto where) { return huber(y, target, delta, where); });
      },
      nb::arg("y"), nb::arg("target"), nb::arg("delta") = 1.0);
  m.def(
      "softmax_cross_entropy",
      [](const Tensor& logits, const Tensor& labels) {
        return unlocked([&](auto where) { return softmax_cross_entropy(logits, labels, where); });
      },
      nb::arg("logits"), nb::arg("labels"));
}

void bind_results(nb::module_& m) {
  nb::class_<EarlyStop>(m, "EarlyStop", "Ends training when a value gets no better.")
      .def(
          "__init__",
          [](EarlyStop* self, std::string metric, std::int64_t patience, double least, bool larger) {
            new (self) EarlyStop{std::move(metric), patience, least, larger};
          },
          nb::kw_only(), nb::arg("metric") = "loss", nb::arg("patience") = 3, nb::arg("least") = 0.0,
          nb::arg("larger") = false);
  nb::class_<Seen>(m, "StepView")
      .def_ro("step", &Seen::step)
      .def_ro("epoch", &Seen::epoch)
      .def_ro("batch", &Seen::batch)
      .def_ro("loss", &Seen::loss)
      .def_ro("rate", &Seen::rate)
      .def_ro("gradients", &Seen::gradients)
      .def_ro("activations", &Seen::activations);
  nb::class_<EpochResult>(m, "EpochResult")
      .def_ro("epoch", &EpochResult::epoch)
      .def_ro("seconds", &EpochResult::seconds)
      .def_ro("values", &EpochResult::values);
  nb::class_<History>(m, "History")
      .def_ro("epochs", &History::epochs)
      .def_ro("steps", &History::steps)
      .def_ro("skipped", &History::skipped)
      .def_ro("stopped_early", &History::stopped_early);
}

void bind_trainer(nb::module_& m) {
  nb::class_<Trainer>(m, "Trainer",
                      "Epochs, metrics, early stop, checkpoints that resume to the same bits, and logs.")
      .def(
          "__init__",
          [](Trainer* self, Model& model, Optimizer& optimizer, nb::object loss, std::int64_t epochs,
             std::optional<EarlyStop> early_stop, std::string nonfinite, std::string checkpoint,
             std::int64_t checkpoint_every, std::string summaries, std::int64_t log_every, std::int64_t watch_every,
             std::int64_t watch_values, std::int64_t trends_every, std::string record,
             std::optional<std::string> checks, bool progress) {
            TrainerOptions o{epochs,           early_stop,   nonfinite, checkpoint,
                             checkpoint_every, summaries,    log_every, watch_every,
                             watch_values,     trends_every, record};
            if (checks) o.checks = parse_check_level(*checks);
            o.progress = progress;
            new (self) Trainer(model, optimizer, function_of(std::move(loss), "Trainer: loss"), o);
          },
          nb::arg("model"), nb::arg("optimizer"), nb::arg("loss"), nb::kw_only(), nb::arg("epochs") = 1,
          nb::arg("early_stop").none() = nb::none(), nb::arg("nonfinite") = "stop", nb::arg("checkpoint") = "",
          nb::arg("checkpoint_every") = 0, nb::arg("summaries") = "", nb::arg("log_every") = 1,
          nb::arg("watch_every") = 0, nb::arg("watch_values") = 2048, nb::arg("trends_every") = 0,
          nb::arg("record") = "", nb::arg("checks").none() = nb::none(), nb::arg("progress") = true,
          nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>())
      .def(
          "metric",
          [](Trainer& t, std::string name, nb::object f) {
            t.metric(std::move(name), function_of(std::move(f), "Trainer: metric"));
          },
          nb::arg("name"), nb::arg("f"))
      .def(
          "on_step",
          [](Trainer& t, std::function<void(const Seen&)> hook) {
            t.on_step([hook = std::move(hook)](const StepView& s) {
              hook({s.step, s.epoch, s.batch, s.loss, s.rate, s.gradients,
                    std::map(s.activations.begin(), s.activations.end())});
            });
          },
          nb::arg("hook"))
      .def("on_epoch", &Trainer::on_epoch, nb::arg("hook"))
      .def(
          "fit",
          [](Trainer& t, const Dataset& data, const Dataset* validation) {
            const auto other = validation ? std::optional(*validation) : std::nullopt;
            return unlocked([&](auto where) { return t.fit(data, other, where); });
          },
          nb::arg("data"), nb::arg("validation").none() = nb::none())
      .def(
          "evaluate",
          [](Trainer& t, const Dataset& data) { return unlocked([&](auto) { return t.evaluate(data); }); },
          nb::arg("data"))
      .def(
          "step", [](Trainer& t, const Batch& b) { return unlocked([&](auto where) { return t.step(b, where); }); },
          nb::arg("batch"))
      .def_prop_ro("loss", &Trainer::loss)
      .def_prop_ro("summaries", &Trainer::summaries, nb::rv_policy::reference_internal)
      .def_prop_ro("trends", [](const Trainer& t) { return t.trends().findings(); })
      .def(
          "save_checkpoint",
          [](const Trainer& t, std::string path) { unlocked([&](auto) { t.save_checkpoint(path); }); },
          nb::arg("path"))
      .def(
          "load_checkpoint", [](Trainer& t, std::string path) { unlocked([&](auto) { t.load_checkpoint(path); }); },
          nb::arg("path"));
}

}  // namespace

void bind_nn(nb::module_& m) {
  nb::module_ sub = m.def_submodule("nn", "Models and training.");
  bind_initializers(sub);
  bind_model(sub);
  bind_layers(sub);
  bind_optimizers(sub);
  bind_results(sub);
  bind_trainer(sub);
}

}  // namespace wp::python
