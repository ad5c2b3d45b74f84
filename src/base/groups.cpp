#include "base/groups.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>
#include <vector>

namespace wp::memory {
namespace {

struct Group {
  std::string limit, usage, statistics;
  const char* reclaimable;  // key in the statistics: pages of files that nobody has used lately
};

// The group at `path` and those around it, below where the groups are mounted.
void add_groups(std::vector<Group>& to, const std::string& mount, std::string path, bool version2) {
  for (;;) {
    if (path == "/") path.clear();
    const std::string at = mount + path + "/memory.";
    to.push_back(version2 ? Group{at + "max", at + "current", at + "stat", "inactive_file "}
                          : Group{at + "limit_in_bytes", at + "usage_in_bytes", at + "stat", "total_inactive_file "});
    if (path.empty()) return;
    path.resize(path.rfind('/'));
  }
}

// From /proc/self/cgroup: "0::/user.slice/job" (version 2), "8:memory:/job" (version 1). In a container the paths may
// be those of the host; the groups at the mount are looked at in any case.
std::vector<Group> groups() {
  std::vector<Group> all;
  add_groups(all, "/sys/fs/cgroup", "", true);
  add_groups(all, "/sys/fs/cgroup/memory", "", false);
  FILE* const f = std::fopen("/proc/self/cgroup", "re");
  if (!f) return all;
  char line[4096];
  while (std::fgets(line, sizeof line, f)) {
    line[std::strcspn(line, "\n")] = '\0';
    const char* const controllers = std::strchr(line, ':');
    const char* const path = controllers ? std::strchr(controllers + 1, ':') : nullptr;
    if (!path || path[1] != '/' || path[2] == '\0') continue;
    const std::string names(controllers + 1, path);
    if (names.empty())
      add_groups(all, "/sys/fs/cgroup", path + 1, true);
    else if ((',' + names + ',').find(",memory,") != std::string::npos)
      add_groups(all, "/sys/fs/cgroup/memory", path + 1, false);
  }
  std::fclose(f);
  return all;
}

// Those that there are; a process hardly ever changes its groups.
std::vector<Group> limited(std::vector<Group> all) {
  std::erase_if(all, [](const Group& g) { return access(g.limit.c_str(), R_OK) != 0; });
  return all;
}

}  // namespace

std::size_t read_number(const char* path, const char* key) noexcept {
  std::size_t value = ~std::size_t{0};
  if (FILE* const f = std::fopen(path, "re")) {
    char line[256];
    const std::size_t n = std::strlen(key);
    while (std::fgets(line, sizeof line, f))
      if (std::strncmp(line, key, n) == 0 && std::sscanf(line + n, "%zu", &value) == 1) break;
    std::fclose(f);
  }
  return value;
}

GroupMemory group_memory() noexcept try {
  constexpr std::size_t none = ~std::size_t{0}, unlimited = std::size_t{1} << 62;  // version 1 writes a large number
  GroupMemory out;
  static const std::vector<Group> all = limited(groups());
  for (const Group& g : all) {
    const std::size_t limit = read_number(g.limit.c_str(), ""), used = read_number(g.usage.c_str(), "");
    if (limit >= unlimited || used == none) continue;
    const std::size_t files = read_number(g.statistics.c_str(), g.reclaimable);
    const std::size_t held = files == none || files > used ? used : used - files;
    out.limit = std::min(out.limit, limit);
    out.left = std::min(out.left, limit > held ? limit - held : 0);
  }
  return out;
} catch (const std::bad_alloc&) {
  return {};
}

}  // namespace wp::memory
