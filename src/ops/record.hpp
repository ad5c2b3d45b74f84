// A call as data: what a tape, a trace or a test needs to run it again.
#pragma once
#include "ops/dispatch.hpp"

namespace wp {

struct Record {
  const Op* op = nullptr;
  std::vector<Tensor> in, out, residuals;
  std::vector<Attr> attrs;
  Place place;
  const ScopeName* scope = nullptr;
  std::int64_t step = -1;

  explicit Record(const Call& c);
  // The same op on the same inputs: ops are functions of inputs and attributes (random ones take key and counter), so
  // the results are the same bits. `replaced` stands in for `in` where given.
  Tensors replay(const std::vector<Tensor>* replaced = nullptr) const;
};

// Records every call while it listens.
class Recording : public Observer {
 public:
  void after(Call& c) override { records.emplace_back(c); }
  std::vector<Record> records;
};

}  // namespace wp
