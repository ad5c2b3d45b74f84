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

}  // namespace

Number parse_number(std::string_view text) {
  Number n;
  if (is_missing(text)) return {FieldKind::missing, 0, std::numeric_limits<double>::quiet_NaN()};
  const char* first = text.data();
  const char* const last = first + text.size();
  if (*first == '+' && text.size() > 1 && text[1] != '-' && text[1] != '+') ++first;
  if (const auto [end, error] = std::from_chars(first, last, n.integer); end == last && error == std::errc()) {
    n.kind = FieldKind::integer;
    n.real = static_cast<double>(n.integer);
    return n;
  }
  const auto [end, error] = fast_float::from_chars(first, last, n.real);
  if (end != last || std::isnan(n.real)) return n;  // nan(…) says nothing that can be kept
  const bool infinite = std::isinf(n.real);
  const bool written_so = std::any_of(first, last, [](char c) { return c == 'i' || c == 'I'; });
  n.kind = infinite && !written_so ? FieldKind::beyond : FieldKind::real;
  return n;
}

Records::Records(const Source& source, std::string_view text, char delimiter)
    : source_(source), text_(text), delimiter_(delimiter) {
  if (text_.starts_with("\xff\xfe") || text_.starts_with("\xfe\xff"))
    source_.refuse_at("WP-FMT-001", 0, "this is UTF-16 text.",
                      "Convert it to UTF-8 first (iconv -f utf-16 -t utf-8).");
  if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;
}

void Records::skip_blanks() {
  while (at_ < text_.size() && (text_[at_] == ' ' || (text_[at_] == '\t' && delimiter_ != '\t'))) ++at_;
}

void Records::end_line() noexcept {
  if (at_ < text_.size() && text_[at_] == '\r') ++at_;
  if (at_ < text_.size() && text_[at_] == '\n') ++at_;
  ++line_;
}

Field Records::quoted() {
  const std::size_t start = at_++;
  Field f{{}, start, line_, true};
  for (;;) {
    const std::size_t end = text_.find('"', at_);
    if (end == std::string_view::npos)
      source_.refuse_at("WP-FMT-005", start, say("line ", f.line, ": a quoted field does not end."));
    at_ = end + 1;
    if (at_ == text_.size() || text_[at_] != '"') break;
    ++at_;
  }
  f.text = text_.substr(start + 1, at_ - start - 2);
  line_ += static_cast<std::uint64_t>(std::count(f.text.begin(), f.text.end(), '\n'));
  skip_blanks();
  if (!at_end_of_line() && text_[at_] != delimiter_ && delimiter_ != ' ')
    source_.refuse_at("WP-FMT-005", at_, say("line ", line_, ": text follows a closing quote."));
  return f;
}

Field Records::field() {
  skip_blanks();
  if (at_ < text_.size() && text_[at_] == '"') return quoted();
  const std::size_t start = at_;
  const char stops[] = {delimiter_, '\n', '\r'};
  at_ = std::min(text_.find_first_of(std::string_view(stops, 3), at_), text_.size());
  std::size_t end = at_;
  while (end > start && (text_[end - 1] == ' ' || text_[end - 1] == '\t')) --end;
  return {text_.substr(start, end - start), start, line_, false};
}

bool Records::next(std::vector<Field>& fields) {
  fields.clear();
  for (;; end_line()) {
    const bool comment = at_ < text_.size() && text_[at_] == '#';
    if (comment) at_ = std::min(text_.find('\n', at_), text_.size());
    if (at_ == text_.size()) return false;
    const std::size_t start = at_;
    skip_blanks();
    if (!at_end_of_line()) {
      at_ = start;
      break;
    }
    if (started_ && !comment) ++blank_lines_;
  }
  started_ = true;
  if (one_column_ && blank_lines_ > 0) {
    fields.push_back({{}, at_, line_ - blank_lines_--, false});
    return true;
  }
  blank_lines_ = 0;
  for (;;) {
    fields.push_back(field());
    if (delimiter_ == ' ') skip_blanks();
    if (at_end_of_line()) break;
    if (text_[at_] == delimiter_) ++at_;
  }
  end_line();
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
// Records of equal length count 1, the share of numbers in the first record up to 1.5 (names count 1), in the
// others 1.
Fit fit(const Source& source, std::string_view text, char delimiter) {
  const auto share = [](const std::vector<Field>& fields) {
    return static_cast<double>(
               std::count_if(fields.begin(), fields.end(),
                             [](const Field& f) { return parse_number(f.text).kind != FieldKind::text; })) /
           static_cast<double>(fields.size());
  };
  try {
    Records records(source, text, delimiter);
    std::vector<Field> fields;
    if (!records.next(fields)) return {};
    Fit result{fields.size(), is_header(fields) ? 1.0 : 1.5 * share(fields)};
    bool even = true;
    double numbers = 0, count = 0;
    for (; count < kSampleRecords && records.next(fields); ++count) {
      even &= fields.size() == result.columns;
      numbers += share(fields);
    }
    result.score += (even ? 1 : 0) + (count > 0 ? numbers / count : 0);
    return result;
  } catch (const FormatError&) {
    return {};  // quotes that make no sense with this delimiter
  }
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
