// Locks that a forked process finds open.
#pragma once
#include <mutex>

namespace wp {

// fork() waits for the mutex and gives it back on both sides: what it guards is whole in a child, whatever other
// threads did at that moment. For mutexes that live as long as the process and are held without taking another of
// them. Called while the library is loaded, so that they are taken after all locks under which somebody computes.
void open_in_children(std::mutex& mutex);

}  // namespace wp
