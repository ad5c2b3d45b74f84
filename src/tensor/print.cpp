// Tensors as text. The layout is NumPy's; below it stands where Inf and NaN come from.
#include <algorithm>
#include <ostream>

#include "base/text.hpp"
#include "kernels/scan.hpp"
#include "kernels/walk.hpp"
#include "tensor/columns.hpp"
#include "tensor/note.hpp"

namespace wp {
namespace {

constexpr std::int64_t kAll = 1000;  // tensors up to this size are shown whole
constexpr std::int64_t kEdge = 3;    // else so many at both ends of each axis
constexpr std::size_t kWidth = 75;
constexpr std::string_view kOpen = "Tensor(";

class Layout {
 public:
  explicit Layout(const Tensor& t) : shape_(t.shape()), summary_(t.size() > kAll) {
    std::vector<std::int64_t> elements;
    collect(0, 0, elements);
    words_ = columns(t, elements);
  }
  std::string text() { return block(0, std::string(kOpen.size() + 1, ' '), kWidth - 1); }

 private:
  bool cut(std::size_t axis) const { return summary_ && shape_[axis] > 2 * kEdge; }
  // The shown positions along an axis, with −1 for "...".
  std::vector<std::int64_t> shown(std::size_t axis) const {
    std::vector<std::int64_t> at;
    for (std::int64_t i = 0; i < shape_[axis]; ++i) {
      if (cut(axis) && i == kEdge) {
        at.push_back(-1);
        i = shape_[axis] - kEdge;
      }
      at.push_back(i);
    }
    return at;
  }
  void collect(std::size_t axis, std::int64_t element, std::vector<std::int64_t>& out) const {
    if (axis == shape_.size()) return out.push_back(element);
    for (const std::int64_t i : shown(axis))
      if (i >= 0) collect(axis + 1, element * shape_[axis] + i, out);
  }
  // The text of what stands at one position of the axes before `axis`. `indent` is that of its second line.
  std::string block(std::size_t axis, const std::string& indent, std::size_t width) {
    if (axis == shape_.size()) return words_[next_++];
    std::string out;
    const std::vector<std::int64_t> at = shown(axis);
    if (axis + 1 == shape_.size()) {
      std::string line = indent;
      for (std::size_t k = 0; k < at.size(); ++k) {
        const std::string word = at[k] < 0 ? "..." : words_[next_++];
        if (line.size() + word.size() > width - 1 && line.size() > indent.size()) {
          out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
          line = indent;
        }
        line += word;
        if (k + 1 < at.size()) line += ", ";
      }
      out += line;
    } else {
      const std::string separator = "," + std::string(shape_.size() - axis - 1, '\n');
      for (std::size_t k = 0; k < at.size(); ++k) {
        out += indent + (at[k] < 0 ? "..." : block(axis + 1, indent + ' ', width - 1));
        if (k + 1 < at.size()) out += separator;
      }
    }
    return "[" + out.substr(std::min(indent.size(), out.size())) + "]";
  }

  Dims shape_;
  bool summary_;
  std::vector<std::string> words_;
  std::size_t next_ = 0;
};

bool is_default(DType d) {
  return d == DType::boolean || d == i64 || d == f64 || d == c128;
}

// f(element) for each Inf and NaN of t, in order.
template <class F>
void each_nonfinite(const Tensor& t, F&& f) {
  constexpr std::int64_t kRun = 1024;
  if (!is_floating(t.dtype())) return;
  alignas(64) char buffer[kRun * 16];
  for (std::int64_t at = 0; at < t.size(); at += kRun) {
    const std::int64_t n = std::min(kRun, t.size() - at);
    kernels::gather(buffer, t.dtype(), t.node()->data, t.dtype(), t.shape(), t.strides(), at, n);
    for (std::int64_t i = -1; (i = kernels::first_nonfinite(t.dtype(), buffer, i + 1, n)) >= 0;) f(at + i);
  }
}

struct Source {
  const Origin* origin;
  Dims first;
  std::string value;
  std::int64_t count;
};
struct Sources {
  std::vector<Source> made;
  std::int64_t given = 0;

  explicit Sources(const Tensor& t) {
    const Note* const note = t.node()->note.get();
    if (note && !note->source.empty()) {
      for (std::size_t e = 0; e < note->source.size(); ++e)
        if (note->source[e]) add(t, static_cast<std::int64_t>(e), note->origins[note->source[e] - 1U].get(), 1);
      each_nonfinite(t, [&](std::int64_t e) { given += note->source[static_cast<std::size_t>(e)] == 0; });
      return;
    }
    // Elements that a view repeats are looked at once.
    Dims shape = t.shape();
    std::int64_t times = 1;
    for (std::size_t k = 0; k < shape.size(); ++k)
      if (t.strides()[k] == 0 && shape[k] > 1) times *= std::exchange(shape[k], 1);
    const Tensor once = Tensor::adopt(detail::make_view(*t.node(), shape, t.strides(), 0));
    each_nonfinite(once, [&](std::int64_t e) {
      if (note)
        add(once, e, note->origins[0].get(), times);
      else
        given += times;
    });
  }
  void add(const Tensor& t, std::int64_t e, const Origin* origin, std::int64_t count) {
    const auto at = std::find_if(made.begin(), made.end(), [&](const Source& s) { return s.origin == origin; });
    if (at != made.end())
      at->count += count;
    else
      made.push_back({origin, unravel(e, t.shape()), text_at(t, e), count});
  }
};

// "  [2]: -inf made by log at model.cpp:41 (x[2] = 0)"
std::string footnote(const Source& s) {
  const Finding& f = s.origin->finding;
  std::string out = "\n  ";
  if (!s.first.empty()) out += say(s.first, s.count > 1 ? say(" and ", s.count - 1, " more") : std::string(), ": ");
  out += s.value == s.origin->value ? s.value : say(s.value, ", from ", s.origin->value);
  out += say(" made by ", f.op);
  if (f.place.known()) out += " at " + f.place.text();
  if (!f.scope.empty()) out += ", scope " + f.scope;
  for (std::size_t i = 0; i < f.operands.size(); ++i) out += (i ? ", " : " (") + f.operands[i];
  return f.operands.empty() ? out : out + ")";
}

std::string footnotes(const Tensor& t) {
  constexpr std::size_t kNotes = 3;
  const Sources sources(t);
  std::string out;
  for (std::size_t i = 0; i < std::min(kNotes, sources.made.size()); ++i) out += footnote(sources.made[i]);
  if (sources.made.size() > kNotes) out += say("\n  … and ", sources.made.size() - kNotes, " more");
  if (sources.given)
    out += say("\n  ", plural(sources.given, "non-finite value"), sources.given == 1 ? " was given" : " were given");
  return out;
}

}  // namespace

std::string Tensor::to_string() const {
  if (!defined()) return say(kOpen, "undefined)");
  std::string out(kOpen);
  out += size() == 0 ? "[]" : Layout(*this).text();
  std::string extras;
  if (size() > kAll || (size() == 0 && ndim() != 1)) extras = say("shape=", shape());
  if (size() == 0 || !is_default(dtype())) extras += say(extras.empty() ? "" : ", ", "dtype=", dtype());
  if (!extras.empty()) {
    const std::size_t line = out.size() + 1 - (out.rfind('\n') + 1);
    out += line + extras.size() + 2 > kWidth ? ",\n" + std::string(kOpen.size(), ' ') : ", ";
    out += extras;
  }
  return out + ")" + footnotes(*this);
}

std::ostream& operator<<(std::ostream& os, const Tensor& t) {
  return os << t.to_string();
}

}  // namespace wp
