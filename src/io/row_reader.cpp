#include "wellposed/row_reader.hpp"

#include "io/blocks.hpp"
#include "io/calling.hpp"

namespace wp {
namespace {

constexpr std::size_t kBlock = std::size_t{8} << 20;

std::unique_ptr<io::Blocks> the_only(const std::string& path, const LoadOptions& options) {
  auto all = io::open_blocks(path, {.load = options, .columns = false});
  std::string names;
  for (const auto& blocks : all)
    for (const io::ArrayInfo& a : blocks->arrays()) names += say(names.empty() ? "'" : ", '", a.name, "'");
  if (all.empty()) refuse<FormatError>("WP-FMT-001", say("'", path, "' holds no array."));
  if (all.size() > 1 || all[0]->arrays().size() > 1)
    refuse<ArgumentError>("WP-ARG-001", say("'", path, "' holds several arrays: ", names, "."),
                          "Say which one: names = {…}; load_all reads those of a sparse matrix.");
  return std::move(all[0]);
}

}  // namespace

struct RowReader::State {
  std::unique_ptr<io::Blocks> blocks;
  std::vector<Tensor> block;
};

RowReader::RowReader(const std::string& path, const LoadOptions& options, std::source_location where) {
  const io::Calling here("RowReader", where);
  state_ = std::make_unique<State>();
  state_->blocks = the_only(path, options);
}
RowReader::RowReader(RowReader&&) noexcept = default;
RowReader& RowReader::operator=(RowReader&&) noexcept = default;
RowReader::~RowReader() = default;

std::optional<Tensor> RowReader::next(std::int64_t limit, std::source_location where) {
  const io::Calling here("next", where);
  if (limit < 0) refuse<ArgumentError>("WP-ARG-001", say("a block has at least one row; got ", limit, "."));
  if (!state_->blocks->next(limit ? limit : io::rows_for(*state_->blocks, kBlock), state_->block)) return {};
  return std::move(state_->block[0]);
}
std::int64_t RowReader::rows() const noexcept {
  return state_->blocks->rows();
}
std::int64_t RowReader::row() const noexcept {
  return state_->blocks->row();
}

}  // namespace wp
