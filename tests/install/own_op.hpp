// An op of the program's own: x log x, with its derivatives in both modes, outside of the library's tree.
#pragma once
#include <wellposed/wellposed.hpp>

struct OwnOp {
  wp::TensorsFunction call;
  unsigned line;  // where it is made: what goes wrong in it is blamed on that
};
inline OwnOp entropy_op() {
  using Many = std::vector<wp::Tensor>;
  const auto slope = [](const wp::Tensor& x) { return wp::log(x) + 1.0; };
  constexpr unsigned line = __LINE__ + 1;
  const wp::TensorsFunction op = wp::custom_op({
      .name = "x_log_x",
      .forward = [](const Many& x) { return Many{x[0] * wp::log(x[0])}; },
      .vjp = [slope](const Many& x, const Many&, const Many& g) { return Many{g[0] * slope(x[0])}; },
      .jvp = [slope](const Many& x, const Many&, const Many& t) { return Many{t[0] * slope(x[0])}; },
      .elementwise = true,
  });
  return {op, line};
}

// 0: it has values, gradients, Hessian-vector products and tangents, which differences confirm; what it makes of 0 is
// blamed on it, by element, operand and line; and a rule that forgets an input is refused by its name.
inline int own_op() {
  const auto [op, line] = entropy_op();
  const auto f = [&op = op](const wp::Tensor& x) { return op({x})[0]; };
  const wp::Tensor x{1.0, 2.0, 4.0}, v{1.0, -2.0, 0.5};
  const auto near = [](const wp::Tensor& a, const wp::Tensor& b) {
    return wp::max(wp::abs(a - b)).item<double>() < 1e-14;
  };
  wp::GradientTape tape;
  tape.watch(x);
  const wp::Tensor loss = wp::sum(f(x));
  if (!near(tape.gradient(loss, x), wp::log(x) + 1.0)) return 1;
  if (!near(wp::hvp([&](const wp::Tensor& t) { return wp::sum(f(t)); }, x, v), v / x)) return 2;
  if (!near(wp::jvp(f, x, v).tangent, v * (wp::log(x) + 1.0))) return 3;
  const wp::GradcheckReport report = wp::gradcheck(f, x, 2);
  if (!report || report.unjudged > 0) return 4;

  const wp::Tensor bad{1.0, 0.0, 4.0};
  const wp::Tensor made = op({bad})[0];
  try {
    (void)wp::sum(made).item<double>();
    return 5;
  } catch (const wp::NonFiniteError& error) {
    const std::string text = error.what(), place = "own_op.hpp:" + std::to_string(line);
    for (const std::string& part : {std::string("x_log_x: made nan at element [1]"), std::string("x[1] = 0"), place})
      if (text.find(part) == std::string::npos) {
        std::fprintf(stderr, "'%s' is not in\n%s\n", part.c_str(), text.c_str());
        return 6;
      }
  }
  const wp::TensorsFunction forgetful = wp::custom_op({
      .name = "forgetful",
      .forward = [](const auto& t) { return std::vector<wp::Tensor>{t[0] * t[1]}; },
      .vjp = [](const auto& t, const auto&, const auto& g) { return std::vector<wp::Tensor>{g[0] * t[1]}; },
  });
  wp::GradientTape other;
  other.watch({x, v});
  const wp::Tensor y = wp::sum(forgetful({x, v})[0]);
  try {
    (void)other.gradient(y, x);
    return 7;
  } catch (const wp::GradientError& error) {
    if (error.finding().code != "WP-GRD-005" || std::string(error.what()).find("forgetful") == std::string::npos)
      return 8;
  }
  return 0;
}
