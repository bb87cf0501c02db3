// A lock as a window sees it, whichever algorithm it is.
#pragma once

#include <cstdint>

#include "fabric/hybrid.hh"
#include "locks/lock.hh"

namespace rmalock::locks {

/// The fabric of the plugin's windows.
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
    /// How many exclusives of a node may follow one another before those of other nodes that wait.
    virtual Value most_in_a_row() const = 0;
};

} // namespace rmalock::locks
