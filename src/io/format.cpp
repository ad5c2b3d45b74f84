#include "io/format.hpp"

#include <unistd.h>

#include <array>
#include <unordered_set>

#include "io/calling.hpp"
#include "io/csv.hpp"
#include "io/mtx.hpp"
#include "io/npy.hpp"
#include "io/npz.hpp"
#include "io/raw.hpp"
#include "io/safetensors.hpp"
#include "io/zip.hpp"
#include "tensor/note.hpp"

namespace wp::io {
namespace {

OwnedBlocks one(std::unique_ptr<Blocks> blocks) {
  OwnedBlocks out;
  out.push_back(std::move(blocks));
  return out;
}

template <char delimiter>
constexpr Format text_table(std::string_view ending) {
  constexpr char written = delimiter ? delimiter : ',';
  return {ending,
          "",
          [](const Source& s, const LoadOptions& o) { return read_csv(s, o, delimiter).values; },
          [](const Source& s, const LoadOptions& o) { return read_columns(s, o, delimiter); },
          [](std::shared_ptr<const Source> s, const BlockOptions& o) {
            return one(csv_blocks(std::move(s), o, delimiter));
          },
          [](Sink& s, const Tensor& t, const SaveOptions& o) { write_csv(s, t, o, written); },
          [](Sink& s, const NamedTensors& a, const SaveOptions& o) { write_columns(s, a, o, written); },
          [](Sink& s, const SaveOptions& o) { return csv_rows(s, o, written); }};
}

constexpr Format raw_file(std::string_view ending) {
  return {ending,
          "",
          read_raw,
          [](const Source& s, const LoadOptions& o) {
            return NamedTensors{{"", read_raw(s, o)}};
          },
          [](std::shared_ptr<const Source> s, const BlockOptions& o) {
            const Stored layout = raw_layout(*s, o.load);
            return one(stored_blocks(std::move(s), "", layout));
          },
          write_raw,
          nullptr,
          raw_rows};
}

constexpr std::array table{
    Format{".npy", npy_magic, read_npy,
           [](const Source& s, const LoadOptions& o) {
             return NamedTensors{{"", read_npy(s, o)}};
           },
           [](std::shared_ptr<const Source> s, const BlockOptions& o) {
             chosen_one(*s, {""}, o.load.names);
             const Stored header = read_npy_header(*s);
             return one(stored_blocks(std::move(s), "", header));
           },
           write_npy, nullptr, npy_rows},
    Format{".npz", zip_magic, read_npz, read_all_npz, npz_blocks,
           [](Sink& s, const Tensor& t, const SaveOptions& o) {
             write_npz(s, {{"arr_0", t}}, o);
           },
           write_npz, npz_rows},
    Format{".safetensors", "", read_safetensors, read_all_safetensors, safetensors_blocks,
           [](Sink& s, const Tensor& t, const SaveOptions& o) {
             write_safetensors(s, {{"tensor", t}}, o);
           },
           write_safetensors, safetensors_rows},
    Format{".mtx", mtx_magic, read_mtx, read_all_mtx,
           [](std::shared_ptr<const Source> s, const BlockOptions& o) {
             OwnedBlocks out;
             for (const auto& [name, t] : read_all_mtx(*s, o.load))
               out.push_back(loaded_blocks({{name, t}}, t.nbytes()));
             return out;
           },
           write_mtx, write_sparse_mtx, nullptr},
    text_table<0>(".csv"),
    text_table<'\t'>(".tsv"),
    raw_file(".bin"),
    raw_file(".raw"),
};

std::string ending_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  const std::size_t dot = name.rfind('.');
  std::string ending(dot == std::string_view::npos ? "" : name.substr(dot));
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; });
  return ending;
}

std::string list_of(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < std::min<std::size_t>(names.size(), 8); ++i)
    out += say(i ? ", " : "", "'", excerpt(names[i]), "'");
  return names.size() > 8 ? out + ", …" : out;
}

void check_arrays(const NamedTensors& arrays, const SaveOptions& options) {
  std::uint64_t bytes = 0;  // at least of the file, unless it is compressed
  for (const auto& [name, t] : arrays) bytes += t.defined() && !options.compress ? t.nbytes() : 0;
  if (const std::uint64_t most = most_entries(bytes); std::max(arrays.size(), options.metadata.size()) > most)
    refuse<ArgumentError>("WP-ARG-001", say("a file of this size holds ", most, " arrays and texts at most; got ",
                                            arrays.size(), " and ", options.metadata.size(), "."));
  std::unordered_set<std::string_view> names;
  for (const auto& [name, t] : arrays) {
    if (!t.defined())
      refuse<ArgumentError>("WP-ARG-002",
                            say("array '", excerpt(name), "' is undefined: there is nothing to write."));
    if (name.empty() || !valid_utf8(name) || name.find('\0') != std::string::npos)
      refuse<ArgumentError>("WP-ARG-001", say("every array needs a name; got '", excerpt(name), "'."));
    if (!names.insert(name).second)
      refuse<ArgumentError>("WP-ARG-001", say("two arrays have the name '", excerpt(name), "'."));
  }
}

