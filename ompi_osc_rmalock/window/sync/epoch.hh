// Which epoch a process has open on a window: one state machine, one table.
#pragma once

#include <array>
#include <cstddef>

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

/// An Epoch, or kError.
using Next = unsigned char;
inline constexpr Next kError = static_cast<Next>(Epoch::locked_all) + 1;

namespace detail {

struct Transition {
    Epoch from;
    Event event;
    Epoch to;
};

/// Everything that is allowed. A fence opens an epoch only once an RMA call follows, so a lock (or
/// a start, or a free) after a fence is legal; after an RMA call it is not.
inline constexpr Transition kAllowed[] = {
    {Epoch::none, Event::fence, Epoch::fence_maybe},
    {Epoch::none, Event::fence_last, Epoch::none},
    {Epoch::none, Event::start, Epoch::started},
    {Epoch::none, Event::lock, Epoch::locked},
    {Epoch::none, Event::lock_all, Epoch::locked_all},
    {Epoch::none, Event::free, Epoch::none},

    {Epoch::fence_maybe, Event::fence, Epoch::fence_maybe},
    {Epoch::fence_maybe, Event::fence_last, Epoch::none},
    {Epoch::fence_maybe, Event::access, Epoch::fence},
    {Epoch::fence_maybe, Event::start, Epoch::started},
    {Epoch::fence_maybe, Event::lock, Epoch::locked},
    {Epoch::fence_maybe, Event::lock_all, Epoch::locked_all},
    {Epoch::fence_maybe, Event::free, Epoch::none},

    {Epoch::fence, Event::access, Epoch::fence},
    {Epoch::fence, Event::fence, Epoch::fence_maybe},
    {Epoch::fence, Event::fence_last, Epoch::none},

    {Epoch::started, Event::access, Epoch::started},
    {Epoch::started, Event::complete, Epoch::none},

    {Epoch::locked, Event::lock, Epoch::locked},
    {Epoch::locked, Event::access, Epoch::locked},
    {Epoch::locked, Event::flush, Epoch::locked},
    {Epoch::locked, Event::unlock, Epoch::locked},
    {Epoch::locked, Event::unlock_last, Epoch::none},

    {Epoch::locked_all, Event::access, Epoch::locked_all},
    {Epoch::locked_all, Event::flush, Epoch::locked_all},
    {Epoch::locked_all, Event::unlock_all, Epoch::none},
};

inline constexpr std::size_t kEpochs = static_cast<std::size_t>(Epoch::locked_all) + 1;
inline constexpr std::size_t kEvents = static_cast<std::size_t>(Event::free) + 1;
using Table = std::array<std::array<Next, kEvents>, kEpochs>;

/// The same by index.
inline constexpr Table kTable = [] {
    Table table{};
    for (auto& row : table)
        row.fill(kError);
    for (const Transition& t : kAllowed)
        table[static_cast<std::size_t>(t.from)][static_cast<std::size_t>(t.event)] =
            static_cast<Next>(t.to);
    return table;
}();

} // namespace detail

/// The epoch after `event`, or kError if the event is an error in `epoch`. Inline: every lock,
/// unlock and flush asks.
constexpr Next transition(Epoch epoch, Event event) {
    return detail::kTable[static_cast<std::size_t>(epoch)][static_cast<std::size_t>(event)];
}

/// For messages: "no epoch is open", "an epoch of MPI_Win_lock is open", …
const char* describe(Epoch epoch);

} // namespace rmalock::window
