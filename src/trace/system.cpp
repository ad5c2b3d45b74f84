// What the kernel says of processes.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

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

bool is_live(const std::string& path) noexcept try {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  alignas(8) char page[kPageBytes] = {};
  const ssize_t n = pread(fd, page, sizeof page, 0);
  close(fd);
  Header h;
  Live l;
  std::memcpy(&h, page, sizeof h);
  std::memcpy(&l, page + kLiveOffset, sizeof l);
  return n == static_cast<ssize_t>(sizeof page) && std::memcmp(h.magic, kMagic, sizeof kMagic) == 0 && l.end == 0 &&
         h.born != 0 && std::string(h.boot, strnlen(h.boot, sizeof h.boot)) == boot_id() && born(h.pid) == h.born;
} catch (const std::bad_alloc&) {
  return false;
}

}  // namespace wp::trace
