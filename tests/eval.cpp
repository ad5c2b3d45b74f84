// wp_eval: runs an op on numbers from stdin, for tests that hold results against other programs.
// Lines "op dtype n", then n lines of numbers (hexadecimal, real and imaginary part for complex dtypes); writes n
// lines.
#include <cstdio>
#include <string>
#include <vector>

#include "kernels/convert.hpp"
#include "ops/dispatch.hpp"
#include "tensor/note.hpp"

int main() {
  char name[64], type[16];
  long n = 0;
  while (std::scanf("%63s %15s %ld", name, type, &n) == 3) {
    const wp::Op* const op = wp::find_op(name);
    if (!op) {
      std::fprintf(stderr, "wp_eval: no op '%s'\n", name);
      return 2;
    }
    const wp::DType dtype = wp::parse_dtype(type);
    std::vector<wp::complex128> values(static_cast<std::size_t>(n));
    for (wp::complex128& v : values) {
      double re = 0, im = 0;
      if (std::scanf("%la %la", &re, &im) != 2) return 2;
      v = {re, im};
    }
    wp::Tensor x = wp::Tensor::adopt(wp::detail::make_node(dtype, {n}));
    wp::kernels::convert(x.node()->data, dtype, values.data(), wp::c128, 1, n);
    const wp::Tensor* const in[] = {&x};
    std::vector<wp::Attr> attrs;
    for (const wp::AttrSpec& a : op->attrs) attrs.push_back(a.fallback);
    const wp::Tensor y = wp::call1(*op, in, attrs, {});
    for (long i = 0; i < n; ++i) {
      const wp::complex128 v = wp::value_at(y, i);
      std::printf("%a %a\n", v.real(), v.imag());
    }
  }
  return 0;
}
