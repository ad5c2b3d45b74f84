// wellposed diagnose, inv, solve, lstsq, pinv, svd, cond, rank: linear algebra on files.
#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>

#include "base/text.hpp"
#include "cli/attributes.hpp"
#include "cli/command.hpp"
#include "cli/matrices.hpp"
#include "linalg/spectral.hpp"
#include "linalg/stack.hpp"
#include "ops/dispatch.hpp"
#include "ops/lines.hpp"
#include "ops/moves.hpp"

namespace wp::cli {
namespace {

// Everything that a command may be told: files, and the attributes of the op behind it.
struct Told {
  std::string a, b, names, u, vh;
  AttributeOptions options;
  Outputs outputs;
};
using Ask = std::shared_ptr<Told>;

const Op& op_named(std::string_view name) {
  return *find_op(say("linalg.", name));
}

// With `right`, a second argument; `others`: attributes that are no options.
Ask declare(CLI::App& app, std::initializer_list<std::string_view> ops, bool right = false, bool data = true,
            std::initializer_list<std::string_view> others = {}) {
  auto told = std::make_shared<Told>();
  app.add_option("A", told->a,
                 "The matrix, or a stack [..., m, n]: .npy, .npz, .safetensors (FILE:NAME), .mtx, .csv, .tsv, or -.")
      ->required();
  if (right) app.add_option("b", told->b, "Right-hand sides: [m], or [..., m, k].")->required();
  app.add_option(
      "--names", told->names,
      "Labels of the columns (and of the rows, if it is symmetric), comma between; a table's header is used "
      "if it has one.");
  for (const std::string_view op : ops) told->options.declare(app, op_named(op), others);
  told->outputs.declare(app, data);
  return told;
}

// The op with the attributes that were told. What it does not take is wrong usage.
linalg::Diagnosed<Tensors> run_op(const Op& op, const Told& t, const Matrix& a, const Tensor& b = {},
                                  std::vector<Attr> attrs = {}) {
  if (attrs.empty()) attrs = t.options.of(op, a.names);
  const Tensor* const in[] = {&a.values, &b};
  try {
    return call_diagnosed(op, Inputs(in, b.defined() ? 2 : 1), attrs, {});
  } catch (const ArgumentError& e) {
    throw UsageError{e.what()};
  }
}

// A column of a table is a vector.
Tensor read_data(const std::string& file) {
  const Tensor b = read_matrix(file, "").values;
  return b.ndim() == 2 && b.shape()[1] == 1 ? reshape(b, {b.shape()[0]}) : b;
}

// The singular values of the member that the report shows, and what they are compared with.
void add_spectrum(Report& r, const Told& t) {
  const Tensor& a = r.matrix.values;
  if (r.diagnosis.size() == 0 || a.size() == 0) return;
  const std::int64_t member = shown_member(r.diagnosis);
  if (r.diagnosis.status(member) == linalg::Status::nonfinite_input) return;
  r.sigma = linalg::svdvals(member_of(a, member), {.if_ill = "nan"});
  const double largest = r.sigma.size() ? astype(r.sigma, f64).at(0).item<double>() : 0;
  const double longest = static_cast<double>(std::max(a.shape().end()[-1], a.shape().end()[-2]));
  const double eps = 2 * linalg::round_off(is_floating(a.dtype()) ? a.dtype() : f64);
  const double atol = t.options.number("atol").value_or(0);
  r.threshold = std::max(atol, largest * t.options.number("rtol").value_or(atol > 0 ? 0 : longest * eps));
}

// What A and b say about λ.
linalg::RidgeData ridge_data(const Tensor& a, const Tensor& b) {
  const bool complex = is_complex(a.dtype()) || is_complex(b.dtype());
  return linalg::with_float(complex ? c128 : f64, [&]<class T>(T) {
    const Tensor left = packed(a, complex ? c128 : f64), right = packed(b, complex ? c128 : f64);
    const std::int64_t m = a.shape().end()[-2], n = a.shape().back(), k = b.ndim() == 1 ? 1 : b.shape().back();
    const linalg::Spectral<T> svd(m, n, {reinterpret_cast<const T*>(left.node()->data), n, 1});
    return svd.ridge_data(k, {reinterpret_cast<const T*>(right.node()->data), k, 1});
  });
}

// What the rule looks at over λ (the score that it minimises, or the residual that it holds against the noise), with
// the λ that was taken.
void add_ridge_curve(Report& r, const Told& t, const Tensor& b) {
  const std::string ridge = t.options.text("ridge");
  const Tensor& a = r.matrix.values;
  if (ridge.empty() || r.diagnosis.size() != 1 || r.diagnosis.status(0) == linalg::Status::nonfinite_input) return;
  const linalg::RidgeData d = ridge_data(a, b);
  if (d.sigma.empty() || d.sigma[0] == 0) return;
  const auto rule = ridge == "l-curve"       ? linalg::RidgeRule::l_curve
                    : ridge == "gcv"         ? linalg::RidgeRule::gcv
                    : ridge == "discrepancy" ? linalg::RidgeRule::discrepancy
                                             : linalg::RidgeRule::automatic;
  const bool residual = rule == linalg::RidgeRule::discrepancy;
  plot::Chart chart{.title = rule == linalg::RidgeRule::l_curve ? "Curvature of the L-curve, negated"
                             : residual                         ? "Residual against the noise (discrepancy)"
                                                                : "Generalised cross-validation",
                    .x_label = "λ",
                    .y_label = residual ? "|A x − b|" : "score",
                    .log_x = true,
                    .log_y = rule != linalg::RidgeRule::l_curve};
  const auto value = [&](double q) {  // at λ = q σ₁²
    return residual ? linalg::ridge_point(d, q).rho * d.norm : linalg::ridge_score(rule, d, q);
  };
  plot::Series line{.mark = plot::Series::Mark::line, .name = residual ? "residual" : "score"},
      taken{.name = "taken"};
  const double scale = d.sigma[0] * d.sigma[0], at = r.diagnosis[0].ridge;
  for (int i = 0; i <= 240; ++i) {
    const double q = std::pow(10.0, -30 + i / 8.0);
    line.x.push_back(q * scale);
    line.y.push_back(value(q));
  }
  if (at > 0) {
    taken.x.push_back(at);
    taken.y.push_back(value(at / scale));
  }
  chart.series = {line, taken};
  if (residual) chart.levels = {{t.options.number("noise").value_or(0), "noise"}};
  r.charts.push_back(std::move(chart));
}

// With --if-ill raise, trouble leaves no data; the words say what is wrong.
void refuse_data(Report& r, const Told& t) {
  bool bad = false, finite = true;
  for (std::int64_t i = 0; i < r.diagnosis.size(); ++i) {
    bad = bad || r.diagnosis.status(i) >= linalg::Status::singular;
    finite = finite && r.diagnosis.status(i) != linalg::Status::nonfinite_input;
  }
  if (!bad || t.options.text("if_ill") != "raise") return;
  r.value = {};
  r.words = "No result is given";
  if (t.options.takes("if_ill", "pinv") && finite)
    r.words += ": use --if-ill pinv, --ridge auto, or --if-ill nan to keep the other members";
  r.words += ".";
}

int finish(const std::string& command, Matrix a, const linalg::Diagnosis& diagnosis, const Tensor& value,
           const Told& t, const Tensor& b = {}) {
  Report r{.command = command, .matrix = std::move(a), .diagnosis = diagnosis, .value = value};
  refuse_data(r, t);
  if (!t.outputs.html.empty() || !r.diagnosis.ok()) add_spectrum(r, t);
  if (b.defined()) add_ridge_curve(r, t, b);
  return deliver(r, t.outputs, false);
}

// The command of one op.
int run(const std::string& command, std::string_view op, const Told& t) {
  Matrix a = read_matrix(t.a, t.names);
  const Tensor b = t.b.empty() ? Tensor() : read_data(t.b);
  const auto result = run_op(op_named(op), t, a, b);
  return finish(command, std::move(a), result.diagnosis, result.value[0], t, b);
}

// As an inverse would be judged, or a pseudo-inverse of what is not square.
int run_diagnose(const Told& t) {
  Report r{.command = "diagnose", .matrix = read_matrix(t.a, t.names)};
  const Tensor& a = r.matrix.values;
  const bool square = a.ndim() >= 2 && a.shape().end()[-1] == a.shape().end()[-2];
  const Op& op = op_named(square ? "inv" : "pinv");
  for (const std::string& option : t.options.foreign(op))
    if (!square) throw UsageError{say(option, " is for square matrices; got ", a.shape(), ".")};
  r.diagnosis = run_op(op, t, r.matrix).diagnosis;
  add_spectrum(r, t);
  return deliver(r, t.outputs, true);
}

int run_svd(const Told& t) {
  Matrix a = read_matrix(t.a, t.names);
  const bool vectors = !t.u.empty() || !t.vh.empty();
  const Op& op = op_named(vectors ? "svd" : "svdvals");
  std::vector<Attr> attrs = t.options.of(op, a.names);
  if (vectors) attrs[0] = false;  // thin
  const auto result = run_op(op, t, a, {}, attrs);
  if (!t.u.empty()) save(t.u, result.value[0]);
  if (!t.vh.empty()) save(t.vh, result.value[2]);
  return finish("svd", std::move(a), result.diagnosis, result.value[vectors ? 1 : 0], t);
}

}  // namespace

extern const Command diagnose_command, inv_command, solve_command, lstsq_command, pinv_command, svd_command,
    cond_command, rank_command;

const Command diagnose_command = {
    "diagnose", "What is wrong with a matrix: rank, condition, which rows depend on each other, its spectrum.",
    "  wellposed diagnose A.npy                 a short report with the singular values; exit code 1 if not well "
    "posed\n"
    "  wellposed diagnose returns.csv --html report.html\n"
    "  wellposed diagnose A.npy --json | jq '.diagnosis.members[0].dependent'",
    [](CLI::App& app) -> std::function<int()> {
      const Ask t = declare(app, {"inv", "pinv"}, false, false, {"if_ill"});
      return [t] { return run_diagnose(*t); };
    }};

const Command inv_command = {"inv", "The inverse of a matrix, or the reason why there is none.",
                             "  wellposed inv A.npy --out inverse.npy\n"
                             "  wellposed inv A.csv --ridge 1e-6         the regularised inverse\n"
                             "  wellposed inv stack.npy --if-ill nan --out inverses.npy",
                             [](CLI::App& app) -> std::function<int()> {
                               const Ask t = declare(app, {"inv"});
                               return [t] { return run("inv", "inv", *t); };
                             }};

const Command solve_command = {"solve", "The solution of A x = b, with the digits that can be vouched for.",
                               "  wellposed solve A.npy b.npy --out x.npy\n"
                               "  wellposed solve A.csv b.csv --certify --json\n"
                               "  wellposed solve A.npy b.npy --ridge auto --html report.html",
                               [](CLI::App& app) -> std::function<int()> {
                                 const Ask t = declare(app, {"solve"}, true);
                                 return [t] { return run("solve", "solve", *t); };
                               }};

const Command lstsq_command = {"lstsq", "The shortest x that minimises |A x - b|.",
                               "  wellposed lstsq A.npy b.npy --out x.npy\n"
                               "  wellposed lstsq A.csv b.csv --ridge gcv --html report.html",
                               [](CLI::App& app) -> std::function<int()> {
                                 const Ask t = declare(app, {"lstsq"}, true);
                                 return [t] { return run("lstsq", "lstsq", *t); };
                               }};

const Command pinv_command = {"pinv", "The pseudo-inverse of a matrix.",
                              "  wellposed pinv A.npy --out pinv.npy\n"
                              "  wellposed pinv A.csv --atol 1e-10",
                              [](CLI::App& app) -> std::function<int()> {
                                const Ask t = declare(app, {"pinv"});
                                return [t] { return run("pinv", "pinv", *t); };
                              }};

const Command svd_command = {"svd", "The singular values of a matrix; its singular vectors into files.",
                             "  wellposed svd A.npy\n"
                             "  wellposed svd A.npy --out S.npy --u U.npy --vh Vh.npy",
                             [](CLI::App& app) -> std::function<int()> {
                               const Ask t = declare(app, {"svd"}, false, true, {"full_matrices"});
                               app.add_option("--u", t->u, "Write the left vectors (columns) to this file.");
                               app.add_option("--vh", t->vh, "Write the right vectors (rows) to this file.");
                               return [t] { return run_svd(*t); };
                             }};

const Command cond_command = {"cond", "The condition of a matrix: its largest singular value over its smallest.",
                              "  wellposed cond A.npy\n"
                              "  wellposed cond A.npy --json",
                              [](CLI::App& app) -> std::function<int()> {
                                const Ask t = declare(app, {"cond"});
                                return [t] { return run("cond", "cond", *t); };
                              }};

const Command rank_command = {"rank", "The rank of a matrix.",
                              "  wellposed rank A.npy\n"
                              "  wellposed rank A.npy --rtol 1e-8 --json",
                              [](CLI::App& app) -> std::function<int()> {
                                const Ask t = declare(app, {"matrix_rank"});
                                return [t] { return run("rank", "matrix_rank", *t); };
                              }};

}  // namespace wp::cli
