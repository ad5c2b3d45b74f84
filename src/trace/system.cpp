// What the kernel says of processes.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>

#include "trace/recording.hpp"

namespace wp::trace {
namespace {

std::string read_small(const char* path) noexcept try {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  std::string text(8192, '\0');
  const ssize_t n = read(fd, text.data(), text.size());
  close(fd);
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return text;
} catch (const std::bad_alloc&) {
  return {};
}

}  // namespace

std::uint64_t born(std::uint64_t pid) noexcept {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%llu/stat", static_cast<unsigned long long>(pid));
  const std::string text = read_small(path);
  std::size_t at = text.rfind(')');  // the name before it may hold anything
  for (int field = 2; field < 22 && at != std::string::npos; ++field) at = text.find(' ', at + 1);
  return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at, nullptr, 10);
}

std::uint64_t oom_kills() noexcept {
  const std::string text = read_small("/proc/vmstat");
  const std::size_t at = text.find("\noom_kill ");
  return at == std::string::npos ? ~std::uint64_t{0} : std::strtoull(text.c_str() + at + 10, nullptr, 10);
}

std::string boot_id() {
  std::string id = read_small("/proc/sys/kernel/random/boot_id");
  while (!id.empty() && id.back() == '\n') id.pop_back();
  return id;
}

namespace {

struct FirstPage {
  Header header;
  Live live;
};
// None: it is not a recording.
std::optional<FirstPage> first_page(const std::string& path) noexcept {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  alignas(8) char page[kPageBytes] = {};
  const ssize_t n = pread(fd, page, sizeof page, 0);
  close(fd);
  FirstPage p;
  std::memcpy(&p.header, page, sizeof p.header);
  std::memcpy(&p.live, page + kLiveOffset, sizeof p.live);
  if (n != static_cast<ssize_t>(sizeof page) || std::memcmp(p.header.magic, kMagic, sizeof kMagic) != 0)
    return std::nullopt;
  return p;
}

// Whether a mapping that is shared begins there; true where that may not be looked at. Who called exec() has none.
bool has_mapped(std::uint64_t pid, std::uint64_t address) {
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  if (address == 0 || !maps || maps.peek() == std::ifstream::traits_type::eof()) return true;
  char start[32];
  std::snprintf(start, sizeof start, "%llx-", static_cast<unsigned long long>(address));
  for (std::string line; std::getline(maps, line);) {  // "START-END rw-s OFFSET …"
    const std::size_t access = line.find(' ') + 1;
    if (line.starts_with(start)) return line.size() > access + 3 && line[access + 3] == 's';
  }
  return false;
}

}  // namespace

Writer writer_of(const std::string& path) noexcept try {
  const std::optional<FirstPage> p = first_page(path);
  if (!p || p->live.end != static_cast<std::uint64_t>(End::none)) return Writer::none;
  const Header& h = p->header;
  const bool lives =
      h.born != 0 && std::string(h.boot, strnlen(h.boot, sizeof h.boot)) == boot_id() && born(h.pid) == h.born;
  return !lives ? Writer::died : has_mapped(h.pid, p->live.mapped) ? Writer::alive : Writer::replaced;
} catch (const std::exception&) {
  return Writer::none;
}

}  // namespace wp::trace
