// The one lock that the processes of a window get, of what they all ask for and are.
#pragma once

#include <string>
#include <vector>

#include "locks/window_lock/lock_config.hh"

namespace rmalock::locks {

/// The calling process's.
ProcessInfo process_info(const LockRequestWire& request, bool oversubscribed);

/// infos[p] is rank p's.
LockConfig configure(const LockRequestWire& request, const std::vector<ProcessInfo>& infos);

/// The tree, for a message: ", tree of 2 nodes of 4 ranks, 2 counters", or ", 2 nodes", or nothing
/// if the lock knows of neither.
std::string summary(const LockConfig& config);
/// In full: which ranks each element has, and what memory the lock takes at each rank.
std::vector<std::string> describe(const LockConfig& config);

} // namespace rmalock::locks
