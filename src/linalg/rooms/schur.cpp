#include "kernels/lapack.hpp"
#include "linalg/interpret.hpp"
#include "linalg/members.hpp"
#include "linalg/prescaled.hpp"
#include "linalg/schur_form.hpp"
#include "linalg/schur_rule.hpp"
#include "linalg/solving.hpp"
#include "ops/reduce.hpp"

namespace wp {
extern const Op op_linalg_schur;
namespace {

using namespace linalg;

void infer(Call& c) {
  square_size(c.in[0], "x");
  need_countable(c);
  c.key = float_result(c.in[0].dtype());
  if (c.attr(0).text() == "complex" && !is_complex(c.key)) c.key = complex_of(c.key);
  c.output(c.key, c.in[0].shape());
  c.output(c.key, c.in[0].shape());
}

// An upper triangular matrix is its own form, whatever the range of its elements.
template <class T>
bool put_triangular(std::int64_t n, kernels::View<T> a, T* t, T* z) {
  for (std::int64_t i = 1; i < n; ++i)
    for (std::int64_t j = 0; j < i; ++j)
      if (a.data[i * a.rows + j * a.columns] != T(0)) return false;
  if (!kernels::all_finite<T>(n, n, a)) return false;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      t[i * n + j] = j < i ? T(0) : a.data[i * a.rows + j * a.columns];
      z[i * n + j] = T(i == j ? 1 : 0);
    }
  return true;
}

template <class T>
void run(const Tensor& a, Diagnosis::State& state, const Result& t, const Result& z) {
  using C = lapack::Complex<T>;
  const std::int64_t n = a.shape().back();
  const Stack<T> stack(a, state.batch);
  for_members(static_cast<std::int64_t>(state.verdicts.size()), n, [&](std::int64_t i) {
    T *const to_t = t.data<T>() + i * n * n, *const to_z = z.data<T>() + i * n * n;
    Verdict& v = state.verdicts[static_cast<std::size_t>(i)];
    v.method = Method::eigen;
    if (put_triangular(n, stack[i], to_t, to_z)) return;
    Prescaled<T> x(n, n, stack[i], kSquaredCeiling<T>);
    std::vector<T> vectors(static_cast<std::size_t>(n * n));
    std::vector<C> values(static_cast<std::size_t>(n));
    const int info = x.finite ? lapack::schur<T>(n, x.data.data(), n, values.data(), vectors.data(), n) : 0;
    v.status = x.finite ? Status::ok : Status::nonfinite_input;
    interpret(Routine::schur, info, n, n, v);
    if (v.status == Status::ok) {
      put_rows(n, n, x.data.data(), n, -x.exponent, to_t);
      put_rows(n, n, vectors.data(), n, 0, to_z);
      return;
    }
    fill_nan(to_t, n * n);
    fill_nan(to_z, n * n);
  });
}

void forward(Call& c) {
  const DType work = working_dtype(c.key, c.in[0].shape().back());
  const Tensor a = brought(c.in[0], work);
  auto state = new_state(c, batch_of(c.in[0]));
  Result t(c.out[0], work), z(c.out[1], work);
  with_float(work, [&]<class T>(T) { run<T>(a, *state, t, z); });
  t.finish();
  z.finish();
  settle(c, std::move(state), policy_of(c, 1), "Look at the matrix: its eigenvalues could not be found.");
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  const auto add = [&](DType d, const Dims& shape, const std::vector<complex128>& v, std::string_view covers,
                       Attr output = "real", Attr if_ill = "raise") {
    out.push_back({{sample_tensor(d, shape, v)}, {output, if_ill}, covers});
  };
  for (int k = 0; k < kDTypes; ++k)
    if (const auto d = static_cast<DType>(k); is(d, op_linalg_schur.params[0].kinds)) {
      add(d, {3, 3}, {4, 1, 2, 5, 1, 0, 3, 1, 5}, {});
      add(d, {2, 2}, {1, 2, 3, 1}, "complex output", "complex");
    }
  for (const DType d : {c64, c128}) add(d, {2, 2}, {4, {1, 2}, {3, -2}, 5}, {});
  add(f64, {3, 3}, {0, 0, 1, 1, 0, 0, 0, 1, 0}, "a pair of complex eigenvalues");
  add(f64, {3, 3}, {0, 0, 1, 1, 0, 0, 0, 1, 0}, "a pair of complex eigenvalues", "complex");
  add(f64, {3, 3}, {1, 2, 0.5, -3, 1.5, 1, 0.25, 0.5, 4}, "a pair of complex eigenvalues");
  add(f64, {2, 2, 2}, {4, 1, 1, 3, 1, 5, 5, 2}, "a batch");
  add(f64, {2, 2}, {1e300, 2e300, 3e300, 5e300}, "near overflow");
  add(f64, {0, 0}, {0}, "empty");
  add(f64, {2, 2}, {1, HUGE_VAL, 0, 1}, "not finite", "real", "nan");
  return out;
}

}  // namespace

const Op op_linalg_schur = {
    .name = "schur",
    .ns = "linalg",
    .group = "linear algebra",
    .doc =
        "The Schur form x = Z T conj(Z)ᵀ of each square matrix: Z orthonormal, T upper triangular with the "
        "eigenvalues on its diagonal. For real x a pair of complex eigenvalues is a 2 × 2 block of T, unless "
        "output = \"complex\".",
    .params = {{"x", kinds::numeric}},
    .attrs = {{.name = "output",
               .type = AttrType::text,
               .fallback = "real",
               .doc = "real: of the kind of x; complex: triangular in any case.",
               .choices = {"real", "complex"}},
              policy_attr()},
    .outputs = {"T", "Z"},
    .infer = infer,
    .forward = forward,
    .diagnoses = true,
    .notes = Notes::gives,
    .flow = flow_matrices,
    .vjp = vjp_schur,
    .jvp = jvp_schur,
    .saves_outputs = 3,
    .branches = {"complex output", "a pair of complex eigenvalues", "a batch", "near overflow", "empty",
                 "not finite"},
    .samples = samples,
};

}  // namespace wp
