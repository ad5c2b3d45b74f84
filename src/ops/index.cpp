// The brackets of Tensor: they call the ops index and index_set.
#include "wellposed/index.hpp"

#include "base/text.hpp"
#include "ops/dispatch.hpp"

namespace wp {
extern const Op op_index;
extern const Op op_index_set;
namespace {

Tensor read(const Tensor& x, const Index& index) {
  SmallVector<const Tensor*, 8> in;
  in.push_back(&x);
  for (const Tensor& t : index.lists()) in.push_back(&t);
  const Attr attrs[] = {Attr(index.items())};
  return call1(op_index, Inputs(in.data(), in.size()), Attrs(attrs), index.place());
}

Tensor write(const Tensor& x, const Index& index, const In& v, const char* mode, bool consume) {
  SmallVector<const Tensor*, 8> in;
  in.push_back(&x);
  in.push_back(&v.tensor());
  for (const Tensor& t : index.lists()) in.push_back(&t);
  const Attr attrs[] = {Attr(index.items()), Attr(mode)};
  return (consume ? call_consuming : call1)(op_index_set, Inputs(in.data(), in.size()), Attrs(attrs), index.place());
}

}  // namespace

IndexItem::IndexItem(const Slice& s)
    : kind_(range),
      numbers_{s.start.value_or(std::numeric_limits<std::int64_t>::min()),
               s.stop.value_or(std::numeric_limits<std::int64_t>::min()), s.step} {}
IndexItem::IndexItem(const Element& e) : IndexItem(e.value()) {}

void IndexItem::write(Dims& items, Tensors& lists) const {
  items.push_back(kind_);
  const int numbers = kind_ == integer ? 1 : kind_ == range ? 3 : 0;
  for (int k = 0; k < numbers; ++k) items.push_back(numbers_[k]);
  if (kind_ == listed) lists.push_back(list_);
}

Element Tensor::operator[](const Index& index) & {
  return {this, index};
}
Tensor Tensor::operator[](const Index& index) const& {
  return read(*this, index);
}
const Tensor Tensor::operator[](const Index& index) && {  // NOLINT
  return read(*this, index);
}
Element Tensor::at(const Index& index) const& {
  return {*this, index};
}
Element Tensor::at(const Index& index) && {
  return {std::move(*this), index};
}

In::In(const Element& e, std::source_location where) : own_(e.value()), tensor_(&own_), place_(where) {}

Tensor Element::value() const {
  return read(source(), index_);
}
const Tensor Element::operator[](const Index& index) const {
  return read(value(), index);
}

Tensor Element::set(const In& v) const& {
  return write(source(), index_, v, "set", false);
}
Tensor Element::set(const In& v) && {
  return write(source(), index_, v, "set", variable_ == nullptr);
}
Tensor Element::add(const In& v) const& {
  return write(source(), index_, v, "add", false);
}
Tensor Element::add(const In& v) && {
  return write(source(), index_, v, "add", variable_ == nullptr);
}

Element& Element::operator=(const In& v) {
  if (!variable_)
    raise<ArgumentError>("WP-ARG-006", "at",
                         "a part that at() gives belongs to no variable and cannot be assigned to.",
                         "Write x = x.at(i).set(v), or x[i] = v.");
  *variable_ = write(*variable_, index_, v, "set", true);
  return *this;
}
Element& Element::operator=(const Element& e) {
  return *this = In(e);
}

}  // namespace wp
