// Every WP-MPI code of docs/findings.md: a call that triggers it, and a neighbour that does not.
#include <filesystem>
#include <functional>

#include "base/text.hpp"
#include "dist/team.hpp"
#include "matrices.hpp"

namespace wp::dist {
namespace {

struct Row {
  const char* code;
  std::function<void()> trigger, neighbour;
};

std::string small_file() {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("wp_dist_f" + broadcast_text(std::to_string(getpid())) + ".npy"))
          .string();
  Matrix::from(ones({2, 2}), some_layout()).save(path);
  return path;
}

std::vector<Row> rows() {
  const auto one = [] { return rank() == size() - 1 && size() > 1; };  // the last of several ranks
  return {
      {"WP-MPI-001", [] { const Session second; }, [] { Matrix::identity(2); }},
      {"WP-MPI-002", [=] { Matrix::from(ones({one() ? 3 : 2})); }, [] { Matrix::from(ones({2})); }},
      {"WP-MPI-003", [] { together([] { throw std::runtime_error("of another library"); }); },
       [] { together([] {}); }},
      {"WP-MPI-004", [] { Grid(size() + 1, 2); }, [] { Grid(size(), 1); }},
      {"WP-MPI-005", [] { Matrix::generate(1 << 20, 1 << 20, f64, [](auto, auto) { return complex128(0); }); },
       [] { Matrix::generate(2, 2, f64, [](auto, auto) { return complex128(0); }); }},
      {"WP-MPI-007", [] { inv(Matrix::identity(1001), {.certify = true}); },
       [] { inv(Matrix::identity(30), {.certify = true}); }},
      {"WP-MPI-008",
       [] {
         const std::string path = small_file();
         Matrix::load(path, {.shape = Dims{2, 3}});
       },
       [] {
         const std::string path = small_file();
         Matrix::load(path, {.shape = Dims{2, 2}});
       }},
      {"WP-MPI-009",
       [] {
         Matrix::from(ones({2, 2, 2}));
       },
       [] {
         Matrix::from(ones({2, 2}));
       }},
  };
}

TEST(Findings, EachHasATriggerAndANeighbourThatDoesNotTriggerIt) {
  for (const Row& row : rows()) {
    const std::string code = row.code;
    if (code == "WP-MPI-002" && size() == 1) continue;  // one rank agrees with itself
    try {
      row.trigger();
      ADD_FAILURE() << code << " was not raised";
    } catch (const Error& e) {
      EXPECT_EQ(e.finding().code, code) << e.what();
    }
    EXPECT_NO_THROW(row.neighbour()) << code;
  }
}

}  // namespace
}  // namespace wp::dist
