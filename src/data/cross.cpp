#include "data/cross.hpp"

#include "data/expression.hpp"
#include "data/names.hpp"
#include "data/offences.hpp"
#include "kernels/convert.hpp"

namespace wp::data {
namespace {

// A name of the predicate: a tensor with one element per row, or a column of one.
struct Operand {
  std::size_t input = 0;
  std::int64_t column = -1;
};

struct Opened {
  std::size_t input;
  std::unique_ptr<io::Blocks> blocks;
  std::unique_ptr<Rows> rows;
  std::vector<Tensor> block;
};

class Across {
 public:
  Across(const std::string& text, const std::vector<Input>& inputs, const Schema& schema)
      : expression_(Expression::parse(text)), inputs_(inputs), schema_(schema) {
    for (const std::string& name : expression_.names()) operands_.push_back(resolve(name));
  }
  const std::string& trouble() const noexcept { return trouble_; }
  void run(Offences& all, std::int64_t& rows, bool& rounded);
  std::string words(const std::vector<std::vector<double>>& values, std::int64_t i) const {
    std::string out = say("breaks ", expression_.text(), ": ");
    for (std::size_t k = 0; k < values.size(); ++k)
      out += say(k ? ", " : "", expression_.names()[k], " = ", values[k][static_cast<std::size_t>(i)]);
    return out;
  }

 private:
  Operand resolve(const std::string& name);
  std::int64_t column_of(const Input& input, const io::Blocks& blocks, const std::string& name);
  Opened& opened(std::size_t input) {
    for (Opened& o : opened_)
      if (o.input == input) return o;
    auto blocks = inputs_[input].open();
    auto rows = std::make_unique<Rows>(*blocks, kTile, 0);
    return opened_.emplace_back(Opened{input, std::move(blocks), std::move(rows), {}});
  }
  bool next(std::int64_t& n);
  std::vector<double> values_of(const Operand& o, std::int64_t n, bool& rounded);

  Expression expression_;
  const std::vector<Input>& inputs_;
  const Schema& schema_;
  std::vector<Operand> operands_;
  std::vector<Opened> opened_;
  std::string trouble_;
};

std::int64_t width_of(const Dims& shape) {
  std::int64_t w = 1;
  for (std::size_t k = 1; k < shape.size(); ++k) w *= shape[k];
  return w;
}

std::int64_t Across::column_of(const Input& input, const io::Blocks& blocks, const std::string& name) {
  std::vector<std::string> names;
  std::int64_t columns = 0;
  if (input.table) {
    for (const io::ArrayInfo& a : blocks.arrays()) names.push_back(a.name);
    columns = static_cast<std::int64_t>(names.size());
  } else {
    const Dims& shape = blocks.arrays()[0].shape;
    columns = shape.size() == 2 ? shape[1] : 0;
    const SchemaTensor* const rules = schema_.find(input.name);
    if (const SchemaValue* const v = rules ? rules->find("columns") : nullptr)
      for (const SchemaValue& i : v->items()) names.push_back(i.text());
  }
  const auto place = std::find(names.begin(), names.end(), name);
  if (place != names.end() && place - names.begin() < columns) return place - names.begin();
  if (name.starts_with("$")) {
    char* end = nullptr;
    const std::int64_t k = std::strtoll(name.c_str() + 1, &end, 10);
    if (*end == '\0' && k >= 0 && k < columns) return k;
  }
  trouble_ = say("'", input.name, "' has no column '", name, "'.", nearest(name, names));
  return -1;
}

Operand Across::resolve(const std::string& name) {
  std::vector<std::string> known;
  for (std::size_t k = 0; k < inputs_.size(); ++k) {
    known.push_back(inputs_[k].name);
    if (inputs_[k].name == name) {
      const io::Blocks& b = *opened(k).blocks;
      if (inputs_[k].table || width_of(b.arrays()[0].shape) != 1)
        trouble_ = say("'", name, "' has more than one element per row: name a column, ", name, ".$0.");
      return {k, -1};
    }
  }
  std::size_t best = inputs_.size();  // the longest name that is a beginning
  for (std::size_t k = 0; k < inputs_.size(); ++k)
    if (name.starts_with(inputs_[k].name + ".") &&
        (best == inputs_.size() || inputs_[k].name.size() > inputs_[best].name.size()))
      best = k;
  if (best == inputs_.size()) {
    trouble_ = say("there is no tensor '", name.substr(0, name.find('.')), "'.", nearest(name, known));
    return {};
  }
  return {best, column_of(inputs_[best], *opened(best).blocks, name.substr(inputs_[best].name.size() + 1))};
}

bool Across::next(std::int64_t& n) {
  bool any = false, all = true;
  n = -1;
  for (Opened& o : opened_) {
    std::int64_t have = 0;
    if (o.rows->next(o.block)) have = o.block[0].ndim() ? o.block[0].shape()[0] : 1;
    any = any || have > 0;
    all = all && (n < 0 || n == have);
    n = have;
  }
  if (!all) trouble_ = "the tensors do not have the same number of rows.";
  return any && all;
}

std::vector<double> Across::values_of(const Operand& o, std::int64_t n, bool& rounded) {
  const Opened& open = opened(o.input);
  std::vector<char> memory;
  const bool table = inputs_[o.input].table;
  const Part part = o.column < 0 ? elements(open.block[0], 0, n, memory)
                    : table      ? elements(open.block[static_cast<std::size_t>(o.column)], 0, n, memory)
                                 : column(open.block[0], o.column, 0, n, memory);
  std::vector<double> out(static_cast<std::size_t>(n));
  if (is_complex(part.dtype)) {
    trouble_ = say("'", inputs_[o.input].name, "' is complex.");
    return out;
  }
  kernels::convert(out.data(), f64, part.x, part.dtype, 1, n);
  if (is_integer(part.dtype))
    for (const double v : out) rounded = rounded || std::fabs(v) >= 0x1p53;
  return out;
}

void Across::run(Offences& all, std::int64_t& rows, bool& rounded) {
  for (std::int64_t n = 0; trouble_.empty() && next(n); rows += n) {
    std::vector<std::vector<double>> values;
    std::vector<const double*> pointers;
    for (const Operand& o : operands_) values.push_back(values_of(o, n, rounded));
    for (const auto& v : values) pointers.push_back(v.data());
    std::vector<double> truth(static_cast<std::size_t>(n));
    expression_.evaluate(pointers, n, truth.data());
    for (std::int64_t i = 0; i < n; ++i)
      if (truth[static_cast<std::size_t>(i)] == 0)
        all.add(rows + i, 0, [&] { return std::pair(std::string(), words(values, i)); });
  }
}

}  // namespace

RuleReport judge_across(const std::string& predicate, const std::vector<Input>& inputs, const Schema& schema,
                        const ValidateOptions& options) {
  RuleReport r;
  r.rule = "holds";
  r.expected = predicate;
  r.code = "WP-VAL-013";
  Across across(predicate, inputs, schema);
  Offences all(options.offenders);
  std::int64_t rows = 0;
  bool rounded = false;
  if (across.trouble().empty()) across.run(all, rows, rounded);
  Subject s;
  s.shape = {rows, 1};
  tell(s, all, Unit::row, rows, r);
  if (rounded) r.note = "integers beyond 2^53 were rounded to f64";
  if (across.trouble().empty()) return r;
  r.holds = false;
  r.failed = 1;
  r.message = say(predicate, ": ", across.trouble());
  return r;
}

}  // namespace wp::data
