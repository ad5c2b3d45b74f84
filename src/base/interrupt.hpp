// Long work asks now and then whether it should stop (Ctrl-C in Python).
#pragma once

namespace wp {

// Leaves parallel work when the hook says so.
struct Interrupted {};

// Called between the pieces of parallel work, on the thread that asked for the work. Null: nobody is asked.
using InterruptHook = bool (*)();
void set_interrupt_hook(InterruptHook hook) noexcept;

}  // namespace wp
