// Beyond the size up to which a matrix in doubt is brought to one place, against closed forms.
#include "dist/one_place.hpp"
#include "matrices.hpp"

namespace wp::dist {
namespace {

constexpr std::int64_t kSize = 1010;
static_assert(kSize > kOnePlace);
using Numbers = std::vector<long double>;

// U D V with the reflections U = I − 2uuᵀ/uᵀu and V = I − 2vvᵀ/vᵀv, which are symmetric: singular values d, and
// f(A) = V f(D) U for inverses and answers with a ridge.
class Reflected {
 public:
  explicit Reflected(const std::function<double(std::int64_t)>& value) : u_(noise_of(11)), v_(noise_of(12)) {
    for (std::int64_t i = 0; i < kSize; ++i) d_.push_back(value(i));
  }
  Matrix matrix(const Layout& layout) const { return made(u_, d_, v_, layout); }
  // V f(D) U b.
  template <class F>
  Tensor applied(const F& f, const std::vector<double>& b) const {
    Numbers x(b.begin(), b.end());
    reflect(u_, x);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] *= f(d_[i]);
    reflect(v_, x);
    return Tensor::from(std::vector<double>(x.begin(), x.end()), {kSize});
  }
  Matrix inverse(const Layout& layout) const {
    Numbers inverted;
    for (const long double d : d_) inverted.push_back(1 / d);
    return made(v_, inverted, u_, layout);
  }

 private:
  static Numbers noise_of(std::uint64_t seed) {
    Numbers v;
    for (std::int64_t i = 0; i < kSize; ++i) v.push_back(noise(i, 0, seed));
    return v;
  }
  static long double dot(const Numbers& a, const Numbers& b) {
    long double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
  }
  static void reflect(const Numbers& u, Numbers& x) {
    const long double share = 2 * dot(u, x) / dot(u, u);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] -= share * u[i];
  }
  // D − 2u(Du)ᵀ/uᵀu − 2(Dv)vᵀ/vᵀv + 4(uᵀDv) uvᵀ/(uᵀu vᵀv).
  static Matrix made(const Numbers& u, const Numbers& d, const Numbers& v, const Layout& layout) {
    const long double uu = dot(u, u), vv = dot(v, v);
    long double middle = 0;
    for (std::size_t i = 0; i < u.size(); ++i) middle += u[i] * d[i] * v[i];
    return Matrix::generate(
        kSize, kSize, f64,
        [&](std::int64_t row, std::int64_t column) {
          const auto i = static_cast<std::size_t>(row), j = static_cast<std::size_t>(column);
          const long double e = (i == j ? d[i] : 0) - 2 * u[i] * u[j] * d[j] / uu - 2 * d[i] * v[i] * v[j] / vv +
                                4 * u[i] * middle * v[j] / (uu * vv);
          return complex128(static_cast<double>(e));
        },
        layout);
  }
  Numbers u_, v_, d_;
};

// From 1 down to `last`; the last `zeros` of them 0.
Reflected falling(double last, std::int64_t zeros = 0) {
  return Reflected([=](std::int64_t i) {
    const std::int64_t count = kSize - zeros;
    return i < count ? std::pow(last, static_cast<double>(i) / static_cast<double>(count - 1)) : 0.0;
  });
}
std::vector<double> some_numbers() {
  std::vector<double> b;
  for (std::int64_t i = 0; i < kSize; ++i) b.push_back(noise(i, 3, 9));
  return b;
}
Layout wide() {
  return some_layout(32);
}

TEST(Beyond, AGoodSystemHasItsExactSolutionAndSaysSo) {
  std::vector<double> x, b(kSize, 0);  // integers, so that b is exact
  const auto element = [](std::int64_t i, std::int64_t j) {
    return std::floor(8 * noise(i, j)) + (i == j ? 300 : 0);
  };
  for (std::int64_t i = 0; i < kSize; ++i) x.push_back(static_cast<double>(i % 17 + 1));
  for (std::int64_t i = 0; i < kSize; ++i)
    for (std::int64_t j = 0; j < kSize; ++j)
      b[static_cast<std::size_t>(i)] += element(i, j) * x[static_cast<std::size_t>(j)];
  const Matrix a = Matrix::generate(
      kSize, kSize, f64, [&](std::int64_t i, std::int64_t j) { return complex128(element(i, j)); }, wide());
  const auto found = diagnosed::solve(a, Matrix::from(Tensor::from(b, {kSize}), wide()));
  EXPECT_EQ(found.diagnosis.status(), linalg::Status::ok) << found.diagnosis;
  EXPECT_GE(found.diagnosis[0].digits, 14);
  EXPECT_LE(distance(found.value.gather(), Tensor::from(x, {kSize})), 4e-16);
  expect_one_diagnosis_on_all_ranks(found.diagnosis);
}

