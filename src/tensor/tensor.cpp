#include "wellposed/tensor.hpp"
#include "kernels/each_float.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>

#include "base/memory.hpp"
#include "base/text.hpp"
#include "kernels/convert.hpp"
#include "kernels/types.hpp"
#include "kernels/walk.hpp"
#include "tensor/note.hpp"

namespace wp {
namespace detail {
namespace {

constexpr std::size_t kHeader = (sizeof(Node) + memory::kAlignment - 1) / memory::kAlignment * memory::kAlignment;

Node* place_node(std::size_t block, const Dims& shape, const Dims& strides) {
  auto* const node = new (memory::allocate(block)) Node(shape, strides);
  node->block = static_cast<std::uint32_t>(block);
  return node;
}

// Number of elements; refuses negative lengths and products beyond what memory can address.
std::int64_t count_elements(const Dims& shape, std::size_t item) {
  std::int64_t n = 1;
  bool overflow = false, zero = false;
  for (const std::int64_t d : shape) {
    if (d < 0) refuse<ShapeError>("WP-SHP-002", say("a shape has no negative lengths; got ", shape, "."));
    zero |= d == 0;
    overflow |= __builtin_mul_overflow(n, d == 0 ? 1 : d, &n);
  }
  std::int64_t bytes = 0;
  overflow |= __builtin_mul_overflow(n, static_cast<std::int64_t>(item), &bytes) ||
              bytes > std::numeric_limits<std::int64_t>::max() / 2;
  if (overflow && !zero)
    refuse<OutOfMemory>("WP-MEM-002",
                        say("shape ", shape, " has more elements than memory can address (2^62 bytes)."),
                        say("Available: ", bytes_text(static_cast<double>(memory::available())), "."));
  return zero ? 0 : n;
}

}  // namespace

namespace {

// Memory for n elements: small data stands in the node's own block.
Node* place_data(DType dtype, std::int64_t n, const Dims& shape, const Dims& strides) {
  const std::size_t bytes = static_cast<std::size_t>(n) * size_of(dtype);
  const bool inside = kHeader + bytes <= memory::kSmall;
  char* const data = inside ? nullptr : static_cast<char*>(memory::allocate(bytes));
  Node* const node = place_node(inside ? kHeader + bytes : kHeader, shape, strides);
  node->dtype = dtype;
  node->size = n;
  node->data = inside ? reinterpret_cast<char*>(node) + kHeader : data;
  node->bytes = inside ? 0 : bytes;
  return node;
}

}  // namespace

Node* make_node(DType dtype, const Dims& shape) {
  const std::int64_t n = count_elements(shape, size_of(dtype));
  Dims strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t k = shape.size(); k-- > 0;) {
    strides[k] = stride;
    if (n > 0) stride *= shape[k];  // an empty tensor's lengths may multiply beyond all bounds
  }
  return place_data(dtype, n, shape, strides);
}

Node* make_like(const Node& other, DType dtype) {
  if (!other.contiguous) return make_node(dtype, other.shape);
  return place_data(dtype, other.size, other.shape, other.strides);
}

namespace {

// A node without memory of its own.
Node* show(DType dtype, char* data, const Dims& shape, const Dims& strides) {
  const std::int64_t n = count_elements(shape, size_of(dtype));
  Node* const node = place_node(kHeader, shape, strides);
  node->dtype = dtype;
  node->data = data;
  node->size = n;
  std::int64_t expect = 1;
  for (std::size_t k = shape.size(); k-- > 0 && n > 1;) {
    if (shape[k] != 1 && strides[k] != expect) node->contiguous = false;
    expect *= shape[k];
  }
  return node;
}

}  // namespace

Node* make_view(const Node& base, const Dims& shape, const Dims& strides, std::int64_t offset) {
  count_elements(shape, size_of(base.dtype));
  Node* const node =
      show(base.dtype, base.data + offset * static_cast<std::int64_t>(size_of(base.dtype)), shape, strides);
  node->owner = base.owner ? base.owner : const_cast<Node*>(&base);
  node->owner->refs.fetch_add(1, std::memory_order_relaxed);
  node->borrowed = base.borrowed;
  return node;
}

Node* make_borrowed(void* data, DType dtype, const Dims& shape, const Dims& strides, std::function<void()> release) {
  Node* const node = show(dtype, static_cast<char*>(data), shape, strides);
  node->borrowed = true;
  if (release) node->deleter = new std::function<void()>(std::move(release));
  return node;
}

void destroy(Node* node) noexcept {
  Node* const owner = node->owner;
  if (node->labelled) [[unlikely]]
    forget_label(node);
  if (node->deleter) {
    if (*node->deleter) (*node->deleter)();
    delete node->deleter;
  }
  if (node->bytes) memory::release(node->data, node->bytes);
  const std::size_t block = node->block;
  node->~Node();
  memory::release(node, block);
  if (owner && owner->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy(owner);
}

}  // namespace detail

DType Scalar::dtype() const noexcept {
  switch (kind_) {
    case Kind::boolean: return DType::boolean;
    case Kind::integer: return unsigned_ ? u64 : i64;
    case Kind::real: return f64;
    case Kind::complex: break;
  }
  return c128;
}

namespace {

void write_scalar(char* at, DType dtype, const Scalar& s) {
  if (is_integer(dtype) || dtype == DType::boolean) {
    const std::int64_t v = s.integer();
    kernels::convert(at, dtype, &v, i64, 1, 1);
  } else {
    const complex128 v(s.real(), s.imag());
    kernels::convert(at, dtype, &v, c128, 1, 1);
  }
}

void measure(const Literal& l, std::size_t depth, Dims& shape, bool& leaf_seen) {
  if (!l.is_list()) {
    if (leaf_seen && depth != shape.size())
      raise<ShapeError>("WP-SHP-003", "Tensor", "a nested list must have one depth; numbers and lists are mixed.");
    leaf_seen = true;
    return;
  }
  const auto n = static_cast<std::int64_t>(l.list().size());
  if (depth == shape.size()) {
    if (leaf_seen)
      raise<ShapeError>("WP-SHP-003", "Tensor", "a nested list must have one depth; numbers and lists are mixed.");
    shape.push_back(n);
  } else if (shape[depth] != n) {
    raise<ShapeError>(
        "WP-SHP-003", "Tensor",
        say("rows of a nested list must have one length; axis ", depth, " has ", shape[depth], " and ", n, "."));
  }
  for (const Literal& item : l.list()) measure(item, depth + 1, shape, leaf_seen);
}

struct LeafTypes {
  bool any = false, all_float32 = true;
  DType widest = DType::boolean;
};
void find_type(const Literal& l, LeafTypes& t) {
  if (l.is_list()) {
    for (const Literal& item : l.list()) find_type(item, t);
    return;
  }
  const DType d = l.scalar().dtype();
  t.any = true;
  if (is_floating(d)) t.all_float32 &= l.is_float32();
  t.widest = promote(t.widest, d);
}

void write_all(const Literal& l, DType dtype, char*& at) {
  if (l.is_list()) {
    for (const Literal& item : l.list()) write_all(item, dtype, at);
    return;
  }
  write_scalar(at, dtype, l.scalar());
  at += size_of(dtype);
}

}  // namespace

Tensor::Tensor(std::initializer_list<Literal> values) {
  const Literal root(values);
  Dims shape;
  bool leaf_seen = false;
  measure(root, 0, shape, leaf_seen);
  LeafTypes t;
  find_type(root, t);
  DType dtype = t.any ? t.widest : f64;
  if (is_floating(dtype) && t.all_float32) dtype = is_complex(dtype) ? c64 : f32;
  node_ = detail::make_node(dtype, shape);
  char* at = node_->data;
  write_all(root, dtype, at);
}

Tensor::Tensor(const Scalar& value) : node_(detail::make_node(value.dtype(), {})) {
  write_scalar(node_->data, node_->dtype, value);
  node_->weak = true;
}

Tensor Tensor::from_bytes(DType dtype, const void* values, std::size_t count, const Dims& shape) {
  Tensor t = adopt(detail::make_node(dtype, shape));
  if (static_cast<std::size_t>(t.size()) != count)
    raise<ShapeError>("WP-SHP-004", "Tensor::from",
                      say("shape ", shape, " needs ", t.size(), " values; got ", count, "."));
  if (count) std::memcpy(t.node_->data, values, t.nbytes());
  return t;
}

Tensor Tensor::borrow(void* data, DType dtype, const Dims& shape, const Dims& strides,
                      std::function<void()> release) {
  if (!strides.empty() && strides.size() != shape.size())
    raise<ShapeError>("WP-SHP-004", "Tensor::borrow",
                      say("needs a stride per axis; got shape ", shape, " and strides ", strides, "."));
  Dims row_major(shape.size(), 1);
  for (std::size_t k = shape.size(); k-- > 1;) row_major[k - 1] = row_major[k] * std::max<std::int64_t>(shape[k], 1);
  return adopt(detail::make_borrowed(data, dtype, shape, strides.empty() ? row_major : strides, std::move(release)));
}

std::int64_t Tensor::shape(std::int64_t axis) const {
  const std::int64_t n = ndim();
  if (axis < -n || axis >= n)
    raise<IndexError>("WP-IDX-001", "shape", say("axis ", axis, " is out of range for shape ", shape(), "."));
  return shape()[static_cast<std::size_t>(axis < 0 ? axis + n : axis)];
}

namespace {

template <class T>
constexpr Kinds holds() {
  if constexpr (std::is_same_v<T, bool>)
    return kinds::boolean;
  else if constexpr (std::is_integral_v<T>)
    return kinds::integer | kinds::boolean;
  else if constexpr (std::is_floating_point_v<T>)
    return kinds::real | kinds::boolean;
  else
    return kinds::any;
}

// Integers that do not fit T are refused; floats round to T.
template <class T>
void read(const Tensor& t, T* out, const char* function) {
  constexpr bool truth = std::is_same_v<T, bool>;
  if (!truth && !is(t.dtype(), holds<T>()))
    raise<DtypeError>("WP-DTY-001", function, say("a ", t.dtype(), " tensor does not give ", dtype_v<T>, " values."),
                      "Ask for a type that holds it, or convert with astype.");
  if constexpr (std::is_integral_v<T> && !truth) {
    const IntegerInfo limits = iinfo(dtype_v<T>);
    for (std::int64_t e = 0; e < t.size(); ++e) {
      const char* at = t.node()->data + offset_of(t, e) * static_cast<std::int64_t>(size_of(t.dtype()));
      std::int64_t v = 0;
      kernels::convert(&v, i64, at, t.dtype(), 1, 1);
      const bool large = t.dtype() == u64 && v < 0;
      const bool fits = large   ? limits.max > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())
                        : v < 0 ? v >= limits.min
                                : static_cast<std::uint64_t>(v) <= limits.max;
      if (!fits)
        raise<DomainError>("WP-DOM-003", function, say(text_at(t, e), " does not fit ", dtype_v<T>, "."),
                           "Ask for a wider type.");
      out[e] = static_cast<T>(v);
    }
  } else {
    for (std::int64_t e = 0; e < t.size(); ++e)
      kernels::convert(out + e, dtype_v<T>,
                       t.node()->data + offset_of(t, e) * static_cast<std::int64_t>(size_of(t.dtype())), t.dtype(), 1,
                       1);
  }
}

}  // namespace

