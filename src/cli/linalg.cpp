// wellposed diagnose, inv, solve, lstsq, pinv, svd, cond, rank: linear algebra on files.
#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>

#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/matrices.hpp"
#include "linalg/spectral.hpp"
#include "linalg/stack.hpp"
#include "ops/lines.hpp"
#include "ops/moves.hpp"

namespace wp::cli {
namespace {

// Everything that a command may be told. Each declares what it has.
struct Told {
  std::string a, b, names, if_ill = "raise", ridge, accuracy = "normal", u, vh;
  double noise = 0, atol = 0;
  std::optional<double> rtol;
  bool certify = false, may_regularise = false;
  Outputs outputs;
};
using Ask = std::shared_ptr<Told>;

Ask declare(CLI::App& app, bool data = true) {
  auto told = std::make_shared<Told>();
  app.add_option("A", told->a,
                 "The matrix, or a stack [..., m, n]: .npy, .npz, .safetensors (FILE:NAME), .mtx, .csv, .tsv, or -.")
      ->required();
  app.add_option(
      "--names", told->names,
      "Labels of the columns (and of the rows, if it is symmetric), comma between; a table's header is used "
      "if it has one.");
  told->outputs.declare(app, data);
  return told;
}
void declare_data(CLI::App& app, Told& t) {
  app.add_option("b", t.b, "Right-hand sides: [m], or [..., m, k].")->required();
}
void declare_system(CLI::App& app, Told& t) {
  app.add_option("--if-ill", t.if_ill, "raise, nan, pinv, ridge or ignore: what becomes of a singular matrix.")
      ->check(CLI::IsMember({"raise", "nan", "pinv", "ridge", "ignore"}));
  t.may_regularise = true;
  app.add_flag("--certify", t.certify, "Prove a bound of the error.");
  app.add_option("--accuracy", t.accuracy, "normal, or high: 113-bit arithmetic where f64 does not do.")
      ->check(CLI::IsMember({"normal", "high"}));
}
void declare_ridge(CLI::App& app, Told& t) {
  app.add_option("--ridge", t.ridge, "λ of min |A x - b|² + λ|x|², or auto, gcv, l-curve, discrepancy.");
  app.add_option("--noise", t.noise, "For --ridge discrepancy: the norm of the noise in b.");
}
void declare_cutoff(CLI::App& app, Told& t) {
  app.add_option("--rtol", t.rtol, "Singular values up to rtol times the largest count as zero (max(m, n) eps).");
  app.add_option("--atol", t.atol, "Singular values up to atol count as zero.");
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
  r.threshold = std::max(t.atol, largest * t.rtol.value_or(t.atol > 0 ? 0 : longest * eps));
}

// The score that the rule minimises over λ, with the λ that was taken.
void add_ridge_curve(Report& r, const Told& t, const Tensor& b) {
  if (t.ridge.empty() || r.diagnosis.size() != 1 || is_complex(r.matrix.values.dtype())) return;
  const Tensor a = packed(r.matrix.values, f64), data = packed(b, f64);
  const std::int64_t m = a.shape().end()[-2], n = a.shape().back(), k = data.ndim() == 1 ? 1 : data.shape().back();
  const linalg::Spectral<double> svd(m, n, {reinterpret_cast<const double*>(a.node()->data), n, 1});
  const auto d = svd.ridge_data(k, {reinterpret_cast<const double*>(data.node()->data), k, 1});
  if (d.sigma.empty() || d.sigma[0] == 0) return;
  const auto rule = t.ridge == "l-curve" ? linalg::RidgeRule::l_curve
                    : t.ridge == "gcv"   ? linalg::RidgeRule::gcv
                                         : linalg::RidgeRule::automatic;
  plot::Chart chart{
      .title = t.ridge == "l-curve" ? "Curvature of the L-curve, negated" : "Generalised cross-validation",
      .x_label = "λ",
      .y_label = "score",
      .log_x = true,
      .log_y = rule != linalg::RidgeRule::l_curve};
  plot::Series line{.mark = plot::Series::Mark::line, .name = "score"}, taken{.name = "taken"};
  const double scale = d.sigma[0] * d.sigma[0], at = r.diagnosis[0].ridge;
  for (int i = 0; i <= 240; ++i) {
    const double q = std::pow(10.0, -30 + i / 8.0);
    line.x.push_back(q * scale);
    line.y.push_back(linalg::ridge_score(rule, d, q));
  }
  if (at > 0) {
    taken.x.push_back(at);
    taken.y.push_back(linalg::ridge_score(rule, d, at / scale));
  }
  chart.series = {line, taken};
  r.charts.push_back(std::move(chart));
}

// With --if-ill raise, trouble leaves no data; the words say what is wrong.
void refuse_data(Report& r, const Told& t) {
  bool bad = false, finite = true;
  for (std::int64_t i = 0; i < r.diagnosis.size(); ++i) {
    bad = bad || r.diagnosis.status(i) >= linalg::Status::singular;
    finite = finite && r.diagnosis.status(i) != linalg::Status::nonfinite_input;
  }
  if (!bad || t.if_ill != "raise") return;
  r.value = {};
  r.words = "No result is given";
  if (t.may_regularise && finite)
    r.words += ": use --if-ill pinv, --ridge auto, or --if-ill nan to keep the other members";
  r.words += ".";
}

template <class Result>
int finish(const std::string& command, Matrix a, Result&& result, const Told& t, const Tensor& b = {}) {
  Report r{.command = command, .matrix = std::move(a), .diagnosis = result.diagnosis, .value = result.value};
  refuse_data(r, t);
  if (!t.outputs.html.empty() || !r.diagnosis.ok()) add_spectrum(r, t);
  if (b.defined()) add_ridge_curve(r, t, b);
  return deliver(r, t.outputs, false);
}

std::optional<std::vector<std::string>> labels(const Matrix& a) {
  return a.names.empty() ? std::nullopt : std::optional(a.names);
}

int run_diagnose(const Told& t) {
  Report r{.command = "diagnose", .matrix = read_matrix(t.a, t.names)};
  const Tensor& a = r.matrix.values;
  const bool square = a.ndim() >= 2 && a.shape().end()[-1] == a.shape().end()[-2];
  r.diagnosis = square ? linalg::diagnosed::inv(a, {.certify = t.certify, .names = labels(r.matrix)}).diagnosis
                       : linalg::diagnosed::pinv(a).diagnosis;
  add_spectrum(r, t);
  return deliver(r, t.outputs, true);
}

int run_inv(const Told& t) {
  Matrix a = read_matrix(t.a, t.names);
  auto result = linalg::diagnosed::inv(a.values, {.if_ill = t.if_ill,
                                                  .ridge = setting_of(t.ridge),
                                                  .noise = t.noise,
                                                  .certify = t.certify,
                                                  .names = labels(a),
                                                  .accuracy = t.accuracy});
  return finish("inv", std::move(a), result, t);
}

int run_solve(const Told& t) {
  Matrix a = read_matrix(t.a, t.names);
  const Tensor b = read_data(t.b);
  auto result = linalg::diagnosed::solve(a.values, b,
                                         {.if_ill = t.if_ill,
                                          .ridge = setting_of(t.ridge),
                                          .noise = t.noise,
                                          .certify = t.certify,
                                          .names = labels(a),
                                          .accuracy = t.accuracy});
  return finish("solve", std::move(a), result, t, b);
}

int run_lstsq(const Told& t) {
  Matrix a = read_matrix(t.a, t.names);
  const Tensor b = read_data(t.b);
  auto result = linalg::diagnosed::lstsq(
      a.values, b, {.rtol = t.rtol, .atol = t.atol, .ridge = setting_of(t.ridge), .noise = t.noise});
  return finish("lstsq", std::move(a), result, t, b);
}

int run_pinv(const Told& t) {
  Matrix a = read_matrix(t.a, t.names);
  auto result = linalg::diagnosed::pinv(a.values, {.rtol = t.rtol, .atol = t.atol});
  return finish("pinv", std::move(a), result, t);
}

int run_svd(const Told& t) {
  Matrix a = read_matrix(t.a, t.names);
  if (t.u.empty() && t.vh.empty())
    return finish("svd", a, linalg::diagnosed::svdvals(a.values, {.accuracy = t.accuracy}), t);
  const auto result = linalg::diagnosed::svd(a.values, {.full_matrices = false, .accuracy = t.accuracy});
  if (!t.u.empty()) save(t.u, result.value.U);
  if (!t.vh.empty()) save(t.vh, result.value.Vh);
  return finish("svd", a, linalg::Diagnosed<Tensor>{result.value.S, result.diagnosis}, t);
}

int run_cond(const Told& t) {
  Matrix a = read_matrix(t.a, t.names);
  return finish("cond", a, linalg::diagnosed::cond(a.values), t);
}

int run_rank(const Told& t) {
  Matrix a = read_matrix(t.a, t.names);
  return finish("rank", a, linalg::diagnosed::matrix_rank(a.values, {.rtol = t.rtol, .atol = t.atol}), t);
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
      const Ask t = declare(app, false);
      declare_cutoff(app, *t);
      app.add_flag("--certify", t->certify, "Prove a bound of the inverse's error.");
      return [t] { return run_diagnose(*t); };
    }};

const Command inv_command = {"inv", "The inverse of a matrix, or the reason why there is none.",
                             "  wellposed inv A.npy --out inverse.npy\n"
                             "  wellposed inv A.csv --ridge 1e-6         the regularised inverse\n"
                             "  wellposed inv stack.npy --if-ill nan --out inverses.npy",
                             [](CLI::App& app) -> std::function<int()> {
                               const Ask t = declare(app);
                               declare_system(app, *t);
                               declare_ridge(app, *t);
                               return [t] { return run_inv(*t); };
                             }};

const Command solve_command = {"solve", "The solution of A x = b, with the digits that can be vouched for.",
                               "  wellposed solve A.npy b.npy --out x.npy\n"
                               "  wellposed solve A.csv b.csv --certify --json\n"
                               "  wellposed solve A.npy b.npy --ridge auto --html report.html",
                               [](CLI::App& app) -> std::function<int()> {
                                 const Ask t = declare(app);
                                 declare_data(app, *t);
                                 declare_system(app, *t);
                                 declare_ridge(app, *t);
                                 return [t] { return run_solve(*t); };
                               }};

const Command lstsq_command = {"lstsq", "The shortest x that minimises |A x - b|.",
                               "  wellposed lstsq A.npy b.npy --out x.npy\n"
                               "  wellposed lstsq A.csv b.csv --ridge gcv --html report.html",
                               [](CLI::App& app) -> std::function<int()> {
                                 const Ask t = declare(app);
                                 declare_data(app, *t);
                                 declare_cutoff(app, *t);
                                 declare_ridge(app, *t);
                                 return [t] { return run_lstsq(*t); };
                               }};

const Command pinv_command = {"pinv", "The pseudo-inverse of a matrix.",
                              "  wellposed pinv A.npy --out pinv.npy\n"
                              "  wellposed pinv A.csv --atol 1e-10",
                              [](CLI::App& app) -> std::function<int()> {
                                const Ask t = declare(app);
                                declare_cutoff(app, *t);
                                return [t] { return run_pinv(*t); };
                              }};

const Command svd_command = {"svd", "The singular values of a matrix; its singular vectors into files.",
                             "  wellposed svd A.npy\n"
                             "  wellposed svd A.npy --out S.npy --u U.npy --vh Vh.npy",
                             [](CLI::App& app) -> std::function<int()> {
                               const Ask t = declare(app);
                               app.add_option("--u", t->u, "Write the left vectors (columns) to this file.");
                               app.add_option("--vh", t->vh, "Write the right vectors (rows) to this file.");
                               app.add_option("--accuracy", t->accuracy,
                                              "normal, or high: small values keep their digits.")
                                   ->check(CLI::IsMember({"normal", "high"}));
                               return [t] { return run_svd(*t); };
                             }};

const Command cond_command = {"cond", "The condition of a matrix: its largest singular value over its smallest.",
                              "  wellposed cond A.npy\n"
                              "  wellposed cond A.npy --json",
                              [](CLI::App& app) -> std::function<int()> {
                                const Ask t = declare(app);
                                return [t] { return run_cond(*t); };
                              }};

const Command rank_command = {"rank", "The rank of a matrix.",
                              "  wellposed rank A.npy\n"
                              "  wellposed rank A.npy --rtol 1e-8 --json",
                              [](CLI::App& app) -> std::function<int()> {
                                const Ask t = declare(app);
                                declare_cutoff(app, *t);
                                return [t] { return run_rank(*t); };
                              }};

}  // namespace wp::cli
