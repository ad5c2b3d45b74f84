#include "base/fence.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace wp {
namespace {

bool ask(int command) noexcept {
  return syscall(SYS_membarrier, command, 0, 0) == 0;
}

}  // namespace

bool can_fence_others() noexcept {
  static const bool can = ask(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
  return can;
}

void fence_others() noexcept {
  // A process that was forked may have to say again that it wants this.
  if (!ask(MEMBARRIER_CMD_PRIVATE_EXPEDITED) && ask(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED))
    (void)ask(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

}  // namespace wp
