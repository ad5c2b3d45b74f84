#include "linalg/interpret.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "kernels/lapack.hpp"

namespace wp::linalg {
namespace {

constexpr std::int64_t kMost = 2147483647;        // LAPACK's INTEGER
constexpr std::int64_t kMostNumbers = 1LL << 48;  // of a matrix; no machine holds more

std::string of(std::int64_t found, std::int64_t wanted, std::string_view one) {
  return say(found, " of ", plural(wanted, one));
}

}  // namespace

Reached reached(Routine routine, int info, std::int64_t m, std::int64_t n) {
  const std::int64_t k = std::min(m, n), left = std::min<std::int64_t>(info, k);
  const auto beside = [&](std::string_view form) {
    const std::int64_t wanted = std::max<std::int64_t>(k - 1, 1), found = std::max<std::int64_t>(wanted - left, 0);
    return Reached{say("of its ", form, " form ", of(found, wanted, "element"), " beside the diagonal became 0"),
                   found, wanted};
  };
  Reached r;
  switch (routine) {
    case Routine::svd:  // gesdd, then gesvd: superdiagonals that are left
      r = beside("bidiagonal");
      r.words = say("did not converge: neither divide and conquer nor the QR iteration found its singular values; ",
                    r.words, ".");
      break;
    case Routine::jacobi_svd:  // gesvj
      r.words = "did not converge: after 30 sweeps of one-sided Jacobi rotations its columns are not orthogonal.";
      break;
    case Routine::eigh:  // syevd, then syev: elements beside the diagonal that are left
      r = beside("tridiagonal");
      r.words = say("did not converge: neither divide and conquer nor the QR iteration found its eigenvalues; ",
                    r.words, ".");
      break;
    case Routine::eig:
    case Routine::schur:  // those behind place info are known
      r.found = std::max<std::int64_t>(n - info, 0);
      r.wanted = n;
      r.words =
          say("did not converge: the QR iteration found ", of(r.found, r.wanted, "eigenvalue"), " and then no more.");
      break;
    case Routine::qr:
    case Routine::ldl: r.words = say("could not be factored: LAPACK stopped at row ", info - 1, "."); break;
  }
  return r;
}

void interpret(Routine routine, int info, std::int64_t m, std::int64_t n, Verdict& v) {
  if (info == 0) return;
  if (info == lapack::kTooLarge) {
    need_countable("the matrix", m, n);
    refuse<ShapeError>("WP-SHP-019",
                       say("the matrix is too large: what LAPACK needs beside ", m, " × ", n,
                           " numbers has more than ", kMost, " of them, which is as far as it counts."),
                       "Take a part of it, or a low-rank approximation (randomized_svd).");
  }
  if (info == lapack::kNotFinite) {
    v.status = Status::nonfinite_input;
    return;
  }
  v.status = Status::not_converged;
  if (info < 0) {  // an argument: never of a matrix that got here
    v.reason = say("was refused by LAPACK (argument ", -info, "): that is an error of wellposed, please report it.");
    return;
  }
  Reached r = reached(routine, info, m, n);
  v.reason = std::move(r.words);
  v.found = r.found;
  v.wanted = r.wanted;
}

void need_countable(std::string_view name, std::int64_t m, std::int64_t n) {
  const std::int64_t longest = std::max(m, n);
  if (longest > kMost)
    refuse<ShapeError>(
        "WP-SHP-019",
        say(name, " is too large: LAPACK counts rows and columns up to ", kMost, "; got ", m, " × ", n, "."),
        "Take blocks of rows: the R of all blocks' QR factors, one below the other, has the same "
        "singular values and least squares solutions.");
  if (m > 0 && n > kMostNumbers / m)
    refuse<ShapeError>("WP-SHP-019", say(name, " is too large: no machine holds ", m, " × ", n, " numbers."),
                       "Take a LinearOperator, or a part of it.");
}

void need_countable(const Call& c, std::size_t argument) {
  const Dims& s = c.in[argument].shape();
  if (s.size() >= 2) need_countable(c.op.param(argument).name, s[s.size() - 2], s.back());
}

}  // namespace wp::linalg
