// The hard cases of tests/cases/hard.json, section B: gradients and Hessian-vector products with their exact answers,
// through functions of matrices. A wrong number fails, and so does an alarm beside a right one; where there is no
// derivative, so does a number.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "tensor/note.hpp"
#include "wellposed/wellposed.hpp"

namespace wp {
namespace {

using json = nlohmann::json;
namespace la = linalg;

// The loss of the case from A and the other inputs.
using Loss = std::function<Tensor(const Tensor& a, const std::vector<Tensor>& more)>;

Tensor against(const Tensor& w, const Tensor& y) {
  return sum(real(conj(w) * y));
}
Tensor row(const Tensor& s) {
  return expand_dims(s, {.axis = -2});
}
Tensor adjoint(const Tensor& x) {
  return matrix_transpose(conj(x));
}
// V f(λ) Vᴴ, as people write it.
Loss through_eigh(Tensor (*f)(const Tensor&)) {
  return [f](const Tensor& a, const std::vector<Tensor>& w) {
    const auto e = la::eigh(a);
    return against(w[0], matmul(e.eigenvectors * row(f(e.eigenvalues)), adjoint(e.eigenvectors)));
  };
}
// Losses written with the factors themselves.
const std::map<std::string, Loss>& factor_losses() {
  static const la::SvdOptions thin{.full_matrices = false};
  static const std::map<std::string, Loss> all{
      {"nuc", [](const Tensor& a, const auto&) { return sum(la::svd(a, thin).S); }},
      {"sum_S", [](const Tensor& a, const auto&) { return sum(la::svd(a, thin).S); }},
      {"sum_S_vals", [](const Tensor& a, const auto&) { return sum(la::svdvals(a)); }},
      {"sum_S2", [](const Tensor& a, const auto&) { return sum(square(la::svd(a, thin).S)); }},
      {"sum_S2_vals", [](const Tensor& a, const auto&) { return sum(square(la::svdvals(a))); }},
      {"recon",
       [](const Tensor& a, const auto& t) {
         const auto f = la::svd(a, thin);
         const Tensor off = matmul(f.U * row(f.S), f.Vh) - t[0];
         return sum(real(conj(off) * off));
       }},
      {"polar",
       [](const Tensor& a, const auto& w) {
         const auto f = la::svd(a, thin);
         return against(w[0], matmul(f.U, f.Vh));
       }},
      {"projU_2",
       [](const Tensor& a, const auto& w) {
         const Tensor u = la::svd(a, thin).U[{ellipsis, slice(0, 2)}];
         return against(w[0], matmul(u, adjoint(u)));
       }},
      {"lowrank_2",
       [](const Tensor& a, const auto& w) {
         const auto f = la::svd(a, thin);
         const Tensor u = f.U[{ellipsis, slice(0, 2)}], s = f.S[{slice(0, 2)}], vh = f.Vh[{slice(0, 2)}];
         return against(w[0], matmul(u * row(s), vh));
       }},
      {"logdet_svd", [](const Tensor& a, const auto&) { return sum(log(la::svd(a, thin).S)); }},
      {"sumU2W", [](const Tensor& a, const auto& w) { return sum(w[0] * square(la::svd(a, thin).U)); }},
      {"sum_U", [](const Tensor& a, const auto&) { return sum(la::svd(a, thin).U); }},
      {"sum_eighV", [](const Tensor& a, const auto&) { return sum(la::eigh(a).eigenvectors); }},
      {"eig_sum", [](const Tensor& a, const auto&) { return sum(la::eigh(a).eigenvalues); }},
      {"eig_sum2", [](const Tensor& a, const auto&) { return sum(square(la::eigh(a).eigenvalues)); }},
      {"logdet_eigh", [](const Tensor& a, const auto&) { return sum(log(la::eigh(a).eigenvalues)); }},
      {"projEig_2",
       [](const Tensor& a, const auto& w) {
         const Tensor v = la::eigh(a).eigenvectors[{ellipsis, slice(-2, none)}];
         return against(w[0], matmul(v, adjoint(v)));
       }},
      {"sqrt_eigh", through_eigh([](const Tensor& l) { return sqrt(l); })},
      {"log_eigh", through_eigh([](const Tensor& l) { return log(l); })},
      {"exp_eigh", through_eigh([](const Tensor& l) { return exp(l); })},
      {"invsqrt_eigh", through_eigh([](const Tensor& l) { return 1 / sqrt(l); })},
      {"qr_R2",
       [](const Tensor& a, const auto&) {
         const Tensor r = la::qr(a).R;
         return sum(real(conj(r) * r));
       }},
      {"qr_recon",
       [](const Tensor& a, const auto& w) {
         const auto f = la::qr(a);
         return against(w[0], matmul(f.Q, f.R));
       }},
      {"inv_W", [](const Tensor& a, const auto& w) { return against(w[0], la::inv(a)); }},
      {"pinv_W", [](const Tensor& a, const auto& w) { return against(w[0], la::pinv(a)); }},
      {"where_div", [](const Tensor& x, const auto&) { return sum(where(not_equal(x, 0), 1 / x, 0)); }},
      {"pow_x_y", [](const Tensor& x, const auto& y) { return sum(pow(x, y[0])); }},
      {"normalize", [](const Tensor& x, const auto&) { return sum(x / sqrt(sum(square(x)))); }},
      {"sqrt_sumsq", [](const Tensor& x, const auto&) { return la::vector_norm(x); }},
  };
  return all;
}
// The same by functions of matrices.
const std::map<std::string, Loss>& losses() {
  static const std::map<std::string, Loss> all{
      {"nuc", [](const Tensor& a, const auto&) { return la::matrix_norm(a, {.ord = "nuc"}); }},
      {"sum_S", [](const Tensor& a, const auto&) { return la::matrix_norm(a, {.ord = "nuc"}); }},
      {"sum_S2", [](const Tensor& a, const auto&) { return square(la::matrix_norm(a)); }},
      {"polar", [](const Tensor& a, const auto& w) { return against(w[0], la::polar(a).U); }},
      {"projU_2", [](const Tensor& a, const auto& w) { return against(w[0], la::projector(la::low_rank(a, 2))); }},
      {"lowrank_2", [](const Tensor& a, const auto& w) { return against(w[0], la::low_rank(a, 2)); }},
      {"projEig_2", [](const Tensor& a, const auto& w) { return against(w[0], la::projector(la::low_rank(a, 2))); }},
      {"logdet_svd", [](const Tensor& a, const auto&) { return la::slogdet(a).logabsdet; }},
      {"logdet_eigh", [](const Tensor& a, const auto&) { return la::logdet(a); }},
      {"logabsdet", [](const Tensor& a, const auto&) { return la::slogdet(a).logabsdet; }},
      {"invsqrt_eigh", [](const Tensor& a, const auto& w) { return against(w[0], la::matrix_power(a, -0.5)); }},
      {"sqrt_eigh", [](const Tensor& a, const auto& w) { return against(w[0], la::sqrtm(a)); }},
      {"sqrtm_W", [](const Tensor& a, const auto& w) { return against(w[0], la::sqrtm(a)); }},
      {"log_eigh", [](const Tensor& a, const auto& w) { return against(w[0], la::logm(a)); }},
      {"expm_W", [](const Tensor& a, const auto& w) { return against(w[0], la::expm(a)); }},
      {"chol_logdet", [](const Tensor& a, const auto&) { return 2 * sum(log(la::diagonal(la::cholesky(a)))); }},
      {"det", [](const Tensor& a, const auto&) { return la::det(a); }},
      {"lstsq_W", [](const Tensor& a, const auto& w) { return against(w[1], la::lstsq(a, w[0])); }},
  };
  return all;
}

struct Case {
  json about;
  const Loss* loss;  // null: nobody knows how to write it
  std::string way;
};
const std::vector<Case>& cases() {
  static const auto* const all = [] {
    std::ifstream file(WP_SOURCE_TREE "/tests/cases/hard.json");
    const json parsed = json::parse(file);
    auto* out = new std::vector<Case>;
    for (const json& c : parsed.at("cases")) {
      if (c.at("section") != "B") continue;
      const std::size_t before = out->size();
      const std::string op = c.at("op").get<std::string>();
      if (const auto at = losses().find(op); at != losses().end()) out->push_back({c, &at->second, "function"});
      if (const auto at = factor_losses().find(op); at != factor_losses().end())
        out->push_back({c, &at->second, "factors"});
      if (out->size() == before) out->push_back({c, nullptr, "unknown"});
    }
    return out;
  }();
  return *all;
}

double number(const json& text) {
  return std::strtod(text.get<std::string>().c_str(), nullptr);
}
Tensor load(const json& shape_of, const json& numbers, bool complex, DType dtype) {
  Dims shape;
  for (const auto& d : shape_of) shape.push_back(d.get<std::int64_t>());
  std::vector<complex128> v;
  for (std::size_t i = 0; i < numbers.size(); i += complex ? 2 : 1)
    v.emplace_back(number(numbers[i]), complex ? number(numbers[i + 1]) : 0.0);
  const Tensor t = Tensor::from(v, shape);
  return is_complex(dtype) ? astype(t, dtype) : astype(real(t), dtype);
}

// With what the tapes found.
struct Answer {
  Tensor value;
  std::vector<Finding> findings;
};
Answer gradient(const Loss& loss, const Tensor& a, const std::vector<Tensor>& more) {
  GradientTape tape;
  tape.watch(a);
  const Tensor g = tape.gradient(loss(a, more), a);
  return {g, tape.findings()};
}
// The gradient along v of ⟨gradient, v⟩.
Answer hessian_times(const Loss& loss, const Tensor& a, std::vector<Tensor> more) {
  const Tensor v = more.back();
  more.pop_back();
  GradientTape outer, inner;
  outer.watch(a);
  inner.watch(a);
  const Tensor g = inner.gradient(loss(a, more), a);
  const Tensor h = outer.gradient(sum(g * v), a, {.unconnected = "zero"});
  std::vector<Finding> found = inner.findings();
  for (const Finding& f : outer.findings()) found.push_back(f);
  return {h, found};
}

double size_of_all(const Tensor& t) {
  double most = 0;
  for (std::int64_t i = 0; i < t.size(); ++i) most = std::max(most, std::abs(value_at(t, i)));
  return most;
}

// Is g a subgradient of the norm at a: ⟨g, a⟩ = ‖a‖ and the dual norm of g is at most 1?
void expect_subgradient(const Tensor& g, const Tensor& a, bool nuclear) {
  const double norm = nuclear ? la::matrix_norm(a, {.ord = "nuc"}).item<double>() : la::vector_norm(a).item<double>();
  const double dual = nuclear ? la::matrix_norm(g, {.ord = 2}).item<double>() : la::vector_norm(g).item<double>();
  EXPECT_LE(dual, 1 + 1e-12);
  EXPECT_NEAR(sum(g * a).item<double>(), norm, 1e-12 * norm);
}

class HardGradient : public ::testing::TestWithParam<std::size_t> {};

TEST_P(HardGradient, IsRightOrRefused) {
  const json& c = cases()[GetParam()].about;
  ASSERT_TRUE(cases()[GetParam()].loss) << c.at("op");
  const Loss& loss = *cases()[GetParam()].loss;
  std::vector<Tensor> in;
  for (const json& t : c.at("inputs")) {
    const DType d = parse_dtype(t.at("dtype").get<std::string>());
    in.push_back(load(t.at("shape"), t.at("hex"), is_complex(d), d));
  }
  const Tensor a = in[0];
  const std::vector<Tensor> more(in.begin() + 1, in.end());
  const json params = c.contains("params") && c["params"].is_object() ? c["params"] : json::object();
  if (c.at("expect") == "undefined") {
    EXPECT_THROW((void)gradient(loss, a, more), Error) << c.at("id");
    return;
  }
  auto [got, findings] = params.value("order", 1) == 2 ? hessian_times(loss, a, more) : gradient(loss, a, more);
  const std::string check = c.contains("check") && c["check"].is_string() ? c["check"].get<std::string>() : "";
  if (check.starts_with("subgrad")) {
    EXPECT_FALSE(findings.empty()) << c.at("id") << ": a kink that nobody told of";
    for (const Finding& f : findings) EXPECT_EQ(f.code, "WP-GRD-009") << c.at("id") << ": " << f.text();
    return expect_subgradient(got, a, check == "subgrad_nuc");
  }
  for (const Finding& f : findings)  // a derivative exists, and its digits do
    ADD_FAILURE() << c.at("id") << ": a false alarm: " << f.text();
  const json& e = c.at("exact");
  Tensor want = load(e.at("shape"), e.at("dec"), e.value("cplx", false), is_complex(a.dtype()) ? c128 : f64);
  if (params.value("symmetrize", false)) {
    got = (got + matrix_transpose(got)) * 0.5;
    want = (want + matrix_transpose(want)) * 0.5;
  }
  double scale = size_of_all(want);
  if (scale == 0) scale = params.contains("gradscale") ? number(params["gradscale"]) : 1;
  const double off = size_of_all(astype(got, want.dtype()) - want) / scale;
  EXPECT_LE(off, c.at("tol").get<double>()) << c.at("id") << "\n" << got << "\n" << want;
}
std::string name_of(const testing::TestParamInfo<std::size_t>& p) {
  std::string name = cases()[p.param].about.at("id").get<std::string>() + "/" + cases()[p.param].way;
  for (char& ch : name)
    if (!std::isalnum(static_cast<unsigned char>(ch))) ch = '_';
  return name;
}
INSTANTIATE_TEST_SUITE_P(, HardGradient, ::testing::Range<std::size_t>(0, cases().size()), name_of);

}  // namespace
}  // namespace wp
