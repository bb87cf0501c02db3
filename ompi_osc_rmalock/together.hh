// Steps of a creation that all its processes take.
#pragma once

#include <new>

#include "rmalock_api.h"

namespace rmalock {

/// Runs a step that all processes of `comm` take together. See rmalock_lacks_memory.
template <class Step>
rmalock_status_t together(const rmalock_comm_t& comm, Step step) {
    try {
        return step();
    } catch (const std::bad_alloc&) {
        return rmalock_lacks_memory(&comm);
    }
}

} // namespace rmalock
