#include "io/safetensors.hpp"

#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "io/stored.hpp"

namespace wp::io {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMaxHeader = 100'000'000;  // as the reference reader
constexpr std::size_t kMaxAxes = 64;
constexpr std::string_view kMetadata = "__metadata__";

struct Code {
  std::string_view code;
  DType dtype;
};
constexpr std::array<Code, 14> codes{{{"BOOL", DType::boolean},
                                      {"I8", i8},
                                      {"I16", i16},
                                      {"I32", i32},
                                      {"I64", i64},
                                      {"U8", u8},
                                      {"U16", u16},
                                      {"U32", u32},
                                      {"U64", u64},
                                      {"F16", f16},
                                      {"BF16", bf16},
                                      {"F32", f32},
                                      {"F64", f64},
                                      {"C64", c64}}};

struct Contents {
  std::vector<std::string> names;
  std::vector<Stored> arrays;
  Metadata metadata;
};

// Takes the header's events: { name: {"dtype": …, "shape": […], "data_offsets": [a, b]}, "__metadata__": {…} }.
class Events final : public nlohmann::json_sax<json> {
 public:
  explicit Events(const Source& source) : source_(source), most_(most_entries(source.size())) {}
  std::vector<std::string> names;
  std::vector<Stored> arrays;
  std::vector<std::uint64_t> ends;
  Metadata metadata;

