#include "linalg/system_rule.hpp"

#include "linalg/lost_digits.hpp"
#include "linalg/rules.hpp"
#include "linalg/stack.hpp"
#include "ops/dispatch.hpp"
#include "ops/shapes.hpp"
#include "wellposed/creation.hpp"
#include "wellposed/index.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_linalg_solve;

namespace linalg {
namespace {

constexpr std::size_t kPolicy = 0, kRidge = 1, kShift = 3, kAssume = 4,
                      kMethod = 10;  // places of attributes (system_attrs)

// The structure that the call took A to have: said, or by the method.
std::string_view assumed(const Backward& b) {
  const std::string_view method = b.attr(kMethod).text();
  return method == "cholesky" ? "spd" : method == "ldl" ? "symmetric" : b.attr(kAssume).text();
}

// Aᴴ x = g with the options of the call; of one triangle Aᴴ is the other.
Tensor solve_adjoint(const Backward& b, const Tensor& a, const Tensor& g) {
  std::vector<Attr> attrs(b.attrs.begin(), b.attrs.end());
  const std::string_view assume = attrs[kAssume].text();
  if (assume == "lower" || assume == "upper") attrs[kAssume] = assume == "lower" ? "upper" : "lower";
  attrs[kPolicy] = "ignore";  // the verdict on A has been given
  attrs[kRidge] = Attr();
  const Tensor turned = adjoint(a);
  const Tensor* const in[] = {&turned, &g};
  return call_diagnosed(op_linalg_solve, Inputs(in), attrs, b.place).value[0];
}

// X = A⁻¹ B: of B A⁻ᴴ g, of A −A⁻ᴴ g Xᴴ; of an inverse Y −Yᴴ g Yᴴ.
SystemCotangents plain(const Backward& b, const Tensor& a, const Tensor& x, const Tensor& g) {
  SystemCotangents c;
  if (b.in.size() == 1) {
    const Tensor y = adjoint(x);
    c.matrix = negative(product(y, g, y));
  } else {
    c.right = solve_adjoint(b, a, g);
    c.matrix = negative(matmul(c.right, adjoint(x)));
  }
  c.matrix = assumed_cotangent(a, c.matrix, assumed(b));
  return c;
}

// The matrix that was solved with: one triangle, the Hermitian part, shifted.
Tensor meant(const Backward& b, const Tensor& a) {
  const std::string_view assume = assumed(b);
  const double shift = b.attr(kShift).real();
  Tensor m = a;
  if (assume == "lower") m = tril(a);
  if (assume == "upper") m = triu(a);
  if (assume == "diagonal") m = tril(triu(a));
  if (assume == "symmetric" || assume == "spd") m = hermitian(a);
  return shift == 0 ? m : add(m, multiply(identity(a.shape().back(), a.dtype()), shift));
}

// a where the mark is set, the identity elsewhere.
Tensor marked(const Tensor& mark, const Tensor& a) {
  return where(each(mark), a, identity(a.shape().back(), a.dtype()));
}

SystemCotangents chosen(const Tensor& mark, const SystemCotangents& yes, const SystemCotangents& no) {
  SystemCotangents c;
  c.matrix = where(each(mark), yes.matrix, no.matrix);
  if (yes.right.defined() && no.right.defined()) c.right = where(each(mark), yes.right, no.right);
  return c;
}

}  // namespace

SystemCotangents ridge_cotangents(const Tensor& a, const Tensor& b, const Tensor& x, const Tensor& g,
                                  const Tensor& ridge) {
  const std::int64_t m = a.shape()[a.shape().size() - 2], n = a.shape().back();
  Dims batch = broadcast(broadcast(batch_of(a), ridge.shape()), batch_of(g));
  const auto shaped = [&](const Tensor& t, std::int64_t rows, std::int64_t columns) {
    Dims shape = batch;
    shape.push_back(rows);
    shape.push_back(columns);
    return broadcast_to(t, shape);
  };
  const Tensor lambda = multiply(astype(each(ridge), a.dtype()), identity(n, a.dtype()));
  const Tensor top = concat({shaped(identity(m, a.dtype()), m, m), shaped(a, m, n)}, {.axis = -1});
  const Tensor bottom = concat({shaped(adjoint(a), n, m), shaped(negative(lambda), n, n)}, {.axis = -1});
  const std::int64_t k = g.shape().back();
  const Tensor side = concat({shaped(zeros({m, k}, {.dtype = a.dtype()}), m, k), shaped(g, n, k)}, {.axis = -2});
  const Tensor y = diagnosed::solve(concat({top, bottom}, {.axis = -2}), side).value;
  const Tensor p = y[{ellipsis, slice(0, m), slice()}], q = y[{ellipsis, slice(m, none), slice()}];
  const Tensor r = subtract(b, matmul(a, x));
  return {negative(add(matmul(p, adjoint(x)), matmul(r, adjoint(q)))), p};
}

SystemCotangents kept_cotangents(const Tensor& a, const Tensor& b, const Tensor& g, const Tensor& inverse,
                                 const Tensor& kept) {
  // The function of singular values is Fᴴ; its cotangent is (g bᴴ)ᴴ.
  return {spectral_cotangent(SpectralFunction::reciprocals, kept, a, matmul(b, adjoint(g))),
          matmul(adjoint(inverse), g)};
}

SystemCotangents system_cotangents(const Backward& b, const Tensor& right) {
  find_lost_digits(b);
  const bool inverse = !right.defined(), vector = !inverse && right.ndim() == 1;
  const Tensor &a = b.in[0], x = as_columns(b.out[0], vector), g = as_columns(b.g(), vector);
  SystemCotangents c;
  if (b.residuals.empty()) {
    c = plain(b, a, x, g);
  } else {
    const std::int64_t n = a.shape().back();
    const Tensor side = inverse ? identity(n, g.dtype()) : as_columns(right, vector);
    const Tensor &methods = b.residuals[0], &ridges = b.residuals[1], &kept = b.residuals[2];
    const Tensor as_it_is = equal(methods, 0), cut = equal(methods, 1), ridged = equal(methods, 2);
    const Tensor own = meant(b, a), rest = marked(cut, own), bent = marked(ridged, own);
    const Tensor pseudo = pinv(rest, {.rtol = 2 * round_off(working_dtype(g.dtype(), n)) * static_cast<double>(n)});
    c = chosen(ridged, ridge_cotangents(bent, side, x, g, ridges), kept_cotangents(rest, side, g, pseudo, kept));
    c.matrix = assumed_cotangent(a, c.matrix, assumed(b));
    c = chosen(as_it_is, plain(b, marked(as_it_is, a), x, g), c);
  }
  if (c.right.defined()) c.right = from_columns(c.right, vector);
  return c;
}

}  // namespace linalg
}  // namespace wp
