// Tensor: an n-dimensional array with value semantics. Copies share memory; writing makes a new value.
#pragma once
#include <atomic>
#include <complex>
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "wellposed/dtype.hpp"
#include "wellposed/error.hpp"

namespace [[gnu::visibility("default")]] wp {

struct Note;  // where the made Inf/NaN elements of a tensor come from (tensor/note.hpp)
class Tensor;
class Index;
class Element;

// A C++ number: bool, integer, real or complex. Weakly typed: it takes the dtype of the array it meets.
class Scalar {
 public:
  enum class Kind : std::uint8_t { boolean, integer, real, complex };
  template <class T>
  requires std::is_arithmetic_v<T>
  constexpr Scalar(T v) noexcept  // NOLINT: implicit on purpose
      : kind_(std::is_same_v<T, bool> ? Kind::boolean
              : std::is_integral_v<T> ? Kind::integer
                                      : Kind::real) {
    if constexpr (std::is_integral_v<T>) {
      integer_ = static_cast<std::int64_t>(v);
      unsigned_ = std::is_unsigned_v<T> && integer_ < 0;
    }
    re_ = static_cast<double>(v);
  }
  template <class T>
  constexpr Scalar(std::complex<T> v) noexcept  // NOLINT
      : kind_(Kind::complex), re_(static_cast<double>(v.real())), im_(static_cast<double>(v.imag())) {}
  Kind kind() const noexcept { return kind_; }
  bool is_large_unsigned() const noexcept { return unsigned_; }  // beyond the range of std::int64_t
  std::int64_t integer() const noexcept { return integer_; }
  double real() const noexcept { return re_; }
  double imag() const noexcept { return im_; }
  // The dtype it has on its own: boolean, i64 (u64 when it must), f64, c128.
  DType dtype() const noexcept;

 private:
  Kind kind_;
  bool unsigned_ = false;
  std::int64_t integer_ = 0;
  double re_ = 0, im_ = 0;
};

namespace detail {

// Shape, layout and memory of a tensor in one pooled block; small data follows it in the same block.
struct Node {
  std::atomic<std::uint32_t> refs{1};
  std::uint32_t block = 0;  // bytes of the block this node stands in
  DType dtype = f64;
  bool contiguous = true;  // row-major without gaps
  bool weak = false;       // made from a C++ or Python scalar
  bool borrowed = false;   // memory of somebody else
  bool labelled = false;   // has a name, or named rows
  std::uint8_t seen = 0;   // the flight recorder's thread that knows its elements; 0: none
  std::int64_t size = 1;   // number of elements
  char* data = nullptr;
  Node* owner = nullptr;             // for a view: the node whose memory it shows
  std::size_t bytes = 0;             // of the separate block that `data` points to; 0: inside this block, or a view
  std::uint64_t id = 0;              // tape slot; 0: nobody watches it
  Dims shape, strides;               // strides in elements
  std::shared_ptr<const Note> note;  // only when some element was made non-finite
  std::function<void()>* deleter = nullptr;  // tells the lender of borrowed memory

  Node(const Dims& its_shape, const Dims& its_strides) : shape(its_shape), strides(its_strides) {}
};
void destroy(Node* node) noexcept;
void forget_label(const Node* node) noexcept;
// A contiguous node with uninitialised memory. Throws OutOfMemory, or ShapeError for impossible shapes.
Node* make_node(DType dtype, const Dims& shape);
// The same for the shape of another node.
Node* make_like(const Node& other, DType dtype);
// A node that shows part of `base`'s memory.
Node* make_view(const Node& base, const Dims& shape, const Dims& strides, std::int64_t offset);
Node* make_borrowed(void* data, DType dtype, const Dims& shape, const Dims& strides, std::function<void()> release);

}  // namespace detail

// A nested braced list:  Tensor{{1, 2}, {3, 4}}.
class Literal {
 public:
  template <class T>
  requires std::constructible_from<Scalar, T> Literal(T v)
      : value_(Scalar(v)), float32_(std::is_same_v<T, float> || std::is_same_v<T, complex64>) {}  // NOLINT
  Literal(std::initializer_list<Literal> list) : value_(std::vector<Literal>(list)) {}
  bool is_list() const noexcept { return value_.index() == 1; }
  const Scalar& scalar() const { return std::get<0>(value_); }
  const std::vector<Literal>& list() const { return std::get<1>(value_); }
  bool is_float32() const noexcept { return float32_; }

 private:
  std::variant<Scalar, std::vector<Literal>> value_;
  bool float32_ = false;
};

class Tensor {
 public:
  Tensor() noexcept = default;  // undefined: only defined(), assignment and destruction are allowed
  // From a nested list; integers give i64, doubles f64, floats f32, complex c128. Throws ShapeError on ragged lists.
  Tensor(std::initializer_list<Literal> values);
  // A 0-d tensor.
  explicit Tensor(const Scalar& value);
  // From values in row-major order.
  template <class T>
  static Tensor from(std::span<const T> values, const Dims& shape) {
    return from_bytes(dtype_v<T>, values.data(), values.size(), shape);
  }
  template <class T>
  static Tensor from(const std::vector<T>& values, const Dims& shape) {
    return from(std::span<const T>(values), shape);
  }
  // Shows memory of somebody else, in place. `release` is called when the last tensor that shows it is gone.
  // strides in elements; empty: row-major.
  static Tensor borrow(void* data, DType dtype, const Dims& shape, const Dims& strides = {},
                       std::function<void()> release = {});

