#include <algorithm>
#include <bit>
#include <limits>

#include "kernels/scan.hpp"
#include "kernels/walk.hpp"
#include "ops/derivative.hpp"
#include "ops/moves.hpp"
#include "ops/products.hpp"
#include "ops/subscripts.hpp"

namespace wp {
extern const Op op_einsum;
namespace {

// An operand or a product of some: a tensor and the labels of its axes, each once.
struct Term {
  Tensor t;
  Dims labels;
};
bool has(const Dims& labels, std::int64_t l) {
  return std::find(labels.begin(), labels.end(), l) != labels.end();
}
std::int64_t axis_of(const Term& x, std::int64_t l) {
  return std::find(x.labels.begin(), x.labels.end(), l) - x.labels.begin();
}
Dims axes_of(const Term& x, const Dims& labels) {
  Dims out;
  for (const std::int64_t l : labels) out.push_back(axis_of(x, l));
  return out;
}

// Products of two elements, for terms that share no summed index.
struct Multiply {
  template <class T>
  WP_FN T apply(T a, T b) {
    if constexpr (simd::is_complex_v<T>)
      return T(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
    else if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) * static_cast<std::make_unsigned_t<T>>(b));
    else
      return a * b;
  }
};
constexpr simd::Loops multiply_loops =
    simd::loops2<Multiply>(simd::Types<std::int32_t, std::uint32_t, std::int64_t, std::uint64_t>{} + simd::Floats{});

class Contraction {
 public:
  Contraction(Call& c, const Subscripts& s) : c_(c), s_(s), dtype_(kernels::product_dtype(c.key)) {}

  void run() {
    for (std::size_t i = 0; i < c_.in.size(); ++i) terms_.push_back(operand(i));
    while (terms_.size() > kPlanned) join_cheapest_pair();
    plan();
    finish(summed(planned(plans_.size() - 1), {}));
  }

 private:
  std::int64_t length(std::int64_t l) const { return s_.length[static_cast<std::size_t>(l)]; }
  std::int64_t size_of_all(const Dims& labels) const {
    std::int64_t n = 1;
    for (const std::int64_t l : labels) n *= length(l);
    return n;
  }
  Dims lengths(const Dims& labels) const {
    Dims out;
    for (const std::int64_t l : labels) out.push_back(length(l));
    return out;
  }
  bool needed(std::int64_t l, const std::vector<Term>& others) const {
    return !s_.sums(l) || std::any_of(others.begin(), others.end(), [&](const Term& t) { return has(t.labels, l); });
  }

  // Repeated indices walk the diagonal; axes of length 1 under "..." repeat.
  Term operand(std::size_t i) const {
    const Tensor x = brought(c_.in[i], dtype_);
    Term out;
    Dims strides;
    for (std::size_t k = 0; k < s_.in[i].size(); ++k) {
      const std::int64_t l = s_.in[i][k], stride = x.shape()[k] == length(l) ? x.strides()[k] : 0;
      if (has(out.labels, l)) {
        strides[static_cast<std::size_t>(axis_of(out, l))] += stride;
      } else {
        out.labels.push_back(l);
        strides.push_back(stride);
      }
    }
    out.t = Tensor::adopt(detail::make_view(*x.node(), lengths(out.labels), strides, 0));
    return out;
  }

  // The sum over indices that nobody else needs: a product with ones.
  Term summed(const Term& x, const std::vector<Term>& others) {
    Dims kept, gone;
    for (const std::int64_t l : x.labels) (needed(l, others) ? kept : gone).push_back(l);
    if (gone.empty()) return x;
    Term y{Tensor::adopt(detail::make_node(dtype_, lengths(kept))), kept};
    const Tensor one = brought(Tensor{1.0}, dtype_);
    const Factor f = factor(x.t, {}, axes_of(x, kept), axes_of(x, gone));
    multiply(c_, y.t, {}, size_of_all(kept), 1, size_of_all(gone), f.stack, {one.node()->data, {}, 0, 0});
    return y;
  }

