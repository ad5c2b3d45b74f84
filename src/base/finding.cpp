#include <cmath>
#include <cstring>

#include "base/text.hpp"
#include "wellposed/context.hpp"

namespace wp {

std::string Place::text() const {
  if (!known()) return {};
  const char* slash = std::strrchr(file, '/');
  return say(slash ? slash + 1 : file, ':', line);
}

std::string Finding::text() const {
  // A fact about numbers leads with its code; a misuse leads with the function and ends with the code.
  const bool numeric = severity != Severity::error || count > 0 || !operands.empty();
  std::string out = numeric ? say(code, ' ', op, ": ", message) : say(op, ": ", message);
  if (!operands.empty()) {
    out += "\n  ";
    for (std::size_t i = 0; i < operands.size(); ++i) out += (i ? ", " : "") + operands[i];
  }
  if (!advice.empty()) out += (numeric ? "\n  " : " ") + advice;
  if (place.known()) out += (numeric ? "\n  at " : "  (at ") + place.text();
  if (!scope.empty()) out += (place.known() ? ", scope " : numeric ? "\n  scope " : "  (scope ") + scope;
  if (step >= 0) out += say(", step ", step);
  if (!numeric && (place.known() || !scope.empty())) out += ')';
  if (!numeric && !code.empty()) out += " [" + code + "]";
  return out;
}

Finding misuse(std::string_view code, std::string_view function, std::string message, std::string advice) {
  const Context& c = context();
  Finding f;
  f.code = code;
  f.severity = Severity::error;
  f.op = c.running ? std::string_view(c.running->op) : !function.empty() ? function : "wellposed";
  f.message = std::move(message);
  f.advice = std::move(advice);
  if (c.running) {
    f.place = *c.running->place;
    f.step = c.step;
  }
  f.scope = current_scope();
  return f;
}

std::string Finding::json() const {
  constexpr const char* severities[] = {"note", "warning", "error"};
  std::string out = say("{\"code\": ", json_quote(code), ", \"severity\": \"", severities[static_cast<int>(severity)],
                        "\", \"op\": ", json_quote(op), ", \"message\": ", json_quote(message),
                        ", \"advice\": ", json_quote(advice), ", \"count\": ", count, ", \"element\": ", element);
  const auto number = [&](const char* key, double v) {
    if (std::isfinite(v)) out += say(", \"", key, "\": ", v);
  };
  number("measured", measured);
  number("threshold", threshold);
  if (!members.empty()) {
    out += say(", \"worst_member\": ", worst_member, ", \"members\": ");
    put(out, Dims(members.begin(), members.end()));
  }
  out += say(", \"operands\": ", json_list(operands), ", \"dtype\": ", json_quote(dtype),
             ", \"shape\": ", json_quote(shape), ", \"scope\": ", json_quote(scope));
  if (place.known()) out += say(", \"file\": ", json_quote(place.file), ", \"line\": ", place.line);
  if (step >= 0) out += say(", \"step\": ", step);
  return out + "}";
}

}  // namespace wp
