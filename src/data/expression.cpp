#include "data/expression.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>

#include "base/text.hpp"

namespace wp::data {

// Recursive descent: or > and > not > comparisons > sums > products > signs > atoms.
class ExpressionParser {
 public:
  using Code = Expression::Code;
  explicit ExpressionParser(std::string_view text) : text_(text) { out_.text_ = text; }
  Expression run() {
    if (text_.size() > kMostText) fail(say("it has more than ", kMostText, " characters"));
    const Kind kind = disjunction();
    if (skip(), at_ < text_.size()) fail("it should end here");
    if (kind != Kind::truth) fail("it is a number, not a predicate");
    return std::move(out_);
  }

 private:
  enum class Kind : std::uint8_t { number, truth };
  static constexpr std::size_t kMostText = 4096, kMostDepth = 100;
  struct Deeper {
    explicit Deeper(ExpressionParser& p) : parser(p) {
      if (++p.nesting_ > kMostDepth) p.fail("it is nested too deeply");
    }
    ~Deeper() { --parser.nesting_; }
    ExpressionParser& parser;
  };

  [[noreturn]] void fail(std::string_view reason) const {
    raise<ArgumentError>(
        "WP-SCM-004", "schema",
        say("the predicate '", text_.substr(0, 200), "' cannot be read at character ", at_ + 1, ": ", reason, "."),
        "It has names, numbers, + - * / %, comparisons, and, or, not, abs, min, max, sqrt, isnan, "
        "isfinite and parentheses.");
  }
  void need(Kind kind, Kind wanted, std::string_view what) const {
    if (kind != wanted)
      fail(say(what, wanted == Kind::number ? " needs numbers, not predicates" : " needs predicates, not numbers"));
  }
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool symbol(std::string_view s) {
    skip();
    if (text_.substr(at_, s.size()) != s) return false;
    at_ += s.size();
    return true;
  }
  static bool in_name(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '$';
  }
  bool keyword(std::string_view s) {
    skip();
    if (text_.substr(at_, s.size()) != s || (at_ + s.size() < text_.size() && in_name(text_[at_ + s.size()])))
      return false;
    at_ += s.size();
    return true;
  }
  void push(Code code, double number = 0, std::size_t name = 0) { out_.steps_.push_back({code, number, name}); }
  void grow() { out_.depth_ = std::max(out_.depth_, ++height_); }
  void shrink() { --height_; }

