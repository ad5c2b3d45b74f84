#include "ops/subscripts.hpp"

#include <algorithm>
#include <string>

#include "base/text.hpp"

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
  Parser(std::string_view text, Inputs operands) : text_(text), operands_(operands) {
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
    if (terms.size() != operands_.size())
      refuse_text(text_, say("names ", plural(static_cast<std::int64_t>(terms.size()), "operand"), "; got ",
                             operands_.size(), "."));
    s_.length.assign(kLetters, -1);
    for (std::size_t i = 0; i < terms.size(); ++i) {
      const Term t = parse_term(terms[i], text_);
      const Dims& shape = operands_[i].shape();
      const auto named = static_cast<std::int64_t>(t.before.size() + t.after.size());
      const std::int64_t rest = operands_[i].ndim() - named;
      if (t.dots ? rest < 0 : rest != 0)
        refuse<ShapeError>(
            "WP-SHP-013",
            say("operand ", i, " has ", operands_[i].ndim(), operands_[i].ndim() == 1 ? " axis" : " axes", ", shape ",
                shape, ", but '", terms[i], "' names ", t.dots ? "at least " : "", named, "."),
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
      refuse<ShapeError>("WP-SHP-013", say("index ", label_text(label), " has length ", known, " in operand ",
                                           first_[at], " ", operands_[first_[at]].shape(), " and ", n, " in operand ",
                                           operand, " ", operands_[operand].shape(), "."));
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
  Inputs operands_;
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
  return Parser(text, operands).run();
}

}  // namespace wp