TEST(Beyond, SolutionsAndInversesAreRightToThePromisedDigits) {
  const Reflected known = falling(1e-7);
  const Matrix a = known.matrix(wide());
  const std::vector<double> b = some_numbers();
  const auto solved = diagnosed::solve(a, Matrix::from(Tensor::from(b, {kSize}), wide()));
  const auto inverted = diagnosed::inv(a);
  // The elements of A are rounded: a relative error of cond · u · √n is the matrix's own.
  const double own = 1e7 * 0x1p-53 * std::sqrt(static_cast<double>(kSize));
  const auto most = [&](const linalg::Diagnosis& d) { return std::pow(10, -std::floor(d[0].digits)) + own; };
  EXPECT_LE(distance(solved.value.gather(), known.applied([](long double d) { return 1 / d; }, b)),
            most(solved.diagnosis));
  EXPECT_LE(distance(inverted.value.gather(), known.inverse(wide()).gather()), most(inverted.diagnosis));
  for (const linalg::Diagnosis& d : {solved.diagnosis, inverted.diagnosis}) {
    EXPECT_EQ(d.status(), linalg::Status::ok) << d;
    EXPECT_EQ(d[0].rank, -1) << d;  // of what is scaled, only singular values tell it
    expect_one_diagnosis_on_all_ranks(d);
  }
}

// They are computed in the wider dtype, and narrowed while its memory is let go.
TEST(Beyond, InversesOfNarrowDtypesAreRightToTheirLastDigits) {
  for (const DType dtype : {f32, c64}) {
    const Matrix a = Matrix::generate(
        kSize, kSize, dtype,
        [](std::int64_t i, std::int64_t j) { return complex128(noise(i, j) + (i == j ? 300 : 0), noise(i, j, 5)); },
        wide());
    const Tensor before = a.gather();
    const auto found = diagnosed::inv(a);
    EXPECT_EQ(found.diagnosis.status(), linalg::Status::ok) << found.diagnosis;
    EXPECT_EQ(found.value.dtype(), dtype);
    EXPECT_EQ(distance(a.gather(), before), 0);
    const DType twice = dtype == f32 ? f64 : c128;  // X A − I is exact there, and X has its rounding alone
    const Tensor product = matmul(found.value.astype(twice), a.astype(twice)).gather();
    EXPECT_LE(distance(product, eye(kSize, {.dtype = twice})), 20 * unit(dtype)) << name(dtype);
  }
}

TEST(Beyond, ConditionAndRankAreThoseOfTheSingularValues) {
  EXPECT_NEAR(cond(falling(1e-4).matrix(wide())) / 1e4, 1, 1e-9);
  const auto rank = diagnosed::matrix_rank(falling(1e-4, 5).matrix(wide()));
  EXPECT_EQ(rank.value, kSize - 5) << rank.diagnosis;
  EXPECT_GE(rank.diagnosis[0].rank_gap, 1e8);
  expect_one_diagnosis_on_all_ranks(rank.diagnosis);
}

TEST(Beyond, ADuplicatedColumnIsRefusedAndBothAreNamed) {
  const auto twice = [](std::int64_t i, std::int64_t j) { return complex128(noise(i, j == 903 ? 77 : j)); };
  for (const Layout& layout : {wide(), Layout{Grid(size(), 1), 64}}) {
    const Matrix a = Matrix::generate(kSize, kSize, f64, twice, layout), b = Matrix::from(ones({kSize}), layout);
    for (const bool inverse : {false, true}) {
      try {
        inverse ? inv(a) : solve(a, b);
        ADD_FAILURE() << "a singular matrix was accepted";
      } catch (const SingularMatrix& e) {
        EXPECT_NE(std::string(e.what()).find("olumn 903 = column 77"), std::string::npos) << e.what();
        EXPECT_EQ(e.diagnosis()[0].dependent_columns, "column 903 = column 77");
        EXPECT_TRUE(e.diagnosis()[0].exactly_singular);
        EXPECT_EQ(e.diagnosis()[0].rank, kSize - 1);
        const std::vector<double> v = e.diagnosis()[0].null_vector.to_vector<double>();
        EXPECT_NEAR(std::fabs(v[77]), std::sqrt(0.5), 1e-10);
        EXPECT_NEAR(v[77] + v[903], 0, 1e-10);
        expect_one_diagnosis_on_all_ranks(e.diagnosis());
      }
    }
  }
}

TEST(Beyond, AnswersWithARidgeAreThoseOfTheClosedForm) {
  const Reflected known = falling(1e-6, 1);  // singular
  const std::vector<double> b = some_numbers();
  const double ridge = 1e-4;
  const auto found =
      diagnosed::solve(known.matrix(wide()), Matrix::from(Tensor::from(b, {kSize}), wide()), {.ridge = ridge});
  EXPECT_EQ(found.diagnosis[0].ridge, ridge);
  EXPECT_GE(found.diagnosis[0].digits, 6) << found.diagnosis;
  const Tensor want = known.applied([&](long double d) { return d / (d * d + ridge); }, b);
  EXPECT_LE(distance(found.value.gather(), want), std::pow(10, -std::floor(found.diagnosis[0].digits)));
  expect_one_diagnosis_on_all_ranks(found.diagnosis);
}

}  // namespace
}  // namespace wp::dist
