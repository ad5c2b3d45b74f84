#include "io/csv.hpp"
#include "kernels/walk.hpp"

namespace wp::io {

NamedTensors read_columns(const Source& source, const LoadOptions& options, char delimiter) {
  const Table table = read_csv(source, options, delimiter);
  const std::int64_t rows = table.values.shape()[0], columns = table.values.shape()[1];
  NamedTensors out;
  for (std::int64_t c = 0; c < columns; ++c) {
    const Tensor view = Tensor::adopt(wp::detail::make_view(*table.values.node(), {rows}, {columns}, c));
    out.emplace_back(table.names.empty() ? say("column_", c) : table.names[static_cast<std::size_t>(c)], view);
  }
  return out;
}

std::unique_ptr<Blocks> csv_blocks(std::shared_ptr<const Source> source, const BlockOptions& options,
                                   char delimiter) {
  if (options.columns) return loaded_blocks(read_columns(*source, options.load, delimiter), source->size());
  return loaded_blocks({{"", read_csv(*source, options.load, delimiter).values}}, source->size());
}

}  // namespace wp::io
