// What MPI provides to the core, and how the core speaks to people.
#pragma once

#include "rmalock_api.h"

namespace rmalock {

/// The host given to rmalock_init.
const rmalock_host_t& host();
void set_host(const rmalock_host_t& host);

/// Formats and reports a message, unless the verbosity leaves it out. Level 0: an error.
__attribute__((format(printf, 2, 3))) void report(int level, const char* format, ...);

/// The same for what somebody has asked to be told, whatever the verbosity; no error.
__attribute__((format(printf, 1, 2))) void say(const char* format, ...);

} // namespace rmalock