  Tensor(const Tensor& t) noexcept : node_(t.node_) {
    if (node_) node_->refs.fetch_add(1, std::memory_order_relaxed);
  }
  Tensor(Tensor&& t) noexcept : node_(std::exchange(t.node_, nullptr)) {}
  Tensor& operator=(const Tensor& t) noexcept { return *this = Tensor(t); }
  Tensor& operator=(Tensor&& t) noexcept {
    std::swap(node_, t.node_);
    return *this;
  }
  ~Tensor() {
    if (node_ && (node_->refs.load(std::memory_order_acquire) == 1 ||
                  node_->refs.fetch_sub(1, std::memory_order_acq_rel) == 1))
      detail::destroy(node_);
  }

  bool defined() const noexcept { return node_ != nullptr; }
  DType dtype() const noexcept { return node_->dtype; }
  const Dims& shape() const noexcept { return node_->shape; }
  std::int64_t shape(std::int64_t axis) const;  // negative axes count from the end
  const Dims& strides() const noexcept { return node_->strides; }
  std::int64_t ndim() const noexcept { return static_cast<std::int64_t>(node_->shape.size()); }
  std::int64_t size() const noexcept { return node_->size; }
  std::size_t nbytes() const noexcept { return static_cast<std::size_t>(size()) * size_of(dtype()); }
  bool is_contiguous() const noexcept { return node_->contiguous; }

  // The only element, as T. Made Inf/NaN raise here (they leave the computation). T must hold the dtype's kind:
  // a real tensor gives no int, a complex one no double.
  template <class T>
  T item(std::source_location where = std::source_location::current()) const;
  // All elements in row-major order, with the same rules.
  template <class T>
  std::vector<T> to_vector(std::source_location where = std::source_location::current()) const;
  explicit operator bool() const { return item<bool>(); }
  explicit operator double() const { return item<double>(); }
  explicit operator std::int64_t() const { return item<std::int64_t>(); }

  // Read access to the memory, element [0, …, 0]; use with strides(). Warns once per place if made Inf/NaN are in it.
  template <class T>
  const T* data(std::source_location where = std::source_location::current()) const {
    return static_cast<const T*>(checked_data(dtype_v<T>, where));
  }

  // x[{1, slice(0, 3), ellipsis}]: a view for integers, slices, newaxis and ellipsis; a copy for index tensors and
  // masks. Assigning to it gives x a new value; other tensors that share its memory keep theirs.
  // Of a temporary it is a value: auto y = f(x)[{0}] stays good, f(x)[{0}] = v does not compile.
  Element operator[](const Index& index) &;
  Tensor operator[](const Index& index) const&;
  const Tensor operator[](const Index& index) &&;  // NOLINT: const, so that nothing is assigned to what is gone
  // at(i).set(v): a new tensor with v written at i. std::move(x).at(i).set(v) reuses x's memory when nobody else
  // sees it. (Element and Index: wellposed/index.hpp.)
  Element at(const Index& index) const&;
  Element at(const Index& index) &&;

  // NumPy-like text, with a footnote for each Inf or NaN that was made.
  std::string to_string() const;

  detail::Node* node() const noexcept { return node_; }
  // Takes over one reference.
  static Tensor adopt(detail::Node* node) noexcept {
    Tensor t;
    t.node_ = node;
    return t;
  }

 private:
  static Tensor from_bytes(DType dtype, const void* values, std::size_t count, const Dims& shape);
  const void* checked_data(DType wanted, Place where) const;
  detail::Node* node_ = nullptr;
};
std::ostream& operator<<(std::ostream& os, const Tensor& t);

using Tensors = SmallVector<Tensor, 4>;

// An argument of a function or operator: a tensor or a number, and the line where it was given.
class In {
 public:
  In(const Tensor& t, std::source_location where = std::source_location::current()) noexcept  // NOLINT
      : tensor_(&t), place_(where) {}
  In(const Element& e, std::source_location where = std::source_location::current());  // NOLINT
  template <class T>
  requires std::constructible_from<Scalar, T> In(
      T value, std::source_location where = std::source_location::current())  // NOLINT
      : own_(Scalar(value)), tensor_(&own_), place_(where) {}
  In(std::initializer_list<Literal> values, std::source_location where = std::source_location::current())
      : own_(values), tensor_(&own_), place_(where) {}
  In(std::nullopt_t, std::source_location where = std::source_location::current()) noexcept  // NOLINT
      : tensor_(&own_), place_(where) {}
  In(const In&) = delete;
  In& operator=(const In&) = delete;
  const Tensor& tensor() const noexcept { return *tensor_; }
  const Place& place() const noexcept { return place_; }

 private:
  Tensor own_;
  const Tensor* tensor_;
  Place place_;
};

}  // namespace gnu::visibility("default")]]wp
