#include "dist/stage.hpp"

#include <map>
#include <mutex>
#include <string>

#include "ops/witness.hpp"

namespace wp::dist {
namespace {

// Records of ops live as long as any recording may name them.
const Op& op_named(std::string_view name) {
  static std::mutex* const mutex = new std::mutex;
  static auto* const ops = new std::map<std::string, Op, std::less<>>;
  const std::lock_guard lock(*mutex);
  auto at = ops->find(name);
  if (at == ops->end()) {
    at = ops->emplace(std::string(name), Op{}).first;
    at->second.name = at->first;
    at->second.group = "distributed";
  }
  return at->second;
}

}  // namespace

Place running_place() {
  const Running* const r = context().running;
  return r && r->place ? *r->place : Place();
}

Stage::Stage(std::string_view name, const Place& place, bool own)
    : place_(place), outer_(context().running), unwinding_(std::uncaught_exceptions()), own_(own) {
  if (own_) {
    running_ = {op_named(name).name.data(), &place_};
    context().running = &running_;
  }
  if (!witnessed()) return;
  call_ = std::make_unique<Call>(op_named(name), Inputs(nullptr, 0), Attrs(), place_);
  witness_before(*call_);
}

Stage::Stage(std::string_view part) : Stage(part, running_place(), false) {}

Stage::~Stage() {
  if (own_) context().running = outer_;
  if (!call_) return;
  if (std::uncaught_exceptions() > unwinding_)
    witness_left(*call_);
  else
    witness_after(*call_);
}

}  // namespace wp::dist