  Kind disjunction() {
    const Deeper deeper(*this);
    Kind kind = conjunction();
    while (keyword("or")) {
      need(kind, Kind::truth, "or");
      need(conjunction(), Kind::truth, "or");
      push(Code::either);
      shrink();
    }
    return kind;
  }
  Kind conjunction() {
    Kind kind = negation();
    while (keyword("and")) {
      need(kind, Kind::truth, "and");
      need(negation(), Kind::truth, "and");
      push(Code::both);
      shrink();
    }
    return kind;
  }
  Kind negation() {
    const Deeper deeper(*this);
    if (!keyword("not")) return comparison();
    need(negation(), Kind::truth, "not");
    push(Code::negation);
    return Kind::truth;
  }
  bool comparator(Code& code) {
    constexpr std::pair<const char*, Code> all[] = {{"<=", Code::at_most}, {">=", Code::at_least},
                                                    {"==", Code::equal},   {"!=", Code::unequal},
                                                    {"<", Code::less},     {">", Code::more}};
    for (const auto& [s, c] : all)
      if (symbol(s)) return code = c, true;
    if (skip(), at_ < text_.size() && text_[at_] == '=') fail("equality is ==");
    return false;
  }
  // a < b <= c is a < b and b <= c: what stands in the middle is written twice.
  Kind comparison() {
    const Kind kind = sum();
    Code code;
    bool first = true;
    std::size_t from = out_.steps_.size();
    Kind left = kind;
    std::vector<Expression::Step> middle;
    while (comparator(code)) {
      need(left, Kind::number, "a comparison");
      if (!first) {
        out_.steps_.insert(out_.steps_.end(), middle.begin(), middle.end());
        grow();
      }
      from = out_.steps_.size();
      need(sum(), Kind::number, "a comparison");
      middle.assign(out_.steps_.begin() + static_cast<std::ptrdiff_t>(from), out_.steps_.end());
      push(code);
      shrink();
      if (!first) {
        push(Code::both);
        shrink();
      }
      first = false;
    }
    return first ? kind : Kind::truth;
  }
  Kind sum() {
    Kind kind = product();
    while (true) {
      const bool plus = symbol("+");
      if (!plus && !symbol("-")) return kind;
      need(kind, Kind::number, "a sum");
      need(product(), Kind::number, "a sum");
      push(plus ? Code::add : Code::subtract);
      shrink();
    }
  }
  Kind product() {
    Kind kind = sign();
    while (true) {
      const Code code = symbol("*") ? Code::multiply : symbol("/") ? Code::divide : Code::remainder;
      if (code == Code::remainder && !symbol("%")) return kind;
      need(kind, Kind::number, "a product");
      need(sign(), Kind::number, "a product");
      push(code);
      shrink();
    }
  }
  Kind sign() {
    const Deeper deeper(*this);
    if (!symbol("-")) return atom();
    need(sign(), Kind::number, "a sign");
    push(Code::negate);
    return Kind::number;
  }
  Kind function(Code code, int arguments, Kind result) {
    if (!symbol("(")) fail("a function needs its arguments in parentheses");
    for (int i = 0; i < arguments; ++i) {
      if (i && !symbol(",")) fail("a second argument is missing");
      need(disjunction(), Kind::number, "a function");
    }
    if (!symbol(")")) fail("a closing parenthesis is missing");
    push(code);
    if (arguments == 2) shrink();
    return result;
  }
  Kind atom() {
    skip();
    if (at_ == text_.size()) fail("something is missing");
    if (symbol("(")) {
      const Kind kind = disjunction();
      if (!symbol(")")) fail("a closing parenthesis is missing");
      return kind;
    }
    constexpr std::tuple<const char*, Code, int, Kind> functions[] = {
        {"abs", Code::absolute, 1, Kind::number}, {"sqrt", Code::root, 1, Kind::number},
        {"min", Code::least, 2, Kind::number},    {"max", Code::most, 2, Kind::number},
        {"isnan", Code::nan, 1, Kind::truth},     {"isfinite", Code::finite, 1, Kind::truth}};
    for (const auto& [name, code, arguments, result] : functions) {
      const std::size_t before = at_;
      if (!keyword(name)) continue;
      if (skip(), at_ < text_.size() && text_[at_] == '(') return function(code, arguments, result);
      at_ = before;  // a column of that name
    }
    const char c = text_[at_];
    if (std::isdigit(static_cast<unsigned char>(c)) || c == '.') return number();
    if (c == '`') return quoted();
    if (in_name(c)) return name();
    fail(say("'", c, "' is not expected"));
  }
  Kind number() {
    const std::string rest(text_.substr(at_, 64));
    char* end = nullptr;
    const double v = std::strtod(rest.c_str(), &end);
    if (end == rest.c_str()) fail("this is no number");
    at_ += static_cast<std::size_t>(end - rest.c_str());
    push(Code::number, v);
    grow();
    return Kind::number;
  }
  Kind quoted() {
    const std::size_t end = text_.find('`', at_ + 1);
    if (end == std::string_view::npos) fail("a backquote is not closed");
    const std::string_view name = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return variable(name);
  }
  Kind name() {
    const std::size_t from = at_;
    while (at_ < text_.size() && in_name(text_[at_])) ++at_;
    const std::string_view word = text_.substr(from, at_ - from);
    if (word == "and" || word == "or" || word == "not") fail(say("'", word, "' is not expected"));
    return variable(word);
  }
  Kind variable(std::string_view word) {
    auto& names = out_.names_;
    const auto place = std::find(names.begin(), names.end(), word);
    push(Code::name, 0, static_cast<std::size_t>(place - names.begin()));
    if (place == names.end()) names.emplace_back(word);
    grow();
    return Kind::number;
  }

