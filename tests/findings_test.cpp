#include "findings.hpp"

#include <gtest/gtest.h>

#include <cctype>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "ops/dispatch.hpp"
#include "wellposed/io.hpp"

namespace wp::triggers {
namespace {

// The code of the error or warning that f gives; empty: none.
std::string code_of(const std::function<void()>& f) {
  std::string code;
  const FindingHandler before = on_finding([&](const Finding& finding) {
    if (code.empty()) code = finding.code;
  });
  try {
    f();
  } catch (const Error& e) {
    code = e.finding().code;
  }
  on_finding(before);
  return code;
}

// Runs f with made values reported where they are made.
std::function<void()> warned(const std::function<Tensor()>& f) {
  return [f] {
    const checks at("warn");
    (void)f();
  };
}

// Weights that are multiplied by `factor` in every step, with an update of that size.
void train(double factor, double weight) {
  Trends trends;
  for (int i = 0; i < 16; ++i, weight *= factor)
    trends.see("w", Tensor{weight}, Tensor{weight}, Tensor{weight * 0.5});
}
void step_back(double update) {
  Trends trends;
  for (int i = 0; i < 16; ++i) trends.see("w", Tensor{1.0}, Tensor{1.0}, Tensor{update});
}
void silent(double third) {
  Trends trends({.patience = 3});
  for (int i = 0; i < 3; ++i) trends.see_units("h", Tensor{{0.0, 0.0, third, 1.0}});
}

// Loads a file with this content.
std::function<void()> loaded(const std::string& name, const std::string& content) {
  return [name, content] {
    const std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("wellposed_findings_" + std::to_string(getpid()));
    std::filesystem::create_directory(folder);
    std::ofstream(folder / name, std::ios::binary) << content;
    try {
      (void)load((folder / name).string());
    } catch (...) {
      std::filesystem::remove_all(folder);
      throw;
    }
    std::filesystem::remove_all(folder);
  };
}
std::string npy(std::string header, const std::string& data) {
  header.resize(117, ' ');
  return std::string("\x93NUMPY\x01\x00", 8) + std::string("\x76\x00", 2) + header + "\n" + data;
}
const std::string two_doubles = "{'descr': '<f8', 'fortran_order': False, 'shape': (2,)}";

void index_items(const Dims& items) {
  const Tensor x{1.0, 2.0};
  const Tensor* const in[] = {&x};
  const Attr attrs[] = {Attr(items)};
  (void)call(*find_op("index"), Inputs(in), attrs, {});
}

const Rows& others() {
  static const Tensor m{{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}}, v{1.0, 2.0};
  static const double inf = INFINITY;
  static const Rows all{
      {"WP-ARG-001", [] { checks("loud"); }, [] { checks("warn"); }},
      {"WP-ARG-002", [] { use(concat({})); }, [] { use(concat({v})); }},
      {"WP-ARG-003",
       [] {
         use(permute_dims(m, {0, 0}));
       },
       [] {
         use(permute_dims(m, {1, 0}));
       }},
      {"WP-ARG-004", [] { use(reshape(matrix_transpose(m), {6}, {.copy = false})); },
       [] { use(reshape(m, {6}, {.copy = false})); }},
      {"WP-ARG-005",
       [] {
         index_items({77, 1});
       },
       [] { use(v[{0}]); }},
      {"WP-ARG-006",
       [] {
         Tensor x{1.0, 2.0};
         x.at({0}) = 1.0;
       },
       [] {
         Tensor x{1.0, 2.0};
         x[{0}] = 1.0;
       }},
      {"WP-ARG-007", [] { use(einsum("i-j", {v})); }, [] { use(einsum("i->i", {v})); }},
      {"WP-AST-001",
       [] {
         use(assert_shape(m, {3, -1}));
       },
       [] {
         use(assert_shape(m, {2, -1}));
       }},
      {"WP-AST-002", [] { use(assert_range(v, 0, 1)); }, [] { use(assert_range(v, 1, 2)); }},
      {"WP-AST-003", [] { use(assert_spd(diagonal(1, -1))); }, [] { use(assert_spd(diagonal(1, 1e-300))); }},
      {"WP-AST-004",
       [] {
         use(assert_probability(Tensor{0.5, 0.6}));
       },
       [] {
         use(assert_probability(Tensor{0.5, 0.5 + 1e-16}));
       }},
      {"WP-AST-005",
       [] {
         use(assert_that(
             v, [](const Tensor& x) { return x > 1; }, "x > 1"));
       },
       [] {
         use(assert_that(
             v, [](const Tensor& x) { return x > 0; }, "x > 0"));
       }},
      {"WP-DOM-001", warned([] { return log(Tensor{0.0}); }), warned([] { return log(Tensor{5e-324}); })},
      {"WP-DOM-002", [] { use(floor_divide(Tensor{1}, Tensor{0})); },
       [] { use(floor_divide(Tensor{1.0}, Tensor{1.0})); }},
      {"WP-DOM-003", [] { use(astype(Tensor{300.0}, u8)); }, [] { use(astype(Tensor{255.9}, u8)); }},
      {"WP-DOM-004", [] { use(pow(Tensor{2}, Tensor{-1})); }, [] { use(pow(Tensor{2}, Tensor{0})); }},
      {"WP-DTY-001", [] { parse_dtype("float"); }, [] { parse_dtype("float32"); }},
      {"WP-DTY-002", [] { use(astype(Tensor{1}, u64) + Tensor{1}); },
       [] { use(astype(Tensor{1}, u32) + Tensor{1}); }},
      {"WP-DTY-003", [] { use(Tensor{1.0} & Tensor{1.0}); }, [] { use(Tensor{1} & Tensor{1}); }},
      {"WP-DTY-004",
       [] {
         Tensor x{1, 2};
         x[{0}] = 0.5;
       },
       [] {
         Tensor x{1, 2};
         x[{0}] = 5;
       }},
      {"WP-ESC-001", [] { (void)log(Tensor{0.0}).item<double>(); }, [] { (void)Tensor{-inf}.item<double>(); }},
      {"WP-FIL-001", [] { (void)load("/nowhere/at/all/x.npy"); },
       loaded("x.npy", npy(two_doubles, std::string(16, '\0')))},
      {"WP-FMT-001", loaded("x.npy", "1,2,3\n"), loaded("x.csv", "1,2,3\n")},
      {"WP-FMT-002", loaded("x.npy", npy("[1, 2]", std::string(16, '\0'))),
       loaded("x.npy", npy(two_doubles, std::string(16, '\0')))},
      {"WP-FMT-003", loaded("x.npy", npy(two_doubles, std::string(15, '\0'))),
       loaded("x.npy", npy(two_doubles, std::string(16, '\0')))},
      {"WP-FMT-004",
       loaded("x.npy", npy("{'descr': '|O', 'fortran_order': False, 'shape': (2,)}", std::string(16, '\0'))),
       loaded("x.npy", npy(two_doubles, std::string(16, '\0')))},
      {"WP-FMT-005", loaded("x.csv", "1,2,3\n4,5\n"), loaded("x.csv", "1,2,3\n4,5,6\n")},
      {"WP-IDX-001", [] { use(sum(m, {.axis = 2})); }, [] { use(sum(m, {.axis = 1})); }},
      {"WP-IDX-002", [] { use(take(v, Tensor{2}, {.axis = 0})); }, [] { use(take(v, Tensor{-2}, {.axis = 0})); }},
      {"WP-IDX-003",
       [] {
         use(m[{0, 0, 0}]);
       },
       [] {
         use(m[{0, 0}]);
       }},
      {"WP-IDX-004", [] { use(v[{Tensor{true}}]); },
       [] {
         use(v[{Tensor{true, false}}]);
       }},
      {"WP-LIN-001",
       [] {
         use(linalg::inv(Tensor{{1.0, HUGE_VAL}, {0.0, 1.0}}));
       },
       [] {
         use(linalg::inv(Tensor{{1.0, 1e300}, {0.0, 1.0}}));
       }},
      {"WP-LIN-002",
       [] {
         use(linalg::inv(Tensor{{1.0, 1.0}, {1.00001, 1.00001}}));
       },
       [] {
         use(linalg::inv(Tensor{{1.0, 1.0}, {1.00001, 1.00002}}));
       }},
      {"WP-LIN-003",
       [] {
         use(linalg::inv(Tensor{{1.0, 1.0}, {1.0, 1.0 + 1e-13}}, {.refine = false}));
       },
       [] {
         use(linalg::inv(Tensor{{1.0, 1.0}, {1.0, 1.0 + 1e-9}}, {.refine = false}));
       }},
      {"WP-LIN-004",
       [] {
         use(linalg::cholesky(Tensor{{1.0, 2.0}, {2.0, 1.0}}));
       },
       [] {
         use(linalg::cholesky(Tensor{{1.0, 2.0}, {2.0, 5.0}}));
       }},
      {"WP-LIN-005",
       [] {
         use(linalg::cg(Tensor{{2.0, 1.0}, {1.0, 3.0}}, Tensor{1.0, 2.0}, {.max_iterations = 1}).x);
       },
       [] {
         use(linalg::cg(Tensor{{2.0, 1.0}, {1.0, 3.0}}, Tensor{1.0, 2.0}).x);
       }},
      {"WP-LIN-006",
       [] {
         use(linalg::eigvalsh(Tensor{{1.0, 2.0}, {3.0, 1.0}}));
       },
       [] {
         use(linalg::eigvalsh(Tensor{{1.0, 2.0}, {3.0, 1.0}}, {.uplo = "lower"}));
       }},
      {"WP-LIN-007",
       [] {
         use(linalg::det(Tensor{{1e200, 0.0}, {0.0, 1e200}}));
       },
       [] {
         use(linalg::slogdet(Tensor{{1e200, 0.0}, {0.0, 1e200}}).logabsdet);
       }},
      {"WP-LIN-008",
       [] {
         use(linalg::sqrtm(Tensor{{-1.0, 0.0}, {0.0, 1.0}}));
       },
       [] {
         use(linalg::sqrtm(Tensor{{4.0, 0.0}, {0.0, 1.0}}));
       }},
      {"WP-LIN-009",
       [] {
         use(linalg::solve(Tensor{{1.0, 1.0}, {1.0, 1.0 + 0x1p-52}}, Tensor{1.0, 2.0},
                           {.certify = true, .accuracy = "high"}));
       },
       [] {
         use(linalg::solve(Tensor{{1.0, 1.0}, {1.0, 1.0 + 1e-9}}, Tensor{1.0, 2.0}, {.certify = true}));
       }},
      {"WP-MEM-001", [] { use(zeros({1'000'000'000'000'000})); }, [] { use(zeros({1000})); }},
      {"WP-MEM-002",
       [] {
         use(zeros({std::int64_t{1} << 40, std::int64_t{1} << 40}));
       },
       [] {
         use(zeros({std::int64_t{1} << 40, 0}));
       }},
      {"WP-NUM-001", warned([] { return exp(Tensor{1000.0}); }), warned([] { return exp(Tensor{709.0}); })},
      {"WP-NUM-002", warned([] { return Tensor{inf} - Tensor{inf}; }),
       warned([] { return Tensor{inf} + Tensor{inf}; })},
      {"WP-SHP-001",
       [] {
         use(Tensor{1, 2} + Tensor{1, 2, 3});
       },
       [] {
         use(Tensor{1, 2} + Tensor{1});
       }},
      {"WP-SHP-002", [] { use(zeros({-1})); }, [] { use(zeros({0})); }},
      {"WP-SHP-003",
       [] {
         use(Tensor{{1, 2}, {3}});
       },
       [] {
         use(Tensor{{1, 2}, {3, 4}});
       }},
      {"WP-SHP-004", [] { use(reshape(m, {5})); }, [] { use(reshape(m, {6})); }},
      {"WP-SHP-005", [] { (void)v.item<double>(); }, [] { (void)Tensor{1.0}.item<double>(); }},
      {"WP-SHP-006", [] { use(max(zeros({0}))); }, [] { use(sum(zeros({0}))); }},
      {"WP-SHP-007", [] { use(squeeze(m, 0)); },
       [] {
         use(squeeze(zeros({1, 3}), 0));
       }},
      {"WP-SHP-008", [] { use(matrix_transpose(v)); }, [] { use(matrix_transpose(m)); }},
      {"WP-SHP-009",
       [] {
         use(stack({v, Tensor{1.0}}));
       },
       [] {
         use(stack({v, v}));
       }},
      {"WP-SHP-010",
       [] {
         use(repeat(v, Tensor{1, 2, 3}));
       },
       [] {
         use(repeat(v, Tensor{1, 2}));
       }},
      {"WP-SHP-011", [] { use(meshgrid({m})); }, [] { use(meshgrid({v})); }},
      {"WP-SHP-012", [] { use(take_along_axis(m, Tensor{0})); },
       [] {
         use(take_along_axis(m, Tensor{{0}, {1}}));
       }},
      {"WP-SHP-013",
       [] {
         use(einsum("ij,jk", {m, m}));
       },
       [] {
         use(einsum("ij,kj", {m, m}));
       }},
      {"WP-SHP-014", [] { use(matmul(m, m)); }, [] { use(matmul(m, matrix_transpose(m))); }},
      {"WP-SHP-016", [] { use(linalg::inv(m)); }, [] { use(linalg::inv(Tensor{{1.0}})); }},
      {"WP-SHP-017", [] { use(linalg::solve(Tensor{{2.0}}, v)); },
       [] { use(linalg::solve(Tensor{{2.0}}, Tensor{1.0})); }},
      {"WP-SHP-018", [] { use(linalg::svdvals(v)); }, [] { use(linalg::svdvals(m)); }},
      {"WP-SHP-019",
       [] {
         use(linalg::svdvals(broadcast_to(zeros({1, 1}), {3'000'000'000, 1})));
       },
       [] {
         use(linalg::svdvals(broadcast_to(zeros({1, 1}), {3'000, 1})));
       }},
      {"WP-TRD-001", [] { train(4, 1); }, [] { train(1.01, 1); }},
      {"WP-TRD-002", [] { train(0.9, 1e160); }, [] { train(0.9, 1e150); }},
      {"WP-TRD-003", [] { step_back(2); }, [] { step_back(0.9); }},
      {"WP-TRD-004", [] { silent(0); }, [] { silent(1); }},
      {"WP-TRD-005", [] { GradientGuard().accepts({Tensor{inf}}); }, [] { GradientGuard().accepts({v}); }},
  };
  return all;
}

std::set<std::string> codes_in(const std::filesystem::path& path) {
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  std::set<std::string> codes;
  constexpr std::size_t length = sizeof("WP-ABC-001") - 1;
  for (std::size_t at = text.find("WP-"); at != std::string::npos; at = text.find("WP-", at + 1))
    if (at + length <= text.size() && std::isupper(text[at + 3]) && text[at + 6] == '-' && std::isdigit(text[at + 7]))
      codes.insert(text.substr(at, length));
  return codes;
}

}  // namespace

void expect_triggers(const Rows& rows) {
  for (const Row& row : rows) {
    EXPECT_EQ(code_of(row.trigger), row.code);
    EXPECT_EQ(code_of(row.neighbour), "") << "the neighbour of " << row.code;
  }
}

TEST(Findings, EachHasATriggerAndANeighbourThatDoesNotTriggerIt) {
  expect_triggers(others());
}

TEST(Findings, AreTheOnesThatTheDocumentsListAndTheSourceRaises) {
  const std::filesystem::path tree = WP_SOURCE_TREE;
  std::set<std::string> raised, tested;
  for (const char* const folder : {"src", "python/wellposed/_adapters"})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(tree / folder))
      if (entry.path().extension() != ".pyc" && entry.is_regular_file()) raised.merge(codes_in(entry.path()));
  for (const Rows* rows : {&others(), &of_gradients(), &of_data(), &of_summaries(), &of_models()})
    for (const Row& row : *rows) tested.insert(row.code);
  tested.merge(codes_in(tree / "tests/dist/findings_test.cpp"));  // under mpirun
  if (codes_in(tree / "tests/python/adapters/test_core.py").contains("WP-ADP-001")) tested.insert("WP-ADP-001");
  EXPECT_EQ(codes_in(tree / "docs/findings.md"), raised);
  EXPECT_EQ(tested, raised);
}

}  // namespace wp::triggers
