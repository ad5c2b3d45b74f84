#include "wellposed/events.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "io/file.hpp"
#include "summary/reader.hpp"

namespace wp {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kForeign = "this is no event file: no record in it is whole";

// Throws FormatError if no record of it is whole.
void read_file(const std::string& path, Events& to) {
  const io::Source source(path);
  const std::string bytes = source.text();
  const std::int64_t before = to.records;
  std::vector<EventDamage> damage;
  summary::each_record(
      bytes,
      [&](std::string_view event) {
        if (!summary::add_event(to, event))
          damage.push_back({path, static_cast<std::uint64_t>(event.data() - bytes.data()), event.size(),
                            "the record is whole, but holds no event"});
      },
      [&](std::uint64_t offset, std::uint64_t count, std::string reason) {
        damage.push_back({path, offset, count, std::move(reason)});
      });
  if (to.records == before && !bytes.empty()) source.refuse_at("WP-FMT-001", 0, kForeign);
  to.damage.insert(to.damage.end(), damage.begin(), damage.end());
}

bool is_event_file(const fs::path& path) {
  return path.filename().string().find("tfevents") != std::string::npos;
}

std::string csv_quote(std::string_view text) {
  if (text.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + '"';
}

// Most writers keep f32: its shortest text.
std::string plain(double v) {
  const auto narrow = static_cast<float>(v);
  return static_cast<double>(narrow) == v ? say(narrow) : say(v);
}

nlohmann::ordered_json number(double v) {
  if (std::isfinite(v)) return v;
  return std::isnan(v) ? "nan" : v > 0 ? "inf" : "-inf";
}
nlohmann::ordered_json json_of(double v) {
  return number(v);
}
nlohmann::ordered_json json_of(const std::string& text) {
  return clean_utf8(text);
}
nlohmann::ordered_json json_of(const Tensor& rows) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  const std::vector<double> v = rows.to_vector<double>();
  for (std::size_t i = 0; i + 2 < v.size(); i += 3) all.push_back({number(v[i]), number(v[i + 1]), number(v[i + 2])});
  return all;
}
nlohmann::ordered_json json_of(const EventImages& images) {
  nlohmann::ordered_json bytes = nlohmann::ordered_json::array();
  for (const std::string& file : images.files) bytes.push_back(file.size());
  return {{"width", images.width}, {"height", images.height}, {"bytes", bytes}};
}

template <class Value>
nlohmann::ordered_json json_of(const std::map<std::string, EventSeries<Value>>& all) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (const auto& [tag, series] : all) {
    nlohmann::ordered_json values = nlohmann::ordered_json::array(), times = nlohmann::ordered_json::array();
    for (const Value& v : series.value) values.push_back(json_of(v));
    for (const double t : series.wall_time) times.push_back(number(t));
    out[clean_utf8(tag)] = {{"step", series.step}, {"wall_time", times}, {"value", values}};
  }
  return out;
}

}  // namespace

std::map<std::string, Events> read_events(const std::string& path) {
  std::map<std::string, Events> runs;
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    read_file(path, runs[""]);
    return runs;
  }
  std::vector<fs::path> files;
  for (auto at = fs::recursive_directory_iterator(path, fs::directory_options::skip_permission_denied, error);
       !error && at != fs::recursive_directory_iterator(); at.increment(error))
    if (at->is_regular_file(error) && is_event_file(at->path())) files.push_back(at->path());
  std::sort(files.begin(), files.end());  // names begin with the time
  std::exception_ptr bad;
  bool any = false;
  for (const fs::path& file : files) {
    const std::string run = file.parent_path().lexically_relative(path).string();
    Events& to = runs[run == "." ? "" : run];
    try {
      read_file(file.string(), to);
      any = true;
    } catch (const Error& e) {  // one bad file must not hide the others
      if (!bad) bad = std::current_exception();
      const std::uintmax_t bytes = fs::file_size(file, error);
      const bool foreign = dynamic_cast<const FormatError*>(&e) != nullptr;
      std::string reason = foreign ? std::string(kForeign) : e.finding().message;
      if (reason.ends_with('.')) reason.pop_back();
      to.damage.push_back({file.string(), 0, error ? 0 : bytes, std::move(reason)});
    }
  }
  if (bad && !any) std::rethrow_exception(bad);
  if (runs.empty())
    raise<FileError>("WP-FIL-001", "events", say("'", path, "' holds no event file (a name with \"tfevents\")."));
  return runs;
}

Tensor Events::scalar(const std::string& tag) const {
  const auto at = scalars.find(tag);
  if (at == scalars.end()) {
    std::string known;
    for (const auto& [name, series] : scalars) known += say(known.empty() ? "" : ", ", name);
    raise<ArgumentError>("WP-ARG-001", "Events::scalar",
                         say("there is no scalar '", tag, "'; there are: ", known.empty() ? "none" : known, "."));
  }
  std::vector<double> both;
  for (std::size_t i = 0; i < at->second.step.size(); ++i)
    both.insert(both.end(), {static_cast<double>(at->second.step[i]), at->second.value[i]});
  return Tensor::from(both, {static_cast<std::int64_t>(both.size() / 2), 2});
}

std::string Events::csv(std::string_view run) const {
  std::string out;
  for (const auto& [tag, series] : scalars)
    for (std::size_t i = 0; i < series.step.size(); ++i)
      out += say(csv_quote(run), ',', csv_quote(tag), ',', series.step[i], ',', series.wall_time[i], ',',
                 plain(series.value[i]), '\n');
  return out;
}

std::string Events::json() const {
  nlohmann::ordered_json lost = nlohmann::ordered_json::array();
  for (const EventDamage& d : damage)
    lost.push_back(
        {{"file", clean_utf8(d.file)}, {"offset", d.offset}, {"bytes", d.bytes}, {"reason", clean_utf8(d.reason)}});
  const nlohmann::ordered_json all{{"schema_version", 1},
                                   {"records", records},
                                   {"others", others},
                                   {"scalars", json_of(scalars)},
                                   {"histograms", json_of(histograms)},
                                   {"texts", json_of(texts)},
                                   {"images", json_of(images)},
                                   {"damage", lost}};
  return all.dump();
}

}  // namespace wp
