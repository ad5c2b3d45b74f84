#include "ops/subscripts.hpp"

#include <algorithm>
#include <string>

#include "base/text.hpp"
#include "ops/derivative.hpp"
#include "wellposed/creation.hpp"
#include "wellposed/ops.hpp"

namespace wp {
namespace {

constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
constexpr std::string_view::size_type npos = std::string_view::npos;

[[noreturn]] void refuse_text(std::string_view text, const std::string& why, std::string advice = {}) {
  refuse<ArgumentError>("WP-ARG-007", say("subscripts '", text, "': ", why), std::move(advice));
}

std::string label_text(std::int64_t label) {
  return label < kLetters ? say("'", letters[static_cast<std::size_t>(label)], "'") : std::string("'...'");
}

// "ab...c": labels before and after the dots.
struct Term {
  Dims before, after;
  bool dots = false;
};
Term parse_term(std::string_view term, std::string_view text) {
  Term t;
  for (std::size_t i = 0; i < term.size(); ++i) {
    const auto at = letters.find(term[i]);
    if (at != npos) {
      (t.dots ? t.after : t.before).push_back(static_cast<std::int64_t>(at));
    } else if (term.substr(i, 3) == "..." && !t.dots) {
      t.dots = true;
      i += 2;
    } else {
      refuse_text(text, say("'", term, "' may hold letters and one '...'; got '", term[i], "'."),
                  "Write for example 'ij,jk->ik' or '...ij,...jk->...ik'.");
    }
  }
  return t;
}

// The labels of a term whose dots stand for `axes` axes.
Dims labels_of(const Term& t, std::int64_t axes) {
  Dims out = t.before;
  for (std::int64_t k = axes; k-- > 0;) out.push_back(kLetters + k);
  for (const std::int64_t l : t.after) out.push_back(l);
  return out;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text)
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

class Parser {
 public:
  Parser(std::string_view text, const std::vector<Dims>& shapes) : text_(text), shapes_(shapes) {
    for (const char c : text)
      if (c != ' ') plain_ += c;
    arrow_ = plain_.find("->");
  }
  Subscripts run() {
    read_inputs();
    if (arrow_ == npos)
      implicit_output();
    else
      read_output();
    return std::move(s_);
  }

 private:
  void read_inputs() {
    const std::vector<std::string> terms = split(plain_.substr(0, arrow_));
    if (terms.size() != shapes_.size())
      refuse_text(text_, say("names ", plural(static_cast<std::int64_t>(terms.size()), "operand"), "; got ",
                             shapes_.size(), "."));
    s_.length.assign(kLetters, -1);
    for (std::size_t i = 0; i < terms.size(); ++i) {
      const Term t = parse_term(terms[i], text_);
      const Dims& shape = shapes_[i];
      const auto axes = static_cast<std::int64_t>(shape.size());
      const auto named = static_cast<std::int64_t>(t.before.size() + t.after.size());
      const std::int64_t rest = axes - named;
      if (t.dots ? rest < 0 : rest != 0)
        refuse<ShapeError>("WP-SHP-013",
                           say("operand ", i, " has ", axes, axes == 1 ? " axis" : " axes", ", shape ", shape,
                               ", but '", terms[i], "' names ", t.dots ? "at least " : "", named, "."),
                           t.dots ? "" : "Use '...' for axes that are not named.");
      dots_ |= t.dots;
      widest_ = std::max(widest_, rest);
      s_.in.push_back(labels_of(t, rest));
      for (std::size_t k = 0; k < shape.size(); ++k) note_length(i, s_.in[i][k], shape[k]);
    }
  }
  // Axes under dots broadcast; letters do not.
  void note_length(std::size_t operand, std::int64_t label, std::int64_t n) {
    const auto at = static_cast<std::size_t>(label);
    if (at >= s_.length.size()) s_.length.resize(at + 1, -1);
    if (at >= first_.size()) first_.resize(at + 1, operand);
    std::int64_t& known = s_.length[at];
    const bool broadcasts = label >= kLetters && (known == 1 || n == 1);
    if (known < 0 || (broadcasts && known == 1)) {
      known = n;
      first_[at] = operand;
    } else if (known != n && !broadcasts) {
      refuse<ShapeError>("WP-SHP-013",
                         say("index ", label_text(label), " has length ", known, " in operand ", first_[at], " ",
                             shapes_[first_[at]], " and ", n, " in operand ", operand, " ", shapes_[operand], "."));
    }
  }
  void implicit_output() {
    for (std::int64_t k = widest_; k-- > 0;) s_.out.push_back(kLetters + k);
    for (std::int64_t l = 0; l < kLetters; ++l) {
      std::ptrdiff_t times = 0;
      for (const Dims& in : s_.in) times += std::count(in.begin(), in.end(), l);
      if (times == 1) s_.out.push_back(l);
    }
  }
  void read_output() {
    const std::string term = plain_.substr(arrow_ + 2);
    const Term t = parse_term(term, text_);
    if (!t.dots && widest_ > 0)
      refuse_text(text_, "the operands have axes under '...' that the result does not name.",
                  say("Write '->...", term, "', or sum over them afterwards."));
    if (t.dots && !dots_) refuse_text(text_, "the result has '...', but no operand does.");
    s_.out = labels_of(t, t.dots ? widest_ : 0);
    for (std::size_t i = 0; i < s_.out.size(); ++i) {
      const std::int64_t l = s_.out[i];
      if (s_.length[static_cast<std::size_t>(l)] < 0)
        refuse_text(text_, say("index ", label_text(l), " of the result is in no operand."));
      if (std::find(s_.out.begin(), s_.out.begin() + i, l) != s_.out.begin() + i)
        refuse_text(text_, say("index ", label_text(l), " is twice in the result."));
    }
  }

