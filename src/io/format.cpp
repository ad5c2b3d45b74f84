#include "io/format.hpp"

#include <algorithm>
#include <array>

#include "io/csv.hpp"
#include "io/npy.hpp"
#include "tensor/note.hpp"

namespace wp::io {
namespace {

using OwnedBlocks = std::vector<std::unique_ptr<Blocks>>;

OwnedBlocks one(std::unique_ptr<Blocks> blocks) {
  OwnedBlocks out;
  out.push_back(std::move(blocks));
  return out;
}

constexpr std::array table{
    Format{".npy", npy_magic, read_npy,
           [](const Source& s, const LoadOptions& o) {
             return NamedTensors{{"", read_npy(s, o)}};
           },
           [](std::shared_ptr<const Source> s, const BlockOptions&) {
             const Stored header = read_npy_header(*s);
             return one(stored_blocks(std::move(s), "", header));
           },
           write_npy},
    Format{".csv", "", [](const Source& s, const LoadOptions& o) { return read_csv(s, o, 0).values; },
           [](const Source& s, const LoadOptions& o) { return read_columns(s, o, 0); },
           [](std::shared_ptr<const Source> s, const BlockOptions& o) { return one(csv_blocks(std::move(s), o, 0)); },
           [](Sink& s, const Tensor& t, const SaveOptions& o) { write_csv(s, t, o, ','); }},
    Format{
        ".tsv", "", [](const Source& s, const LoadOptions& o) { return read_csv(s, o, '\t').values; },
        [](const Source& s, const LoadOptions& o) { return read_columns(s, o, '\t'); },
        [](std::shared_ptr<const Source> s, const BlockOptions& o) { return one(csv_blocks(std::move(s), o, '\t')); },
        [](Sink& s, const Tensor& t, const SaveOptions& o) { write_csv(s, t, o, '\t'); }},
};

// Errors inside name the function and the user's line.
struct Calling : wp::detail::Restore<&Context::running> {
  Place place;
  Running running;
  Calling(const char* function, const Place& from) : place(from), running{function, &place} {
    context().running = &running;
  }
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

void save(const std::string& path, const In& x, const SaveOptions& options, std::source_location where) {
  const io::Calling here("save", where);
  const Tensor& t = x.tensor();
  if (!t.defined()) refuse<ArgumentError>("WP-ARG-002", "the tensor is undefined: there is nothing to write.");
  const io::Format* const format = io::format_of(path);
  if (!format)
    refuse<ArgumentError>("WP-ARG-001", say("'", path, "' must end in one of ", io::endings_text(), "."),
                          "The ending says the format.");
  escape(t, "save", Counts::made, where);
  io::Sink sink(path);
  format->write(sink, t, options);
  sink.commit();
}

}  // namespace wp
