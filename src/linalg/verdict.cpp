#include "linalg/verdict.hpp"

#include <algorithm>
#include <cmath>

namespace wp::linalg {

bool knows_singularity(const Verdict& v) {
  if (v.exactly_singular) return true;
  switch (v.method) {
    case Method::none:
    case Method::svd:
    case Method::pinv:
    case Method::ridge:
    case Method::eigen: return false;
    default: return !std::isnan(v.rcond);
  }
}

void Verdicts::share(std::size_t n, const Verdict& common, Detail detail) {
  size_ = n;
  own_.clear();
  others_.clear();
  common_ = common;
  detail_ = std::move(detail);
}

Verdict& Verdicts::operator[](std::size_t i) {
  return shared() ? others_.try_emplace(others_.end(), i, common_)->second : own_[i];  // mostly they come in order
}

Verdict Verdicts::operator[](std::size_t i) const {
  if (!shared()) return own_[i];
  if (const auto at = others_.find(i); at != others_.end()) return at->second;
  Verdict v = common_;
  if (detail_) detail_(static_cast<std::int64_t>(i), v);
  if (least_error > 0) {
    v.forward_error = std::max(v.forward_error, least_error);
    v.digits = std::min(v.digits, -std::log10(least_error));
  }
  return v;
}

const Verdict& Verdicts::known(std::size_t i) const {
  if (!shared()) return own_[i];
  const auto at = others_.find(i);
  return at == others_.end() ? common_ : at->second;
}

}  // namespace wp::linalg
