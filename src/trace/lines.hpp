// Lines of source by address, from the debug information of an object.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace wp::trace {

// "train.cpp:41" for each address in the object's own terms; empty where it is not known. Asks addr2line (binutils);
// without it none is known.
std::vector<std::string> lines_of(const std::string& object, const std::vector<std::uint64_t>& addresses);

}  // namespace wp::trace
