// A fence that one thread pays for all: membarrier(2). A thread that does a thing often stores into a word of its own
// and then looks at a common one, with nothing between them but std::atomic_signal_fence; a thread that seldom
// changes the common word calls fence_others() and then looks at the words of the others. One of them sees the other.
#pragma once

namespace wp {

// Whether the system can; else both sides need fences of their own.
bool can_fence_others() noexcept;
void fence_others() noexcept;

}  // namespace wp
