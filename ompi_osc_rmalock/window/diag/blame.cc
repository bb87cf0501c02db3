#include "window/diag/blame.hh"

#include <algorithm>
#include <utility>

namespace rmalock::window {
namespace {

/// Whether one of the two has to wait for the other.
bool conflict(Lock awaited, Lock held) {
    switch (awaited.mode) {
    case Mode::exclusive:
        return held.mode == Mode::all || held.target == awaited.target;
    case Mode::shared:
        return held.mode == Mode::exclusive && held.target == awaited.target;
    case Mode::all:
        return held.mode == Mode::exclusive;
    default:
        return false;
    }
}

/// Whether `held` may be in the way by way of other waiters: a shared lock is awaited behind an
/// exclusive one that waits for shared ones, or by a lock that has no shared mode.
bool may_conflict(Lock awaited, Lock held) {
    return awaited.mode == Mode::shared && held.mode == Mode::shared &&
           held.target == awaited.target;
}

bool holds(const Seen& seen, Rank target) {
    return std::any_of(seen.held.begin(), seen.held.end(), [target](const SeenLock& held) {
        return held.lock.mode != Mode::all && held.lock.target == target;
    });
}

/// At the gate between them (locks/window_lock/all_gate.hh) an exclusive waits for a lock_all that
/// waits, too, and a lock_all for an exclusive that is past the gate and waits for its target.
bool in_the_way_at_the_gate(const SeenWindow& window, Lock awaited, const Seen& other) {
    const Lock theirs = other.awaits->lock;
    if (awaited.mode == Mode::exclusive)
        return theirs.mode == Mode::all;
    return awaited.mode == Mode::all && theirs.mode == Mode::exclusive &&
           std::any_of(window.ranks.begin(), window.ranks.end(), [&](const Seen& seen) {
               return seen.process != other.process && holds(seen, theirs.target);
           });
}

/// For what is no lock: the processes that have not come. A target that has exposed its memory
/// waits for origins, and does not know which are still missing.
std::vector<BlockedProcess::Blocker> absent(const SeenWindow& window, std::uint64_t waiter,
                                            Lock awaits) {
    std::vector<BlockedProcess::Blocker> missing;
    for (std::size_t r = 0; r < window.ranks.size(); ++r) {
        const Seen& seen = window.ranks[r];
        const bool is_there = seen.awaits && seen.awaits_window == window.number &&
                              seen.awaits->lock.mode == Mode::fence;
        const bool needed = awaits.mode == Mode::fence ? !is_there
                                                       : awaits.mode == Mode::post &&
                                                             static_cast<Rank>(r) == awaits.target;
        if (seen.answered && seen.process != waiter && needed)
            missing.push_back({seen.process, {}, BlockedProcess::Way::absent, seen.near});
    }
    return missing;
}

} // namespace

std::vector<BlockedProcess::Blocker> blockers(const SeenWindow& window, std::uint64_t waiter,
                                              Lock awaits) {
    if (!is_lock(awaits.mode))
        return absent(window, waiter, awaits);
    std::vector<BlockedProcess::Blocker> sure, possible;
    for (const Seen& seen : window.ranks) {
        if (!seen.answered || seen.process == waiter)
            continue;
        for (const SeenLock& held : seen.held) {
            if (conflict(awaits, held.lock))
                sure.push_back({seen.process, held, BlockedProcess::Way::holds, seen.near});
            else if (may_conflict(awaits, held.lock))
                possible.push_back({seen.process, held, BlockedProcess::Way::holds, seen.near});
        }
    }
    if (!sure.empty() || !possible.empty())
        return sure.empty() ? possible : sure;
    for (const Seen& seen : window.ranks)
        if (seen.process != waiter && seen.awaits && seen.awaits_window == window.number &&
            in_the_way_at_the_gate(window, awaits, seen))
            possible.push_back(
                {seen.process, *seen.awaits, BlockedProcess::Way::awaits, seen.near});
    return possible;
}

Blame::Blame(std::uint64_t start, std::uint64_t window, See see) : see_(std::move(see)) {
    const SeenWindow* const first = see_(window);
    for (const Seen& seen : first->ranks)
        if (seen.process == start && seen.awaits)
            add(start, seen);
    // Those behind the ones that were added, and so on.
    for (std::size_t i = 0; i < waiters_.size() && waiters_.size() < kMost; ++i) {
        const SeenWindow* const there = see_(waiters_[i].window);
        const std::vector<BlockedProcess::Blocker> behind = waiters_[i].blockers;
        for (const BlockedProcess::Blocker& blocker : behind)
            for (const Seen& seen : there->ranks)
                if (seen.process == blocker.process && seen.awaits && find(seen.process) == nullptr)
                    add(seen.process, seen);
    }
}

void Blame::add(std::uint64_t process, const Seen& seen) {
    BlockedProcess waiter{.process = process,
                          .awaits = *seen.awaits,
                          .near = seen.near,
                          .window = seen.awaits_window,
                          .number = seen.awaits_number,
                          .blockers = {}};
    const SeenWindow* const window = see_(seen.awaits_window);
    waiter.known = window != nullptr;
    if (waiter.known)
        waiter.blockers = blockers(*window, process, waiter.awaits.lock);
    waiters_.push_back(std::move(waiter));
}

const BlockedProcess* Blame::find(std::uint64_t process) const {
    const auto found = std::find_if(waiters_.begin(), waiters_.end(),
                                    [=](const BlockedProcess& w) { return w.process == process; });
    return found == waiters_.end() ? nullptr : &*found;
}

/// Depth first. On success `path` ends with a process that is in it already.
bool Blame::search(std::uint64_t process, std::vector<std::uint64_t>& path,
                   std::vector<std::uint64_t>& done) const {
    const bool again = std::find(path.begin(), path.end(), process) != path.end();
    path.push_back(process);
    if (again)
        return true;
    const BlockedProcess* const waiter = find(process);
    if (waiter != nullptr && std::find(done.begin(), done.end(), process) == done.end())
        for (const BlockedProcess::Blocker& blocker : waiter->blockers)
            if (search(blocker.process, path, done))
                return true;
    path.pop_back();
    done.push_back(process);
    return false;
}

std::vector<std::uint64_t> Blame::cycle() const {
    std::vector<std::uint64_t> path, done;
    if (waiters_.empty() || !search(waiters_.front().process, path, done))
        return {};
    const std::uint64_t last = path.back();
    path.pop_back();
    path.erase(path.begin(), std::find(path.begin(), path.end(), last));
    return path;
}

std::vector<std::uint64_t> Blame::cycle_numbers() const {
    std::vector<std::uint64_t> numbers;
    for (const std::uint64_t process : cycle()) {
        numbers.push_back(process);
        numbers.push_back(find(process)->number);
    }
    return numbers;
}

} // namespace rmalock::window