  std::string_view text_;
  std::string plain_;
  std::string::size_type arrow_;
  const std::vector<Dims>& shapes_;
  Subscripts s_;
  std::vector<std::size_t> first_;  // the operand that gave the length of a label
  bool dots_ = false;
  std::int64_t widest_ = 0;  // axes under dots
};

}  // namespace

bool Subscripts::sums(std::int64_t label) const {
  return length[static_cast<std::size_t>(label)] >= 0 && std::find(out.begin(), out.end(), label) == out.end();
}

Subscripts parse_subscripts(std::string_view text, Inputs operands) {
  if (operands.size() == 0) refuse<ArgumentError>("WP-ARG-002", "needs at least one operand; got none.");
  std::vector<Dims> shapes;
  for (std::size_t i = 0; i < operands.size(); ++i) shapes.push_back(operands[i].shape());
  return Parser(text, shapes).run();
}

namespace {

bool has(const Dims& labels, std::int64_t l) {
  return std::find(labels.begin(), labels.end(), l) != labels.end();
}

// Labels as letters, numbered as they come.
class Letters {
 public:
  std::string of(const Dims& labels) {
    std::string text;
    for (const std::int64_t l : labels) {
      if (!has(known_, l)) known_.push_back(l);
      text += letters[static_cast<std::size_t>(std::find(known_.begin(), known_.end(), l) - known_.begin())];
    }
    return text;
  }

 private:
  Dims known_;
};

// 0, 1, … along axis k of n.
Tensor numbers(std::int64_t length, std::size_t k, std::size_t n) {
  Dims shape(n, 1);
  shape[k] = length;
  return reshape(arange(length), shape);
}

// The sum over all indices but operand i's; then along its axes, and on its diagonal where an index is twice in it.
Tensor cotangent(const Backward& b, const Subscripts& s, std::size_t i) {
  Letters named;
  Tensors operands{b.g()};
  Dims seen = s.out;
  std::string text = named.of(s.out);
  for (std::size_t j = 0; j < b.in.size(); ++j) {
    if (j == i) continue;
    Dims labels, shape;  // without axes of length 1 that stand for longer ones
    for (std::size_t k = 0; k < s.in[j].size(); ++k) {
      const std::int64_t l = s.in[j][k], n = b.shape(j)[k];
      if (n != s.length[static_cast<std::size_t>(l)]) continue;
      labels.push_back(l);
      shape.push_back(n);
      seen.push_back(l);
    }
    operands.push_back(reshape(conj_of(b.in[j]), shape));
    text += "," + named.of(labels);
  }
  const Dims& own = s.in[i];
  Dims found, placed, full;
  for (const std::int64_t l : own) {
    const bool first = has(seen, l) && !has(found, l);
    if (first) found.push_back(l);
    full.push_back(s.length[static_cast<std::size_t>(l)]);
    placed.push_back(first ? full.back() : 1);
  }
  Tensor g = broadcast_to(reshape(einsum(text + "->" + named.of(found), operands), placed), full);
  for (std::size_t k = 0; k < own.size(); ++k)
    for (std::size_t m = 0; m < k; ++m)
      if (own[m] == own[k]) g = where(equal(numbers(full[m], m, own.size()), numbers(full[k], k, own.size())), g, 0);
  return g;
}

}  // namespace

Tensors einsum_vjp(const Backward& b) {
  std::vector<Dims> shapes;
  for (std::size_t i = 0; i < b.in.size(); ++i) shapes.push_back(b.shape(i));
  const Subscripts s = Parser(b.attr(0).text(), shapes).run();
  Tensors all(b.in.size());
  for (std::size_t i = 0; i < all.size(); ++i)
    if (b.wants(i)) all[i] = cotangent(b, s, i);
  return all;
}

}  // namespace wp
