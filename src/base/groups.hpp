// Memory that the control groups of this process allow (Linux cgroups, version 2 and 1).
#pragma once
#include <cstddef>

namespace wp::memory {

struct GroupMemory {
  std::size_t limit = ~std::size_t{0};  // the least of the process's own group and those around it; ~0: none
  std::size_t left = ~std::size_t{0};  // what can still be taken; pages of files that would be given up count as free
};
GroupMemory group_memory() noexcept;

// The number that follows `key` at the start of a line of a file; ~0: there is none.
std::size_t read_number(const char* path, const char* key) noexcept;

}  // namespace wp::memory
