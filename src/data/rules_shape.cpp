// What is known of a tensor without its elements.
#include "data/at_end.hpp"
#include "data/names.hpp"

namespace wp::data {
namespace {

constexpr std::string_view kType = "WP-VAL-001", kShape = "WP-VAL-002";

std::unique_ptr<Check> check_dtype(const SchemaValue& v, const Subject&) {
  return at_end([v](const Subject& s, const Facts&, RuleReport& r) {
    const bool good = v.is_list() ? std::any_of(v.items().begin(), v.items().end(),
                                                [&](const SchemaValue& i) { return has_dtype(i, s.dtype); })
                                  : has_dtype(v, s.dtype);
    if (!good) break_rule(r, say("the dtype is ", s.dtype, ", not ", r.expected));
  });
}

std::unique_ptr<Check> check_rank(const SchemaValue& v, const Subject&) {
  return at_end([n = v.integer()](const Subject& s, const Facts&, RuleReport& r) {
    const auto rank = static_cast<std::int64_t>(s.shape.size());
    if (rank != n)
      break_rule(r, say("it has ", rank == 1 ? "1 axis" : say(rank, " axes"), " (", s.shape, "), not ", n));
  });
}

std::unique_ptr<Check> check_shape(const SchemaValue& v, const Subject&) {
  return at_end([lengths = v.items()](const Subject& s, const Facts&, RuleReport& r) {
    if (lengths.size() != s.shape.size()) return break_rule(r, say("the shape is ", s.shape, ", not ", r.expected));
    std::string wrong;
    for (std::size_t k = 0; k < lengths.size(); ++k) {
      const SchemaValue& l = lengths[k];
      if (l.is_integer()) {
        if (l.integer() != s.shape[k])
          wrong += say(wrong.empty() ? "" : "; ", "axis ", k, " has the length ", s.shape[k], ", not ", l.integer());
      } else if (l.text() != "*") {
        const Symbols::Bound& b =
            symbols().bind(l.text(), s.shape[k], say(s.tensor.empty() ? "axis " : s.tensor + " axis ", k));
        if (b.length != s.shape[k])
          wrong += say(wrong.empty() ? "" : "; ", "axis ", k, " has the length ", s.shape[k], "; '", l.text(),
                       "' is ", b.length, " by ", b.by);
      }
    }
    if (!wrong.empty()) break_rule(r, say("the shape is ", s.shape, ": ", wrong));
  });
}

std::unique_ptr<Check> check_columns(const SchemaValue& v, const Subject&) {
  return at_end([names = v.items()](const Subject& s, const Facts&, RuleReport& r) {
    const std::int64_t length = s.shape.empty() ? 0 : s.shape.back();
    if (static_cast<std::int64_t>(names.size()) != length)
      return break_rule(r, say("there are ", plural(length, "column"), ", not ", names.size()));
    for (std::size_t k = 0; k < names.size() && k < s.columns.size(); ++k)
      if (names[k].text() != s.columns[k])
        return break_rule(r, say("column ", k, " is '", s.columns[k], "', not '", names[k].text(), "'"));
  });
}

std::unique_ptr<Check> check_most(const SchemaValue& v, const Subject&) {
  return at_end([most = v.items()](const Subject& s, const Facts&, RuleReport& r) {
    bool good = most.size() == s.shape.size();
    for (std::size_t k = 0; good && k < most.size(); ++k) good = s.shape[k] <= most[k].integer();
    if (!good) break_rule(r, say("the shape is ", s.shape, "; at most ", r.expected, " is allowed"));
  });
}

std::unique_ptr<Check> check_bytes(const SchemaValue& v, const Subject&) {
  return at_end([v](const Subject& s, const Facts&, RuleReport& r) {
    double bytes = static_cast<double>(size_of(s.dtype));
    for (const std::int64_t l : s.shape) bytes *= static_cast<double>(l);
    r.measured = bytes;
    if (bytes > size_in_bytes(v))
      break_rule(r, say("it takes ", bytes_text(bytes), "; at most ", r.expected, " are allowed"));
  });
}

constexpr Rule table[] = {
    {"dtype", &forms::dtypes, kType, kinds::any, true, nothing, "[\"f32\", \"f64\"]",
     "The dtype is this one, or one of these.", check_dtype},
    {"rank", &forms::count, kShape, kinds::any, false, nothing, "2", "The number of axes.", check_rank},
    {"shape", &forms::lengths, kShape, kinds::any, false, nothing, "[\"batch\", 32]",
     "The lengths of all axes. A name is bound by the first tensor that uses it, and must be the same length in all "
     "others.",
     check_shape},
    {"columns", &forms::names, kShape, kinds::any, false, nothing, "[\"age\", \"income\"]",
     "The names of the entries of the last axis: those of a file's header, or names for messages and predicates "
     "where there is none.",
     check_columns},
    {"max_dims", &forms::most_lengths, kShape, kinds::any, false, nothing, "[100000, 64]",
     "No axis is longer than this, and there are as many.", check_most},
    {"max_bytes", &forms::bytes, kShape, kinds::any, false, nothing, "\"2 GiB\"",
     "The elements take at most so much memory.", check_bytes},
    {"optional", &forms::permission, "", kinds::any, true, nothing, "true", "The tensor or column may be missing.",
     nullptr},
    {"doc", &forms::words, "", kinds::any, true, nothing, "\"pixels of the image\"",
     "Words for people; nothing is checked.", nullptr},
};

}  // namespace

std::span<const Rule> shape_rules() {
  return table;
}

namespace {
constinit thread_local Symbols* current = nullptr;
}
Symbols& symbols() noexcept {
  return *current;
}
OwnSymbols::OwnSymbols() : outer_(current) {
  current = &own_;
}
OwnSymbols::~OwnSymbols() {
  current = outer_;
}
const Symbols::Bound& Symbols::bind(const std::string& name, std::int64_t length, const std::string& by) {
  for (const auto& [known, bound] : bound_)
    if (known == name) return bound;
  return bound_.emplace_back(name, Bound{length, by}).second;
}

}  // namespace wp::data
