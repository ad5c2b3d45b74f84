#include "summary/reader.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

#include "base/text.hpp"
#include "summary/event.hpp"
#include "summary/wire.hpp"

namespace wp::summary {
namespace {

template <class T>
T number_at(std::string_view bytes, std::size_t at) {
  T v;
  std::memcpy(&v, bytes.data() + at, sizeof v);
  return v;
}

// The length of the record at the front of `rest`; npos: there is none.
std::size_t record_at(std::string_view rest) {
  constexpr std::size_t none = std::string_view::npos;
  if (rest.size() < kRecordHead + kRecordTail) return none;
  if (number_at<std::uint32_t>(rest, 8) != masked_crc(rest.substr(0, 8))) return none;
  const auto length = number_at<std::uint64_t>(rest, 0);
  if (length > rest.size() - kRecordHead - kRecordTail) return none;
  const std::string_view event = rest.substr(kRecordHead, length);
  if (number_at<std::uint32_t>(rest, kRecordHead + length) != masked_crc(event)) return none;
  return kRecordHead + length + kRecordTail;
}

// Whether what is left is the head of a record that goes on behind the end of the file.
bool cut_off(std::string_view rest) {
  if (rest.size() < kRecordHead) return true;
  return number_at<std::uint32_t>(rest, 8) == masked_crc(rest.substr(0, 8)) &&
         number_at<std::uint64_t>(rest, 0) >
             rest.size() - kRecordHead - std::min(rest.size() - kRecordHead, kRecordTail);
}

// ---- TensorProto: its shape, and its content in any of the forms that writers use
struct Content {
  std::int64_t dtype = 0;
  std::vector<double> numbers;
  std::vector<std::string_view> strings;
  bool ok = true;
};

template <class T>
void take(std::vector<double>& to, std::string_view bytes) {
  for (std::size_t i = 0; i + sizeof(T) <= bytes.size(); i += sizeof(T))
    to.push_back(static_cast<double>(number_at<T>(bytes, i)));
}

Content content_of(std::string_view tensor) {
  enum : std::int64_t { dt_float = 1, dt_double = 2 };
  enum { type = 1, content = 4, float_val = 5, double_val = 6, string_val = 8 };
  Content c;
  std::string_view raw;
  Fields f(tensor);
  while (f.next()) switch (f->number) {
      case type: c.dtype = f->integer(); break;
      case content: raw = f->text; break;
      case float_val:
        f->type == Field::bytes ? take<float>(c.numbers, f->text) : c.numbers.push_back(f->real());
        break;
      case double_val:
        f->type == Field::bytes ? take<double>(c.numbers, f->text) : c.numbers.push_back(f->real());
        break;
      case string_val: c.strings.push_back(f->text); break;
      default: break;
    }
  if (c.dtype == dt_float) take<float>(c.numbers, raw);
  if (c.dtype == dt_double) take<double>(c.numbers, raw);
  c.ok = f.ok();
  return c;
}

// HistogramProto, as PyTorch and tensorboardX write it: upper limits of buckets, and their counts.
Tensor rows_of_old(std::string_view histogram) {
  enum { least = 1, limits_field = 6, counts_field = 7 };
  double low = 0;
  std::vector<double> limits, counts, rows;
  for (Fields f(histogram); f.next();) {
    if (f->number == least) low = f->real();
    for (auto [field, to] : {std::pair(int{limits_field}, &limits), std::pair(int{counts_field}, &counts)})
      if (f->number == field) f->type == Field::bytes ? take<double>(*to, f->text) : to->push_back(f->real());
  }
  const std::size_t n = std::min(limits.size(), counts.size());
  for (std::size_t i = 0; i < n; ++i) {
    if (counts[i] == 0) continue;  // runs of empty buckets reach to ±1e308
    rows.insert(rows.end(), {i == 0 ? std::min(low, limits[0]) : std::max(low, limits[i - 1]), limits[i], counts[i]});
  }
  return Tensor::from(rows, {static_cast<std::int64_t>(rows.size() / 3), 3});
}

struct When {
  std::int64_t step;
  double wall_time;
};
template <class Value>
void append(std::map<std::string, EventSeries<Value>>& to, std::string_view tag, const When& when, Value value) {
  EventSeries<Value>& series = to[std::string(tag)];
  series.step.push_back(when.step);
  series.wall_time.push_back(when.wall_time);
  series.value.push_back(std::move(value));
}

std::int64_t integer_of(std::string_view text) {
  std::int64_t v = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), v);
  return v;
}

