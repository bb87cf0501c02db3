// What MPI provides to the core, and how the core speaks to people.
#pragma once

#include <atomic>

#include "rmalock_api.h"

namespace rmalock::window {

/// The host given to rmalock_init.
const rmalock_host_t& host();
void set_host(const rmalock_host_t& host);

/// Formats and reports a message, unless the verbosity leaves it out. Level 0: an error.
__attribute__((format(printf, 2, 3))) void report(int level, const char* format, ...);

/// Locks this process holds on all its windows, lock_all included (locks.md: a process that holds any
/// lock must not be made to wait behind fairness).
std::atomic<int>& process_holds();

} // namespace rmalock::window
