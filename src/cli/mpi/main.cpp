// The command wellposed-mpi: linear algebra on files, by all ranks that mpirun starts.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <memory>

#include "base/text.hpp"
#include "cli/attributes.hpp"
#include "cli/command.hpp"
#include "cli/matrices.hpp"
#include "dist/one_place.hpp"
#include "dist/team.hpp"
#include "ops/dispatch.hpp"
#include "wellposed/dist.hpp"
#include "wellposed/version.hpp"

namespace wp::cli {
namespace {

using dist::rank;

struct Told {
  std::string a, b, grid, shape, u, vh, names;
  std::int64_t block = 0;
  AttributeOptions options;  // of the op on one machine
  Outputs outputs;
};
using Ask = std::shared_ptr<Told>;

const Op& op_named(std::string_view name) {
  return *find_op(say("linalg.", name));
}

// What was told of the attributes of an op, by name, as its struct of options has them.
class Values {
 public:
  Values(const Told& t, std::string_view op) : op_(op_named(op)), attrs_(t.options.of(op_)) {}
  std::string_view text(std::string_view name) const { return at(name).text(); }
  bool flag(std::string_view name) const { return at(name).flag(); }
  double real(std::string_view name) const { return at(name).real(); }
  std::optional<bool> flag_if_any(std::string_view name) const {
    return at(name) ? std::optional(at(name).flag()) : std::nullopt;
  }
  std::optional<double> real_if_any(std::string_view name) const {
    return at(name) ? std::optional(at(name).real()) : std::nullopt;
  }
  std::optional<Setting> setting(std::string_view name) const {
    const Attr& a = at(name);
    if (!a) return std::nullopt;
    return a.is_number() ? Setting(a.real()) : Setting(a.text());
  }

