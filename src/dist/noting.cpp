#include "dist/noting.hpp"

#include <algorithm>
#include <optional>

#include "base/text.hpp"
#include "dist/team.hpp"
#include "kernels/scan.hpp"
#include "ops/dispatch.hpp"

namespace wp::dist {
namespace {

// Where elements of this rank's storage, which is the transpose of its part, are in the matrix.
Whole whole_of(const Matrix& a) {
  return {{a.rows(), a.columns()}, [a](std::int64_t element) {
            const std::int64_t m = std::max<std::int64_t>(1, a.local_rows());
            return Dims{a.global_row(element % m), a.global_column(element / m)};
          }};
}

// What some tensors of this rank hold.
struct Holds {
  int nan = 0, inf = 0, noted = 0;
  void look(const Tensor& t) {
    if (!t.defined()) return;
    noted |= t.node()->note ? 1 : 0;
    for (std::int64_t e = next_nonfinite(t, 0); e >= 0 && !(nan && inf); e = next_nonfinite(t, e + 1))
      (nan_at(t, e) ? nan : inf) = 1;
  }
};

// f of the lowest rank where it gives an origin; none where it gives none on any. Collective.
template <class F>
std::shared_ptr<const Origin> first_origin(F&& f) {
  try {
    together(
        [&] {
          if (const std::optional<Finding> found = f()) throw NonFiniteError(*found);
        },
        false);
  } catch (const NonFiniteError& e) {
    Origin o;
    o.finding = e.finding();
    o.finding.severity = Severity::warning;
    return std::make_shared<const Origin>(std::move(o));
  }
  return nullptr;
}

std::optional<Finding> carried(std::span<const Tensor> in) {
  for (const Tensor& t : in)
    if (t.defined() && t.node()->note) return t.node()->note->origins[0]->finding;
  return std::nullopt;
}

// Elements of y that are no other's: Inf of finite operands, NaN of NaN-free ones.
bool fresh(const Tensor& y, std::int64_t element, const Holds& in) {
  return nan_at(y, element) ? !in.nan : !in.nan && !in.inf;
}
template <class F>
void each_nonfinite(const Tensor& y, F&& f) {
  for (std::int64_t e = next_nonfinite(y, 0); e >= 0; e = next_nonfinite(y, e + 1)) f(e);
}

std::optional<Finding> made(std::string_view op, const Tensor& y, const Matrix* whole, const Holds& in,
                            const Place& place) {
  std::optional<Finding> found;
  each_nonfinite(y, [&](std::int64_t e) {
    if (found || !fresh(y, e, in)) return;
    Finding& f = found.emplace();
    f.op = op;
    f.severity = Severity::error;
    f.message = say("made ", text_at(y, e));
    if (whole) {
      const Whole w = whole_of(*whole);
      f.element = w.index(e);
      f.message += say(" at element ", f.element, " of ", w.shape);
    }
    tell_cause(f, y.dtype(), nan_at(y, e), in.inf != 0);
    f.place = place;
    f.scope = current_scope();
    f.step = context().step;
  });
  return found;
}

}  // namespace

void note(std::string_view op, std::span<const Tensor> in, const Tensor& y, const Matrix* whole, Notes notes,
          const Place& place) {
  if (notes == Notes::gives || !is_floating(y.dtype())) return;
  const Context& c = context();
  const bool bad =
      (c.level != CheckLevel::off || !whole) && kernels::any_nonfinite(y.dtype(), y.node()->data, y.size());
  if (!whole && !bad) return;  // all have the same
  // Ranks whose levels differ stay in step.
  int asked[] = {bad, static_cast<int>(c.level), notes == Notes::inherit && !c.allow_nonfinite};
  all_reduce(asked, 3, MPI_MAX);
  const auto level = static_cast<CheckLevel>(asked[1]);
  if (!asked[0] || level == CheckLevel::off) return;
  Holds held;
  for (const Tensor& t : in) held.look(t);
  int parts[] = {held.nan, held.inf, held.noted};
  all_reduce(parts, 3, MPI_MAX);
  held = {parts[0], parts[1], parts[2]};
  const auto mark = [&](const std::shared_ptr<const Origin>& origin, auto&& which) {
    if (!origin) return;
    Note n{{origin}, std::vector<std::uint8_t>(static_cast<std::size_t>(y.size()), 0)};
    each_nonfinite(y, [&](std::int64_t e) { n.source[static_cast<std::size_t>(e)] = which(e) ? 1 : 0; });
    if (std::count(n.source.begin(), n.source.end(), 1)) y.node()->note = std::make_shared<const Note>(std::move(n));
  };
  if (held.noted) return mark(first_origin([&] { return carried(in); }), [](std::int64_t) { return true; });
  if (!asked[2]) return;
  const auto origin = first_origin([&] { return made(op, y, whole, held, place); });
  if (!origin) return;
  if (level == CheckLevel::raise) {
    Finding f = origin->finding;
    f.severity = Severity::error;
    throw NonFiniteError(std::move(f));
  }
  mark(origin, [&](std::int64_t e) { return fresh(y, e, held); });
  if (level == CheckLevel::warn) report(origin->finding);
}

void escape(const Matrix& a, std::string_view sink, Counts counts, const Place& place) {
  const CheckLevel level = static_cast<CheckLevel>(reduced(static_cast<int>(context().level), MPI_MAX));
  if (level == CheckLevel::off) return;
  const auto origin = first_origin([&]() -> std::optional<Finding> {
    const checks raising(CheckLevel::escape);
    const Whole whole = whole_of(a);
    try {
      wp::escape(a.state().storage, sink, counts, place, &whole);
    } catch (const NonFiniteError& e) {
      return e.finding();
    }
    return std::nullopt;
  });
  if (!origin) return;
  Finding f = origin->finding;
  if (level == CheckLevel::warn) return report(f);
  f.severity = Severity::error;
  throw NonFiniteError(std::move(f));
}

}  // namespace wp::dist