  bool null() override { return wrong("null"); }
  bool boolean(bool) override { return wrong("a boolean"); }
  bool number_integer(number_integer_t v) override { return wrong(say("the number ", v)); }
  bool number_float(number_float_t, const string_t& s) override { return wrong(say("the number ", excerpt(s))); }
  bool binary(binary_t&) override { return wrong("bytes"); }
  bool number_unsigned(number_unsigned_t v) override {
    if (!list_) return wrong(say("the number ", v));
    if (v > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      bad(say("the number ", v, " is too large"));
    numbers_.push_back(static_cast<std::int64_t>(v));
    if (numbers_.size() > kMaxAxes) bad(say("the shape has more than ", kMaxAxes, " axes"));
    return true;
  }
  bool string(string_t& s) override {
    if (list_ || depth_ != 2) return wrong("a text");
    if (in_metadata_) {
      metadata.emplace_back(key_, s);
      return true;
    }
    if (key_ != "dtype") return wrong("a text");
    for (const Code& c : codes)
      if (c.code == s) {
        arrays.back().dtype = c.dtype;
        return true;
      }
    source_.refuse_at("WP-FMT-004", 8, say("dtype '", excerpt(s), "' of '", excerpt(names.back()), "' is not read."));
  }
  bool start_object(std::size_t) override {
    if (list_ || depth_ == 2 || (depth_ == 1 && key_.empty() && !named_)) return wrong("an object");
    if (++depth_ == 1) return true;
    in_metadata_ = key_ == kMetadata;
    if (!in_metadata_) {
      names.push_back(key_);
      arrays.emplace_back();
      ends.push_back(0);
    }
    seen_ = 0;
    metadata_keys_.clear();
    return true;
  }
  bool end_object() override {
    if (depth_-- == 2 && !in_metadata_ && seen_ != 7) bad("it needs dtype, shape and data_offsets");
    return true;
  }
  bool key(string_t& k) override {
    key_ = k;
    if (depth_ == 1 || in_metadata_) {
      if (++entries_ > most_) bad(say("it has more than ", most_, " entries, the most for a file of this size"));
    }
    if (depth_ == 1) {
      in_metadata_ = false;
      named_ = true;
      if (k == kMetadata && std::exchange(has_metadata_, true)) bad(say("the name '", k, "' stands twice"));
    } else if (in_metadata_) {
      if (!metadata_keys_.insert(k).second) bad(say("the metadata '", excerpt(k), "' stand twice"));
    } else {
      const unsigned bit = k == "dtype" ? 1U : k == "shape" ? 2U : k == "data_offsets" ? 4U : 0U;
      if (!bit || (seen_ & bit)) bad(say(bit ? "twice '" : "unknown key '", excerpt(k), "'"));
      seen_ |= bit;
    }
    return true;
  }
  bool start_array(std::size_t) override {
    if (list_ || depth_ != 2 || in_metadata_ || key_ == "dtype") return wrong("a list");
    list_ = true;
    numbers_.clear();
    return true;
  }
  bool end_array() override {
    list_ = false;
    if (key_ == "shape") {
      arrays.back().shape = numbers_;
      return true;
    }
    if (numbers_.size() != 2) bad("data_offsets must be two numbers");
    arrays.back().data = static_cast<std::uint64_t>(numbers_[0]);
    ends.back() = static_cast<std::uint64_t>(numbers_[1]);
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const json::exception& e) override {
    std::string_view why = e.what();
    why = why.substr(std::min(why.find("] ") + 2, why.size()));
    source_.refuse_at("WP-FMT-002", 8 + (position ? position - 1 : 0),
                      say("the header is not JSON: ", excerpt(why, 160), "."));
  }

 private:
  [[noreturn]] void bad(std::string_view reason) const {
    const std::string of = names.empty() || depth_ < 2 ? "" : say("array '", excerpt(names.back()), "': ");
    source_.refuse_at("WP-FMT-002", 8, say("bad safetensors header: ", of, reason, "."));
  }
  bool wrong(std::string_view found) const {
    bad(say("found ", found, depth_ == 0 ? " instead of an object" : say(" at '", excerpt(key_), "'")));
  }

  const Source& source_;
  std::uint64_t most_, entries_ = 0;  // names, and texts of metadata
  int depth_ = 0;
  bool in_metadata_ = false, has_metadata_ = false, list_ = false, named_ = false;
  unsigned seen_ = 0;
  std::string key_;
  Dims numbers_;
  std::unordered_set<std::string> metadata_keys_;
};

// Arrays fill the file from the header to the end, one after the other, in the order of their offsets.
Contents placed(const Source& source, Events& e, std::uint64_t base) {
  std::vector<std::size_t> order(e.names.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return e.names[a] < e.names[b]; });
  for (std::size_t i = 1; i < order.size(); ++i)
    if (e.names[order[i]] == e.names[order[i - 1]])
      source.refuse_at("WP-FMT-002", 8,
                       say("bad safetensors header: the name '", excerpt(e.names[order[i]]), "' stands twice."));
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(e.arrays[a].data, e.ends[a]) < std::pair(e.arrays[b].data, e.ends[b]);
  });
  Contents out;
  out.metadata = std::move(e.metadata);
  std::uint64_t at = 0;
  for (const std::size_t i : order) {
    Stored& s = e.arrays[i];
    const std::string of = say("array '", excerpt(e.names[i]), "' ");
    if (s.data != at)
      source.refuse_at("WP-FMT-003", base + std::min(at, source.size() - base),
                       say(of, s.data < at ? "overlaps the one before" : "leaves a gap", ": it begins at byte ",
                           s.data, " of the data, ", at, " are taken."));
    if (!bytes_of(s.dtype, s.shape, s.bytes) || e.ends[i] < s.data || e.ends[i] - s.data != s.bytes)
      source.refuse_at("WP-FMT-003", base + std::min(at, source.size() - base),
                       say(of, "is said to lie in bytes ", s.data, " to ", e.ends[i], " of the data, but is ",
                           s.dtype, " ", s.shape, "."));
    at = e.ends[i];
    s.data += base;
    out.names.push_back(std::move(e.names[i]));
    out.arrays.push_back(s);
  }
  if (at != source.size() - base)
    source.refuse_at("WP-FMT-003", base,
                     say("the header promises ", at, " bytes of data, but ", source.size() - base, " follow it",
                         at > source.size() - base ? ": truncated." : "."));
  return out;
}

Contents read_contents(const Source& source) {
  if (source.size() < 8)
    source.refuse_at("WP-FMT-003", source.size(), "the file is too short for a safetensors header: truncated.");
  std::uint64_t length = 0;
  source.read(0, &length, sizeof length);
  if (length > kMaxHeader || length > source.size() - 8)
    source.refuse_at("WP-FMT-003", 0,
                     say("the header is said to have ", length, " bytes, but ", source.size() - 8,
                         " follow: truncated or not a safetensors file."));
  std::string text(static_cast<std::size_t>(length), '\0');
  source.read(8, text.data(), text.size());
  if (!text.starts_with('{')) source.refuse_at("WP-FMT-001", 8, "a safetensors header begins with '{'.");
  // The parser takes a NUL for the end of the text, and would not look at what follows.
  if (const std::size_t nul = text.find('\0'); nul != std::string::npos)
    source.refuse_at("WP-FMT-002", 8 + nul, "the header is not JSON: it holds a NUL byte.");
  Events events(source);
  json::sax_parse(text, &events);
  return placed(source, events, 8 + length);
}

