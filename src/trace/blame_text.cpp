#include "base/text.hpp"
#include "io/file.hpp"
#include "wellposed/blame.hpp"
#include "wellposed/plot.hpp"

namespace wp {
namespace {

std::string brackets(const Dims& element) {
  return element.empty() ? std::string() : say(element);
}

std::string where(const BlameLink& l) {
  std::string out = l.place.known() ? "at " + l.place.text() : "";
  if (!l.scope.empty()) out += (out.empty() ? "scope " : ", scope ") + l.scope;
  if (l.step >= 0) out += say(out.empty() ? "step " : ", step ", l.step);
  return out;
}

// "data row 7311, column 4 = nan"; "weights[2, 3] = nan, given".
std::string entrance(const Blame& b) {
  if (b.source == Blame::Source::data) {
    const std::string at = b.entry.empty()       ? ""
                           : b.entry.size() == 1 ? say(", column ", b.entry[0])
                                                 : say(", entry ", b.entry);
    return say(b.name, " row ", b.row, at, " = ", b.value);
  }
  return say(b.name.empty() ? "a tensor" : b.name, brackets(b.entry), " = ", b.value,
             b.source == Blame::Source::given ? ", given" : ", made before");
}

std::string rows_text(const Blame& b) {
  std::string out = say(b.rows_name, b.rows.size() == 1 ? " row " : " rows ");
  for (std::size_t i = 0; i < b.rows.size(); ++i) out += say(i ? ", " : "", b.rows[i]);
  return out;
}

// The steps of the way, one text each, the source last.
std::vector<std::string> stations(const Blame& b) {
  std::vector<std::string> all;
  for (const BlameLink& l : b.chain) all.push_back(l.op + brackets(l.element));
  if (all.empty() || b.source != Blame::Source::op)
    all.push_back(entrance(b));
  else if (!b.rows.empty())
    all.push_back(rows_text(b));
  return all;
}

}  // namespace

std::string Blame::text() const {
  std::string out =
      asked.value.empty() ? "" : say(asked.value, brackets(asked.element).empty() ? "" : say(" at ", asked.element));
  for (const std::string& s : stations(*this)) out += (out.empty() ? "" : " ← ") + s;
  if (source == Source::op && !chain.empty()) {
    const BlameLink& l = chain.back();
    out += say("\n  Source: ", l.op, brackets(l.element), value.empty() ? "" : say(" made ", value));
    for (std::size_t i = 0; i < operands.size(); ++i) out += (i ? ", " : " of ") + operands[i];
    if (const std::string at = where(l); !at.empty()) out += ", " + at;
  } else {
    out += "\n  Source: " + entrance(*this);
    if (!chain.empty()) out += say("; first read by ", chain.back().op, " ", where(chain.back()));
  }
  if (!rows.empty()) out += say("\n  It rests on ", rows_text(*this), ".");
  if (!advice.empty()) out += "\n  " + advice;
  if (spread > 0)
    out += say("\n  ", plural(spread, "other result"), spread == 1 ? " is" : " are",
               " not finite because of it or after it.");
  if (!missing.empty()) out += "\n  " + missing;
  return out;
}

std::string Blame::json() const {
  constexpr const char* sources[] = {"op", "data", "given", "unknown"};
  const auto link = [](const BlameLink& l) {
    std::string out = say("{\"op\": ", json_quote(l.op), ", \"element\": ", l.element,
                          ", \"value\": ", json_quote(l.value), ", \"dtype\": ", json_quote(l.dtype),
                          ", \"shape\": ", json_quote(l.shape), ", \"scope\": ", json_quote(l.scope));
    if (l.place.known()) out += say(", \"file\": ", json_quote(l.place.file), ", \"line\": ", l.place.line);
    if (l.step >= 0) out += say(", \"step\": ", l.step);
    return out + "}";
  };
  std::string out = say("{\"schema_version\": 1, \"source\": \"", sources[static_cast<int>(source)],
                        "\", \"asked\": ", link(asked), ", \"chain\": [");
  for (std::size_t i = 0; i < chain.size(); ++i) out += (i ? ", " : "") + link(chain[i]);
  out += say("], \"operands\": ", json_list(operands), ", \"value\": ", json_quote(value),
             ", \"name\": ", json_quote(name), ", \"row\": ", row, ", \"entry\": ", entry,
             ", \"rows_name\": ", json_quote(rows_name), ", \"rows\": ", Dims(rows.begin(), rows.end()),
             ", \"spread\": ", spread, ", \"advice\": ", json_quote(advice), ", \"missing\": ", json_quote(missing));
  return out + "}";
}

void Blame::html(const std::string& path) const {
  // Boxes from left (what was asked) to right (the source), wrapped into rows.
  constexpr int kWidth = 220, kHeight = 64, kGap = 36, kColumns = 4;
  const std::vector<std::string> all = stations(*this);
  const int n = static_cast<int>(all.size()), lines = (n + kColumns - 1) / kColumns;
  std::string svg =
      say("<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" viewBox=\"0 0 ", kColumns * (kWidth + kGap), " ",
          lines * (kHeight + kGap), "\" font-family=\"sans-serif\" font-size=\"12\">");
  for (int i = 0; i < n; ++i) {
    const int x = i % kColumns * (kWidth + kGap), y = i / kColumns * (kHeight + kGap);
    const bool last = i + 1 == n;
    const auto k = static_cast<std::size_t>(i);
    svg += say("<rect x=\"", x + 1, "\" y=\"", y + 1, "\" width=\"", kWidth, "\" height=\"", kHeight,
               "\" rx=\"6\" fill=\"", last ? "#fde2e2" : "#eef3fb", "\" stroke=\"", last ? "#b91c1c" : "#4a6fa5",
               "\"/>");
    svg += say("<text x=\"", x + 10, "\" y=\"", y + 22, "\" font-weight=\"bold\">", plot::escaped(all[k]), "</text>");
    if (k < chain.size())
      svg += say("<text x=\"", x + 10, "\" y=\"", y + 40, "\">", plot::escaped(say("= ", chain[k].value)),
                 "</text><text x=\"", x + 10, "\" y=\"", y + 56, "\" fill=\"#555\">", plot::escaped(where(chain[k])),
                 "</text>");
    if (!last) svg += say("<text x=\"", x + kWidth + 10, "\" y=\"", y + 36, "\" font-size=\"18\">←</text>");
  }
  svg += "</svg>";
  io::write_text(path, plot::page("Where it comes from", {{"The way back", "", svg}, {"In words", text(), ""}}));
}

}  // namespace wp
