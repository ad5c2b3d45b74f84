#include <fast_float/fast_float.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "io/csv.hpp"

namespace wp::io {
namespace {

constexpr std::string_view kCandidates = ",\t;| ";
constexpr std::size_t kSampleBytes = 64 * 1024;
constexpr int kSampleRecords = 20;

bool is_missing(std::string_view text) {
  static constexpr std::array<std::string_view, 5> words{"na", "n/a", "null", "none", "nan"};
  if (text.empty()) return true;
  if (text.size() > 4) return false;
  char lower[4];
  for (std::size_t i = 0; i < text.size(); ++i)
    lower[i] = text[i] >= 'A' && text[i] <= 'Z' ? static_cast<char>(text[i] + ('a' - 'A')) : text[i];
  return std::find(words.begin(), words.end(), std::string_view(lower, text.size())) != words.end();
}

// 1, 0, or −1 for other text.
int boolean_of(std::string_view text) {
  for (const auto& [word, value] : {std::pair{std::string_view("true"), 1}, {std::string_view("false"), 0}})
    if (text == word || (text.size() == word.size() && text[0] == word[0] - 32 &&
                         (text.substr(1) == word.substr(1) || text[1] == word[1] - 32)))
      return value;
  return -1;
}

}  // namespace

Number parse_number(std::string_view text) {
  Number n;
  if (is_missing(text)) return {FieldKind::missing, 0, std::numeric_limits<double>::quiet_NaN()};
  if (const int truth = boolean_of(text); truth >= 0) return {FieldKind::boolean, truth, static_cast<double>(truth)};
  const char* first = text.data();
  const char* const last = first + text.size();
  if (*first == '+' && text.size() > 1 && text[1] != '-' && text[1] != '+') ++first;
  if (const auto [end, error] = std::from_chars(first, last, n.integer); end == last && error == std::errc()) {
    const bool minus_zero = n.integer == 0 && *first == '-';  // i64 has none
    n.kind = minus_zero ? FieldKind::real : FieldKind::integer;
    n.real = minus_zero ? -0.0 : static_cast<double>(n.integer);
    return n;
  }
  const auto [end, error] = fast_float::from_chars(first, last, n.real);
  if (end != last || std::isnan(n.real)) return n;  // nan(…) says nothing that can be kept
  const bool infinite = std::isinf(n.real);
  const bool written_so = std::any_of(first, last, [](char c) { return c == 'i' || c == 'I'; });
  n.kind = infinite && !written_so ? FieldKind::beyond : FieldKind::real;
  return n;
}

std::string unquoted(const Field& f) {
  std::string out(f.text);
  if (f.quoted)
    for (std::size_t at = 0; (at = out.find("\"\"", at)) != std::string::npos; ++at) out.erase(at, 1);
  return out;
}

void Cursor::skip_blanks() noexcept {
  while (at < text.size() && (text[at] == ' ' || (text[at] == '\t' && delimiter != '\t'))) ++at;
}

void Cursor::end_line() noexcept {
  if (at < text.size() && text[at] == '\r') ++at;
  if (at < text.size() && text[at] == '\n') ++at;
}

Cursor::Line Cursor::skip_line() noexcept {
  if (at == text.size()) return Line::end;
  const std::size_t start = at;
  const bool comment = text[at] == '#';
  if (comment)
    at = std::min(text.find('\n', at), text.size());
  else
    skip_blanks();
  if (!at_end_of_line()) {
    at = start;
    return Line::record;
  }
  if (!comment && at == text.size()) return Line::end;
  end_line();
  return comment ? Line::comment : Line::blank;
}

Cursor::Fault Cursor::field(Field& f) noexcept {
  skip_blanks();
  const std::size_t start = at;
  f = {{}, start, at < text.size() && text[at] == '"'};
  if (!f.quoted) {
    const char stops[] = {delimiter, '\n', '\r'};
    at = std::min(text.find_first_of(std::string_view(stops, 3), at), text.size());
    std::size_t end = at;
    while (end > start && (text[end - 1] == ' ' || text[end - 1] == '\t')) --end;
    f.text = text.substr(start, end - start);
    return Fault::none;
  }
  for (++at;; ++at) {
    const std::size_t end = text.find('"', at);
    at = end == std::string_view::npos ? start : end + 1;
    if (at == start) return Fault::open_quote;
    if (at == text.size() || text[at] != '"') break;
  }
  f.text = text.substr(start + 1, at - start - 2);
  const std::size_t behind = at;
  skip_blanks();
  const bool separated = delimiter == ' ' ? at > behind : at < text.size() && text[at] == delimiter;
  return at_end_of_line() || separated ? Fault::none : Fault::after_quote;
}

bool Cursor::next_field() noexcept {
  if (delimiter == ' ') skip_blanks();
  if (at_end_of_line()) return false;
  if (text[at] == delimiter) ++at;
  return true;
}

std::uint64_t line_of(const Source& source, std::uint64_t offset) {
  std::vector<char> buffer(
      static_cast<std::size_t>(std::min<std::uint64_t>(kSampleBytes, std::max<std::uint64_t>(offset, 1))));
  std::uint64_t line = 1;
  bool carriage = false;
  for (std::uint64_t at = 0; at < offset; at += buffer.size()) {
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), offset - at));
    source.read(at, buffer.data(), n);
    for (std::size_t i = 0; i < n; ++i) {
      line += buffer[i] == '\r' || (buffer[i] == '\n' && !carriage);
      carriage = buffer[i] == '\r';
    }
  }
  return line;
}