std::string_view plugin_of(std::string_view metadata) {
  std::string_view plugin;
  for (Fields f(metadata); f.next();)
    if (f->number == 1 && f->type == Field::bytes)
      for (Fields p(f->text); p.next();)
        if (p->number == 1 && p->type == Field::bytes) plugin = p->text;
  return plugin;
}

// The plugin is said by the first event of a tag only; later ones are of the same kind.
bool known_as(const Events& all, std::string_view plugin, std::string_view tag, Plugin kind) {
  if (!plugin.empty()) return plugin == name(kind);
  const std::string key(tag);
  switch (kind) {
    case Plugin::scalars: return all.scalars.contains(key);
    case Plugin::histograms: return all.histograms.contains(key);
    case Plugin::text: return all.texts.contains(key);
    case Plugin::images: return all.images.contains(key);
  }
  return false;
}

void add_tensor(Events& to, std::string_view tag, std::string_view plugin, const When& when, const Content& c) {
  const auto is = [&](Plugin kind) { return known_as(to, plugin, tag, kind); };
  if (is(Plugin::scalars) && c.numbers.size() == 1) {
    append(to.scalars, tag, when, c.numbers[0]);
  } else if (is(Plugin::histograms) && c.numbers.size() % 3 == 0) {
    append(to.histograms, tag, when, Tensor::from(c.numbers, {static_cast<std::int64_t>(c.numbers.size() / 3), 3}));
  } else if (is(Plugin::text) && !c.strings.empty()) {
    std::string text;
    for (const std::string_view s : c.strings) text += say(text.empty() ? "" : "\n\n", s);
    append(to.texts, tag, when, std::move(text));
  } else if (is(Plugin::images) && c.strings.size() > 2) {
    append(to.images, tag, when,
           EventImages{integer_of(c.strings[0]), integer_of(c.strings[1]), {c.strings.begin() + 2, c.strings.end()}});
  } else {
    ++to.others;
  }
}

bool add_value(Events& to, const When& when, std::string_view value) {
  enum { tag_field = 1, simple_value = 2, old_histogram = 5, tensor_field = 8, metadata_field = 9 };
  std::string_view tag, plugin, tensor;
  bool has_tensor = false, known = false;
  Fields f(value);
  while (f.next())
    if (f->type == Field::bytes) {
      if (f->number == tag_field) tag = f->text;
      if (f->number == metadata_field) plugin = plugin_of(f->text);
      if (f->number == tensor_field) tensor = f->text, has_tensor = true;
      if (f->number == old_histogram) append(to.histograms, tag, when, rows_of_old(f->text)), known = true;
    } else if (f->number == simple_value && f->type == Field::fixed32) {
      append(to.scalars, tag, when, f->real());
      known = true;
    }
  if (!f.ok()) return false;
  if (has_tensor) {
    const Content c = content_of(tensor);
    if (!c.ok) return false;
    add_tensor(to, tag, plugin, when, c);
  } else if (!known) {
    ++to.others;
  }
  return true;
}

}  // namespace

void each_record(std::string_view file, const std::function<void(std::string_view)>& each,
                 const std::function<void(std::uint64_t, std::uint64_t, std::string)>& damaged) {
  std::size_t at = 0;
  while (at < file.size()) {
    const std::size_t length = record_at(file.substr(at));
    if (length != std::string_view::npos) {
      each(file.substr(at + kRecordHead, length - kRecordHead - kRecordTail));
      at += length;
      continue;
    }
    std::size_t next = at + 1;
    while (next < file.size() && record_at(file.substr(next)) == std::string_view::npos) ++next;
    const bool last = next == file.size() && cut_off(file.substr(at));
    damaged(
        at, next - at,
        last ? "the last record is not whole: its writer was stopped" : "these bytes are no record: a CRC is wrong");
    at = next;
  }
}

bool add_event(Events& to, std::string_view event) {
  enum { wall_time = 1, step = 2, summary_field = 5 };
  When when{0, 0};
  std::string_view summary;
  Fields f(event);
  while (f.next()) {
    if (f->number == wall_time && f->type == Field::fixed64) when.wall_time = f->real();
    if (f->number == step && f->type == Field::varint) when.step = f->integer();
    if (f->number == summary_field && f->type == Field::bytes) summary = f->text;
  }
  if (!f.ok()) return false;
  ++to.records;
  Fields values(summary);
  while (values.next())
    if (values->number == 1 && values->type == Field::bytes && !add_value(to, when, values->text)) return false;
  return values.ok();
}

}  // namespace wp::summary
