// LAPACK's info in words of the problem.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "linalg/verdict.hpp"
#include "ops/op.hpp"

namespace wp::linalg {

enum class Routine : std::uint8_t { svd, jacobi_svd, eigh, eig, schur, qr, ldl };

// What an iteration had reached when it was given up: "did not converge: …", and how many of what it looks for.
struct Reached {
  std::string words;
  std::int64_t found = -1, wanted = -1;  // −1: it does not say
};
// Of an m × n matrix, as the routine's info > 0 tells it.
Reached reached(Routine routine, int info, std::int64_t m, std::int64_t n);

// 0 leaves the verdict alone. What did not converge has what was reached; what is not finite is said to be. A matrix
// of more rows or columns than LAPACK counts, or whose workspace has more numbers, is refused (WP-SHP-019).
void interpret(Routine routine, int info, std::int64_t m, std::int64_t n, Verdict& v);

// The same of sizes before anything is allocated.
void need_countable(std::string_view name, std::int64_t m, std::int64_t n);
// Of the matrices in an argument of a call.
void need_countable(const Call& c, std::size_t argument = 0);

}  // namespace wp::linalg
