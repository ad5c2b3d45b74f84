#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "data/tile.hpp"
#include "io/file.hpp"
#include "wellposed/plot.hpp"
#include "wellposed/validate.hpp"

namespace wp {
namespace {

using Json = nlohmann::ordered_json;

std::string label(const std::string& tensor, const std::string& column) {
  return column.empty() ? tensor : tensor.empty() ? column : tensor + "." + column;
}

std::string offenders_text(const std::vector<Offender>& all) {
  std::string out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Offender& o = all[i];
    out += say(i ? ", " : "", o.index.empty() ? std::string("[]") : say(o.index));
    if (!o.value.empty()) out += say(" = ", o.value);
  }
  return out;
}

std::string field_text(const FieldReport& f) {
  std::string out =
      say(label(f.tensor, f.column), label(f.tensor, f.column).empty() ? "" : "  ", f.dtype, ' ', f.shape);
  if (!f.low.empty()) out += say(", values from ", f.low, " to ", f.high);
  if (f.nans) out += say(", ", f.nans, " NaN");
  if (f.infs) out += say(", ", f.infs, " Inf");
  return out;
}

std::string rule_text(const RuleReport& r) {
  std::string out = say(r.holds ? "  holds   " : "  BROKEN  ", label(r.tensor, r.column));
  if (!label(r.tensor, r.column).empty()) out += ' ';
  out += say(r.rule, r.expected.empty() ? "" : " ",
             r.expected.size() > 60 ? r.expected.substr(0, 57) + "…" : r.expected);
  if (!r.holds) out += say("\n          ", r.code, ": ", r.message);
  if (r.first.size() > 1) out += say("\n          first: ", offenders_text(r.first));
  if (r.worst.size() > 1 && r.worst.front().excess > r.worst.back().excess)
    out += say("\n          worst: ", offenders_text(r.worst));
  if (!r.note.empty()) out += say("\n          note: ", r.note);
  return out + "\n";
}

Json number(double v) {
  return std::isfinite(v) ? Json(v) : Json(nullptr);
}
Json offenders_json(const std::vector<Offender>& all) {
  Json out = Json::array();
  for (const Offender& o : all)
    out.push_back({{"index", std::vector<std::int64_t>(o.index.begin(), o.index.end())},
                   {"row", o.row < 0 ? Json(nullptr) : Json(o.row)},
                   {"value", o.value},
                   {"why", o.why}});
  return out;
}

plot::Chart histogram(const FieldReport& f) {
  plot::Chart chart{.title = label(f.tensor, f.column), .x_label = "value", .y_label = "count"};
  plot::Series bars{.mark = plot::Series::Mark::bars};
  for (std::size_t i = 0; i < f.counts.size(); ++i) {
    bars.x.push_back(f.edges[i] / 2 + f.edges[i + 1] / 2);
    bars.y.push_back(static_cast<double>(f.counts[i]));
  }
  chart.series.push_back(std::move(bars));
  return chart;
}

std::string verdict(const Report& r) {
  const std::int64_t bad = r.failed_rules();
  const auto all = static_cast<std::int64_t>(r.rules.size());
  if (bad == 0) return say("valid: ", all == 1 ? "1 rule holds" : say("all ", all, " rules hold"));
  return say("not valid: ", bad, " of ", plural(all, "rule"), bad == 1 ? " does not hold" : " do not hold");
}

}  // namespace

bool Report::ok() const noexcept {
  return failed_rules() == 0;
}
std::int64_t Report::failed_rules() const noexcept {
  return std::count_if(rules.begin(), rules.end(), [](const RuleReport& r) { return !r.holds; });
}

std::vector<Finding> Report::findings() const {
  std::vector<Finding> out;
  for (const RuleReport& r : rules) {
    if (r.holds) continue;
    const std::string where = label(r.tensor, r.column);
    Finding f = misuse(r.code, "validate",
                       say(where, where.empty() ? "" : ": ", r.message,
                           r.message.ends_with('.') || r.message.ends_with('?') ? "" : "."),
                       "");
    f.count = r.failed;
    f.measured = r.measured;
    if (!r.first.empty()) {
      f.element = r.first[0].index;
      for (const Offender& o : r.first) f.members.push_back(o.row);
    }
    for (const FieldReport& field : fields)
      if (field.tensor == r.tensor && field.column == r.column) {
        f.dtype = field.dtype;
        f.shape = say(field.shape);
      }
    out.push_back(std::move(f));
  }
  return out;
}

std::string Report::text() const {
  std::string out = say(verdict(*this), '\n');
  for (const FieldReport& f : fields)
    if (f.column.empty() || f.nans || f.infs) out += say(field_text(f), '\n');
  for (const bool good : {false, true})
    for (const RuleReport& r : rules)
      if (r.holds == good) out += rule_text(r);
  return out;
}

std::string Report::json() const {
  Json out = {
      {"schema_version", 1}, {"valid", ok()}, {"rules_checked", rules.size()}, {"rules_broken", failed_rules()}};
  out["rules"] = Json::array();
  for (const RuleReport& r : rules) {
    Json one = {{"tensor", r.tensor}, {"column", r.column}, {"rule", r.rule},       {"expected", r.expected},
                {"holds", r.holds},   {"failed", r.failed}, {"checked", r.checked}, {"unit", r.unit}};
    if (!r.holds) one.update({{"code", r.code}, {"message", r.message}});
    if (!r.note.empty()) one["note"] = r.note;
    if (!std::isnan(r.measured)) one["measured"] = number(r.measured);
    one["first"] = offenders_json(r.first);
    one["worst"] = offenders_json(r.worst);
    out["rules"].push_back(std::move(one));
  }
  out["fields"] = Json::array();
  for (const FieldReport& f : fields)
    out["fields"].push_back({{"tensor", f.tensor},
                             {"column", f.column},
                             {"dtype", f.dtype},
                             {"shape", std::vector<std::int64_t>(f.shape.begin(), f.shape.end())},
                             {"values", f.values},
                             {"nans", f.nans},
                             {"infs", f.infs},
                             {"low", f.low},
                             {"high", f.high},
                             {"histogram", {{"edges", f.edges}, {"counts", f.counts}, {"sampled", f.sampled}}}});
  return out.dump(1) + "\n";
}

void Report::html(const std::string& path) const {
  std::string broken, good;
  for (const RuleReport& r : rules) (r.holds ? good : broken) += rule_text(r);
  std::vector<plot::Section> sections{{"", verdict(*this), ""}};
  if (!broken.empty()) sections.push_back({"What is wrong", broken, ""});
  for (const FieldReport& f : fields) {
    std::string words = field_text(f);
    if (f.sampled < f.values) words += say("\nHistogram of ", f.sampled, " of ", f.values, " values.");
    sections.push_back({label(f.tensor, f.column).empty() ? "Data" : label(f.tensor, f.column), words,
                        f.counts.empty() ? "" : plot::svg(histogram(f))});
  }
  if (!good.empty()) sections.push_back({"What holds", good, ""});
  io::write_text(path, plot::page("wellposed validate", sections));
}

void Report::raise(std::source_location where) const {
  const std::vector<Finding> all = findings();
  if (all.empty()) return;
  Finding f = all[0];
  f.place = where;
  for (std::size_t i = 1; i < all.size() && i < 8; ++i)
    f.advice += say(i > 1 ? "\n  " : "", all[i].code, ' ', all[i].message);
  if (all.size() > 8) f.advice += say("\n  ", all.size() - 8, " more rules do not hold.");
  throw ValidationError(std::move(f), std::make_shared<const Report>(*this));
}

}  // namespace wp
