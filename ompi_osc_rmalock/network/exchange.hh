// How the processes of a new window tell each other where it lies and how they are reached.
#pragma once

#include <cstddef>

#include "network/network.hh"
#include "network/reach.hh"
#include "rmalock_api.h"
#include "ucx_glue/types.hh"

namespace rmalock::network {

/// What this process makes accessible of a window.
struct Exposed {
    ucx::RemoteAddress state = 0, memory = 0;
    ucx::Bytes state_key{}, memory_key{};
    int error = 0; ///< an errno: nothing is accessible
};

/// Collective: tells all ranks how to reach this one, and writes into the node's table how to reach
/// all (on the node's first rank). *first becomes the first error of all ranks; then nobody goes
/// on. The network counts the window's processes among those that it needs room for.
rmalock_status_t exchange(Network& network, const rmalock_comm_t& comm, const Endpoints& ranks,
                          ReachTable table, const Exposed& mine, int* first);

} // namespace rmalock::network
