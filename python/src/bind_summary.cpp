// Summaries for TensorBoard, and the reader of event files.
#include <nanobind/stl/map.h>

#include <algorithm>

#include "base/text.hpp"
#include "bind.hpp"
#include "wellposed/events.hpp"
#include "wellposed/summary.hpp"

namespace wp::python {
namespace {

SummaryAt at(std::optional<std::int64_t> step, bool scoped) {
  return {step, scoped};
}

// with writer: …  The writers that this thread has entered, each with the innermost one before it. What is entered is
// held: it may be all that is left of the writer.
struct Entered {
  SummaryWriter *writer, *before;
};
thread_local std::vector<Entered> entered;

void enter(nb::handle self) {
  auto* const w = nb::cast<SummaryWriter*>(self);
  entered.push_back({w, std::exchange(context().summaries, w)});
  self.inc_ref();
}
// Blocks of generators may end in any order.
void leave(nb::handle self) {
  auto* const w = nb::cast<SummaryWriter*>(self);
  const auto last = std::find_if(entered.rbegin(), entered.rend(), [&](const Entered& e) { return e.writer == w; });
  if (last == entered.rend())
    raise<ArgumentError>("WP-ARG-001", "SummaryWriter",
                         "__exit__ needs an __enter__ of the same thread; there was none.",
                         "Use `with writer:`, in each thread that logs by wellposed.summary.");
  (last == entered.rbegin() ? context().summaries : (last - 1)->before) = last->before;
  entered.erase(std::next(last).base());
  self.dec_ref();
  unlocked([&](auto) { w->flush(); });
}

// Names of files as Python has them, and text of others, which may be no UTF-8.
nb::object file_name(const std::string& name) {
  return nb::steal(PyUnicode_DecodeFSDefaultAndSize(name.data(), static_cast<Py_ssize_t>(name.size())));
}
std::string bytes_of_name(nb::handle name) {
  const nb::object bytes = nb::steal(PyUnicode_EncodeFSDefault(name.ptr()));
  if (!bytes.is_valid()) throw ErrorIsSet();
  return {PyBytes_AS_STRING(bytes.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(bytes.ptr()))};
}
nb::object text_of(std::string_view text) {
  return nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

template <class Value>
nb::dict series_of(const std::map<std::string, EventSeries<Value>>& all) {
  nb::dict out;
  for (const auto& [tag, s] : all) {
    nb::dict one;
    one["step"] = nb::cast(s.step);
    one["wall_time"] = nb::cast(s.wall_time);
    nb::list values;
    for (const Value& v : s.value) {
      if constexpr (std::is_same_v<Value, EventImages>) {
        nb::list files;
        for (const std::string& file : v.files) files.append(nb::bytes(file.data(), file.size()));
        values.append(files);
      } else if constexpr (std::is_same_v<Value, std::string>) {
        values.append(text_of(v));
      } else {
        values.append(nb::cast(v));
      }
    }
    one["value"] = values;
    out[text_of(tag)] = one;
  }
  return out;
}

void bind_writer(nb::module_& m) {
  using W = SummaryWriter;
  nb::class_<W>(m, "SummaryWriter", "One event file that TensorBoard reads, written by a thread of its own.")
      .def(
          "__init__",
          [](W* self, std::string directory, std::string suffix, std::size_t most_bytes, double longest_wait,
             double flush_seconds) {
            unlocked([&](auto where) {
              new (self) W(directory, {suffix, most_bytes, longest_wait, flush_seconds}, where);
            });
          },
          nb::arg("directory"), nb::kw_only(), nb::arg("suffix") = "", nb::arg("most_bytes") = std::size_t{64} << 20,
          nb::arg("longest_wait") = 0.01, nb::arg("flush_seconds") = 1.0)
      .def(
          "scalar",
          [](W& w, std::string_view tag, nb::object value, std::optional<std::int64_t> step, bool scoped) {
            const bool plain = PyFloat_Check(value.ptr()) || PyLong_Check(value.ptr());
            const double number = plain ? PyFloat_AsDouble(value.ptr()) : 0;
            const Tensor tensor = plain ? Tensor() : as_tensor(value.ptr(), "scalar: value");
            if (PyErr_Occurred()) throw ErrorIsSet();
            {
              const Unlocked u(true);
              plain ? w.scalar(tag, number, at(step, scoped)) : w.scalar(tag, tensor, at(step, scoped));
            }
            tell_findings();
          },
          nb::arg("tag"), nb::arg("value"), nb::arg("step") = nb::none(), nb::kw_only(), nb::arg("scoped") = true)
      .def(
          "histogram",
          [](W& w, std::string_view tag, nb::object values, std::optional<std::int64_t> step, bool scoped,
             std::int64_t bins, std::int64_t most_values) {
            const Tensor x = as_tensor(values.ptr(), "histogram: values");
            unlocked([&](auto) { w.histogram(tag, x, {step, scoped, bins, most_values}); });
          },
          nb::arg("tag"), nb::arg("values"), nb::arg("step") = nb::none(), nb::kw_only(), nb::arg("scoped") = true,
          nb::arg("bins") = 30, nb::arg("most_values") = 0)
      .def(
          "histograms",
          [](W& w, const std::map<std::string, Tensor>& named, std::optional<std::int64_t> step, bool scoped,
             std::int64_t bins, std::int64_t most_values) {
            unlocked([&](auto) { w.histograms({named.begin(), named.end()}, {step, scoped, bins, most_values}); });
          },
          nb::arg("named"), nb::arg("step") = nb::none(), nb::kw_only(), nb::arg("scoped") = true,
          nb::arg("bins") = 30, nb::arg("most_values") = 0)
      .def(
          "text",
          [](W& w, std::string_view tag, std::string_view markdown, std::optional<std::int64_t> step, bool scoped) {
            unlocked([&](auto) { w.text(tag, markdown, at(step, scoped)); });
          },
          nb::arg("tag"), nb::arg("markdown"), nb::arg("step") = nb::none(), nb::kw_only(), nb::arg("scoped") = true)
      .def(
          "image",
          [](W& w, std::string_view tag, nb::object image, std::optional<std::int64_t> step, bool scoped) {
            const Tensor x = as_tensor(image.ptr(), "image: image");
            unlocked([&](auto) { w.image(tag, x, at(step, scoped)); });
          },
          nb::arg("tag"), nb::arg("image"), nb::arg("step") = nb::none(), nb::kw_only(), nb::arg("scoped") = true)
      .def(
          "diagnosis",
          [](W& w, std::string_view tag, const linalg::Diagnosis& d, std::optional<std::int64_t> step, bool scoped) {
            unlocked([&](auto) { w.diagnosis(tag, d, at(step, scoped)); });
          },
          nb::arg("tag"), nb::arg("diagnosis"), nb::arg("step") = nb::none(), nb::kw_only(), nb::arg("scoped") = true)
      .def("flush", [](W& w) { unlocked([&](auto) { w.flush(); }); })
      .def("close", [](W& w) { unlocked([&](auto) { w.close(); }); })
      .def_prop_ro("path", &W::path)
      .def_prop_ro("written", &W::written)
      .def_prop_ro("dropped", &W::dropped)
      .def("__enter__",
           [](nb::handle self) {
             enter(self);
             return nb::borrow(self);
           })
      .def("__exit__", [](nb::handle self, nb::args) { leave(self); });
}

// The innermost writer of `with writer:`, at the current step and scope; without one they do nothing.
void bind_free(nb::module_ m) {
  m.def("flush_all", [] { unlocked([&](auto) { summary::flush_all(); }); });
  m.def(
      "scalar",
      [](std::string_view tag, const Tensor& value, std::optional<std::int64_t> step, bool scoped) {
        unlocked([&](auto) { summary::scalar(tag, value, at(step, scoped)); });
      },
      nb::arg("tag"), nb::arg("value"), nb::arg("step") = nb::none(), nb::kw_only(), nb::arg("scoped") = true);
  m.def(
      "histogram",
      [](std::string_view tag, const Tensor& values, std::optional<std::int64_t> step, bool scoped, std::int64_t bins,
         std::int64_t most_values) {
        unlocked([&](auto) { summary::histogram(tag, values, {step, scoped, bins, most_values}); });
      },
      nb::arg("tag"), nb::arg("values"), nb::arg("step") = nb::none(), nb::kw_only(), nb::arg("scoped") = true,
      nb::arg("bins") = 30, nb::arg("most_values") = 0);
  m.def(
      "histograms",
      [](const std::map<std::string, Tensor>& named, std::optional<std::int64_t> step, bool scoped, std::int64_t bins,
         std::int64_t most_values) {
        unlocked([&](auto) { summary::histograms({named.begin(), named.end()}, {step, scoped, bins, most_values}); });
      },
      nb::arg("named"), nb::arg("step") = nb::none(), nb::kw_only(), nb::arg("scoped") = true, nb::arg("bins") = 30,
      nb::arg("most_values") = 0);
  m.def(
      "diagnosis",
      [](std::string_view tag, const linalg::Diagnosis& d, std::optional<std::int64_t> step, bool scoped) {
        unlocked([&](auto) { summary::diagnosis(tag, d, at(step, scoped)); });
      },
      nb::arg("tag"), nb::arg("diagnosis"), nb::arg("step") = nb::none(), nb::kw_only(), nb::arg("scoped") = true);
  m.def(
      "text",
      [](std::string_view tag, std::string_view markdown, std::optional<std::int64_t> step, bool scoped) {
        unlocked([&](auto) { summary::text(tag, markdown, at(step, scoped)); });
      },
      nb::arg("tag"), nb::arg("markdown"), nb::arg("step") = nb::none(), nb::kw_only(), nb::arg("scoped") = true);
  m.def(
      "image",
      [](std::string_view tag, const Tensor& image, std::optional<std::int64_t> step, bool scoped) {
        unlocked([&](auto) { summary::image(tag, image, at(step, scoped)); });
      },
      nb::arg("tag"), nb::arg("image"), nb::arg("step") = nb::none(), nb::kw_only(), nb::arg("scoped") = true);
}

}  // namespace

void bind_summary(nb::module_& m) {
  bind_writer(m);
  bind_free(m.def_submodule("summary", "Values for the innermost writer."));
  nb::class_<Events>(m, "Events", "What the event files of a run hold.")
      .def_prop_ro("scalars", [](const Events& e) { return series_of(e.scalars); })
      .def_prop_ro("histograms", [](const Events& e) { return series_of(e.histograms); })
      .def_prop_ro("texts", [](const Events& e) { return series_of(e.texts); })
      .def_prop_ro("images", [](const Events& e) { return series_of(e.images); })
      .def_ro("records", &Events::records)
      .def_prop_ro("damage",
                   [](const Events& e) {
                     nb::list all;
                     for (const EventDamage& d : e.damage)
                       all.append(nb::make_tuple(file_name(d.file), d.offset, d.bytes, text_of(d.reason)));
                     return all;
                   })
      .def("scalar", &Events::scalar, nb::arg("tag"))
      .def(
          "csv", [](const Events& e, nb::str run) { return text_of(e.csv(bytes_of_name(run))); }, nb::arg("run") = "")
      .def("json", &Events::json);
  m.def(
      "read_events",
      [](nb::str path) {
        const std::string from = bytes_of_name(path);
        nb::dict runs;
        for (auto& [run, events] : unlocked([&](auto) { return read_events(from); }))
          runs[file_name(run)] = nb::cast(std::move(events));
        return runs;
      },
      nb::arg("path"), "The event files below a folder, by run.");
  m.def(
      "events_page",
      [](nb::dict runs, std::string_view title) {
        std::map<std::string, Events> all;
        for (const auto [run, events] : runs) all.emplace(bytes_of_name(run), nb::cast<Events>(events));
        return text_of(events_page(all, title));
      },
      nb::arg("runs"), nb::arg("title") = "Events", "One HTML page with curves and histograms.");
}

}  // namespace wp::python
