// Which lock a window uses: the only place where an algorithm is chosen and dispatched to.
#pragma once

#include <memory>
#include <string_view>

#include "fabric/hybrid.hh"
#include "locks/lock.hh"

namespace rmalock::locks {

/// The fabric of the plugin's windows.
using WindowFabric = fabric::HybridFabric;

/// The lock of one window, all targets.
class WindowLock {
  public:
    virtual ~WindowLock() = default;
    /// `holding`: this process holds a lock already, of this or any other window (locks/all_gate.hh).
    virtual Hold acquire(Rank target, bool exclusive, bool holding) = 0;
    virtual void release(Rank target, bool exclusive, Hold hold) = 0;
    /// For diagnosis: whether an acquire would have to wait now.
    virtual bool is_taken(Rank target, bool exclusive) = 0;
    virtual void acquire_all(bool holding) = 0;
    virtual void release_all() = 0;
};

/// What `auto` looks at.
struct WindowTraits {
    Rank ranks = 0;
    Rank hosts = 1;
    bool oversubscribed = false; ///< more ranks than cores on this node
};

/// What a lock may be tuned by; see params.def.
struct Thresholds {
    Value t_w = 0; ///< 0: the number of ranks
};

struct Choice {
    const char* name;   ///< as in the parameter `lock`
    const char* reason; ///< for people
};

/// Names the lock for `wanted` (a value of the parameter `lock`, already checked).
Choice choose(std::string_view wanted, const WindowTraits& traits);

/// Makes the lock that choose() named. Its words (WindowSlots::lock, gate, nodes) are zero, or in use by
/// processes that made the same lock with the same thresholds. `fabric` outlives it.
std::unique_ptr<WindowLock> make(const Choice& choice, WindowFabric& fabric,
                                 const Thresholds& thresholds);

} // namespace rmalock::locks
