// Which lock a window uses: the only place where an algorithm is chosen and dispatched to.
#pragma once

#include <memory>
#include <string_view>

#include "fabric/hybrid.hh"
#include "locks/window_lock/design.hh"

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

/// What `auto` looks at.
struct WindowTraits {
    Rank ranks = 0;
    bool one_node = true;
};

/// Names the lock for `wanted` (a value of the parameter `lock`, already checked).
Choice choose(std::string_view wanted, const WindowTraits& traits);

/// What the lock that `wanted` names needs; of `auto` nothing.
LockNeeds needs_of(std::string_view wanted);

/// What the lock of `design` needs, of which all but `slots` is set, for `ranks` processes.
fabric::LockSlots slots_of(const Design& design, Rank ranks);

/// Makes the designed lock. Its words (WindowSlots::lock, gate, nodes, elements) are zero, or in
/// use by processes that made the same lock from the same design. `fabric` outlives it.
std::unique_ptr<WindowLock> make(const Design& design, WindowFabric& fabric);

} // namespace rmalock::locks