std::string_view code_of(DType dtype, const std::string& array) {
  for (const Code& c : codes)
    if (c.dtype == dtype) return c.code;
  refuse<DtypeError>("WP-DTY-001", say("safetensors has no dtype for ", dtype, " (array '", excerpt(array), "')."),
                     "Save real and imaginary part, or save as .npz.");
}

struct Written {
  std::string name;
  DType dtype;
  Dims shape;
};
// Its length and the header itself, in a multiple of 64 bytes, or in `length`.
std::string header_text(const std::vector<Written>& arrays, const Metadata& metadata, std::size_t length = 0) {
  std::string header = "{";
  const auto item = [&](const std::string& text) { header += (header.size() > 1 ? "," : "") + text; };
  if (!metadata.empty()) {
    std::string pairs;
    std::unordered_set<std::string_view> keys;
    for (const auto& [key, value] : metadata) {
      if (!keys.insert(key).second || !valid_utf8(key) || !valid_utf8(value))
        refuse<ArgumentError>("WP-ARG-001",
                              say("metadata are texts under different names; got '", excerpt(key), "'."));
      pairs += (pairs.empty() ? "" : ",") + json_quote(key) + ":" + json_quote(value);
    }
    item(say(json_quote(kMetadata), ":{", pairs, "}"));
  }
  std::uint64_t at = 0;
  for (const auto& [name, dtype, shape] : arrays) {
    if (name == kMetadata) refuse<ArgumentError>("WP-ARG-001", "an array cannot be called __metadata__.");
    std::string lengths;
    std::uint64_t bytes = size_of(dtype);
    for (std::size_t k = 0; k < shape.size(); ++k) {
      lengths += say(k ? "," : "", shape[k]);
      bytes *= static_cast<std::uint64_t>(shape[k]);
    }
    item(say(json_quote(name), ":{\"dtype\":\"", code_of(dtype, name), "\",\"shape\":[", lengths,
             "],\"data_offsets\":[", at, ",", at + bytes, "]}"));
    at += bytes;
  }
  header += "}";
  const std::size_t tight = 8 + header.size(), whole = std::max(length, (tight + 63) / 64 * 64);
  header.append(whole - tight, ' ');
  const std::uint64_t count = header.size();
  if (count > kMaxHeader)
    refuse<ArgumentError>("WP-ARG-001",
                          say("the header would have ", count, " bytes; ", kMaxHeader, " are allowed."));
  std::string out(sizeof count, '\0');
  std::memcpy(out.data(), &count, sizeof count);
  return out + header;
}

}  // namespace

Tensor read_safetensors(const Source& source, const LoadOptions& options) {
  const Contents c = read_contents(source);
  return read_stored(source, c.arrays[chosen_one(source, c.names, options.names)], options);
}

NamedTensors read_all_safetensors(const Source& source, const LoadOptions& options) {
  const Contents c = read_contents(source);
  NamedTensors out;
  for (const std::size_t i : chosen(source, c.names, options.names))
    out.emplace_back(c.names[i], read_stored(source, c.arrays[i], options));
  return out;
}

OwnedBlocks safetensors_blocks(std::shared_ptr<const Source> source, const BlockOptions& options) {
  const Contents c = read_contents(*source);
  OwnedBlocks out;
  for (const std::size_t i : chosen(*source, c.names, options.load.names))
    out.push_back(stored_blocks(source, c.names[i], c.arrays[i]));
  return out;
}

Metadata safetensors_metadata(const Source& source) {
  return read_contents(source).metadata;
}

void write_safetensors(Sink& sink, const NamedTensors& arrays, const SaveOptions& options) {
  refuse_names(options, ".safetensors");
  std::vector<Written> all;
  for (const auto& [name, t] : arrays) all.push_back({name, t.dtype(), t.shape()});
  sink.write(header_text(all, options.metadata));
  for (const auto& [name, t] : arrays)
    write_elements(t, [&](const char* bytes, std::size_t count) { sink.write(bytes, count); });
}

std::unique_ptr<RowSink> safetensors_rows(Sink& sink, const SaveOptions& options) {
  refuse_names(options, ".safetensors");
  return headed_rows(sink, [metadata = options.metadata](DType dtype, const Dims& shape, std::size_t length) {
    return header_text({{"tensor", dtype, shape}}, metadata, length);
  });
}

}  // namespace wp::io
