// One pass over a tensor: its tiles go to its fields.
#pragma once
#include "data/field.hpp"
#include "data/inputs.hpp"

namespace wp::data {

class Run {
 public:
  // rules: null for a tensor that is only looked at. all_columns: fields for columns without rules, too.
  Run(const Input& input, const SchemaTensor* rules, const ValidateOptions& options, bool all_columns = false);
  // Everything that needs elements; `progress` may be null.
  void read(Progress* progress);
  void finish(Report& out);

  std::vector<Field>& fields() noexcept { return fields_; }  // the tensor first, then columns
  std::uint64_t bytes() const noexcept { return blocks_->bytes(); }

 private:
  struct Task {
    std::int64_t row, rows;    // in the block
    std::int64_t piece, size;  // elements of a row that is longer than a tile; else 0, 0
  };
  void add_columns(const SchemaTensor& rules);
  std::vector<Task> tasks(std::int64_t first, std::int64_t rows) const;
  void read_direct(Progress* progress);
  void take(std::int64_t first, const std::vector<Task>& all, const std::vector<Tensor>* block);
  std::vector<std::optional<Field::Look>> look_direct(std::int64_t first, const Task& t) const;
  std::vector<std::optional<Field::Look>> look(const std::vector<Tensor>& block, std::int64_t first,
                                               const Task& t) const;
  void settle();

  Input input_;
  std::unique_ptr<io::Blocks> blocks_;
  std::int64_t most_;
  std::vector<std::string> names_;  // of columns
  std::vector<Field> fields_;
  bool whole_ = true;  // the tensor itself is looked at
  std::vector<RuleReport> missing_;
  std::int64_t width_ = 1, tile_rows_ = 1, rows_ = 0;
};

}  // namespace wp::data