template <class T>
T Tensor::item(std::source_location where) const {
  if (size() != 1)
    raise<ShapeError>("WP-SHP-005", "item", say("needs a tensor of one element; got shape ", shape(), "."),
                      "Index it first, or use to_vector.");
  escape(*this, "item", Counts::made, where);
  T value{};
  read(*this, &value, "item");
  return value;
}

template <class T>
std::vector<T> Tensor::to_vector(std::source_location where) const {
  escape(*this, "to_vector", Counts::made, where);
  if constexpr (std::is_same_v<T, bool>) {
    const std::unique_ptr<bool[]> values(new bool[static_cast<std::size_t>(size())]);
    read(*this, values.get(), "to_vector");
    return std::vector<bool>(values.get(), values.get() + size());
  } else {
    std::vector<T> values(static_cast<std::size_t>(size()));
    read(*this, values.data(), "to_vector");
    return values;
  }
}

#define WP_ITEM(T)                                        \
  template T Tensor::item<T>(std::source_location) const; \
  template std::vector<T> Tensor::to_vector<T>(std::source_location) const;
WP_ITEM(bool)
WP_ITEM(std::int8_t)
WP_ITEM(std::int16_t)
WP_ITEM(std::int32_t)
WP_ITEM(std::int64_t)
WP_ITEM(std::uint8_t)
WP_ITEM(std::uint16_t)
WP_ITEM(std::uint32_t)
WP_ITEM(std::uint64_t)
WP_FOR_FLOATS(WP_ITEM)
#undef WP_ITEM

const void* Tensor::checked_data(DType wanted, Place where) const {
  if (wanted != dtype())
    raise<DtypeError>("WP-DTY-001", "data", say("the tensor is ", dtype(), "; asked for ", wanted, "."),
                      "Convert with astype first.");
  if (node_->note && context().level != CheckLevel::off) {
    const checks warning(CheckLevel::warn);
    escape(*this, "data", Counts::made, where);
  }
  return node_->data;
}

}  // namespace wp
