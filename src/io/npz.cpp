#include "io/npz.hpp"

#include "io/npy.hpp"
#include "io/zip.hpp"

namespace wp::io {
namespace {

constexpr std::size_t kHead = 16 * 1024;  // an npy header is found here, or refused; NumPy reads 10,000 bytes
constexpr std::uint64_t kMapped = 1 << 20, kAlignment = 16;

std::string array_name(const ZipEntry& e) {
  return e.name.ends_with(".npy") ? e.name.substr(0, e.name.size() - 4) : e.name;
}

struct Archive {
  std::vector<ZipEntry> entries;
  std::vector<std::string> names;
};
Archive open_archive(const Source& source) {
  Archive a{read_zip(source), {}};
  for (const ZipEntry& e : a.entries) a.names.push_back(array_name(e));
  return a;
}

// Where the array begins: data counts from the entry's first unpacked byte.
Stored header_of(const Source& source, const ZipEntry& e, const LoadOptions& options) {
  if (!e.deflated) {
    Stored s = read_npy_header(Part(source, e.name, e.data, e.unpacked));
    s.data -= e.data;
    return s;
  }
  if (e.unpacked > most_unfolded(options, e.packed))
    source.refuse_at("WP-FMT-003", e.data,
                     say("entry '", excerpt(e.name), "' unfolds from ", bytes_text(static_cast<double>(e.packed)),
                         " to ", bytes_text(static_cast<double>(e.unpacked)), "."),
                     kUnfold);
  std::string head(static_cast<std::size_t>(std::min<std::uint64_t>(kHead, e.unpacked)), '\0');
  Unpacker(source, e).read(head.data(), head.size());
  return read_npy_header(Part(source, e.name, e.data, e.unpacked, head));
}

void skip(Unpacker& from, std::uint64_t bytes) {
  std::string header(static_cast<std::size_t>(bytes), '\0');
  from.read(header.data(), header.size());
}

Tensor read_entry(const Source& source, const ZipEntry& e, const LoadOptions& options) {
  Stored s = header_of(source, e, options);
  if (!e.deflated && !options.copy && s.bytes >= kMapped && (e.data + s.data) % kAlignment == 0) {
    s.data += e.data;
    if (const Source::Mapping whole = source.map(); whole.data) {
      const std::uint32_t crc = crc32(0, whole.data + e.data, static_cast<std::size_t>(e.unpacked));
      whole.release();
      if (crc != e.crc)
        source.refuse_at(
            "WP-FMT-003", e.data,
            say("entry '", excerpt(e.name), "': the checksum is not that of the bytes: the file is damaged."));
      return read_stored(source, s, options);
    }
    s.data -= e.data;
  }
  Dims shape = s.shape;
  const bool turn = s.fortran && shape.size() > 1 && s.bytes > 0;
  if (turn) std::reverse(shape.begin(), shape.end());
  Unpacker from(source, e);
  skip(from, s.data);
  Tensor t = Tensor::adopt(wp::detail::make_node(s.dtype, shape));
  from.read(t.node()->data, t.nbytes());
  settle(source, s, e.data, t.node()->data, t.nbytes());
  return turn ? turned(t) : t;
}

// Rows in C order, unpacked as they are asked for.
class NpzBlocks final : public Blocks {
 public:
  NpzBlocks(std::shared_ptr<const Source> source, std::string name, ZipEntry entry, const Stored& stored)
      : source_(std::move(source)), entry_(std::move(entry)), stored_(stored), from_(*source_, entry_) {
    arrays_ = {{std::move(name), stored.dtype, stored.shape}};
    rows_ = stored.shape.empty() ? 1 : stored.shape[0];
    skip(from_, stored_.data);
  }
  std::uint64_t bytes_done() const noexcept override { return row_ == rows_ ? entry_.packed : from_.bytes_taken(); }
  std::uint64_t bytes() const noexcept override { return entry_.packed; }

 private:
  std::vector<Tensor> read(std::int64_t limit) override {
    Dims shape = stored_.shape;
    if (!shape.empty()) shape[0] = std::min(limit, rows_ - row_);
    Tensor t = Tensor::adopt(wp::detail::make_node(stored_.dtype, shape));
    from_.read(t.node()->data, t.nbytes());
    settle(*source_, stored_, entry_.data, t.node()->data, t.nbytes());
    return {t};
  }
  std::shared_ptr<const Source> source_;
  ZipEntry entry_;
  Stored stored_;
  Unpacker from_;
};

// The array is found to be as long as it is when it ends: its header then takes the place that was left for it.
class NpzRows final : public RowSink {
 public:
  NpzRows(Sink& sink, bool compress) : zip_(sink), compress_(compress) {}
  void rows(const Tensor& t) override {
    if (!room_) {
      room_ = room_for(npy_header, t);
      zip_.begin("arr_0.npy", kUnknown, compress_, room_);
    }
    write_elements(t, [&](const char* bytes, std::size_t count) { zip_.put(bytes, count); });
  }
  void end(DType dtype, const Dims& shape) override {
    zip_.end(npy_header(dtype, shape, room_));
    zip_.finish();
  }

 private:
  static constexpr std::uint64_t kUnknown = std::uint64_t{1} << 62;
  ZipWriter zip_;
  bool compress_;
  std::size_t room_ = 0;
};

}  // namespace

std::unique_ptr<RowSink> npz_rows(Sink& sink, const SaveOptions& options) {
  refuse_names(options, ".npz");
  return std::make_unique<NpzRows>(sink, options.compress);
}

Tensor read_npz(const Source& source, const LoadOptions& options) {
  const Archive a = open_archive(source);
  return read_entry(source, a.entries[chosen_one(source, a.names, options.names)], options);
}

NamedTensors read_all_npz(const Source& source, const LoadOptions& options) {
  const Archive a = open_archive(source);
  NamedTensors out;
  for (const std::size_t i : chosen(source, a.names, options.names))
    out.emplace_back(a.names[i], read_entry(source, a.entries[i], options));
  return out;
}

OwnedBlocks npz_blocks(std::shared_ptr<const Source> source, const BlockOptions& options) {
  const Archive a = open_archive(*source);
  OwnedBlocks out;
  for (const std::size_t i : chosen(*source, a.names, options.load.names)) {
    const Stored s = header_of(*source, a.entries[i], options.load);
    if (s.fortran && s.shape.size() > 1)  // rows are scattered over the whole entry
      out.push_back(
          loaded_blocks({{a.names[i], read_entry(*source, a.entries[i], options.load)}}, a.entries[i].packed));
    else
      out.push_back(std::make_unique<NpzBlocks>(source, a.names[i], a.entries[i], s));
  }
  return out;
}

void write_npz(Sink& sink, const NamedTensors& arrays, const SaveOptions& options) {
  refuse_names(options, ".npz");
  std::vector<std::string> headers;
  for (const auto& [name, t] : arrays) {
    if (name.size() > 60000)
      refuse<ArgumentError>("WP-ARG-001", say("an array's name has 60000 bytes at most; got ", name.size(), "."));
    headers.push_back(npy_header(t.dtype(), t.shape()));
  }
  ZipWriter zip(sink);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const auto& [name, t] = arrays[i];
    zip.begin(name + ".npy", headers[i].size() + t.nbytes(), options.compress);
    zip.put(headers[i].data(), headers[i].size());
    write_elements(t, [&](const char* bytes, std::size_t count) { zip.put(bytes, count); });
    zip.end();
  }
  zip.finish();
}

}  // namespace wp::io
