// What stands between the brackets:  x[{1, slice(0, 3), newaxis, ellipsis, rows}].
#pragma once
#include <concepts>
#include <initializer_list>
#include <optional>

#include "wellposed/tensor.hpp"

namespace [[gnu::visibility("default")]] wp {

// A new axis of length 1.
struct NewAxis {};
inline constexpr NewAxis newaxis{};
// All axes that the other items leave.
struct Ellipsis {};
inline constexpr Ellipsis ellipsis{};
// A bound that is not given:  slice(none, none, -1).
inline constexpr std::nullopt_t none = std::nullopt;

// Elements start, start + step, … before stop, as in Python: negative bounds count from the end, bounds beyond the
// ends are moved to them, a negative step goes backwards.
struct Slice {
  std::optional<std::int64_t> start = std::nullopt, stop = std::nullopt;
  std::int64_t step = 1;
};
inline Slice slice() {
  return {};
}
inline Slice slice(std::optional<std::int64_t> start, std::optional<std::int64_t> stop, std::int64_t step = 1) {
  return {start, stop, step};
}
// One bound alone reads as [:3] to some and as [3:] to others: write slice(0, 3) or slice(3, none).
Slice slice(std::int64_t) = delete;

// One item of an index.
class IndexItem {
 public:
  // How items are written in the attribute of the op: a kind, then its numbers (none: INT64_MIN).
  enum Kind : std::int64_t { integer, range, new_axis, rest, listed };

  template <std::integral T>
  requires(!std::same_as<T, bool>) IndexItem(T i)  // NOLINT: all implicit on purpose
      : kind_(integer), numbers_{static_cast<std::int64_t>(i), 0, 0} {}
  IndexItem(const Slice& s);                               // NOLINT
  IndexItem(NewAxis) noexcept : kind_(new_axis) {}         // NOLINT
  IndexItem(Ellipsis) noexcept : kind_(rest) {}            // NOLINT
  IndexItem(const Tensor& t) : kind_(listed), list_(t) {}  // NOLINT: integers, or a mask of bools
  IndexItem(const Element& e);                             // NOLINT
  // Adds it to an attribute, and its tensor to the index tensors.
  void write(Dims& items, Tensors& lists) const;

 private:
  Kind kind_;
  std::int64_t numbers_[3] = {};
  Tensor list_;
};

// A whole index, and the line where it was written.
class Index {
 public:
  template <class T>
  requires std::convertible_to<const T&, IndexItem> Index(
      const T& item, std::source_location where = std::source_location::current())  // NOLINT: x[i] converts i
      : place_(where) {
    IndexItem(item).write(items_, lists_);
  }
  Index(std::initializer_list<IndexItem> items, std::source_location where = std::source_location::current())
      : place_(where) {
    for (const IndexItem& item : items) item.write(items_, lists_);
  }
  const Dims& items() const noexcept { return items_; }
  const Tensors& lists() const noexcept { return lists_; }
  const Place& place() const noexcept { return place_; }

 private:
  Dims items_;
  Tensors lists_;
  Place place_;
};

// Part of a tensor, not read yet. x[i] refers to the variable x; x.at(i) to its present value.
class Element {
 public:
  // Reading: a view for integers, slices, newaxis and ellipsis; a copy for index tensors and masks.
  Tensor value() const;
  operator Tensor() const { return value(); }  // NOLINT: x[i] is a tensor where one is asked for

  // The tensor with `v` in this part, or with `v` added to it (an element named twice gets both). v broadcasts to the
  // part's shape and takes the tensor's dtype: DtypeError for a real number in an integer tensor. The tensor itself
  // keeps its value; memory is reused only when it was moved in: std::move(x).at(i).set(v).
  Tensor set(const In& v) const&;
  Tensor set(const In& v) &&;
  Tensor add(const In& v) const&;
  Tensor add(const In& v) &&;

  // x[i] = v gives the variable x a new value; other tensors that shared x's memory keep theirs. Not for at().
  Element& operator=(const In& v);
  Element& operator=(const Element& e);
  Element(const Element&) = default;

  // x[i][j] reads; to write, put all of the index into one pair of brackets.
  const Tensor operator[](const Index& index) const;  // NOLINT: const, so that x[i][j] = v does not compile
  DType dtype() const { return value().dtype(); }
  Dims shape() const { return value().shape(); }
  template <class T>
  T item(std::source_location where = std::source_location::current()) const {
    return value().template item<T>(where);
  }
  template <class T>
  std::vector<T> to_vector(std::source_location where = std::source_location::current()) const {
    return value().template to_vector<T>(where);
  }
  explicit operator bool() const { return item<bool>(); }
  explicit operator double() const { return item<double>(); }
  explicit operator std::int64_t() const { return item<std::int64_t>(); }

 private:
  friend class Tensor;
  Element(Tensor* variable, const Index& index) : variable_(variable), index_(index) {}
  Element(Tensor tensor, const Index& index) : tensor_(std::move(tensor)), index_(index) {}
  const Tensor& source() const { return variable_ ? *variable_ : tensor_; }

  Tensor* variable_ = nullptr;
  Tensor tensor_;
  Index index_;
};

}  // namespace gnu::visibility("default")]]wp