  Term product(const Term& left, const Term& right, const std::vector<Term>& others) {
    std::vector<Term> with = others;
    with.push_back(right);
    const Term x = summed(left, with);
    with.back() = x;
    const Term y = summed(right, with);
    Dims batch, inner, rows, columns;
    for (const std::int64_t l : in_result_order(x.labels))
      (!has(y.labels, l) ? rows : needed(l, others) ? batch : inner).push_back(l);
    for (const std::int64_t l : in_result_order(y.labels))
      if (!has(x.labels, l)) columns.push_back(l);
    Dims labels = batch;
    for (const Dims* part : {&rows, &columns})
      for (const std::int64_t l : *part) labels.push_back(l);
    Term out{Tensor(), labels};
    if (inner.empty()) {
      out.labels = in_result_order(labels);
      out.t = Tensor::adopt(detail::make_node(dtype_, lengths(out.labels)));
      by_element(x, y, out);
      return out;
    }
    out.t = Tensor::adopt(detail::make_node(dtype_, lengths(labels)));
    const Factor a = factor(x.t, axes_of(x, batch), axes_of(x, rows), axes_of(x, inner));
    const Factor b = factor(y.t, axes_of(y, batch), axes_of(y, inner), axes_of(y, columns));
    multiply(c_, out.t, lengths(batch), size_of_all(rows), size_of_all(columns), size_of_all(inner), a.stack,
             b.stack);
    return out;
  }

  void by_element(const Term& x, const Term& y, const Term& out) {
    kernels::Operand operands[3];
    const Term* const all[] = {&x, &y, &out};
    for (int o = 0; o < 3; ++o) {
      const Term& t = *all[o];
      operands[o] = {t.t.node()->data, dtype_, dtype_, {}};
      for (const std::int64_t l : out.labels)
        operands[o].strides.push_back(has(t.labels, l) ? t.t.strides()[static_cast<std::size_t>(axis_of(t, l))] : 0);
    }
    const simd::Loop& loop = multiply_loops[static_cast<std::size_t>(dtype_)];
    c_.status.bits |= kernels::walk(out.t.shape(), operands, 3, loop.active());
  }

  // Indices of the result first, in its order: the last product then needs no rearranging in the usual cases.
  Dims in_result_order(const Dims& labels) const {
    Dims out;
    for (const std::int64_t l : s_.out)
      if (has(labels, l)) out.push_back(l);
    for (const std::int64_t l : labels)
      if (!has(out, l)) out.push_back(l);
    return out;
  }

  void finish(const Term& x) {
    Tensor y = x.t;
    if (x.labels != s_.out) {
      Dims strides;
      for (const std::int64_t l : s_.out) strides.push_back(x.t.strides()[static_cast<std::size_t>(axis_of(x, l))]);
      y = Tensor::adopt(detail::make_view(*x.t.node(), lengths(s_.out), strides, 0));
    }
    if (c_.key != dtype_) {
      y = brought(y, c_.key);
      if (kernels::any_nonfinite(c_.key, y.node()->data, y.size())) c_.status.bits |= simd::Status::nonfinite;
    }
    c_.out.push_back(contiguous(y));
  }

