#include "data/inputs.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>

#include "data/tile.hpp"
#include "io/format.hpp"
#include "io/npy.hpp"
#include "kernels/convert.hpp"
#include "kernels/types.hpp"
#include "kernels/walk.hpp"
#include "trace/window.hpp"
#include "wellposed/io.hpp"
#include "wellposed/ops.hpp"

namespace wp::data {
namespace {

bool is_table(const std::string& path) {
  return path.ends_with(".csv") || path.ends_with(".tsv");
}

DType common(DType a, DType b) {
  if (a == b) return a;
  try {
    return promote(a, b);
  } catch (const Error&) {  // bool or u64 with signed integers
    return f64;
  }
}

// Where bytes are elements: little-endian, in C order, no bools (whose bytes are checked).
void read_directly(Input& input) {
  auto source = std::make_shared<const io::Source>(input.file);
  const io::Stored h = io::read_npy_header(*source);
  if (h.big_endian || h.fortran || h.dtype == boolean) return;
  input.offset = h.data;
  input.direct = std::move(source);
}

}  // namespace

std::vector<Input> inputs_of(const NamedTensors& tensors) {
  std::vector<Input> out;
  for (const auto& [name, tensor] : tensors) {
    if (!tensor.defined())
      raise<ArgumentError>("WP-ARG-002", "validate", say("the tensor '", name, "' is undefined."));
    out.push_back({name, "", false, [name = name, t = tensor] {
                     return io::loaded_blocks({{name, t}}, t.nbytes());
                   }});
  }
  return out;
}

std::pair<std::string, std::string> split_argument(const std::string& argument) {
  const std::size_t at = argument.find('=');
  if (at == std::string::npos || std::filesystem::exists(argument)) return {"", argument};
  return {argument.substr(0, at), argument.substr(at + 1)};
}

namespace {

// A Matrix Market file in coordinates.
bool is_sparse(const io::Source& source) {
  std::string head(static_cast<std::size_t>(std::min<std::uint64_t>(64, source.size())), '\0');
  source.read(0, head.data(), head.size());
  if (!head.starts_with("%%MatrixMarket")) return false;
  for (char& c : head) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return head.substr(0, head.find('\n')).find("coordinate") != std::string::npos;
}

// What opens a file again and again; "-" is stdin, read once: a table, unless its first bytes say otherwise.
struct Opener {
  bool table, dense;  // dense: a matrix made of a sparse one
  std::function<io::OwnedBlocks()> open;
};
Opener opener_of(const std::string& path, const Reading& reading) {
  const bool pipe = path == "-";
  const auto source = pipe ? std::make_shared<const io::Source>("/dev/stdin") : nullptr;
  const io::Format* const known = pipe ? io::format_by_magic(*source) : nullptr;
  const bool table = pipe ? !known : is_table(path);
  io::BlockOptions options;
  if (table) options.load.names = reading.columns;
  options.load.max_unfolded = reading.max_unfolded;
  options.load.dense = reading.dense;
  if (!pipe) return {table, is_sparse(io::Source(path)), [path, options] { return io::open_blocks(path, options); }};
  const io::Format* const format = known ? known : io::format_of("stdin.csv");
  return {table, is_sparse(*source), [source, format, options] { return format->blocks(source, options); }};
}

std::vector<Input> inputs_of_file(const std::string& argument, const Reading& reading) {
  const auto [name, path] = split_argument(argument);
  const std::string stem = !name.empty() ? name : path == "-" ? "stdin" : std::filesystem::path(path).stem().string();
  const Opener opener = opener_of(path, reading);
  if (opener.table) return {{stem, path, true, [opener] { return std::move(opener.open().at(0)); }}};
  std::vector<Input> out;
  const auto arrays = opener.open();
  for (std::size_t k = 0; k < arrays.size(); ++k) {
    const std::string& inside = arrays[k]->arrays()[0].name;
    const bool named = !inside.empty() && (name.empty() || arrays.size() > 1);
    out.push_back({named ? inside : stem, path, false, [opener, k] { return std::move(opener.open().at(k)); }});
  }
  if (opener.dense && reading.dense)
    out.at(0).note = "the file holds a sparse matrix, which was judged as a dense one";
  if (path.ends_with(".npy") && out.size() == 1) read_directly(out[0]);
  return out;
}

}  // namespace

std::vector<Input> inputs_of_files(const std::vector<std::string>& arguments, const Reading& reading) {
  std::vector<Input> out;
  for (const std::string& argument : arguments)
    for (Input& i : inputs_of_file(argument, reading)) out.push_back(std::move(i));
  return out;
}

bool Rows::next(std::vector<Tensor>& out) {
  first_ = given_;
  out.clear();
  std::vector<std::vector<Tensor>> parts;  // by array
  std::int64_t have = 0;
  for (std::vector<Tensor> block; have < rows_;) {
    const std::int64_t limit = rows_ - have;
    if (!blocks_.next(most_ > 0 ? std::min(most_, limit) : limit, block)) break;
    const std::int64_t n = block[0].ndim() ? block[0].shape()[0] : 1;
    parts.resize(block.size());
    for (std::size_t a = 0; a < block.size(); ++a) parts[a].push_back(block[a]);
    have += n;
    if (block[0].ndim() == 0) break;
  }
  given_ += have;
  for (std::vector<Tensor>& part : parts) {
    if (part.size() == 1) {
      out.push_back(std::move(part[0]));
      continue;
    }
    const trace::Aside aside;
    DType all = part[0].dtype();
    for (const Tensor& t : part) all = common(all, t.dtype());
    for (Tensor& t : part)
      if (t.dtype() != all) t = astype(t, all);
    out.push_back(concat(Tensors(part.begin(), part.end())));
  }
  return have > 0;
}

Part elements(const Tensor& block, std::int64_t start, std::int64_t n, std::vector<char>& memory) {
  const DType to = tile_dtype(block.dtype());
  const char* const data = block.node()->data;
  if (block.is_contiguous() && (to == block.dtype() || block.dtype() == boolean))
    return {data + start * static_cast<std::int64_t>(size_of(to)), to};
  memory.resize(static_cast<std::size_t>(n) * size_of(to));
  kernels::gather(memory.data(), to, data, block.dtype(), block.shape(), block.strides(), start, n);
  return {memory.data(), to};
}

Part column(const Tensor& block, std::int64_t which, std::int64_t start, std::int64_t n, std::vector<char>& memory) {
  Dims shape = block.shape(), strides = block.strides();
  const std::int64_t step = strides.back();
  shape.pop_back();
  strides.pop_back();
  const DType to = tile_dtype(block.dtype());
  const auto item = static_cast<std::int64_t>(size_of(block.dtype()));
  memory.resize(static_cast<std::size_t>(n) * size_of(to));
  kernels::gather(memory.data(), to, block.node()->data + which * step * item, block.dtype(), shape, strides, start,
                  n);
  return {memory.data(), to};
}

DType table_dtype(const std::vector<io::ArrayInfo>& columns) {
  if (columns.empty()) return f64;
  DType all = columns[0].dtype;
  for (const io::ArrayInfo& c : columns) all = common(all, c.dtype);
  return all;
}

Part table_rows(const std::vector<Tensor>& columns, std::int64_t row, std::int64_t rows, std::vector<char>& memory) {
  DType all = columns[0].dtype();
  for (const Tensor& c : columns) all = common(all, c.dtype());
  all = tile_dtype(all);
  const std::size_t count = columns.size(), size = size_of(all);
  memory.resize(static_cast<std::size_t>(rows) * count * size);
  std::vector<char> one(static_cast<std::size_t>(rows) * size);
  for (std::size_t c = 0; c < count; ++c) {
    const Tensor& t = columns[c];
    kernels::gather(one.data(), all, t.node()->data, t.dtype(), t.shape(), t.strides(), row, rows);
    kernels::with_size(size, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* const from = reinterpret_cast<const T*>(one.data());
      T* const to = reinterpret_cast<T*>(memory.data()) + c;
      for (std::int64_t i = 0; i < rows; ++i) to[i * static_cast<std::int64_t>(count)] = from[i];
    });
  }
  return {memory.data(), all};
}

}  // namespace wp::data
