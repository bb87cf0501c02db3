// Whether processes reach each other through the network: tried out before a window relies on it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "rmalock_api.h"

namespace rmalock::network {

/// Collective: tries it, and finds out what does atomics, if that is not known; progress threads
/// that are wanted then start. Processes by rank. `reached` becomes the same for all; `why` what
/// one of those that failed has to say, for all of them, and stays as it is elsewhere.
rmalock_status_t try_to_reach(const rmalock_comm_t& comm, std::span<const std::uint64_t> processes,
                              bool& reached, std::string& why);

} // namespace rmalock::network
