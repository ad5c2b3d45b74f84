// Where values come from: traces, blame, replay, trends, bisection, the flight recorder, assertions.
#include <nanobind/stl/filesystem.h>

#include "bind.hpp"
#include "trace/recorder.hpp"
#include "wellposed/assertions.hpp"
#include "wellposed/bisect.hpp"
#include "wellposed/blame.hpp"
#include "wellposed/postmortem.hpp"
#include "wellposed/record.hpp"
#include "wellposed/replay.hpp"
#include "wellposed/trends.hpp"

namespace wp::python {
namespace {

std::string place_text(const Place& p) {
  return p.known() ? p.text() : std::string();
}

// The exception itself, or the nearest of wellposed's that it was made of: what a library or a program raises from
// ours, or while it handles ours.
nb::object of_wellposed(nb::object error) {
  constexpr int kMost = 64;  // a cause may be its own
  for (int k = 0; k < kMost && !error.is_none(); ++k) {
    if (nb::hasattr(error, "_blame") || nb::hasattr(error, "_error")) return error;
    nb::object before = error.attr("__cause__");
    error = before.is_none() ? nb::object(error.attr("__context__")) : before;
  }
  throw nb::type_error("blame: the exception is not one of wellposed's, nor was it made of one.");
}

Blame blame_of(nb::object o, nb::object element) {
  if (PyExceptionInstance_Check(o.ptr())) {
    const nb::object error = of_wellposed(o);
    if (nb::hasattr(error, "_blame")) return nb::cast<Blame>(error.attr("_blame"));  // an adapter's
    const auto* const kept =
        static_cast<std::exception_ptr*>(nb::capsule(error.attr("_error")).data("wellposed.error"));
    try {
      std::rethrow_exception(*kept);
    } catch (const Error& e) {
      return blame(e);
    }
  }
  const Tensor t = as_tensor(o.ptr(), "blame: x");
  if (element.is_none()) return unlocked([&](auto where) { return blame(t, where); });
  const Dims at = ints_of(element.ptr(), "blame: element");
  return unlocked([&](auto where) { return blame(t, at, where); });
}

void bind_blame(nb::module_& m) {
  using L = BlameLink;
  nb::class_<L>(m, "BlameLink")
      .def_ro("op", &L::op)
      .def_ro("element", &L::element)
      .def_ro("dtype", &L::dtype)
      .def_ro("shape", &L::shape)
      .def_ro("value", &L::value)
      .def_ro("scope", &L::scope)
      .def_ro("step", &L::step)
      .def_prop_ro("place", [](const L& l) { return place_text(l.place); })
      .def("__repr__", [](const L& l) { return say("<", l.op, " ", l.element, " = ", l.value, ">"); });
  nb::class_<Blame>(m, "Blame", "The way back from a value to its source.")
      .def_prop_ro("source",
                   [](const Blame& b) {
                     constexpr const char* names[] = {"op", "data", "given", "unknown"};
                     return names[static_cast<int>(b.source)];
                   })
      .def_ro("asked", &Blame::asked)
      .def_ro("chain", &Blame::chain)
      .def_ro("operands", &Blame::operands)
      .def_ro("advice", &Blame::advice)
      .def_ro("name", &Blame::name)
      .def_ro("row", &Blame::row)
      .def_ro("entry", &Blame::entry)
      .def_ro("value", &Blame::value)
      .def_ro("rows", &Blame::rows)
      .def_ro("rows_name", &Blame::rows_name)
      .def_ro("spread", &Blame::spread)
      .def_ro("missing", &Blame::missing)
      .def("text", &Blame::text)
      .def("json", &Blame::json)
      .def(
          "html", [](const Blame& b, const std::filesystem::path& path) { b.html(path.string()); }, nb::arg("path"))
      .def("__repr__", &Blame::text);
  m.def("blame", blame_of, nb::arg("x").none(), nb::arg("element").none() = nb::none());
  using T = While<Trace, TraceOptions>;
  nb::class_<T> t(m, "Trace", "Keeps the calls of all threads inside a with block.");
  t.def(
      "__init__",
      [](T* self, std::size_t calls, std::size_t bytes, std::int64_t steps) {
        new (self) T(TraceOptions{calls, bytes, steps});
      },
      nb::kw_only(), nb::arg("calls") = 4096, nb::arg("bytes") = std::size_t{64} << 20, nb::arg("steps") = 2);
  add_with(t);
  t.def_prop_ro("calls", [](T& x) { return x.current() ? x.current()->calls() : 0; })
      .def_prop_ro("bytes", [](T& x) { return x.current() ? x.current()->bytes() : 0; })
      .def_prop_ro("let_go", [](T& x) { return x.current() ? x.current()->let_go() : 0; })
      .def("clear", [](T& x) {
        if (x.current()) x.current()->clear();
      });
  m.def("named", &named, nb::arg("x"), nb::arg("name"));
  m.def(
      "with_rows",
      [](const Tensor& x, std::string name, std::optional<std::vector<std::int64_t>> rows) {
        return rows ? with_rows(x, std::move(name), *rows) : with_rows(x, std::move(name));
      },
      nb::arg("x"), nb::arg("name"), nb::arg("rows").none() = nb::none());
  m.def("rows_of", &rows_of, nb::arg("x"));
}

// What a predicate answered: anything with a truth, but not nothing.
bool said_yes(const nb::object& answer) {
  if (answer.is_none()) throw nb::type_error("bisect: fails(rows) must return True or False; it returned None.");
  const int truth = PyObject_IsTrue(answer.ptr());
  if (truth < 0) throw nb::python_error();
  return truth != 0;
}

void bind_replay(nb::module_& m) {
  using L = LostDigits;
  nb::class_<L>(m, "LostDigits")
      .def_ro("op", &L::op)
      .def_ro("scope", &L::scope)
      .def_ro("step", &L::step)
      .def_ro("digits", &L::digits)
      .def_ro("error", &L::error)
      .def_ro("operand_error", &L::operand_error)
      .def_ro("element", &L::element)
      .def_ro("value", &L::value)
      .def_ro("exact", &L::exact)
      .def_prop_ro("place", [](const L& l) { return place_text(l.place); });
  nb::class_<Replay>(m, "Replay")
      .def_ro("calls", &Replay::calls)
      .def_ro("elements", &Replay::elements)
      .def_ro("overflowed", &Replay::overflowed)
      .def_ro("replayed", &Replay::replayed)
      .def_ro("plain", &Replay::plain)
      .def_ro("blind", &Replay::blind)
      .def_ro("missing", &Replay::missing)
      .def("text", &Replay::text)
      .def("json", &Replay::json)
      .def("__repr__", &Replay::text);
  m.def(
      "replay",
      [](const std::string& precision) {
        return unlocked([&](auto where) { return replay({.precision = precision}, where); });
      },
      nb::arg("precision") = "double-double");
  nb::class_<Postmortem>(m, "Postmortem")
      .def("fine", &Postmortem::fine)
      .def("text", &Postmortem::text, nb::arg("last") = 10)
      .def("json", &Postmortem::json, nb::arg("last") = 10)
      .def(
          "html",
          [](const Postmortem& p, const std::filesystem::path& file, std::size_t last) {
            p.html(file.string(), last);
          },
          nb::arg("file"), nb::arg("last") = 10)
      .def("__repr__", [](const Postmortem& p) { return p.text(); });
  m.def(
      "postmortem",
      [](const std::filesystem::path& path) { return unlocked([&](auto) { return postmortem(path.string()); }); },
      nb::arg("path"));
  nb::class_<Bisection>(m, "Bisection")
      .def_ro("rows", &Bisection::rows)
      .def_ro("data", &Bisection::data)
      .def_ro("tries", &Bisection::tries)
      .def_ro("minimal", &Bisection::minimal);
  m.def(
      "bisect",
      [](const Tensor& data, const nb::callable& fails, std::int64_t most_tries) {
        const auto asked = [&](const Tensor& rows) {
          const nb::gil_scoped_acquire locked;
          return said_yes(fails(rows));
        };
        return unlocked([&](auto where) { return bisect(data, asked, {.most_tries = most_tries}, where); });
      },
      nb::arg("data"), nb::arg("fails"), nb::kw_only(), nb::arg("most_tries") = 10000);
}

// An error of wellposed that a function of Python's raised, as the C++ error it was; others stay Python's.
void call_step(const nb::callable& step) {
  try {
    step();
  } catch (nb::python_error& e) {
    if (!nb::hasattr(e.value(), "_error")) throw;
    std::rethrow_exception(
        *static_cast<std::exception_ptr*>(nb::capsule(e.value().attr("_error")).data("wellposed.error")));
  }
}
bool attempt(GradientGuard& g, const nb::callable& step) {
  const Spot spot = here();
  const bool done = g.attempt([&] { call_step(step); }, spot.location());
  tell_findings();
  return done;
}

void bind_trends(nb::module_& m) {
  nb::class_<Trends>(m, "Trends", "Tell it once per step about every parameter; it warns before training fails.")
      .def(
          "__init__",
          [](Trends* self, int window, double horizon, int patience) {
            new (self) Trends(TrendOptions{window, horizon, patience});
          },
          nb::kw_only(), nb::arg("window") = 16, nb::arg("horizon") = 500.0, nb::arg("patience") = 50)
      .def(
          "see",
          [](Trends& t, std::string_view name, const Tensor& weight, const Tensor& gradient, const Tensor& update) {
            t.see(name, weight, gradient, update);
            tell_findings();
          },
          nb::arg("name"), nb::arg("weight"), nb::arg("gradient"), nb::arg("update").none() = nb::none())
      .def(
          "see_units",
          [](Trends& t, std::string_view name, const Tensor& activations) {
            t.see_units(name, activations);
            tell_findings();
          },
          nb::arg("name"), nb::arg("activations"))
      .def_prop_ro("findings",
                   [](const Trends& t) { return std::vector<Finding>(t.findings()); })  // its own may move
      .def("gradient_norms", &Trends::gradient_norms, nb::arg("name"));
  nb::class_<GradientGuard>(m, "GradientGuard", "Lets an update through only if all of it is finite.")
      .def(nb::init<>())
      .def(
          "accepts",
          [](GradientGuard& g, const std::vector<Tensor>& gradients) {
            return unlocked([&](auto where) { return g.accepts(gradients, where); });
          },
          nb::arg("gradients"))
      .def("attempt", attempt, nb::arg("step"))
      .def_prop_ro("refused", &GradientGuard::refused);
}

void bind_assertions(nb::module_& m) {
  m.def(
      "assert_finite",
      [](const Tensor& x, std::string_view name) { return assert_finite(x, name, here().location()); }, nb::arg("x"),
      nb::arg("name") = "x");
  m.def(
      "assert_shape",
      [](const Tensor& x, const Dims& shape, std::string_view name) {
        return assert_shape(x, shape, name, here().location());
      },
      nb::arg("x"), nb::arg("shape"), nb::arg("name") = "x");
  m.def(
      "assert_dims_at_most",
      [](const Tensor& x, const Dims& most, std::string_view name) {
        return assert_dims_at_most(x, most, name, here().location());
      },
      nb::arg("x"), nb::arg("most"), nb::arg("name") = "x");
  m.def(
      "assert_range",
      [](const Tensor& x, double low, double high, std::string_view name) {
        return assert_range(x, low, high, name, here().location());
      },
      nb::arg("x"), nb::arg("low"), nb::arg("high"), nb::arg("name") = "x");
  m.def(
      "assert_spd", [](const Tensor& x, std::string_view name) { return assert_spd(x, name, here().location()); },
      nb::arg("x"), nb::arg("name") = "x");
  m.def(
      "assert_probability",
      [](const Tensor& x, std::int64_t axis, std::string_view name) {
        return assert_probability(x, axis, name, here().location());
      },
      nb::arg("x"), nb::arg("axis") = -1, nb::arg("name") = "x");
  m.def(
      "assert_that",
      [](const Tensor& x, const std::function<Tensor(const Tensor&)>& holds, std::string_view rule,
         std::string_view name) { return assert_that(x, holds, rule, name, here().location()); },
      nb::arg("x"), nb::arg("holds"), nb::arg("rule"), nb::arg("name") = "x");
}

}  // namespace

void bind_trace(nb::module_& m) {
  bind_blame(m);
  bind_replay(m);
  bind_trends(m);
  bind_assertions(m);
  m.def(
      "last_words", [](const std::string& words) { trace::last_words(words); }, nb::arg("words"));
  using R = While<Recorder, std::string, RecordOptions>;
  nb::class_<R> r(m, "Recorder");
  r.def(
      "__init__",
      [](R* self, std::string path, std::int64_t records, bool signals, bool children) {
        new (self) R(std::move(path), RecordOptions{records, signals, children});
      },
      nb::arg("path"), nb::kw_only(), nb::arg("records") = 16384, nb::arg("signals") = true,
      nb::arg("children") = true);
  add_with(r);
  r.def("start", &R::enter).def("stop", &R::exit).def_prop_ro("path", [](R& x) {
    return x.current() ? x.current()->path() : std::string();
  });
  m.def("recording", &recording);
}

}  // namespace wp::python