  // ---- the order of products: the cheapest tree for few operands; beyond that, cheapest pairs until few are left
  // -----
  static constexpr std::size_t kPlanned = 8;
  struct Plan {
    double cost = std::numeric_limits<double>::infinity();  // multiplications
    std::size_t left = 0;                                   // the operands of the left factor, one bit each
    Dims labels;                                            // of the product
  };
  std::vector<Term> outside(std::size_t set) const {
    std::vector<Term> out;
    for (std::size_t i = 0; i < terms_.size(); ++i)
      if (!(set >> i & 1)) out.push_back(terms_[i]);
    return out;
  }
  double joint_size(const Dims& a, const Dims& b) const {
    double n = 1;
    for (const std::int64_t l : a) n *= static_cast<double>(length(l));
    for (const std::int64_t l : b)
      if (!has(a, l)) n *= static_cast<double>(length(l));
    return n;
  }
  void plan() {
    plans_.resize(std::size_t{1} << terms_.size());
    for (std::size_t set = 1; set < plans_.size(); ++set) {
      Plan& p = plans_[set];
      const std::vector<Term> others = outside(set);
      for (std::size_t i = 0; i < terms_.size(); ++i)
        if (set >> i & 1)
          for (const std::int64_t l : terms_[i].labels)
            if (!has(p.labels, l) && needed(l, others)) p.labels.push_back(l);
      if ((set & (set - 1)) == 0) p.cost = 0;
      for (std::size_t left = (set - 1) & set; left > set / 2; left = (left - 1) & set) {
        const Plan &a = plans_[left], &b = plans_[set ^ left];
        const double cost = a.cost + b.cost + joint_size(a.labels, b.labels);
        if (cost < p.cost) {
          p.cost = cost;
          p.left = left;
        }
      }
    }
  }
  Term planned(std::size_t set) {
    if ((set & (set - 1)) == 0) return terms_[static_cast<std::size_t>(std::countr_zero(set))];
    const std::size_t left = plans_[set].left;
    return product(planned(set ^ left), planned(left), outside(set));
  }
  void join_cheapest_pair() {
    std::size_t first = 0, second = 1;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t j = 1; j < terms_.size(); ++j)
      for (std::size_t i = 0; i < j; ++i)
        if (const double cost = joint_size(terms_[i].labels, terms_[j].labels); cost < least) {
          least = cost;
          first = i;
          second = j;
        }
    const Term x = terms_[first], y = terms_[second];
    terms_.erase(terms_.begin() + static_cast<std::ptrdiff_t>(second));
    terms_.erase(terms_.begin() + static_cast<std::ptrdiff_t>(first));
    terms_.push_back(product(x, y, terms_));
  }

  Call& c_;
  const Subscripts& s_;
  const DType dtype_;
  std::vector<Term> terms_;
  std::vector<Plan> plans_;  // for every set of terms
};

void infer(Call& c) {
  parse_subscripts(c.attr(0).text(), c.in);
  c.key = common_dtype(c);
}

void forward(Call& c) {
  const Subscripts s = parse_subscripts(c.attr(0).text(), c.in);
  Contraction(c, s).run();
}

