// A matrix that no rank holds: made where it lives, solved, judged, refused with the reason, differentiated.
#include <wellposed/dist.hpp>
#include <wellposed/wellposed.hpp>

#include <cmath>
#include <iostream>

using namespace wp;

int main() {
  return dist::run([] {
    const std::int64_t n = 500;
    const auto say = [](const auto& words) {
      if (dist::rank() == 0) std::cout << words << "\n";
    };
    // Element (i, j) is computed by the rank that holds it.
    const auto kernel = [](std::int64_t i, std::int64_t j) {
      return complex128(std::exp(-std::abs(static_cast<double>(i - j)) / 8) + (i == j ? 1.0 : 0.0));
    };
    const dist::Matrix a = dist::Matrix::generate(n, n, f64, kernel);
    const dist::Matrix b = dist::matmul(a, dist::Matrix::from(ones({n})));
    say(a.to_string());

    const auto found = dist::diagnosed::solve(a, b);  // x = 1, 1, 1, …
    const Tensor x = found.value.gather();
    say(found.diagnosis[0].structure + ", by " + found.diagnosis[0].method);
    say(max(abs(x - 1.0)).item<double>() < 1e-14 ? "right to 14 digits" : "wrong");

    // The same with column 320 in the place of column 77.
    const dist::Matrix bad = dist::Matrix::generate(
        n, n, f64, [&](std::int64_t i, std::int64_t j) { return kernel(i, j == 77 ? 320 : j); });
    try {
      dist::solve(bad, b);
    } catch (const SingularMatrix& e) {  // on every rank
      say(e.diagnosis()[0].dependent_columns);
    }

    // The derivative of log det A is A⁻¹: its trace, without bringing A together.
    GradientTape tape;
    dist::watch(tape, a);
    const dist::Matrix g = dist::gradient(tape, dist::logdet(a), a);
    const Tensor trace = dist::dot(dist::Matrix::identity(n), g);
    const Tensor same = dist::dot(dist::Matrix::identity(n), dist::inv(a));
    say(std::fabs(trace.item<double>() / same.item<double>() - 1) < 1e-13 ? "d log det A = tr(A⁻¹ dA)" : "wrong");
    return 0;
  });
}