  std::string_view text_;
  std::size_t at_ = 0, nesting_ = 0, height_ = 0;
  Expression out_;
};

Expression Expression::parse(std::string_view text) {
  return ExpressionParser(text).run();
}

namespace {

template <class F>
void join(std::vector<double*>& stack, std::int64_t n, F&& f) {
  const double* const b = stack.back();
  stack.pop_back();
  double* const a = stack.back();
  for (std::int64_t i = 0; i < n; ++i) a[i] = f(a[i], b[i]);
}
template <class F>
void change(std::vector<double*>& stack, std::int64_t n, F&& f) {
  double* const a = stack.back();
  for (std::int64_t i = 0; i < n; ++i) a[i] = f(a[i]);
}

}  // namespace

void Expression::evaluate(std::span<const double* const> values, std::int64_t n, double* truth) const {
  constexpr std::int64_t kRows = 1024;
  std::vector<double> memory((depth_ + 1) * kRows);
  for (std::int64_t from = 0; from < n; from += kRows) {
    const std::int64_t m = std::min(kRows, n - from);
    std::vector<double*> stack;
    const auto fresh = [&] { return stack.emplace_back(memory.data() + stack.size() * kRows); };
    for (const Step& s : steps_) switch (s.code) {
        case Code::number: std::fill_n(fresh(), m, s.number); break;
        case Code::name: std::copy_n(values[s.name] + from, m, fresh()); break;
        case Code::add: join(stack, m, [](double a, double b) { return a + b; }); break;
        case Code::subtract: join(stack, m, [](double a, double b) { return a - b; }); break;
        case Code::multiply: join(stack, m, [](double a, double b) { return a * b; }); break;
        case Code::divide: join(stack, m, [](double a, double b) { return a / b; }); break;
        case Code::remainder: join(stack, m, [](double a, double b) { return a - std::floor(a / b) * b; }); break;
        case Code::negate: change(stack, m, [](double a) { return -a; }); break;
        case Code::less: join(stack, m, [](double a, double b) -> double { return a < b; }); break;
        case Code::at_most: join(stack, m, [](double a, double b) -> double { return a <= b; }); break;
        case Code::more: join(stack, m, [](double a, double b) -> double { return a > b; }); break;
        case Code::at_least: join(stack, m, [](double a, double b) -> double { return a >= b; }); break;
        case Code::equal: join(stack, m, [](double a, double b) -> double { return a == b; }); break;
        case Code::unequal: join(stack, m, [](double a, double b) -> double { return a < b || a > b; }); break;
        case Code::both: join(stack, m, [](double a, double b) -> double { return a != 0 && b != 0; }); break;
        case Code::either: join(stack, m, [](double a, double b) -> double { return a != 0 || b != 0; }); break;
        case Code::negation: change(stack, m, [](double a) -> double { return a == 0; }); break;
        case Code::absolute: change(stack, m, [](double a) { return std::fabs(a); }); break;
        case Code::least: join(stack, m, [](double a, double b) { return a < b || a != a ? a : b; }); break;
        case Code::most: join(stack, m, [](double a, double b) { return a > b || a != a ? a : b; }); break;
        case Code::root: change(stack, m, [](double a) { return std::sqrt(a); }); break;
        case Code::nan: change(stack, m, [](double a) -> double { return a != a; }); break;
        case Code::finite: change(stack, m, [](double a) -> double { return std::isfinite(a); }); break;
      }
    std::copy_n(stack.back(), m, truth + from);
  }
}

}  // namespace wp::data