 private:
  const Attr& at(std::string_view name) const {
    std::size_t i = 0;
    while (op_.attrs[i].name != name) ++i;  // it has this attribute
    return attrs_[i];
  }
  const Op& op_;
  const std::vector<Attr> attrs_;
};

// "2x3", "1000,1000": numbers with something between.
std::vector<std::int64_t> numbers(const std::string& text, const char* what) {
  std::vector<std::int64_t> out;
  for (const char* at = text.c_str(); *at;) {
    char* end = nullptr;
    out.push_back(std::strtoll(at, &end, 10));
    if (end == at || out.back() < 0) throw UsageError{say(what, " must be whole numbers; got '", text, "'.")};
    at = *end ? end + 1 : end;
  }
  return out;
}

dist::Layout layout_of(const Told& t) {
  if (t.grid.empty()) return {{}, t.block};
  const auto g = numbers(t.grid, "--grid");
  if (g.size() != 2 || std::max(g[0], g[1]) > std::numeric_limits<int>::max())
    throw UsageError{say("--grid is ROWSxCOLUMNS; got '", t.grid, "'.")};
  return {dist::Grid(static_cast<int>(g[0]), static_cast<int>(g[1])), t.block};
}

dist::Matrix read_a(const Told& t) {
  dist::LoadMatrixOptions o{.layout = layout_of(t)};
  if (!t.shape.empty()) {
    Dims shape;
    for (const std::int64_t n : numbers(t.shape, "--shape")) shape.push_back(n);
    o.shape = shape;
  }
  return dist::Matrix::load(t.a, o);
}
dist::Matrix read_b(const Told& t, const dist::Matrix& a) {
  return dist::Matrix::load(t.b, {.layout = a.layout()});
}
std::optional<std::vector<std::string>> labels(const Told& t, const dist::Matrix& a) {
  const std::vector<std::string> names = column_names(t.names, a.columns());
  return names.empty() ? std::nullopt : std::optional(names);
}

constexpr std::int64_t kPrinted = 1 << 20;  // elements that are brought together to be printed

// Before anything is computed: an answer of this shape has somewhere to go.
void need_room(const Told& t, std::string_view command, std::int64_t rows, std::int64_t columns) {
  if (t.outputs.out.empty() && rows * columns > kPrinted)
    raise<ArgumentError>("WP-ARG-002", command, "the answer is too large to print.", "Give --out FILE.npy.");
}

// What a command found.
struct Answer {
  linalg::Diagnosis diagnosis;
  dist::Matrix x = {};                                           // to --out, or printed
  Tensor sigma = {};                                             // singular values
  bool asked = false;                                            // they are the answer
  std::vector<std::pair<std::string, dist::Matrix>> files = {};  // others; no name: not asked for
  bool always = false;                                           // the report is what was asked for
};

// Matrices go to their files from all ranks; words and small answers go out at rank 0.
int finish(const std::string& command, const Told& t, const dist::Matrix& a, Answer found) {
  const linalg::Diagnosis& d = found.diagnosis;
  bool bad = false;
  for (std::int64_t i = 0; i < d.size(); ++i) bad = bad || d.status(i) >= linalg::Status::singular;
  const bool refused = bad && t.options.text("if_ill") == "raise" && !found.always;
  Tensor sigma = d.status(0) == linalg::Status::nonfinite_input ? Tensor() : found.sigma;
  // A page shows the spectrum, and so does a report of trouble where the values are known or soon found.
  const bool shown = !t.outputs.html.empty() || (!d.ok() && dist::fits_one_place(a));
  if (shown && !sigma.defined() && d.status(0) != linalg::Status::nonfinite_input)
    sigma = dist::svdvals(a, {.if_ill = "nan"});
  Report r{.command = command, .matrix = {t.a, {}, {}}, .diagnosis = d};
  if (refused) {
    r.words = t.options.takes("if_ill", "pinv") ? "No result is given: use --if-ill pinv, or --ridge auto."
                                                : "No result is given.";
  } else {
    for (const auto& [path, matrix] : found.files)
      if (!path.empty()) matrix.save(path);
    if (found.asked) r.value = found.sigma;
    if (found.x.defined() && !t.outputs.out.empty()) found.x.save(t.outputs.out);
    if (found.x.defined() && t.outputs.out.empty()) r.value = found.x.gather();
  }
  static std::array<double, 2> nothing{};  // of any dtype: its shape is what is told
  r.matrix.values = Tensor::borrow(nothing.data(), a.dtype(), {a.rows(), a.columns()}, {0, 0});
  r.extra = {{"ranks", dist::size()},
             {"grid", {a.layout().grid.rows(), a.layout().grid.columns()}},
             {"block", a.layout().block}};
  if (sigma.defined() && sigma.size() > 0 && (found.always || !t.outputs.html.empty() || !d.ok())) {
    r.sigma = sigma;
    const double longest = static_cast<double>(std::max(a.rows(), a.columns()));
    const double eps = real_of(a.dtype()) == f32 ? 0x1p-23 : 0x1p-52, atol = t.options.number("atol").value_or(0);
    const double rtol = t.options.number("rtol").value_or(atol > 0 ? 0 : longest * eps);
    r.threshold = std::max(atol, rtol * astype(sigma, f64).at(0).item<double>());
  }
  Outputs o = t.outputs;
  if (found.x.defined()) o.out.clear();  // written already
  int code = fine;
  dist::together([&] {
    if (rank() == 0) code = deliver(r, o, found.always);
  });
  return dist::reduced(code, MPI_MAX);
}

// solve and inv have the same options.
template <class Options>
Options system_options(const Told& t, const dist::Matrix& a, std::string_view op) {
  const Values v(t, op);
  return {.if_ill = v.text("if_ill"),
          .ridge = v.setting("ridge"),
          .noise = v.real("noise"),
          .shift = v.real("shift"),
          .assume = v.text("assume"),
          .refine = v.flag_if_any("refine"),
          .certify = v.flag("certify"),
          .min_digits = v.real_if_any("min_digits"),
          .names = labels(t, a),
          .accuracy = v.text("accuracy"),
          .method = v.text("method")};
}

int run_solve(const Told& t) {
  const dist::Matrix a = read_a(t), b = read_b(t, a);
  need_room(t, "solve", a.columns(), b.columns());
  const auto found = dist::diagnosed::solve(a, b, system_options<dist::SolveOptions>(t, a, "solve"));
  return finish("solve", t, a, {found.diagnosis, found.value});
}
int run_inv(const Told& t) {
  const dist::Matrix a = read_a(t);
  need_room(t, "inv", a.rows(), a.columns());
  const auto found = dist::diagnosed::inv(a, system_options<dist::InvOptions>(t, a, "inv"));
  return finish("inv", t, a, {found.diagnosis, found.value});
}
int run_lstsq(const Told& t) {
  const dist::Matrix a = read_a(t), b = read_b(t, a);
  need_room(t, "lstsq", a.columns(), b.columns());
  const Values v(t, "lstsq");
  const auto found = dist::diagnosed::lstsq(a, b,
                                            {.rtol = v.real_if_any("rtol"),
                                             .atol = v.real("atol"),
                                             .ridge = v.setting("ridge"),
                                             .noise = v.real("noise"),
                                             .if_ill = v.text("if_ill"),
                                             .certify = v.flag("certify"),
                                             .names = labels(t, a)});
  return finish("lstsq", t, a, {found.diagnosis, found.value});
}
int run_svd(const Told& t) {
  const dist::Matrix a = read_a(t);
  const Values v(t, "svd");
  if (t.u.empty() && t.vh.empty()) {
    const auto found = dist::diagnosed::svdvals(
        a, {.if_ill = v.text("if_ill"), .accuracy = v.text("accuracy"), .names = labels(t, a)});
    return finish("svd", t, a, {.diagnosis = found.diagnosis, .sigma = found.value, .asked = true});
  }
  const auto found =
      dist::diagnosed::svd(a, {.if_ill = v.text("if_ill"), .accuracy = v.text("accuracy"), .names = labels(t, a)});
  return finish("svd", t, a,
                {.diagnosis = found.diagnosis,
                 .sigma = found.value.S,
                 .asked = true,
                 .files = {{t.u, found.value.U}, {t.vh, found.value.Vh}}});
}
int run_diagnose(const Told& t) {
  const dist::Matrix a = read_a(t);
  const auto found = dist::diagnose(a, system_options<dist::InvOptions>(t, a, "inv"));
  return finish("diagnose", t, a, {.diagnosis = found.diagnosis, .sigma = found.value, .always = true});
}

// The matrix, and the attributes of the op as options, but for `others`.
void declare_a(CLI::App& app, Told& t, std::string_view op, bool data = true,
               std::initializer_list<std::string_view> others = {}) {
  app.add_option("A", t.a, "The matrix: a .npy file that every rank can read.")->required();
  app.add_option("--grid", t.grid, "ROWSxCOLUMNS of ranks (as square as their number allows).");
  app.add_option("--block", t.block, "Rows and columns of a block (64, fewer for small matrices).");
  app.add_option("--shape", t.shape, "What A must be: ROWS,COLUMNS.");
  app.add_option("--names", t.names,
                 "Labels of the columns (and of the rows, if it is symmetric), comma between, for messages.");
  t.options.declare(app, op_named(op), others);
  t.outputs.declare(app, data);
}
void declare_b(CLI::App& app, Told& t) {
  app.add_option("b", t.b, "Right-hand sides: [m] or [m, k].")->required();
}
std::function<int()> declare(CLI::App& app) {
  auto chosen = std::make_shared<std::function<int()>>();
  const auto add = [&](const char* name, const char* words, int (*action)(const Told&), auto&& more) {
    CLI::App* const sub = app.add_subcommand(name, words);
    const Ask t = std::make_shared<Told>();
    more(*sub, *t);
    sub->callback([=] { *chosen = [=] { return action(*t); }; });
  };
  add("solve", "The solution of A x = b, with the digits that can be vouched for.", run_solve,
      [](CLI::App& sub, Told& t) {
        declare_a(sub, t, "solve");
        declare_b(sub, t);
      });
  add("inv", "The inverse of a matrix, or the reason why there is none.", run_inv,
      [](CLI::App& sub, Told& t) { declare_a(sub, t, "inv"); });
  add("lstsq", "The shortest x that minimises |A x - b|.", run_lstsq, [](CLI::App& sub, Told& t) {
    declare_a(sub, t, "lstsq");
    declare_b(sub, t);
  });
  add("svd", "The singular values of a matrix; its singular vectors into files.", run_svd,
      [](CLI::App& sub, Told& t) {
        declare_a(sub, t, "svd", true, {"full_matrices"});
        sub.add_option("--u", t.u, "Write the left vectors (columns) to this file.");
        sub.add_option("--vh", t.vh, "Write the right vectors (rows) to this file.");
      });
  add("diagnose", "What is wrong with a matrix: rank, condition, which rows depend on each other.", run_diagnose,
      [](CLI::App& sub, Told& t) { declare_a(sub, t, "inv", false, {"if_ill"}); });
  app.require_subcommand(1);
  return [chosen] { return (*chosen)(); };
}

// Whether something that starts ranks has started this process.
bool started_as_a_rank() {
  for (const char* name :
       {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE", "SLURM_PROCID", "MPI_LOCALNRANKS"})
    if (std::getenv(name)) return true;
  return false;
}

const char* first_set(std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const char* const value = std::getenv(name)) return value;
  return nullptr;
}

// Ranks that do not know of each other: each would solve alone, and all would write to one file.
bool alone_among_many() {
  const char* const promised =
      first_set({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"});
  if (dist::size() > 1 || !promised || std::atoi(promised) <= 1) return false;
  const char* const which = first_set({"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"});
  if (!which || std::atoi(which) == 0)
    std::cerr << "wellposed-mpi: " << promised
              << " ranks were to be started, but MPI in this process knows of no other.\n"
                 "  Use srun --mpi=pmix, or mpirun inside the allocation. Nothing was read."
              << std::endl;
  return true;
}

int parse_and_run(int argc, char** argv) {
  CLI::App app(
      "Linear algebra of wellposed on many processes (docs/cluster.md).\nData goes to stdout, messages to stderr.",
      "wellposed-mpi");
  app.set_help_flag("-h,--help", "Show this help and exit.");
  app.set_version_flag("--version", say("wellposed ", version()), "Show the version and exit.");
  app.get_formatter()->column_width(26);
  app.footer(
      "Examples:\n"
      "  mpirun -n 4 wellposed-mpi solve A.npy b.npy --out x.npy --json\n"
      "  mpirun -n 4 wellposed-mpi diagnose A.npy\n"
      "\n"
      "Exit codes: 0 fine, 1 a finding, 2 wrong usage, 3 bad input, 4 internal error.");
  const std::function<int()> action = declare(app);
  const bool speaks = !started_as_a_rank() || rank() == 0;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (!speaks) return e.get_exit_code() == 0 ? fine : usage;
    if (e.get_exit_code() == 0) return app.exit(e, std::cout, std::cerr);
    std::cerr << "wellposed-mpi: " << e.what() << "\nTry: wellposed-mpi --help" << std::endl;
    return usage;
  }
  if (!started_as_a_rank()) {
    std::cerr << "wellposed-mpi: it must be started by mpirun, srun or the like: there are no ranks.\n"
                 "  mpirun -n 4 wellposed-mpi "
              << argv[1] << " …   For one process use wellposed." << std::endl;
    return bad_input;
  }
  if (alone_among_many()) return bad_input;
  try {
    const int code = action();
    std::cout.flush();
    return code;
  } catch (const UsageError& e) {
    if (speaks) std::cerr << "wellposed-mpi: " << e.words << std::endl;
    return usage;
  }
}

}  // namespace
}  // namespace wp::cli

int main(int argc, char** argv) {
  if (!wp::cli::started_as_a_rank()) return wp::cli::parse_and_run(argc, argv);
  return wp::dist::run([&] { return wp::cli::parse_and_run(argc, argv); });
}
