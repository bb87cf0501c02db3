// Which lock a window uses: the only place where an algorithm is chosen and dispatched to.
#pragma once

#include <memory>
#include <string_view>

#include "locks/window_lock/lock_config.hh"
#include "locks/window_lock/window_lock.hh"

namespace rmalock::locks {

/// Names the lock for `wanted` (a value of the parameter `lock`, already checked).
Choice choose(std::string_view wanted, const WindowTraits& traits);

/// What the lock of that name does not get between nodes where `domain` does the atomics, and what
/// to choose; null: it lacks nothing. `threads`: processes have progress threads.
const char* lacks(std::string_view name, fabric::Domain domain, bool threads);

/// What the lock that `wanted` names needs; of `auto` nothing.
LockNeeds needs_of(std::string_view wanted);

/// What the lock of `config` needs, of which all but `slots` is set, for `ranks` processes.
fabric::LockSlots slots_of(const LockConfig& config, Rank ranks);

/// Makes the configured lock. Its words (WindowSlots::lock, gate, nodes, elements) are zero, or in
/// use by processes that made the same lock from the same configuration. `fabric` outlives it.
std::unique_ptr<WindowLock> make(const LockConfig& config, WindowFabric& fabric);

} // namespace rmalock::locks
