#include "wellposed/diagnosis.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/text.hpp"
#include "linalg/member.hpp"
#include "linalg/verdict.hpp"
#include "tensor/note.hpp"

namespace wp::linalg {
namespace {

constexpr std::array<std::string_view, 8> status_names{
    "ok", "ill_conditioned", "overflow", "singular", "nonfinite_input", "not_spd", "not_converged", "undefined"};
constexpr std::array<std::string_view, 7> structure_names{
    "general", "symmetric", "positive definite", "banded", "lower triangular", "upper triangular", "diagonal"};
constexpr std::array<std::string_view, 11> method_names{
    "none", "LU", "Cholesky", "LDLᵀ", "substitution", "SVD", "pinv", "ridge", "QR", "eigenvalues", "113-bit LU"};

const Diagnosis::State& nothing() {
  static const auto* const state = new Diagnosis::State;
  return *state;
}
const Diagnosis::State& state_of(const Diagnosis& d) {
  return d.state() ? *d.state() : nothing();
}

// An array over the batch from one number of each verdict.
template <class T, class F>
Tensor array(const Diagnosis& d, F&& number) {
  const Diagnosis::State& s = state_of(d);
  std::vector<T> values;
  for (std::size_t i = 0; i < s.verdicts.size(); ++i) values.push_back(number(static_cast<std::int64_t>(i)));
  if constexpr (std::is_same_v<T, char>) {
    static_assert(sizeof(bool) == 1);
    Tensor t = Tensor::adopt(detail::make_node(DType::boolean, s.batch));
    std::copy(values.begin(), values.end(), t.node()->data);
    return t;
  } else {
    return Tensor::from(values, s.batch);
  }
}
Tensor reals(const Diagnosis& d, double Verdict::*number) {
  return array<double>(d, [&](std::int64_t i) { return state_of(d).verdicts[static_cast<std::size_t>(i)].*number; });
}
Tensor flags(const Diagnosis& d, bool Verdict::*flag) {
  return array<char>(
      d, [&](std::int64_t i) { return static_cast<char>(state_of(d).verdicts[static_cast<std::size_t>(i)].*flag); });
}

template <class E>
std::vector<std::string_view> words(const Diagnosis& d, E Verdict::*field) {
  std::vector<std::string_view> out;
  const Verdicts& all = state_of(d).verdicts;
  for (std::size_t i = 0; i < all.size(); ++i) out.push_back(name(all[i].*field));
  return out;
}

nlohmann::ordered_json number(double v) {
  if (std::isnan(v)) return nullptr;
  if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
  return v;
}
nlohmann::ordered_json list(const Tensor& t) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  if (t.defined())
    for (std::int64_t i = 0; i < t.size(); ++i) {
      const complex128 v = value_at(t, i);
      if (is_complex(t.dtype()))
        out.push_back({number(v.real()), number(v.imag())});
      else
        out.push_back(number(v.real()));
    }
  return out;
}

nlohmann::ordered_json member_json(const Member& m) {
  nlohmann::ordered_json clusters = nlohmann::ordered_json::array();
  for (const Cluster& c : m.clusters)
    clusters.push_back({{"first", c.first}, {"last", c.last}, {"low", number(c.low)}, {"high", number(c.high)}});
  return {{"status", name(m.status)},
          {"exactly_singular", m.exactly_singular},
          {"rcond", number(m.rcond)},
          {"cond", number(m.cond)},
          {"rank", m.rank},
          {"rank_threshold", number(m.rank_threshold)},
          {"rank_gap", number(m.rank_gap)},
          {"rank_doubt", m.rank_doubt},
          {"structure", m.structure},
          {"method", m.method},
          {"digits", number(m.digits)},
          {"forward_error", number(m.forward_error)},
          {"backward_error", number(m.backward_error)},
          {"certified", m.certified},
          {"ridge", number(m.ridge)},
          {"freedom", number(m.freedom)},
          {"growth", number(m.growth)},
          {"null_vector", list(m.null_vector)},
          {"dependent", m.dependent},
          {"dependent_columns", m.dependent_columns},
          {"clusters", clusters},
          {"value_error", list(m.value_error)},
          {"vector_error", list(m.vector_error)},
          {"eigenvalue_condition", list(m.eigenvalue_condition)},
          {"message", m.message}};
}

}  // namespace

std::string_view name(Status s) noexcept {
  return status_names[static_cast<std::size_t>(s)];
}
std::string_view name(Structure s) noexcept {
  return structure_names[static_cast<std::size_t>(s)];
}
std::string_view name(Method m) noexcept {
  return method_names[static_cast<std::size_t>(m)];
}

