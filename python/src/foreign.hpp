// Tensors of other frameworks, looked at where they are.
#pragma once
#include <functional>

#include "dlpack.hpp"
#include "python.hpp"

namespace wp::python {

// What a tensor of another framework shows of itself without a copy; valid while the object lives.
struct Seen {
  dlpack::Array array;
  DType dtype;
  std::int64_t size;

  const char* data() const noexcept { return static_cast<const char*>(array.data) + array.byte_offset; }
  // The bytes between its first and its last element.
  std::pair<std::uintptr_t, std::uintptr_t> range() const noexcept;
  bool nonfinite() const noexcept;  // whether any element is Inf or NaN
  // As a tensor that lives no longer than the object does.
  Tensor tensor(std::function<void()> release = {}) const;  // release: called when nobody needs the memory any more
};

// A tensor on the CPU whose type offers DLPack's C exchange table (PyTorch from 2.10 on). Nothing: it is something
// else, or cannot be looked at (sparse, quantised, meta, another device).
enum class Look : std::uint8_t { no_tensor, hidden, seen };
Look see(PyObject* o, Seen& to) noexcept;

// From now on frames of files in this folder are not the user's.
void pass_over(const std::string& folder);

}  // namespace wp::python
