#include "window/sync/epoch.hh"

namespace rmalock::window {
const char* describe(Epoch epoch) {
    switch (epoch) {
    case Epoch::none:
        return "no epoch is open";
    case Epoch::fence_maybe:
        return "only a fence went before";
    case Epoch::fence:
        return "an epoch of MPI_Win_fence is open";
    case Epoch::started:
        return "an epoch of MPI_Win_start is open";
    case Epoch::locked:
        return "an epoch of MPI_Win_lock is open";
    case Epoch::locked_all:
        return "an epoch of MPI_Win_lock_all is open";
    }
    return "the epoch is unknown";
}

} // namespace rmalock::window
