#include "data/field.hpp"

#include <cstring>

#include "kernels/convert.hpp"
#include "kernels/extent.hpp"

namespace wp::data {
namespace {

constexpr kernels::Reductions deviations = kernels::reductions<kernels::Var>(simd::RealFloats{});

// Mean and deviation of blocks of fixed length, joined in order.
kernels::Moments plain_moments(const double* x, std::int64_t n) {
  const auto block = deviations[static_cast<std::size_t>(f64)].block[static_cast<int>(simd::isa())];
  kernels::Moments total = kernels::Moments::none();
  for (std::int64_t i = 0; i < n; i += kernels::kReduceBlock) {
    kernels::Moments part;
    block(x + i, std::min(kernels::kReduceBlock, n - i), &part);
    kernels::Moments::join(total, part);
  }
  return total;
}
// A tile whose squares might leave the range of f64 is scaled to have its largest element near 1. (One of zeros has
// the least scale: joined with others it changes theirs nowhere.)
kernels::ScaledMoments moments_of(const std::vector<double>& x) {
  const auto n = static_cast<std::int64_t>(x.size());
  if (n == 0) return {kernels::Moments::none(), 0};
  const kernels::Extent<double> e = kernels::extent(x.data(), n);
  const double most = std::fmax(-e.low, e.high);
  if (most > 0x1p-400 && most < 0x1p400) return {plain_moments(x.data(), n), 0};
  const int scale = most > 0 ? std::ilogb(most) : -1100;
  std::vector<double> scaled(x);
  for (double& v : scaled) v = std::ldexp(v, -scale);
  return {plain_moments(scaled.data(), n), scale};
}

}  // namespace

Field::Field(Subject subject, const SchemaField* rules) : subject_(std::move(subject)) {
  if (!rules) return;
  subject_.rules = rules;
  for (const SchemaRule& r : rules->rules()) {
    const Rule& rule = *find_rule(r.name);
    if (!rule.make) continue;
    if (rule.form == &forms::expressions)
      for (const SchemaValue& one : r.value.items()) add(rule, one);
    else
      add(rule, r.value);
  }
}

void Field::add(const Rule& rule, const SchemaValue& value) {
  if (value.is_boolean() && !value.boolean()) return;
  Active a{&rule, value, nullptr, {}};
  if (!is(subject_.dtype, rule.kinds))
    a.refused = say("it judges ", kinds_text(rule.kinds), " numbers; the dtype is ", subject_.dtype);
  else if (subject_.width > kMostKept && rule.name == "monotone")
    a.refused =
        say("entries of the first axis have ", subject_.width, " elements, more than it keeps (", kMostKept, ")");
  else
    a.check = rule.make(value, subject_);
  needs_ |= rule.needs;
  active_.push_back(std::move(a));
}

Field::Look Field::look(Tile tile) const {
  Look out;
  tile.census = take_census(tile.dtype, tile.x, tile.n);
  out.sample = Sample::look(tile);
  for (const Active& a : active_)
    out.partials.push_back(a.check && (a.rule->needs & tiles) ? a.check->look(subject_, tile) : nullptr);
  if ((needs_ & (moments | quantile)) && !is_complex(tile.dtype)) {
    out.finite.reserve(static_cast<std::size_t>(tile.n));
    each(tile, [&](std::int64_t, auto v) {
      if (std::isfinite(static_cast<double>(v))) out.finite.push_back(static_cast<double>(v));
    });
    if (needs_ & moments) out.moments = moments_of(out.finite);
    if (!(needs_ & quantile)) out.finite = {};
  }
  if (needs_ & whole_matrices) {
    const auto size = static_cast<std::size_t>(tile.n) * size_of(tile.dtype);
    out.bytes.assign(static_cast<const char*>(tile.x), static_cast<const char*>(tile.x) + size);
  }
  tile.x = nullptr;
  out.tile = tile;
  return out;
}

void Field::join(Look look) {
  census_.join(look.tile.census);
  sample_.join(look.sample, look.tile.start + look.tile.n);
  for (std::size_t k = 0; k < active_.size(); ++k)
    if (look.partials[k]) active_[k].check->join(subject_, std::move(look.partials[k]));
  if ((needs_ & moments) && look.moments.s.n > 0) kernels::CarefulVar<double>::join(moments_, look.moments);
  if (needs_ & quantile) quantiles_.add(look.finite);
  if (needs_ & whole_matrices) collect(look);
}

// Elements in order, until whole matrices are there; of [m, n] all of them.
void Field::collect(const Look& look) {
  if (too_large_ || subject_.shape.size() < 2) return;
  if (matrices_.empty()) matrix_dtype_ = look.tile.dtype;
  if (matrix_dtype_ != look.tile.dtype) {  // a column of text turned out to be real
    const auto widened = [](std::vector<char>& bytes, DType from) {
      std::vector<char> out(bytes.size() / size_of(from) * sizeof(double));
      kernels::convert(out.data(), f64, bytes.data(), from, 1,
                       static_cast<std::int64_t>(out.size() / sizeof(double)));
      bytes.swap(out);
    };
    widened(matrices_, matrix_dtype_);
    matrix_dtype_ = f64;
  }
  std::vector<char> more(static_cast<std::size_t>(look.tile.n) * size_of(matrix_dtype_));
  kernels::convert(more.data(), matrix_dtype_, look.bytes.data(), look.tile.dtype, 1, look.tile.n);
  if (matrices_.size() + more.size() > kMostBytes) {
    too_large_ = true;
    matrices_ = {};
    return;
  }
  matrices_.insert(matrices_.end(), more.begin(), more.end());
  judge_matrices(false);
}

void Field::judge_matrices(bool end) {
  const Dims& shape = subject_.shape;
  if (too_large_ || shape.size() < 2 || (shape.size() == 2 && !end)) return;
  const std::int64_t n = shape.back(), item = static_cast<std::int64_t>(size_of(matrix_dtype_));
  const std::int64_t m = shape.size() == 2
                             ? static_cast<std::int64_t>(matrices_.size()) / std::max<std::int64_t>(n * item, 1)
                             : shape[shape.size() - 2];
  const std::int64_t one = m * n * item;
  if (one == 0) return;
  const std::int64_t count = static_cast<std::int64_t>(matrices_.size()) / one;
  if (count == 0) return;
  const Tensor stack = Tensor::borrow(matrices_.data(), matrix_dtype_, {count, m, n});
  for (Active& a : active_)
    if (a.check && (a.rule->needs & whole_matrices)) a.check->matrices(subject_, stack, judged_);
  judged_ += count;
  matrices_.erase(matrices_.begin(), matrices_.begin() + count * one);
}

void Field::finish(Report& out) {
  if (needs_ & whole_matrices) judge_matrices(true);
  if (needs_ & quantile) quantiles_.settle();
  const Facts facts{census_, moments_, needs_ & quantile ? &quantiles_ : nullptr};
  for (Active& a : active_) {
    RuleReport r;
    r.tensor = subject_.tensor;
    r.column = subject_.column;
    r.rule = a.rule->name;
    r.expected = a.value.is_text() ? a.value.text() : a.value.toml();
    r.code = a.rule->code;
    if (a.check) {
      a.check->finish(subject_, facts, r);
    } else {
      r.holds = false;
      r.code = "WP-VAL-015";
      r.failed = r.checked = 1;
      r.unit = "tensor";
      r.message = say(a.rule->name, " cannot be judged: ", a.refused);
    }
    out.rules.push_back(std::move(r));
  }
  FieldReport f;
  f.tensor = subject_.tensor;
  f.column = subject_.column;
  f.dtype = name(subject_.dtype);
  f.shape = subject_.shape;
  f.values = census_.values;
  f.nans = census_.nans;
  f.infs = census_.infs;
  if (census_.low <= census_.high) {
    f.low = number_text(census_.low);
    f.high = number_text(census_.high);
  }
  sample_.histogram(f);
  out.fields.push_back(std::move(f));
}

}  // namespace wp::data
