// The hard cases of tests/cases/hard.json, section A: values with their exact answers. Wrong and silent fails; so
// does a refusal or an alarm where the condition leaves a good answer (cond·u < 1e-3).
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "hard_cases.hpp"
#include "ops/moves.hpp"

namespace wp {
namespace {

using hard::cases;
using hard::json;

// The same values in memory of another layout.
Tensor laid_out(const Tensor& x, const std::string& layout) {
  if (layout == "transposed_view") return matrix_transpose(contiguous(matrix_transpose(x)));
  if (layout == "reversed_view") return flip(contiguous(flip(x)));
  if (layout == "strided_view") {
    const std::int64_t n = x.shape()[1];
    const Tensor wide = contiguous(reshape(stack({x, zeros_like(x)}, {.axis = -1}), {x.shape()[0], 2 * n}));
    return view_of(wide, x.shape(), {2 * n, 2});
  }
  return x;
}

using Function = std::function<Tensors(const std::vector<Tensor>&)>;
const std::map<std::string, Function>& functions() {
  namespace la = linalg;
  static const std::map<std::string, Function> all{
      {"solve", [](const auto& x) { return Tensors{la::solve(x[0], x[1])}; }},
      {"inv", [](const auto& x) { return Tensors{la::inv(x[0])}; }},
      {"rank", [](const auto& x) { return Tensors{la::matrix_rank(x[0])}; }},
      {"det", [](const auto& x) { return Tensors{la::det(x[0])}; }},
      {"cond", [](const auto& x) { return Tensors{la::cond(x[0])}; }},
      {"pinv", [](const auto& x) { return Tensors{la::pinv(x[0])}; }},
      {"lstsq", [](const auto& x) { return Tensors{la::lstsq(x[0], x[1])}; }},
      {"slogdet",
       [](const auto& x) {
         const auto r = la::slogdet(x[0]);
         return Tensors{r.sign, r.logabsdet};
       }},
      {"eigvals",  // a set: here and there in the order of real parts
       [](const auto& x) {
         auto w = la::eigvals(x[0]).template to_vector<complex128>();
         std::sort(w.begin(), w.end(), [](complex128 a, complex128 b) { return a.real() < b.real(); });
         return Tensors{Tensor::from(w, {static_cast<std::int64_t>(w.size())})};
       }},
      {"eigvalsh", [](const auto& x) { return Tensors{la::eigvalsh(x[0])}; }},
      {"svdvals", [](const auto& x) { return Tensors{la::svdvals(x[0])}; }},
      {"cholesky", [](const auto& x) { return Tensors{la::cholesky(x[0])}; }},
      {"sqrtm", [](const auto& x) { return Tensors{la::sqrtm(x[0])}; }},
      {"norm2", [](const auto& x) { return Tensors{la::vector_norm(x[0])}; }},
      {"sum", [](const auto& x) { return Tensors{sum(x[0])}; }},
      {"mean", [](const auto& x) { return Tensors{mean(x[0])}; }},
  };
  return all;
}

class Hard : public ::testing::TestWithParam<std::size_t> {};

TEST_P(Hard, IsRightOrHonest) {
  const json& c = cases()[GetParam()];
  const auto function = functions().find(c.at("op").get<std::string>());
  ASSERT_NE(function, functions().end()) << c.at("op");
  std::vector<Tensor> in;
  for (const json& t : c.at("inputs")) in.push_back(hard::load(t));
  if (c.contains("layout")) in[0] = laid_out(in[0], c["layout"].get<std::string>());
  const double u = real_of(in[0].dtype()) == f32 ? 0x1p-24 : 0x1p-53;
  hard::Outcome o;
  const FindingHandler before = on_finding([&](const Finding& f) { o.told = f.text(); });
  try {
    o.out = function->second(in);
  } catch (const Error& e) {
    o.refused = e.what();
  }
  on_finding(before);
  EXPECT_EQ(hard::fault(c, o, u), "");
}

std::string case_name(const ::testing::TestParamInfo<std::size_t>& info) {
  std::string out = cases()[info.param].at("id");
  for (char& ch : out)
    if (!std::isalnum(static_cast<unsigned char>(ch))) ch = '_';
  return out + "_" + std::to_string(info.param);
}
INSTANTIATE_TEST_SUITE_P(Values, Hard, ::testing::Range<std::size_t>(0, cases().size()), case_name);

}  // namespace
}  // namespace wp