const Dims& Diagnosis::batch() const {
  return state_of(*this).batch;
}
std::int64_t Diagnosis::size() const {
  return static_cast<std::int64_t>(state_of(*this).verdicts.size());
}
bool Diagnosis::ok() const {
  const auto& all = state_of(*this).verdicts;
  return !all.any_own([](const Verdict& v) { return v.status != Status::ok; });
}
std::int64_t Diagnosis::worst() const {
  const auto& all = state_of(*this).verdicts;
  const auto digits = [](const Verdict& v) {
    return v.status >= Status::overflow || std::isnan(v.digits) ? -1 : v.digits;
  };
  std::int64_t worst = -1;
  double least = HUGE_VAL;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double here = digits(all[i]);
    if (worst >= 0 && !(here < least)) continue;
    worst = static_cast<std::int64_t>(i);
    least = here;
  }
  return worst;
}
Status Diagnosis::status(std::int64_t member) const {
  return (*this)[member].status;
}

const Member& Diagnosis::operator[](std::int64_t member) const {
  const State& s = state_of(*this);
  if (member < 0 || member >= size())
    raise<IndexError>("WP-IDX-001", "Diagnosis",
                      say("member ", member, " of a diagnosis with ", plural(size(), "member"), "."));
  const std::lock_guard lock(s.mutex);
  const auto [at, fresh] = s.members.try_emplace(member);
  if (fresh) at->second = examine(s, member);
  return at->second;
}

std::vector<std::string_view> Diagnosis::statuses() const {
  return words(*this, &Verdict::status);
}
std::vector<std::string_view> Diagnosis::structures() const {
  return words(*this, &Verdict::structure);
}
std::vector<std::string_view> Diagnosis::methods() const {
  return words(*this, &Verdict::method);
}

Tensor Diagnosis::rcond() const {
  return reals(*this, &Verdict::rcond);
}
Tensor Diagnosis::digits() const {
  return reals(*this, &Verdict::digits);
}
Tensor Diagnosis::forward_error() const {
  return reals(*this, &Verdict::forward_error);
}
Tensor Diagnosis::backward_error() const {
  return reals(*this, &Verdict::backward_error);
}
Tensor Diagnosis::growth() const {
  return reals(*this, &Verdict::growth);
}
Tensor Diagnosis::ridge() const {
  return reals(*this, &Verdict::ridge);
}
Tensor Diagnosis::exactly_singular() const {
  return array<char>(*this, [&](std::int64_t i) {
    const Verdict& v = state_of(*this).verdicts[static_cast<std::size_t>(i)];
    return static_cast<char>(knows_singularity(v) ? v.exactly_singular : (*this)[i].exactly_singular);
  });
}
Tensor Diagnosis::certified() const {
  return flags(*this, &Verdict::certified);
}
Tensor Diagnosis::cond() const {
  return array<double>(*this, [&](std::int64_t i) { return (*this)[i].cond; });
}
Tensor Diagnosis::rank() const {
  return array<std::int64_t>(*this, [&](std::int64_t i) { return (*this)[i].rank; });
}

Tensor Diagnosis::rank_threshold() const {
  return array<double>(*this, [&](std::int64_t i) { return (*this)[i].rank_threshold; });
}
Tensor Diagnosis::rank_gap() const {
  return array<double>(*this, [&](std::int64_t i) { return (*this)[i].rank_gap; });
}

std::string Diagnosis::text() const {
  const State& s = state_of(*this);
  if (s.verdicts.empty()) return say(s.op.empty() ? "nothing" : s.op, ": no members.");
  const auto told = [&](std::int64_t i, const std::string& who) {
    const Member m = (*this)[i];
    return m.status == Status::ok ? m.message : say(who, ' ', m.message);
  };
  if (size() == 1) return say(s.op, ": ", told(0, "the matrix"));
  std::array<std::int64_t, status_names.size()> count{};
  for (std::size_t i = 0; i < s.verdicts.size(); ++i) ++count[static_cast<std::size_t>(s.verdicts.status(i))];
  std::string out = say(s.op, ": ", plural(size(), "member"), ":");
  bool first = true;
  for (std::size_t k = 0; k < count.size(); ++k)
    if (count[k]) {
      out += say(first ? " " : ", ", count[k], ' ', status_names[k]);
      first = false;
    }
  out += '.';
  std::int64_t shown = 0;
  for (std::int64_t i = 0; i < size() && shown < 5; ++i)
    if (s.verdicts.status(static_cast<std::size_t>(i)) != Status::ok) {
      out += "\n  " + told(i, say("member ", unravel(i, s.batch)));
      ++shown;
    }
  if (count[0] < size() - shown) out += say("\n  and ", size() - count[0] - shown, " more.");
  return out;
}

std::string Diagnosis::json() const {
  const State& s = state_of(*this);
  nlohmann::ordered_json members = nlohmann::ordered_json::array();
  for (std::int64_t i = 0; i < size(); ++i) members.push_back(member_json((*this)[i]));
  const nlohmann::ordered_json all{{"schema_version", 1},
                                   {"op", s.op},
                                   {"batch", std::vector<std::int64_t>(s.batch.begin(), s.batch.end())},
                                   {"members", members}};
  return all.dump();
}

std::ostream& operator<<(std::ostream& out, const Diagnosis& diagnosis) {
  return out << diagnosis.text();
}

}  // namespace wp::linalg
