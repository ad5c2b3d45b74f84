#include "data/run.hpp"

#include "base/pool.hpp"
#include "data/names.hpp"

namespace wp::data {
namespace {

constexpr std::int64_t kGroup = 64;  // tiles that are looked at before they are joined

std::vector<std::string> names_in(const SchemaTensor* rules) {
  std::vector<std::string> out;
  if (const SchemaValue* const v = rules ? rules->find("columns") : nullptr)
    for (const SchemaValue& i : v->items()) out.push_back(i.text());
  return out;
}
bool allows_missing(const SchemaField& f) {
  const SchemaValue* const v = f.find("non_null");
  return v && !v->boolean();
}

}  // namespace

Run::Run(const Input& input, const SchemaTensor* rules, const ValidateOptions& options, bool all_columns)
    : input_(input), blocks_(input.open()), most_(options.block) {
  const std::vector<io::ArrayInfo>& arrays = blocks_->arrays();
  Subject s;
  s.tensor = input.name;
  s.keep = options.offenders;
  if (input.table) {
    s.shape = {blocks_->rows(), static_cast<std::int64_t>(arrays.size())};
    s.dtype = f64;  // what columns are is known at the end: settle()
    for (const io::ArrayInfo& a : arrays) s.columns.push_back(a.name);
  } else {
    s.shape = arrays.at(0).shape;
    s.dtype = arrays.at(0).dtype;
    s.columns = names_in(rules);
  }
  for (std::size_t k = 1; k < s.shape.size(); ++k) s.width *= s.shape[k];
  s.missing = rules && allows_missing(*rules);
  width_ = s.width;
  tile_rows_ = std::max<std::int64_t>(1, kTile / std::max<std::int64_t>(width_, 1));
  names_ = s.columns;
  for (std::size_t k = 0; rules && k < names_.size(); ++k) {
    s.missing_columns.push_back(false);
    for (const SchemaField& c : rules->column_rules())
      if (c.name() == names_[k]) s.missing_columns.back() = allows_missing(c);
  }
  fields_.emplace_back(s, rules);
  whole_ = !input.table || fields_[0].needs(tiles) || fields_[0].needs(moments) || fields_[0].needs(quantile) ||
           fields_[0].needs(whole_matrices);
  if (rules) add_columns(*rules);
  if (!all_columns && !input.table) return;
  const std::int64_t columns = s.shape.size() > 1 ? std::min<std::int64_t>(s.shape.back(), 256) : 0;
  for (std::int64_t c = 0; c < columns; ++c) {
    const bool there = std::any_of(fields_.begin() + 1, fields_.end(),
                                   [&](const Field& f) { return f.subject().column_number == c; });
    if (there) continue;
    Subject one = fields_[0].subject();
    one.column_number = c;
    one.column = static_cast<std::size_t>(c) < names_.size() ? names_[static_cast<std::size_t>(c)] : say(c);
    one.width = width_ / s.shape.back();
    fields_.emplace_back(one, nullptr);
  }
}

void Run::add_columns(const SchemaTensor& rules) {
  for (const SchemaField& c : rules.column_rules()) {
    Subject s = fields_[0].subject();
    const std::int64_t columns = s.shape.size() > 1 ? s.shape.back() : 0;
    const auto named = std::find(names_.begin(), names_.end(), c.name());
    char* end = nullptr;
    const std::int64_t number = std::strtoll(c.name().c_str(), &end, 10);
    s.column = c.name();
    s.column_number = named != names_.end() && named - names_.begin() < columns ? named - names_.begin()
                      : *end == '\0' && number >= 0 && number < columns         ? number
                                                                                : -1;
    if (s.column_number < 0) {
      const SchemaValue* const optional = c.find("optional");
      if (optional && optional->boolean()) continue;
      RuleReport r;
      r.tensor = s.tensor;
      r.column = s.column;
      r.rule = "column";
      r.code = "WP-VAL-014";
      r.holds = false;
      r.failed = r.checked = 1;
      r.unit = "column";
      r.message = say("there is no column '", c.name(), "'",
                      names_.empty() ? say(" in the shape ", s.shape, ".") : ".", nearest(c.name(), names_));
      missing_.push_back(std::move(r));
      continue;
    }
    s.width = width_ / columns;
    s.missing = s.missing || allows_missing(c);
    fields_.emplace_back(std::move(s), &c);
  }
}

// Cut at multiples of tile_rows_ from the first row of all.
std::vector<Run::Task> Run::tasks(std::int64_t first, std::int64_t rows) const {
  std::vector<Task> out;
  for (std::int64_t at = 0; at < rows;) {
    const std::int64_t n = std::min(rows - at, tile_rows_ - (first + at) % tile_rows_);
    if (width_ <= kTile || input_.table)
      out.push_back({at, n, 0, 0});
    else
      for (std::int64_t p = 0; p < width_; p += kTile) out.push_back({at, n, p, std::min(kTile, width_ - p)});
    at += n;
  }
  return out;
}

std::vector<std::optional<Field::Look>> Run::look(const std::vector<Tensor>& block, std::int64_t first,
                                                  const Task& t) const {
  std::vector<std::optional<Field::Look>> out(fields_.size());
  std::vector<char> memory;
  for (std::size_t k = 0; k < fields_.size(); ++k) {
    const Subject& s = fields_[k].subject();
    const std::int64_t start = t.row * s.width, n = t.rows * s.width;
    if (k == 0 && !whole_) continue;
    if (k > 0 && t.piece > 0) continue;  // columns take whole rows
    Part part;
    if (s.column_number >= 0)
      part = input_.table ? elements(block[static_cast<std::size_t>(s.column_number)], start, n, memory)
                          : column(block[0], s.column_number, start, n, memory);
    else if (input_.table)
      part = table_rows(block, t.row, t.rows, memory);
    else
      part = elements(block[0], start + t.piece, t.size ? t.size : n, memory);
    out[k] = fields_[k].look(
        {part.x, part.dtype, first * s.width + start + t.piece * (k == 0), k == 0 && t.size ? t.size : n, {}});
  }
  return out;
}

// Looks at tiles of one group at the same time, and joins what they say in their order.
void Run::take(std::int64_t first, const std::vector<Task>& all, const std::vector<Tensor>* block) {
  for (std::size_t from = 0; from < all.size(); from += kGroup) {
    const auto count = static_cast<std::int64_t>(std::min<std::size_t>(kGroup, all.size() - from));
    std::vector<std::vector<std::optional<Field::Look>>> looks(static_cast<std::size_t>(count));
    parallel_for(count, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const Task& t = all[from + static_cast<std::size_t>(i)];
        looks[static_cast<std::size_t>(i)] = block ? look(*block, first, t) : look_direct(first, t);
      }
    });
    for (auto& one : looks)
      for (std::size_t k = 0; k < fields_.size(); ++k)
        if (one[k]) fields_[k].join(std::move(*one[k]));
  }
}