void bad_quotes(const Source& source, std::uint64_t offset, Cursor::Fault fault) {
  source.refuse_at(
      "WP-FMT-005", offset,
      say("line ", line_of(source, offset),
          fault == Cursor::Fault::open_quote ? ": a quoted field does not end." : ": text follows a closing quote."));
}

Records::Records(const Source& source, std::string_view text, char delimiter)
    : source_(source), cursor_{text, delimiter} {
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff"))
    source_.refuse_at("WP-FMT-001", 0, "this is UTF-16 text.",
                      "Convert it to UTF-8 first (iconv -f utf-16 -t utf-8).");
  if (text.starts_with("\xef\xbb\xbf")) cursor_.at = 3;
}

bool Records::next(std::vector<Field>& fields) {
  fields.clear();
  Cursor::Line line = cursor_.skip_line();
  while (line == Cursor::Line::comment || line == Cursor::Line::blank) line = cursor_.skip_line();
  if (line == Cursor::Line::end) return false;
  do {
    fields.emplace_back();
    if (const Cursor::Fault fault = cursor_.field(fields.back()); fault != Cursor::Fault::none)
      bad_quotes(source_, cursor_.at, fault);
  } while (cursor_.next_field());
  cursor_.end_line();
  return true;
}

bool is_header(const std::vector<Field>& fields) {
  bool text = false;
  for (const Field& f : fields) {
    if (parse_number(f.text).kind != FieldKind::text) continue;
    const std::size_t sign = f.text[0] == '+' || f.text[0] == '-' || f.text[0] == '.' ? 1 : 0;
    if (!f.quoted && f.text.size() > sign && f.text[sign] >= '0' && f.text[sign] <= '9') return false;
    text = true;
  }
  return text;
}

namespace {

struct Fit {
  std::size_t columns = 0;  // of the first record
  double score = -1;
};
// The share of records that are as long as the first counts 1 (of one field: where no other candidate stands in it,
// as every delimiter that does not occur makes one field of a line, and no comma in the first record), the share of
// numbers in the first record up to 1.5 (names count 1), in the others 1. A record whose quotes make no sense is the
// last that is looked at.
Fit fit(const Source& source, std::string_view text, char delimiter) {
  const auto share = [](const std::vector<Field>& fields) {
    return static_cast<double>(
               std::count_if(fields.begin(), fields.end(),
                             [](const Field& f) { return parse_number(f.text).kind != FieldKind::text; })) /
           static_cast<double>(fields.size());
  };
  Fit result;
  double even = 0, numbers = 0, count = 0;
  try {
    Records records(source, text, delimiter);
    std::vector<Field> fields;
    if (!records.next(fields)) return {};
    result = {fields.size(), is_header(fields) ? 1.0 : 1.5 * share(fields)};
    const auto is_without = [&](std::string_view candidates) {
      const Field& f = fields[0];
      return fields.size() > 1 || f.quoted || f.text.find_first_of(candidates) == std::string_view::npos;
    };
    const bool first = is_without(",");
    while (count < kSampleRecords && records.next(fields)) {
      ++count;
      even += first && fields.size() == result.columns && is_without(",\t;|");
      numbers += share(fields);
    }
  } catch (const FormatError&) {
    if (result.score < 0) return {};  // the first record
    ++count;
  }
  if (count > 0) result.score += (even + numbers) / count;
  return result;
}

}  // namespace

char detect_delimiter(const Source& source, std::string_view text) {
  if (text.size() > kSampleBytes) text = text.substr(0, std::min(text.rfind('\n', kSampleBytes), kSampleBytes));
  char best = ',';
  Fit most;
  for (const char candidate : kCandidates) {
    const Fit f = fit(source, text, candidate);
    const bool wider = f.score == most.score && f.columns > most.columns && candidate != ' ';
    if (f.score > most.score || wider) {
      most = f;
      best = candidate;
    }
  }
  return best;
}

}  // namespace wp::io
