#pragma once
#include <string>

namespace wp {
struct ScopeName {
  explicit ScopeName(std::string p) : path(std::move(p)) {}
  std::string path;  // "train/layer2"
};
}  // namespace wp
