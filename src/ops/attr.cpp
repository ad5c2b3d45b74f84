#include "ops/attr.hpp"

#include <mutex>
#include <set>
#include <string>

#include "base/fork.hpp"
#include "base/text.hpp"

namespace wp {

std::string Attr::show() const {
  switch (type_) {
    case AttrType::none: return "none";
    case AttrType::boolean: return flag() ? "true" : "false";
    case AttrType::integer: return say(integer());
    case AttrType::real: return say(real());
    case AttrType::scalar:
      if (scalar_.kind() == Scalar::Kind::boolean) return flag() ? "true" : "false";
      if (scalar_.is_large_unsigned()) return say(static_cast<std::uint64_t>(integer()));
      if (scalar_.kind() == Scalar::Kind::integer) return say(integer());
      if (scalar_.kind() == Scalar::Kind::real) return say(real());
      return say(complex128(scalar_.real(), scalar_.imag()));
    case AttrType::dtype: return std::string(name(dtype_));
    case AttrType::ints: return say(ints_);
    case AttrType::text: return say("'", text_, "'");
    case AttrType::setting: return is_number() ? say(real()) : say("'", text_, "'");
    case AttrType::texts: {
      std::string all;
      for (const std::string& t : texts()) all += say(all.empty() ? "'" : ", '", t, "'");
      return say('[', all, ']');
    }
    case AttrType::object: return "a function";
  }
  return {};
}

// Each text ends with a separator, so that a list of one empty text is not an empty list.
constexpr char kSeparator = '\x1f';

Attr::Attr(const std::vector<std::string>& v) : type_(AttrType::texts), scalar_(0) {
  std::string all;
  for (const std::string& t : v) {
    all += t;
    all += kSeparator;
  }
  text_ = intern(all);
}
std::vector<std::string> Attr::texts() const {
  std::vector<std::string> out;
  for (std::string_view rest = text_; !rest.empty();) {
    const std::size_t end = rest.find(kSeparator);
    out.emplace_back(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  return out;
}

namespace {

struct Texts {
  std::mutex mutex;
  std::set<std::string, std::less<>> all;
};
Texts& texts() {
  static auto* const the = new Texts;
  return *the;
}
[[gnu::constructor]] void prepare_for_fork() {
  open_in_children(texts().mutex);
}

}  // namespace

std::string_view intern(std::string_view text) {
  Texts& t = texts();
  const std::lock_guard lock(t.mutex);
  const auto at = t.all.find(text);
  return at != t.all.end() ? *at : *t.all.emplace(text).first;
}

}  // namespace wp
