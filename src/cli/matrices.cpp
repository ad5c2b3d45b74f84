#include "cli/matrices.hpp"

#include <CLI/CLI.hpp>
#include <cmath>
#include <iostream>

#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/paint.hpp"
#include "io/csv.hpp"
#include "io/file.hpp"
#include "io/format.hpp"
#include "tensor/note.hpp"

namespace wp::cli {
namespace {

std::string few_digits(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", v);
  return std::isinf(v) ? (v > 0 ? "∞" : "−∞") : text;
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    out.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

// Rows of the last axis, comma between; stacks with an empty line between members.
void print_data(const Tensor& t) {
  const std::int64_t columns = t.ndim() > 1 ? t.shape().back() : 1;
  const std::int64_t rows = t.ndim() > 2 ? t.shape()[t.shape().size() - 2] : t.size() + 1;
  for (std::int64_t e = 0; e < t.size(); ++e) {
    const bool ends = (e + 1) % columns == 0;
    std::cout << text_at(t, e) << (ends ? "\n" : ",");
    if (ends && (e + 1) % (columns * rows) == 0 && e + 1 < t.size()) std::cout << '\n';
  }
}

json nested(const Tensor& t, std::size_t axis, std::int64_t& at) {
  if (axis == t.shape().size()) {
    const complex128 v = value_at(t, at++);
    const auto number = [](double x) {
      return std::isfinite(x) ? json(x) : json(std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf");
    };
    return is_complex(t.dtype()) ? json{number(v.real()), number(v.imag())} : number(v.real());
  }
  json out = json::array();
  for (std::int64_t i = 0; i < t.shape()[axis]; ++i) out.push_back(nested(t, axis + 1, at));
  return out;
}
json nested(const Tensor& t) {
  std::int64_t at = 0;
  return nested(t, 0, at);
}

void line(std::string& out, std::string_view name, std::string_view text) {
  out += say("  ", name, std::string(name.size() < 12 ? 12 - name.size() : 1, ' '), text, '\n');
}

std::string vector_text(const Report& r, const Tensor& v) {
  std::string out;
  for (std::int64_t i = 0; i < v.size() && i < 8; ++i) {
    const auto k = static_cast<std::size_t>(i);
    const complex128 x = value_at(v, i);
    out += say(i ? ", " : "", k < r.matrix.names.size() ? r.matrix.names[k] + ": " : "", few_digits(x.real()));
    if (is_complex(v.dtype())) out += say(x.imag() < 0 ? " − " : " + ", few_digits(std::fabs(x.imag())), "j");
  }
  return out + (v.size() > 8 ? ", …" : "");
}

plot::Chart spectrum(const Report& r) {
  plot::Chart chart{.title = "singular values", .x_label = "index", .y_label = "σ", .log_y = true};
  plot::Series s;
  for (std::int64_t i = 0; i < r.sigma.size(); ++i) {
    s.x.push_back(static_cast<double>(i));
    s.y.push_back(value_at(r.sigma, i).real());
  }
  chart.series.push_back(std::move(s));
  if (r.threshold > 0) chart.levels.push_back({r.threshold, "counts as zero below"});
  return chart;
}

plot::Chart null_chart(const Tensor& v) {
  plot::Chart chart{.title = "null vector", .x_label = "column", .y_label = "size"};
  plot::Series s{.mark = plot::Series::Mark::bars};
  for (std::int64_t i = 0; i < v.size(); ++i) {
    const complex128 x = value_at(v, i);
    s.x.push_back(static_cast<double>(i));
    s.y.push_back(is_complex(v.dtype()) ? std::abs(x) : x.real());
  }
  chart.series.push_back(std::move(s));
  return chart;
}

// What a person wants to know of one matrix.
std::string facts(const Report& r) {
  const Tensor& a = r.matrix.values;
  std::string out = say(r.matrix.file, "  ", a.shape(), ' ', a.dtype(), '\n');
  if (r.diagnosis.size() == 0) return out + "  no members\n";
  if (r.diagnosis.size() > 1) return out + r.diagnosis.text() + '\n';
  const linalg::Member& m = r.diagnosis[0];
  line(out, "verdict", m.message);
  if (m.rank >= 0) {
    const std::int64_t full = std::min(a.shape().end()[-1], a.shape().end()[-2]);
    line(out, "rank", say(m.rank, " of ", full));
  }
  if (!std::isnan(m.rcond)) line(out, "rcond", few_digits(m.rcond) + " (after equilibration)");
  if (!std::isnan(m.cond)) line(out, "cond", few_digits(m.cond) + " (as given)");
  if (!std::isnan(m.digits)) line(out, "digits", say(std::lround(std::floor(m.digits))));
  if (!std::isnan(m.backward_error)) line(out, "residual", few_digits(m.backward_error));
  if (!m.structure.empty()) line(out, "structure", m.structure + ", by " + m.method);
  if (!m.dependent.empty()) line(out, "dependent", m.dependent);
  if (!m.dependent_columns.empty()) line(out, "", m.dependent_columns);
  if (m.null_vector.defined()) line(out, "null vector", vector_text(r, m.null_vector));
  return out;
}

void write_html(const Report& r, const std::string& file) {
  std::vector<plot::Section> sections{{"", facts(r) + r.words, ""}};
  if (r.sigma.defined() && r.sigma.size() > 0) sections.push_back({"Spectrum", "", plot::svg(spectrum(r))});
  if (r.diagnosis.size() > 0)
    if (const linalg::Member& m = r.diagnosis[shown_member(r.diagnosis)]; m.null_vector.defined())
      sections.push_back(
          {"What the matrix sends to zero", vector_text(r, m.null_vector), plot::svg(null_chart(m.null_vector))});
  for (const plot::Chart& c : r.charts) sections.push_back({c.title, "", plot::svg(c)});
  io::write_text(file, plot::page(say("wellposed ", r.command, ": ", r.matrix.file), sections));
}

}  // namespace

std::vector<std::string> column_names(const std::string& names, std::int64_t columns) {
  std::vector<std::string> out;
  if (names.empty()) return out;
  out = split(names);
  if (static_cast<std::int64_t>(out.size()) != columns)
    raise<ArgumentError>("WP-ARG-001", "--names",
                         say("one name per column; got ", out.size(), " for ", columns, "."));
  return out;
}

Matrix read_matrix(const std::string& file, const std::string& names) {
  Matrix m{file == "-" ? "stdin" : file, {}, {}};
  const auto read_table = [&](const io::Source& source, char separator) {
    io::Table t = io::read_csv(source, {}, separator);
    m.values = t.values;
    m.names = std::move(t.names);
  };
  LoadOptions options{.dense = true};
  if (file == "-") {  // a table, unless its first bytes say otherwise
    const io::Source source("/dev/stdin");
    if (const io::Format* const format = io::format_by_magic(source))
      m.values = format->read(source, options);
    else
      read_table(source, 0);
  } else {
    const auto [path, array] = io::split_target(file);
    if (!array.empty()) options.names = {array};
    const io::Format* const format = io::format_of(path);
    const bool table = format && (format->ending == ".csv" || format->ending == ".tsv");
    if (table && array.empty())
      read_table(io::Source(path), format->ending == ".tsv" ? '\t' : 0);
    else
      m.values = load(path, options);
  }
  if (!names.empty()) m.names = column_names(names, m.values.ndim() ? m.values.shape().back() : 0);
  return m;
}

std::optional<Setting> setting_of(const std::string& text) {
  if (text.empty()) return std::nullopt;
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (*end == '\0') return Setting(number);
  return Setting(std::string_view(text));
}

void Outputs::declare(CLI::App& app, bool data) {
  app.add_flag("--json", as_json, "Print JSON (schema_version inside) with the diagnosis.");
  app.add_option("--html", html, "Write a report with charts to this file.");
  if (data)
    app.add_option("--out", out,
                   "Write the result to this file (.npy, .npz, .safetensors, .mtx, .csv, .tsv) instead of stdout.");
}

std::int64_t shown_member(const linalg::Diagnosis& d) {
  return std::max<std::int64_t>(d.worst(), 0);
}

Tensor member_of(const Tensor& stack, std::int64_t member) {
  const Dims& s = stack.shape();
  return reshape(stack, {-1, s[s.size() - 2], s.back()}).at(member);
}

int deliver(const Report& r, const Outputs& o, bool always) {
  const bool good = r.diagnosis.size() == 0 || r.diagnosis.ok();
  if (!o.html.empty()) write_html(r, o.html);
  if (!o.out.empty() && r.value.defined()) save(o.out, r.value);
  if (o.as_json) {
    json out = {
        {"schema_version", 1}, {"command", r.command}, {"file", r.matrix.file}, {"verdict", good ? "ok" : "look"}};
    out["shape"] = std::vector<std::int64_t>(r.matrix.values.shape().begin(), r.matrix.values.shape().end());
    if (r.extra.is_object()) out.update(r.extra);
    if (r.value.defined() && o.out.empty()) out["value"] = nested(r.value);
    if (r.sigma.defined()) out["singular_values"] = nested(r.sigma);
    out["diagnosis"] = json::parse(r.diagnosis.json());
    std::cout << out.dump(1) << '\n';
    return good ? fine : finding;
  }
  if (r.value.defined() && o.out.empty()) print_data(r.value);
  if (always || !good) {
    std::string text = facts(r) + (r.words.empty() ? "" : "  " + r.words + "\n");
    if (r.sigma.defined() && r.sigma.size() > 1) text += plot::text(spectrum(r));
    (always ? std::cout : std::cerr) << text;
  }
  return good ? fine : finding;
}

}  // namespace wp::cli
