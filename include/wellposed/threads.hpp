// How many threads ops may use. Results do not depend on it, to the last bit.
#pragma once

namespace [[gnu::visibility("default")]] wp {
// Default: WELLPOSED_THREADS, or the CPUs this process may run on.
int threads() noexcept;
void set_threads(int count);
}  // namespace gnu::visibility("default")]]wp
