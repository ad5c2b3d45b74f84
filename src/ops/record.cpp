#include "ops/record.hpp"

namespace wp {

Record::Record(const Call& c)
    : op(&c.op),
      out(c.out.begin(), c.out.end()),
      residuals(c.aside ? c.aside->residuals : std::vector<Tensor>()),
      attrs(c.attrs.begin(), c.attrs.end()),
      place(c.place()),
      scope(context().scope),
      step(context().step) {
  in.reserve(c.in.size());
  for (std::size_t i = 0; i < c.in.size(); ++i) in.push_back(c.in[i]);
}

Tensors Record::replay(const std::vector<Tensor>* replaced) const {
  std::vector<const Tensor*> pointers;
  for (const Tensor& t : replaced ? *replaced : in) pointers.push_back(&t);
  return call(*op, Inputs(pointers.data(), pointers.size()), attrs, place);
}

}  // namespace wp
