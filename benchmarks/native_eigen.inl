#include "native_eigen.hpp"

template <class T, int N>
Run eigen(const std::string& op, Stack<T>& s) {
  using Matrix = Eigen::Matrix<T, N, N, Eigen::RowMajor>;
  using Vector = Eigen::Matrix<T, N, 1>;
  const auto each = [&s](auto f) -> Run {
    return [&s, f](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t n = s.n;
        const Eigen::Map<const Matrix> a(s.a.data() + i * n * n, n, n);
        Eigen::Map<Matrix> x(s.x.data() + i * n * n, n, n), y(s.y.data() + i * n * n, n, n);
        Eigen::Map<Vector> w(s.values.data() + i * n, n);
        f(a, x, y, w, s.b.data() + i * n);
      }
    };
  };
  if (op == "inv") return each([](auto& a, auto& x, auto&, auto&, const T*) { x = a.inverse(); });
  if (op == "solve")
    return each([](auto& a, auto&, auto&, auto& w, const T* b) {
      w = a.partialPivLu().solve(Eigen::Map<const Vector>(b, a.rows()));
    });
  if (op == "lstsq")
    return each([](auto& a, auto&, auto&, auto& w, const T* b) {
      w = a.colPivHouseholderQr().solve(Eigen::Map<const Vector>(b, a.rows()));
    });
  if (op == "pinv")
    return each(
        [](auto& a, auto& x, auto&, auto&, const T*) { x = a.completeOrthogonalDecomposition().pseudoInverse(); });
  if (op == "lu")
    return each([](auto& a, auto& x, auto& y, auto& w, const T*) {
      const Eigen::PartialPivLU<Matrix> lu(a);
      x = lu.matrixLU().template triangularView<Eigen::UnitLower>();
      y = lu.matrixLU().template triangularView<Eigen::Upper>();
      w = lu.permutationP().indices().template cast<T>();
    });
  if (op == "det") return each([](auto& a, auto&, auto&, auto& w, const T*) { w[0] = a.determinant(); });
  if (op == "cholesky") return each([](auto& a, auto& x, auto&, auto&, const T*) { x = a.llt().matrixL(); });
  if (op == "qr")
    return each([](auto& a, auto& x, auto& y, auto&, const T*) {
      const Eigen::HouseholderQR<Matrix> qr(a);
      x = qr.householderQ();
      y = qr.matrixQR().template triangularView<Eigen::Upper>();
    });
  if (op == "svd")
    return each([](auto& a, auto& x, auto& y, auto& w, const T*) {
      const Eigen::JacobiSVD<Matrix> svd(a, Eigen::ComputeFullU | Eigen::ComputeFullV);
      x = svd.matrixU();
      y = svd.matrixV();
      w = svd.singularValues();
    });
  if (op == "svdvals")
    return each([](auto& a, auto&, auto&, auto& w, const T*) { w = Eigen::JacobiSVD<Matrix>(a).singularValues(); });
  if (op == "eigh" || op == "eigvalsh")
    return each([vectors = op == "eigh"](auto& a, auto& x, auto&, auto& w, const T*) {
      const Eigen::SelfAdjointEigenSolver<Matrix> e(a, vectors ? Eigen::ComputeEigenvectors : Eigen::EigenvaluesOnly);
      w = e.eigenvalues();
      if (vectors) x = e.eigenvectors();
    });
  return {};
}