const Format& format_to_write(const std::string& path) {
  const Format* const format = format_of(path);
  if (!format)
    refuse<ArgumentError>("WP-ARG-001", say("'", path, "' must end in one of ", endings_text(), "."),
                          "The ending says the format.");
  return *format;
}

}  // namespace

std::span<const Format> formats() {
  return table;
}

const Format* format_of(std::string_view path) {
  const std::string ending = ending_of(path);
  const auto* const at =
      std::find_if(table.begin(), table.end(), [&](const Format& f) { return f.ending == ending; });
  return at == table.end() ? nullptr : at;
}

const Format* format_by_magic(const Source& source) {
  char head[16];
  const std::size_t n = std::min<std::size_t>(sizeof head, source.size());
  source.read(0, head, n);
  for (const Format& f : table)
    if (!f.magic.empty() && std::string_view(head, n).starts_with(f.magic)) return &f;
  return nullptr;
}

const Format& format_for(const Source& source) {
  const Format* format = format_of(source.path());
  if (!format) format = format_by_magic(source);
  if (!format)
    refuse<FormatError>("WP-FMT-001",
                        say("'", source.path(), "' does not end in one of ", endings_text(),
                            ", and its first bytes are of none of them."),
                        "Give the file the ending of its format. Nothing was read.");
  return *format;
}

std::string endings_text() {
  std::string out;
  for (const Format& f : table) out += say(out.empty() ? "" : ", ", f.ending);
  return out;
}

std::vector<std::size_t> chosen(const Source& source, const std::vector<std::string>& have,
                                const std::vector<std::string>& asked) {
  std::vector<std::size_t> out;
  for (const std::string& name : asked) {
    const auto at = std::find(have.begin(), have.end(), name);
    if (at == have.end())
      refuse<ArgumentError>("WP-ARG-001", say("'", source.path(), "' has no array '", excerpt(name), "'; it holds ",
                                              have.empty() ? std::string("none") : list_of(have), "."));
    out.push_back(static_cast<std::size_t>(at - have.begin()));
  }
  if (asked.empty())
    for (std::size_t i = 0; i < have.size(); ++i) out.push_back(i);
  return out;
}

std::size_t chosen_one(const Source& source, const std::vector<std::string>& have,
                       const std::vector<std::string>& asked) {
  const std::vector<std::size_t> all = chosen(source, have, asked);
  if (all.empty()) refuse<FormatError>("WP-FMT-003", say("'", source.path(), "' holds no array."));
  if (all.size() > 1)
    refuse<ArgumentError>("WP-ARG-001",
                          say("'", source.path(), "' holds ", have.size(), " arrays: ", list_of(have), "."),
                          "Say which one (names = {\"" + excerpt(have[0]) + "\"}), or use load_all.");
  return all[0];
}

std::pair<std::string, std::string> split_target(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || access(text.c_str(), F_OK) == 0) return {text, ""};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

void refuse_names(const SaveOptions& options, std::string_view format) {
  if (!options.names.empty())
    refuse<ArgumentError>("WP-ARG-001", say(format, " takes no column names."), "Leave names away, or save as .csv.");
}

}  // namespace wp::io

namespace wp {

Tensor load(const std::string& path, const LoadOptions& options, std::source_location where) {
  const io::Calling here("load", where);
  const io::Source source(path);
  return io::format_for(source).read(source, options);
}

NamedTensors load_all(const std::string& path, const LoadOptions& options, std::source_location where) {
  const io::Calling here("load_all", where);
  const io::Source source(path);
  return io::format_for(source).read_all(source, options);
}

Metadata load_metadata(const std::string& path, std::source_location where) {
  const io::Calling here("load_metadata", where);
  const io::Source source(path);
  return io::format_for(source).ending == ".safetensors" ? io::safetensors_metadata(source) : Metadata{};
}

void save(const std::string& path, const In& x, const SaveOptions& options, std::source_location where) {
  const io::Calling here("save", where);
  const Tensor& t = x.tensor();
  if (!t.defined()) refuse<ArgumentError>("WP-ARG-002", "the tensor is undefined: there is nothing to write.");
  const io::Format& format = io::format_to_write(path);
  escape(t, "save", Counts::made, where);
  io::Sink sink(path);
  format.write(sink, t, options);
  sink.commit();
}

void save_all(const std::string& path, const NamedTensors& arrays, const SaveOptions& options,
              std::source_location where) {
  const io::Calling here("save_all", where);
  const io::Format& format = io::format_to_write(path);
  if (!format.write_all)
    refuse<ArgumentError>("WP-ARG-001", say(format.ending, " files hold one array without a name."),
                          "Use save, or the ending .npz or .safetensors.");
  io::check_arrays(arrays, options);
  for (const auto& [name, t] : arrays) escape(t, "save_all", Counts::made, where);
  io::Sink sink(path);
  format.write_all(sink, arrays, options);
  sink.commit();
}

}  // namespace wp
