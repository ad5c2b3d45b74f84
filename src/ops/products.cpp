#include "ops/products.hpp"

#include <optional>

#include "base/pool.hpp"
#include "kernels/convert.hpp"
#include "kernels/scan.hpp"
#include "kernels/walk.hpp"

namespace wp {
namespace {

// The stride with which the axes are crossed as one, last fastest; none if there is no single one.
std::optional<std::int64_t> joint_stride(const Tensor& x, const Dims& axes) {
  std::int64_t stride = 1, length = 1;
  if (x.size() == 0) return stride;
  for (std::size_t k = axes.size(); k-- > 0;) {
    const auto axis = static_cast<std::size_t>(axes[k]);
    if (x.shape()[axis] == 1) continue;
    if (length == 1)
      stride = x.strides()[axis];
    else if (x.strides()[axis] != stride * length)
      return std::nullopt;
    length *= x.shape()[axis];
  }
  return stride;
}

// A row-major copy with the axes in another order.
Tensor copied(const Tensor& x, DType dtype, const Dims& axes) {
  Dims shape, strides;
  for (const std::int64_t a : axes) {
    shape.push_back(x.shape()[static_cast<std::size_t>(a)]);
    strides.push_back(x.strides()[static_cast<std::size_t>(a)]);
  }
  Tensor y = Tensor::adopt(detail::make_node(dtype, shape));
  Dims* s = &strides;
  kernels::coalesce(shape, &s, 1);
  const auto item = static_cast<std::int64_t>(size_of(dtype));
  parallel_for(y.size(), kernels::kGrain, [&](std::int64_t begin, std::int64_t end) {
    kernels::gather(y.node()->data + begin * item, dtype, x.node()->data, x.dtype(), shape, strides, begin,
                    end - begin);
  });
  return y;
}

Dims counted(std::size_t from, std::size_t n) {
  Dims out;
  for (std::size_t k = 0; k < n; ++k) out.push_back(static_cast<std::int64_t>(from + k));
  return out;
}

}  // namespace

Tensor brought(const Tensor& x, DType dtype) {
  return x.dtype() == dtype ? x : copied(x, dtype, counted(0, x.shape().size()));
}

Factor factor(const Tensor& x, const Dims& batch_axes, const Dims& row_axes, const Dims& column_axes) {
  const auto rows = joint_stride(x, row_axes), columns = joint_stride(x, column_axes);
  if (rows && columns) {
    Factor f{x, {x.node()->data, {}, *rows, *columns}};
    for (const std::int64_t a : batch_axes) f.stack.batch.push_back(x.strides()[static_cast<std::size_t>(a)]);
    return f;
  }
  Dims order = batch_axes;
  for (const std::int64_t a : row_axes) order.push_back(a);
  for (const std::int64_t a : column_axes) order.push_back(a);
  const std::size_t b = batch_axes.size(), r = row_axes.size();
  return factor(copied(x, x.dtype(), order), counted(0, b), counted(b, r), counted(b + r, column_axes.size()));
}

void multiply(Call& c, const Tensor& y, const Dims& batch, std::int64_t m, std::int64_t n, std::int64_t k,
              const kernels::Stack& a, const kernels::Stack& b, bool conjugate) {
  const DType dtype = kernels::product_dtype(y.dtype());
  if (dtype == y.dtype()) {
    c.status.bits |= kernels::matmul(dtype, batch, m, n, k, a, b, y.node()->data, conjugate);
    return;
  }
  const Tensor wide = Tensor::adopt(detail::make_node(dtype, y.shape()));
  kernels::matmul(dtype, batch, m, n, k, a, b, wide.node()->data, conjugate);
  kernels::convert(y.node()->data, y.dtype(), wide.node()->data, dtype, 1, y.size());
  if (kernels::any_nonfinite(y.dtype(), y.node()->data, y.size())) c.status.bits |= simd::Status::nonfinite;
}

Tensor small_numbers(DType dtype, const Dims& shape, int start) {
  Tensor t = Tensor::adopt(detail::make_node(dtype, shape));
  for (std::int64_t i = 0; i < t.size(); ++i) {
    const auto whole = static_cast<double>((i * 5 + start) % 7 - (is(dtype, kinds::unsigned_integer) ? 0 : 3));
    const complex128 v(is_floating(dtype) ? whole / 2 : whole,
                       is_complex(dtype) ? static_cast<double>((i * 3 + start) % 5 - 2) : 0.0);
    kernels::convert(t.node()->data + i * static_cast<std::int64_t>(size_of(dtype)), dtype, &v, c128, 1, 1);
  }
  return t;
}

}  // namespace wp