// Reads the rows (or the piece of a row) of the task, and looks at them as at a block of their own.
std::vector<std::optional<Field::Look>> Run::look_direct(std::int64_t first, const Task& t) const {
  const Subject& s = fields_[0].subject();
  const auto item = static_cast<std::int64_t>(size_of(s.dtype));
  const bool whole = t.size == 0 || (t.piece == 0 && fields_.size() > 1);  // columns take whole rows
  const std::int64_t start = (first + t.row) * width_ + (whole ? 0 : t.piece), n = whole ? t.rows * width_ : t.size;
  static thread_local std::vector<char> memory;
  memory.resize(static_cast<std::size_t>(n * item));
  input_.direct->read(input_.offset + static_cast<std::uint64_t>(start * item), memory.data(), memory.size());
  Dims shape = s.shape;
  if (!shape.empty()) shape[0] = t.rows;
  if (!whole) shape = {1, n};
  const Tensor rows = Tensor::borrow(memory.data(), s.dtype, shape);
  if (whole) return look({rows}, first + t.row, {0, t.rows, t.piece, t.size});
  std::vector<std::optional<Field::Look>> out(fields_.size());
  std::vector<char> converted;
  const Part part = elements(rows, 0, n, converted);
  out[0] = fields_[0].look({part.x, part.dtype, start, n, {}});
  return out;
}

void Run::read_direct(Progress* progress) {
  const Dims& shape = fields_[0].subject().shape;
  const std::int64_t all_rows = shape.empty() ? 1 : shape[0], step = tile_rows_ * kGroup;
  const double bytes =
      static_cast<double>(blocks_->bytes()) / static_cast<double>(std::max<std::int64_t>(all_rows, 1));
  std::int64_t told = 0;
  for (rows_ = 0; rows_ < all_rows;) {
    const std::int64_t n = std::min(step, all_rows - rows_);
    if (width_ > 0) take(rows_, tasks(rows_, n), nullptr);
    rows_ += n;
    const auto done = static_cast<std::int64_t>(bytes * static_cast<double>(rows_));
    if (progress) progress->add(done - told);
    told = done;
  }
}

void Run::read(Progress* progress) {
  if (input_.direct && most_ == 0) {
    read_direct(progress);
    return settle();
  }
  Rows rows(*blocks_, tile_rows_ * kGroup, most_);
  std::uint64_t told = 0;
  for (std::vector<Tensor> block; rows.next(block);) {
    const std::int64_t n = block[0].ndim() ? block[0].shape()[0] : 1;
    rows_ += n;
    if (width_ > 0) take(rows.first(), tasks(rows.first(), n), &block);
    if (progress) progress->add(static_cast<std::int64_t>(blocks_->bytes_done() - told));
    told = blocks_->bytes_done();
  }
  settle();
}

// What is known only at the end: the number of rows, and the dtypes of text.
void Run::settle() {
  for (Field& f : fields_) {
    Subject& s = f.subject();
    if (!s.shape.empty()) s.shape[0] = rows_;
    if (!input_.table) continue;
    s.dtype = s.column_number >= 0 ? blocks_->arrays()[static_cast<std::size_t>(s.column_number)].dtype
                                   : table_dtype(blocks_->arrays());
  }
}

void Run::finish(Report& out) {
  const std::size_t before = out.rules.size();
  for (Field& f : fields_) f.finish(out);
  if (!input_.note.empty() && out.rules.size() > before) {  // once: it is true of all
    std::string& note = out.rules[before].note;
    note = note.empty() ? input_.note : say(input_.note, "; ", note);
  }
  for (RuleReport& r : missing_) out.rules.push_back(std::move(r));
}

}  // namespace wp::data
