// Which epoch a process has open on a window: one state machine, one table.
#pragma once

#include <optional>

namespace rmalock::window {

/// The access epoch of a process on a window (MPI 4.0, section 12.5).
enum class Epoch {
    none,        ///< no access epoch
    fence_maybe, ///< after MPI_Win_fence: an RMA call would open a fence epoch
    fence,       ///< in a fence epoch
    started,     ///< between MPI_Win_start and MPI_Win_complete
    locked,      ///< at least one target locked by MPI_Win_lock
    locked_all,  ///< between MPI_Win_lock_all and MPI_Win_unlock_all
};

/// What can happen to it.
enum class Event {
    fence,
    fence_last, ///< with MPI_MODE_NOSUCCEED
    start,
    complete,
    lock,
    unlock,
    unlock_last, ///< of the last target locked
    lock_all,
    unlock_all,
    access, ///< a put, get or accumulate
    flush,  ///< any of the flush family
    free,
};

/// The epoch after `event`, or nothing if the event is an error in `epoch`.
std::optional<Epoch> transition(Epoch epoch, Event event);

/// For messages: "no epoch is open", "an epoch of MPI_Win_lock is open", …
const char* describe(Epoch epoch);

} // namespace rmalock::window
