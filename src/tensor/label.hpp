// Names that travel with tensors: that of a parameter, or the rows of a data set.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "wellposed/tensor.hpp"

namespace wp {

struct Label {
  std::string name;  // "data", "layer1.weight"
  // The number that each entry of the first axis has in the data set; −1: it is from elsewhere. Empty: the name is
  // that of the whole tensor.
  std::vector<std::int64_t> rows;
  bool in_order = false;  // each row is the one after the row before it
};

// Null: it has none.
std::shared_ptr<const Label> label_of(const Tensor& t);
// The node must not be seen by others yet. Finds out in_order.
void set_label(const Tensor& t, Label label);

}  // namespace wp
