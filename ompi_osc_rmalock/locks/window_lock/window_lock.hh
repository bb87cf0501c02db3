// A lock as a window sees it, whichever algorithm it is.
#pragma once

#include <cstdint>

#include "fabric/hybrid.hh"
#include "locks/lock.hh"
#include "locks/parts/section.hh"

namespace rmalock::locks {

/// The fabric of the component's windows.
using WindowFabric = fabric::HybridFabric;

/// The lock of one window, all targets.
class WindowLock {
  public:
    virtual ~WindowLock() = default;
    virtual Hold acquire(Rank target, bool exclusive) = 0;
    virtual void release(Rank target, bool exclusive, Hold hold) = 0;
    /// Whether release() sees to it that the holder's puts are at the target before others get in
    /// (fabric/concept.hh); else they have to be before it is called.
    virtual bool delivers() const = 0;
    /// For diagnosis: whether an acquire would have to wait now for a lock that conflicts. A lock
    /// without a shared mode cannot tell a shared holder from an exclusive one; then shared
    /// acquires hear no.
    virtual bool is_taken(Rank target, bool exclusive) = 0;
    virtual void acquire_all() = 0;
    virtual void release_all() = 0;
    /// How often this process has changed the side that the gate is for
    /// (locks/window_lock/all_gate.hh).
    virtual std::uint64_t gate_changes() const = 0;

    // Critical sections that come in a message (locks/parts/section.hh).
    /// Whether there are; else none of what follows is called.
    virtual bool takes_sections() const { return false; }
    /// Whether a shared lock takes no round trip now, so that it need not go along with anything.
    virtual bool reads_here(Rank) { return false; }
    /// At home, of this process's own target. Any thread may call; none of it waits, or uses the
    /// network.
    virtual SectionEntry enter_section(bool) { return SectionEntry::busy; }
    virtual SectionEnd leave_section(bool) { return {}; }
    /// At the origin: before the section goes; when it is over, or was refused; when another process
    /// has to be told that it has the lock; the lock, if it was left to the origin, with or without
    /// the operations done.
    virtual void announce_section(Rank, bool) {}
    virtual void strike_section(Rank, bool) {}
    virtual void notify_next(const SectionEnd&) {}
    virtual Hold section_hold(bool) const { return {}; }
    virtual Hold take_over_section(Rank, bool) { return {}; }

    /// Whether the lock of this process's target has a server, which grants it; else serve() is not
    /// called.
    virtual bool has_server() const { return false; }
    /// Grants what processes of other nodes have asked for. Any thread, and several at a time; it
    /// does not wait.
    virtual void serve() {}

    /// How many exclusives of a node may follow one another before those of other nodes that wait.
    virtual Value most_in_a_row() const = 0;
};

} // namespace rmalock::locks
