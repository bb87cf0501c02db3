#include "window/epoch.hh"

#include <array>
#include <cstddef>

namespace rmalock::window {
namespace {

struct Transition {
    Epoch from;
    Event event;
    Epoch to;
};

/// Everything that is allowed. A fence opens an epoch only once an RMA call follows, so a lock (or
/// a start, or a free) after a fence is legal; after an RMA call it is not.
constexpr Transition kAllowed[] = {
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

constexpr std::size_t kEpochs = static_cast<std::size_t>(Epoch::locked_all) + 1;
constexpr std::size_t kEvents = static_cast<std::size_t>(Event::free) + 1;
using Table = std::array<std::array<std::optional<Epoch>, kEvents>, kEpochs>;

/// The same by index, since every lock and unlock asks.
constexpr Table kTable = [] {
    Table table{};
    for (const Transition& t : kAllowed)
        table[static_cast<std::size_t>(t.from)][static_cast<std::size_t>(t.event)] = t.to;
    return table;
}();

} // namespace

std::optional<Epoch> transition(Epoch epoch, Event event) {
    return kTable[static_cast<std::size_t>(epoch)][static_cast<std::size_t>(event)];
}

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