// The result's indices are fixed; the other indices of the operand run. A sum over nothing depends on nothing.
void flow(const FlowQuery& q, Visit visit) {
  const Subscripts s = parse_subscripts(q.call.attr(0).text(), q.call.in);
  const Dims &shape = q.call.in[q.input].shape(), &labels = s.in[q.input];
  Dims step(s.length.size(), 0);  // how far one step of an index moves in the operand
  for (std::int64_t k = static_cast<std::int64_t>(shape.size()) - 1, scale = 1; k >= 0; --k) {
    const auto axis = static_cast<std::size_t>(k), l = static_cast<std::size_t>(labels[axis]);
    if (shape[axis] == s.length[l]) step[l] += scale;
    scale *= shape[axis];
  }
  std::int64_t rest = q.element, first = 0, runs = 1;
  for (std::size_t k = s.out.size(); k-- > 0;) {
    const auto l = static_cast<std::size_t>(s.out[k]);
    first += rest % s.length[l] * step[l];
    rest /= s.length[l];
  }
  Dims running;
  for (std::size_t l = 0; l < s.length.size(); ++l) {
    if (!s.sums(static_cast<std::int64_t>(l))) continue;
    if (s.length[l] == 0) return;
    if (!has(labels, static_cast<std::int64_t>(l))) continue;
    running.push_back(static_cast<std::int64_t>(l));
    runs *= s.length[l];
  }
  for (std::int64_t r = 0; r < runs; ++r) {
    std::int64_t at = first, left = r;
    for (const std::int64_t label : running) {
      const auto l = static_cast<std::size_t>(label);
      at += left % s.length[l] * step[l];
      left /= s.length[l];
    }
    visit(at);
  }
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  const auto add = [&](DType d, std::string_view text, const std::vector<Dims>& shapes, std::string_view covers) {
    Sample s{{}, {Attr(text)}, covers};
    for (std::size_t i = 0; i < shapes.size(); ++i)
      s.in.push_back(small_numbers(d, shapes[i], static_cast<int>(3 * i)));
    out.push_back(std::move(s));
  };
  for (int d = 0; d < kDTypes; ++d)
    if (const auto dtype = static_cast<DType>(d); is(dtype, op_einsum.params[0].kinds))
      add(dtype, "ij,jk->ik", {{2, 3}, {3, 2}}, {});
  for (const DType d : {i64, f64, c128}) {
    add(d, "ij,kj", {{2, 3}, {4, 3}}, "the result is implied");
    add(d, "ba", {{2, 3}}, "the result is implied");
    add(d, "ii", {{3, 3}}, "a repeated index: diagonal");
    add(d, "ii->i", {{3, 3}}, "a repeated index: diagonal");
    add(d, "iij,j->ji", {{2, 2, 3}, {3}}, "a repeated index: diagonal");
    add(d, "...ij,...jk->...ik", {{2, 1, 2, 3}, {4, 3, 2}}, "axes under dots broadcast");
    add(d, "i...->...", {{3, 2, 2}}, "axes under dots broadcast");
    add(d, "ij->", {{2, 3}}, "one operand is summed");
    add(d, "ij,k->ik", {{2, 3}, {2}}, "one operand is summed");
    add(d, "ij,ij->ij", {{2, 3}, {2, 3}}, "no index is summed");
    add(d, "i,j->ji", {{2}, {3}}, "no index is summed");
    add(d, "bij,bj->bi", {{2, 3, 4}, {2, 4}}, "an index in both and in the result");
    add(d, "ij,jk,kl->il", {{2, 3}, {3, 2}, {2, 2}}, "more than two operands");
    add(d, "i,i,i->", {{3}, {3}, {3}}, "more than two operands");
    add(d, "ij,jk->ik", {{2, 0}, {0, 3}}, "no terms: zeros");
  }
  out.push_back({{Tensor{1e308}, Tensor{10.0}}, {Attr("i,i")}, "overflow: inf"});
  return out;
}

}  // namespace

const Op op_einsum = {
    .name = "einsum",
    .group = "linear algebra",
    .doc =
        "Sums products of elements over indices: 'ij,jk->ik' is a matrix product. An index that is not in the result "
        "is "
        "summed over; an index that is twice in one operand takes its diagonal; '...' stands for axes that "
        "broadcast. "
        "Without '->' the result has the indices that occur once, in alphabetical order. Operands are multiplied in "
        "the "
        "order that costs least. Integers wrap around.",
    .params = {{.name = "operands", .kinds = kinds::numeric, .variadic = true}},
    .attrs = {{.name = "subscripts",
               .type = AttrType::text,
               .doc = "The indices of each operand, separated by commas, then '->' and those of the result.",
               .required = true,
               .leading = true}},
    .infer = infer,
    .forward = forward,
    .flow = flow,
    .vjp = einsum_vjp,
    .jvp = jvp_multilinear,
    .saves_inputs = ~0U,
    .for_others = ~0U,
    .branches = {"the result is implied", "a repeated index: diagonal", "axes under dots broadcast",
                 "one operand is summed", "no index is summed", "an index in both and in the result",
                 "more than two operands", "no terms: zeros", "overflow: inf"},
    .samples = samples,
};

}  // namespace wp
