// Functions and lines by address, from the ELF files that a process had mapped. The files are read, never run, and
// may be damaged.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace wp::trace {

std::string hex(std::uint64_t v);  // "0x1f"

struct Frame {
  std::uint64_t address = 0, offset = 0;  // offset: from the function, or from the start of the object's file
  std::string function, object;           // function: demangled; empty when not known. object: a path
  std::string line;                       // "train.cpp:41"; empty when not known
  std::string text() const;               // "wp::matmul(…) + 0x1f (libwellposed.so.0.1)"
};

enum class Lines : std::uint8_t { none, known };  // of source; known: another program is asked, which takes a while

class Symbols {
 public:
  // maps: lines of /proc/PID/maps. `began`: objects changed later than this (seconds since 1970) are not trusted.
  Symbols(const std::string& maps, double began);
  ~Symbols();
  // Innermost first; the others hold return addresses, which lie behind the call.
  std::vector<Frame> resolve(const std::vector<std::uint64_t>& addresses, Lines lines);
  const std::vector<std::string>& remarks() const noexcept { return remarks_; }

 private:
  struct Mapped {
    std::uint64_t begin, end, offset;
    std::string path;
  };
  struct Object;
  const Object& object(const std::string& path);
  void find_lines(std::vector<Frame>& frames, const std::vector<std::uint64_t>& addresses) const;
  std::vector<Mapped> mapped_;
  std::map<std::string, std::unique_ptr<Object>> objects_;
  std::vector<std::string> remarks_;
  double began_;
};

}  // namespace wp::trace
