#include "dist/told.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.hpp"
#include "ops/attr.hpp"
#include "wellposed/context.hpp"

namespace wp::dist {
namespace {

template <class E>
bool is(const Error& e) {
  return dynamic_cast<const E*>(&e) != nullptr;
}
Kind kind_of(const Error& e) {
  return is<ArgumentError>(e)    ? Kind::argument
         : is<ShapeError>(e)     ? Kind::shape
         : is<DtypeError>(e)     ? Kind::dtype
         : is<IndexError>(e)     ? Kind::index
         : is<DomainError>(e)    ? Kind::domain
         : is<OutOfMemory>(e)    ? Kind::memory
         : is<FormatError>(e)    ? Kind::format
         : is<FileError>(e)      ? Kind::file
         : is<NonFiniteError>(e) ? Kind::nonfinite
         : is<InternalError>(e)  ? Kind::internal
                                 : Kind::error;
}

}  // namespace

void throw_as(Told t) {
  Finding& f = t.finding;
  switch (t.kind) {
    case Kind::argument: throw ArgumentError(std::move(f));
    case Kind::shape: throw ShapeError(std::move(f));
    case Kind::dtype: throw DtypeError(std::move(f));
    case Kind::index: throw IndexError(std::move(f));
    case Kind::domain: throw DomainError(std::move(f));
    case Kind::memory: throw OutOfMemory(std::move(f));
    case Kind::format: throw FormatError(std::move(f));
    case Kind::file: throw FileError(std::move(f));
    case Kind::nonfinite: throw NonFiniteError(std::move(f));
    case Kind::internal: throw InternalError(std::move(f));
    default: throw Error(std::move(f));
  }
}

Told told(std::exception_ptr error) {
  Told t;
  if (!error) return t;
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    t = {kind_of(e), e.finding()};
  } catch (const std::bad_alloc&) {
    t = {Kind::memory, misuse("WP-MEM-001", {}, "no memory is left.", "Use more ranks, or fewer per machine.")};
  } catch (const std::exception& e) {
    t = {Kind::error, misuse("WP-MPI-003", {}, *e.what() ? e.what() : "an exception without words.", {})};
  } catch (...) {
    t = {Kind::error, misuse("WP-MPI-003", {}, "an exception of an unknown type.", {})};
  }
  return t;
}

std::string packed(const Told& t) {
  const Finding& f = t.finding;
  const nlohmann::json j = {static_cast<int>(t.kind),
                            f.code,
                            f.op,
                            f.message,
                            f.advice,
                            std::vector<std::int64_t>(f.element.begin(), f.element.end()),
                            f.place.known() ? f.place.file : "",
                            f.place.line};
  return j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Told unpacked(const std::string& text, const Place& place) {
  const auto j = nlohmann::json::parse(text);
  Told t{static_cast<Kind>(j[0].get<int>()), {}};
  t.finding.code = j[1].get<std::string>();
  t.finding.severity = Severity::error;
  t.finding.op = j[2].get<std::string>();
  t.finding.message = j[3].get<std::string>();
  t.finding.advice = j[4].get<std::string>();
  for (const auto& i : j[5]) t.finding.element.push_back(i.get<std::int64_t>());
  const std::string file = j[6].get<std::string>();
  t.finding.place = file.empty() ? place : Place(intern(file).data(), j[7].get<std::uint32_t>());
  t.finding.scope = current_scope();
  return t;
}

}  // namespace wp::dist
