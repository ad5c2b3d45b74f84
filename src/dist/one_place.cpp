#include "dist/one_place.hpp"

#include <cstdlib>

#include "base/text.hpp"
#include "dist/calling.hpp"
#include "dist/stage.hpp"
#include "dist/team.hpp"
#include "linalg/stack.hpp"
#include "ops/dispatch.hpp"
#include "ops/lines.hpp"
#include "ops/moves.hpp"

namespace wp::dist {
namespace {

// dtype and shape as text, and back.
std::string form_of(const Tensor& t) {
  std::string out = say(static_cast<int>(t.dtype()));
  for (const std::int64_t n : t.shape()) out += say(' ', n);
  return out;
}
Tensor of_form(const std::string& form) {
  char* at = nullptr;
  const auto dtype = static_cast<DType>(std::strtol(form.c_str(), &at, 10));
  Dims shape;
  while (*at) shape.push_back(std::strtoll(at, &at, 10));
  return Tensor::adopt(detail::make_node(dtype, shape));
}

}  // namespace

Tensor brought_together(const Matrix& a) {
  Tensor whole;
  together([&] {
    whole = Tensor::adopt(detail::make_node(a.dtype(), a.is_vector() ? Dims{a.rows()} : Dims{a.rows(), a.columns()}));
  });
  linalg::with_float(a.dtype(), [&]<class T>(T) {
    gather_columns<T>(local<T>(a), 0, a.columns(), reinterpret_cast<T*>(whole.node()->data));
  });
  return whole;
}

Matrix spread(const Tensor& whole, const Layout& layout, bool vector) {
  Matrix x = make_matrix(whole.shape()[0], vector ? 1 : whole.shape()[1], whole.dtype(), layout, vector);
  linalg::with_float(x.dtype(), [&]<class T>(T) {
    scatter_columns<T>(reinterpret_cast<const T*>(whole.node()->data), 0, x.columns(), local<T>(x));
  });
  return x;
}

Found in_one_place(const std::function<std::pair<std::vector<Tensor>, linalg::Diagnosis>()>& f) {
  const Stage stage("look at it in one place");
  Found out;
  std::string verdict;
  together([&] {
    if (rank() != 0) return;
    const Unseen unseen;
    const auto [values, diagnosis] = f();
    for (const Tensor& t : values) out.values.push_back(packed(t, t.dtype()));
    verdict = packed_verdict(std::as_const(*diagnosis.state()).verdicts[0]);
  });
  out.verdict = unpacked_verdict(broadcast_text(verdict));
  auto count = static_cast<std::int64_t>(out.values.size());
  broadcast(&count, sizeof count);
  out.values.resize(static_cast<std::size_t>(count));
  for (Tensor& t : out.values) {
    const std::string form = broadcast_text(t.defined() ? form_of(t) : "");
    together([&] {
      if (!t.defined()) t = of_form(form);
    });
    broadcast(t.node()->data, t.nbytes());
  }
  return out;
}

void need_one_place(const Matrix& a, std::string_view what, std::string_view advice) {
  if (fits_one_place(a)) return;
  refuse<ArgumentError>("WP-MPI-007",
                        say(what, " is for matrices of at most ", kOnePlace, " rows and columns here; got [",
                            a.rows(), ", ", a.columns(), "]."),
                        std::string(advice));
}

}  // namespace wp::dist
