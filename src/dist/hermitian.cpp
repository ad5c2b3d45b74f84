#include "dist/hermitian.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/mix.hpp"
#include "base/text.hpp"
#include "dist/calling.hpp"
#include "dist/scalapack.hpp"
#include "dist/team.hpp"
#include "kernels/numbers.hpp"
#include "kernels/scan.hpp"
#include "linalg/stack.hpp"

namespace wp::dist {
namespace {

// Whether A = Aᴴ without transposing it: for every k, Σ_{i>k} rᵢ·bits(aᵢₖ) is compared with Σ_{j>k} rⱼ·bits(conj
// aₖⱼ), modulo 2⁶⁴, with odd numbers r that know nothing of A. Two elements that differ alone are always told apart;
// many, but for a chance of about 2⁻³² for each k at which they do.
std::uint64_t odd_number(std::int64_t i) {
  return mixed(static_cast<std::uint64_t>(i + 1) * kMixStep) | 1;
}
// High bits reach the low ones: a sign alone would count modulo 2 only. −0 is 0.
std::uint64_t bits(double v) {
  const auto x = std::bit_cast<std::uint64_t>(v + 0.0);
  return x ^ (x >> 32);
}
std::uint64_t bits(float v) {
  return std::bit_cast<std::uint32_t>(v + 0.0F);
}
template <class T>
std::uint64_t term(T v, std::uint64_t r, bool conjugated) {
  if constexpr (kernels::RealOf<T>::parts == 2)
    return bits(v.real()) * r + bits(conjugated ? -v.imag() : v.imag()) * (std::rotl(r, 32) | 1);
  else
    return bits(v) * r;
}

template <class T>
class Mirror {
 public:
  explicit Mirror(const Local<T>& a)
      : a_(a), numbers_(static_cast<std::size_t>(a.rows())), above_(numbers_.size(), 0) {
    for (std::size_t i = 0; i < numbers_.size(); ++i)
      numbers_[i] = odd_number(a.row.global(static_cast<std::int64_t>(i)));
    sums_.assign(static_cast<std::size_t>(a.row.n), 0);
  }

  void column(std::int64_t j) {
    const std::int64_t at = a_.column.global(j), m = a_.rows();
    const T* const v = a_.data + j * a_.leading();
    const std::uint64_t own = odd_number(at);
    std::int64_t i = 0;
    for (const std::int64_t end = a_.row.before(at); i < end; ++i)
      above_[static_cast<std::size_t>(i)] += term(v[i], own, true);
    if (a_.row.mine(at)) {
      if constexpr (kernels::RealOf<T>::parts == 2) real_ = real_ && v[i].imag() == 0;
      ++i;
    }
    std::uint64_t sum = 0;
    for (; i < m; ++i) sum += term(v[i], numbers_[static_cast<std::size_t>(i)], false);
    sums_[static_cast<std::size_t>(at)] += static_cast<std::int64_t>(sum);
  }

  // Collective, once every column was looked at.
  bool same() {
    for (std::size_t i = 0; i < above_.size(); ++i)
      sums_[static_cast<std::size_t>(a_.row.global(static_cast<std::int64_t>(i)))] -=
          static_cast<std::int64_t>(above_[i]);
    sums_.push_back(real_ ? 0 : 1);
    all_reduce(sums_.data(), static_cast<std::int64_t>(sums_.size()), MPI_SUM);
    return std::all_of(sums_.begin(), sums_.end(), [](std::int64_t v) { return v == 0; });
  }

 private:
  const Local<T> a_;
  std::vector<std::uint64_t> numbers_, above_;
  std::vector<std::int64_t> sums_;  // below less above
  bool real_ = true;                // the diagonal is
};

}  // namespace

template <class T>
bool is_hermitian(const Matrix& a) {
  const Local<T> l = local<T>(a);
  Mirror<T> mirror(l);
  for (std::int64_t j = 0; j < l.columns(); ++j) mirror.column(j);
  return mirror.same();
}

Matrix lower_triangle(const Matrix& a, bool whole) {
  Matrix out = make_like(a);
  const bool good = linalg::with_float(a.dtype(), [&]<class T>(T) {
    const Local<T> from = local<T>(a), to = local<T>(out);
    const std::int64_t m = from.rows();
    Mirror<T> mirror(from);
    int finite = 1;
    for (std::int64_t j = 0; j < from.columns(); ++j) {  // while the column is near
      const std::int64_t at = from.column.global(j), above = from.row.before(at);
      const T* const v = from.data + j * m;
      T* const l = to.data + j * m;
      if (whole) mirror.column(j);
      std::fill_n(l, above, T(0));
      std::copy(v + above, v + m, l + above);
      if (from.row.mine(at)) l[above] = T(std::real(l[above]));
      if (kernels::any_nonfinite(dtype_v<T>, whole ? v : l, m)) finite = 0;
    }
    const bool same = !whole || mirror.same();
    return reduced(finite, MPI_MIN) == 1 && same;
  });
  return good ? out : Matrix();
}

HermitianPart hermitian_part(const Matrix& a, const std::optional<std::string>& uplo) {
  HermitianPart out;
  if (uplo && *uplo != "lower" && *uplo != "upper")
    refuse<ArgumentError>("WP-ARG-001", say("attribute uplo must be one of 'lower', 'upper'; got '", *uplo, "'."));
  linalg::with_float(a.dtype(), [&]<class T>(T) {
    using R = typename kernels::RealOf<T>::type;
    out.matrix = make_like(a);
    const Local<T> given = local<T>(a), m = local<T>(out.matrix);
    scalapack::transpose<T>(true, given, m);
    double apart = 0, largest = 0;
    m.each([&](std::int64_t i, std::int64_t j, T& other) {  // Aᴴ becomes the part
      const T v = given.data[&other - m.data];
      largest = std::max(largest, size_of_number(v));
      if (i == j) {
        other = T(std::real(v));
      } else if (uplo) {
        if ((*uplo == "lower") == (i > j)) other = v;
      } else if (v != other) {
        apart = std::max(apart, size_of_number(v - other) / 2);
        other = v * R(0.5) + other * R(0.5);
      }
    });
    apart = reduced(apart, MPI_MAX);
    largest = reduced(largest, MPI_MAX);
    if (largest > 0 && std::isfinite(largest)) out.asymmetry = apart / largest;
  });
  return out;
}

template bool is_hermitian<float>(const Matrix&);
template bool is_hermitian<double>(const Matrix&);
template bool is_hermitian<complex64>(const Matrix&);
template bool is_hermitian<complex128>(const Matrix&);

}  // namespace wp::dist
