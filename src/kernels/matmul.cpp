#include "kernels/matmul.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/pool.hpp"
#include "kernels/batched/product.hpp"
#include "kernels/gemm.hpp"
#include "kernels/scan.hpp"
#include "kernels/walk.hpp"
#include "simd/loop.hpp"

namespace wp::kernels {
namespace {

struct Product {
  std::int64_t m, n, k;
  std::int64_t a_rows, a_columns, b_rows, b_columns;
  bool conjugate;
};

template <class T>
void one(const Product& p, const char* a_data, const char* b_data, char* c_data, std::atomic<bool>* bad) {
  const auto* const a = reinterpret_cast<const T*>(a_data);
  const auto* const b = reinterpret_cast<const T*>(b_data);
  auto* const c = reinterpret_cast<T*>(c_data);
  if (p.n > 1 && p.m > 1)
    return gemm<T>(p.m, p.n, p.k, {a, p.a_rows, p.a_columns}, {b, p.b_rows, p.b_columns}, {c, p.n, 1}, Into::set,
                   Part::all, bad);
  if (p.n == 1)
    gemv<T>(p.m, p.k, {a, p.a_rows, p.a_columns}, b, p.b_rows, c, p.conjugate);
  else
    gemv<T>(p.n, p.k, {b, p.b_columns, p.b_rows}, a, p.a_columns, c, false);
  if (bad && any_nonfinite(dtype_v<T>, c, p.m * p.n)) bad->store(true);
}

using One = void (*)(const Product&, const char*, const char*, char*, std::atomic<bool>*);
One one_of(DType dtype) {
  switch (dtype) {
    case DType::i32:
    case DType::u32: return one<std::uint32_t>;
    case DType::i64:
    case DType::u64: return one<std::uint64_t>;
    case DType::f32: return one<float>;
    case DType::c64: return one<complex64>;
    case DType::c128: return one<complex128>;
    default: return one<double>;
  }
}

// Where a member of the batch starts in A and B; steps from one member to the next.
class Position {
 public:
  Position(const Dims& shape, const Dims& a, const Dims& b, std::int64_t member)
      : shape_(shape), a_(a), b_(b), index_(shape.size(), 0) {
    for (std::size_t k = shape.size(); k-- > 0;) {
      index_[k] = member % shape[k];
      member /= shape[k];
      in_a += index_[k] * a[k];
      in_b += index_[k] * b[k];
    }
  }
  void next() {
    for (std::size_t k = shape_.size(); k-- > 0;) {
      in_a += a_[k];
      in_b += b_[k];
      if (++index_[k] < shape_[k]) return;
      in_a -= index_[k] * a_[k];
      in_b -= index_[k] * b_[k];
      index_[k] = 0;
    }
  }
  std::int64_t in_a = 0, in_b = 0;

 private:
  const Dims &shape_, &a_, &b_;
  Dims index_;
};

// Small real members have kernels of their own, which take all members along an axis of the batch at once.
bool is_small(DType dtype, std::int64_t m, std::int64_t n, std::int64_t k) {
  return (dtype == f32 || dtype == f64) && std::max({m, n, k}) <= batched::kLargest;
}
template <class T>
bool small_products(const Product& p, const Dims& batch, const Stack& a, const Stack& b, T* c, std::int64_t grain) {
  Dims shape = batch, in_a = a.batch, in_b = b.batch;
  Dims* const strides[] = {&in_a, &in_b};
  coalesce(shape, strides, 2);
  std::int64_t along = 1, a_step = 0, b_step = 0, lines = 1;
  if (!shape.empty()) {
    along = shape.back(), a_step = in_a.back(), b_step = in_b.back();
    shape.pop_back(), in_a.pop_back(), in_b.pop_back();
  }
  for (const std::int64_t d : shape) lines *= d;
  std::atomic<bool> finite{true};
  parallel_for(lines * along, grain, [&](std::int64_t begin, std::int64_t end) {
    Position at(shape, in_a, in_b, begin / along);
    for (std::int64_t from = begin; from < end; at.next()) {
      const std::int64_t line = from / along, to = std::min(end, (line + 1) * along);
      const batched::Source<T> left{reinterpret_cast<const T*>(a.data) + at.in_a, a_step, p.a_rows, p.a_columns},
          right{reinterpret_cast<const T*>(b.data) + at.in_b, b_step, p.b_rows, p.b_columns};
      if (!batched::product<T>(p.m, p.n, p.k, left, right, {from - line * along, to - line * along},
                               c + line * along * p.m * p.n))
        finite.store(false);
      from = to;
    }
  });
  return finite.load();
}

}  // namespace

DType product_dtype(DType dtype) noexcept {
  switch (dtype) {
    case DType::i8:
    case DType::i16: return i32;
    case DType::u8:
    case DType::u16: return u32;
    case DType::f16:
    case DType::bf16: return f32;
    default: return dtype;
  }
}

std::uint32_t matmul(DType dtype, const Dims& batch, std::int64_t m, std::int64_t n, std::int64_t k, const Stack& a,
                     const Stack& b, char* c, bool conjugate) {
  std::int64_t members = 1;
  for (const std::int64_t d : batch) members *= d;
  const auto item = static_cast<std::int64_t>(size_of(dtype));
  const std::int64_t each = m * n;
  if (members * each == 0) return 0;
  if (k == 0) {
    std::memset(c, 0, static_cast<std::size_t>(members * each * item));
    return 0;
  }
  const Product product{m, n, k, a.rows, a.columns, b.rows, b.columns, conjugate};
  // Large members use threads inside; small ones are shared out. Either way a member is computed the same.
  constexpr double large = 64.0 * 64 * 64;
  const double work = static_cast<double>(each) * static_cast<double>(k);
  const bool inside = work >= large;
  const std::int64_t grain = inside ? members : std::max<std::int64_t>(1, static_cast<std::int64_t>(large / work));
  if (is_small(dtype, m, n, k)) {
    const bool finite = dtype == f32 ? small_products(product, batch, a, b, reinterpret_cast<float*>(c), grain)
                                     : small_products(product, batch, a, b, reinterpret_cast<double*>(c), grain);
    return finite ? 0 : simd::Status::nonfinite;
  }
  const One one_member = one_of(dtype);
  std::atomic<bool> bad{false};
  parallel_for(members, grain, [&](std::int64_t begin, std::int64_t end) {
    Position at(batch, a.batch, b.batch, begin);
    for (std::int64_t member = begin; member < end; ++member, at.next())
      one_member(product, a.data + at.in_a * item, b.data + at.in_b * item, c + member * each * item,
                 inside ? &bad : nullptr);
    if (!inside && any_nonfinite(dtype, c + begin * each * item, (end - begin) * each)) bad.store(true);
  });
  return bad.load() ? simd::Status::nonfinite : 0;
}

}  // namespace wp::kernels
