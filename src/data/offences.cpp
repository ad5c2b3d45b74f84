#include "data/offences.hpp"

namespace wp::data {
namespace {

Dims index_of(const Subject& s, std::int64_t at, Unit unit) {
  if (unit == Unit::value) return s.index(at);
  const std::size_t inner = unit == Unit::row ? 1 : 2;
  Dims out(s.shape.size() > inner ? s.shape.size() - inner : 0, 0);
  for (std::size_t axis = out.size(); axis-- > 1;) {
    out[axis] = at % std::max<std::int64_t>(s.shape[axis], 1);
    at /= std::max<std::int64_t>(s.shape[axis], 1);
  }
  if (!out.empty()) out[0] = at;
  return out;
}

std::string place_text(const Offender& o, Unit unit) {
  if (unit == Unit::value) return say("element ", o.index);
  const char* const word = unit == Unit::row ? "row" : "matrix";
  if (o.index.empty()) return say("the ", word);
  return o.index.size() == 1 ? say(word, ' ', o.index[0]) : say(word, ' ', o.index);
}

Offender offender(const Subject& s, const Hit& h, Unit unit) {
  Offender o{index_of(s, h.at, unit), -1, h.value, h.why, h.excess};
  if (!o.index.empty()) o.row = o.index[0];
  return o;
}

// "row 2", "rows 2, 5, 9", "rows 2, 5, …": of the first offenders.
std::string rows_text(const RuleReport& r) {
  std::vector<std::int64_t> rows;
  for (const Offender& o : r.first)
    if (o.row >= 0 && (rows.empty() || rows.back() != o.row)) rows.push_back(o.row);
  if (rows.empty()) return {};
  const bool more = r.failed > static_cast<std::int64_t>(r.first.size());
  std::string out = rows.size() == 1 && !more ? "; row " : "; rows ";
  for (std::size_t i = 0; i < rows.size(); ++i) out += say(i ? ", " : "", rows[i]);
  return more ? out + ", …" : out;
}

}  // namespace

void tell(const Subject& s, const Offences& o, Unit unit, std::int64_t checked, RuleReport& r) {
  constexpr const char* units[] = {"value", "row", "matrix"};
  r.unit = units[static_cast<int>(unit)];
  r.checked = checked;
  r.failed = o.count();
  r.holds = r.failed == 0;
  for (const Hit& h : o.first()) r.first.push_back(offender(s, h, unit));
  for (const Hit& h : o.worst()) r.worst.push_back(offender(s, h, unit));
  if (r.holds) return;
  const std::string of = unit == Unit::matrix ? (checked == 1 ? "matrix" : "matrices") : plural(checked, r.unit);
  const std::string all = unit == Unit::matrix ? say(checked, ' ', of) : of;
  if (r.first.empty()) {
    r.message = say(r.failed, " of ", all);
    return;
  }
  const Offender& one = r.first[0];
  r.message = place_text(one, unit);
  if (!one.value.empty()) r.message += say(unit == Unit::value ? " = " : " ", one.value);
  r.message += say(' ', one.why, "; ", r.failed, " of ", all);
  if (unit == Unit::value) r.message += rows_text(r);
}

}  // namespace wp::data
