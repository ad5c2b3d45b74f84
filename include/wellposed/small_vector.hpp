// A vector whose first N elements live inside the object: shapes, strides, inputs and outputs never touch the
// heap in ordinary use.
#pragma once
#include <array>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>

namespace [[gnu::visibility("default")]] wp {

template <class T, std::size_t N>
class SmallVector {
 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  SmallVector() noexcept = default;
  explicit SmallVector(std::size_t n) {
    reserve(n);
    for (T* at = data(); size_ < n; ++size_) std::construct_at(at++);
  }
  SmallVector(std::size_t n, const T& value) {
    reserve(n);
    while (size_ < n) push_back(value);
  }
  SmallVector(std::initializer_list<T> list) : SmallVector(list.begin(), list.end()) {}
  template <std::input_iterator It>
  SmallVector(It first, It last) {
    if constexpr (std::random_access_iterator<It>) reserve(static_cast<std::size_t>(last - first));
    for (; first != last; ++first) push_back(*first);
  }
  SmallVector(const SmallVector& other) requires std::is_trivially_copyable_v<T>
      : size_(other.heap_ ? 0 : other.size_), storage_(other.storage_) {
    if (other.heap_) copy(other);
  }
  SmallVector(const SmallVector& other) requires(!std::is_trivially_copyable_v<T>) {
    for (const T& v : other) push_back(v);
  }
  SmallVector(SmallVector&& other) noexcept { steal(other); }
  SmallVector& operator=(const SmallVector& other) {
    if (this == &other) return *this;
    if constexpr (std::is_trivially_copyable_v<T>)
      copy(other);
    else
      *this = SmallVector(other);
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) {
      release();
      steal(other);
    }
    return *this;
  }
  ~SmallVector() { release(); }

  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T* data() noexcept { return heap_ ? heap_ : inside(); }
  const T* data() const noexcept { return heap_ ? heap_ : const_cast<SmallVector*>(this)->inside(); }
  T* begin() noexcept { return data(); }
  T* end() noexcept { return data() + size_; }
  const T* begin() const noexcept { return data(); }
  const T* end() const noexcept { return data() + size_; }
  T& operator[](std::size_t i) noexcept { return data()[i]; }
  const T& operator[](std::size_t i) const noexcept { return data()[i]; }
  T& back() noexcept { return data()[size_ - 1]; }
  const T& back() const noexcept { return data()[size_ - 1]; }

  void reserve(std::size_t n) {
    if (n <= capacity_) return;
    std::allocator<T> alloc;
    T* const fresh = alloc.allocate(n);
    T* const old = data();
    for (std::size_t i = 0; i < size_; ++i) {
      std::construct_at(fresh + i, std::move(old[i]));
      std::destroy_at(old + i);
    }
    if (heap_) alloc.deallocate(heap_, capacity_);
    heap_ = fresh;
    capacity_ = static_cast<unsigned>(n);
  }
  void push_back(T value) {
    if (size_ == capacity_) reserve(capacity_ * 2);
    std::construct_at(data() + size_, std::move(value));
    ++size_;
  }
  void pop_back() noexcept { std::destroy_at(data() + --size_); }
  void clear() noexcept {
    T* const first = data();
    while (size_) std::destroy_at(first + --size_);
  }
  void resize(std::size_t n, const T& value = T()) {
    while (size_ > n) pop_back();
    reserve(n);
    while (size_ < n) push_back(value);
  }
  void insert(std::size_t at, T value) {
    push_back(std::move(value));
    for (std::size_t i = size_ - 1; i > at; --i) std::swap(data()[i], data()[i - 1]);
  }
  void erase(std::size_t at) noexcept {
    for (std::size_t i = at; i + 1 < size_; ++i) std::swap(data()[i], data()[i + 1]);
    pop_back();
  }
  friend bool operator==(const SmallVector& a, const SmallVector& b) noexcept {
    if (a.size_ != b.size_) return false;
    const T *x = a.data(), *const end = x + a.size_, *y = b.data();
    while (x != end)
      if (!(*x++ == *y++)) return false;
    return true;
  }

 private:
  T* inside() noexcept { return reinterpret_cast<T*>(storage_.data()); }
  void release() noexcept {
    if constexpr (!std::is_trivially_destructible_v<T>) clear();
    if (heap_) std::allocator<T>().deallocate(heap_, capacity_);
    heap_ = nullptr;
    size_ = 0;
    capacity_ = N;
  }
  void copy(const SmallVector& other) {
    if (!heap_ && !other.heap_) {  // a fixed number of bytes is cheaper than a loop
      storage_ = other.storage_;
      size_ = other.size_;
      return;
    }
    reserve(other.size_);
    size_ = other.size_;
    std::memcpy(data(), other.data(), size_ * sizeof(T));
  }
  void steal(SmallVector& other) noexcept {
    if (other.heap_) {
      heap_ = std::exchange(other.heap_, nullptr);
      size_ = std::exchange(other.size_, 0U);
      capacity_ = std::exchange(other.capacity_, static_cast<unsigned>(N));
    } else if constexpr (std::is_trivially_copyable_v<T>) {
      storage_ = other.storage_;
      size_ = std::exchange(other.size_, 0U);
    } else {
      for (std::size_t i = 0; i < other.size_; ++i) std::construct_at(inside() + i, std::move(other[i]));
      size_ = other.size_;
      other.clear();
    }
  }

  T* heap_ = nullptr;
  unsigned size_ = 0;
  unsigned capacity_ = N;
  alignas(T) std::array<std::byte, N * sizeof(T)> storage_ = {};  // zero: copying all of it is defined
};

}  // namespace gnu::visibility("default")]]wp
