#include "ops/attr.hpp"

#include <mutex>
#include <set>
#include <string>

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
  }
  return {};
}

std::string_view intern(std::string_view text) {
  static auto* const mutex = new std::mutex;
  static auto* const table = new std::set<std::string, std::less<>>;
  const std::lock_guard lock(*mutex);
  const auto at = table->find(text);
  return at != table->end() ? *at : *table->emplace(text).first;
}

}  // namespace wp
