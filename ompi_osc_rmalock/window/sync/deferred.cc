// Locks that are taken late: MPI_Win_lock of a target of another node only notes that it was called,
// and what is short goes along with the unlock, in one message (locks/parts/section.hh). MPI allows it:
// a program learns nothing of the lock before its first operation is complete.
//
// The lock is acquired as always as soon as something asks for more: an operation that is long, or that
// the program can wait for (go_along), a flush, or another lock of this process.
#include <algorithm>
#include <utility>

#include "window/sync/epochs.hh"

namespace rmalock::window {

constinit Epochs* Epochs::deferring_ = nullptr;
constinit Rank Epochs::fast_path_free_ = Epochs::kFastPathFree;

bool Epochs::defers(bool exclusive, Rank target) {
    if (fabric_.same_node(target) || (!exclusive && lock_->reads_here(target)))
        return false;
    if (at_once_ == 0)
        return true;
    --at_once_;
    return false;
}

void Epochs::defer(Rank target) {
    deferred_ = target;
    deferring_ = this;
    fast_path_free_ = kFastPathShut;
    remote_->begin_section(target);
}

void Epochs::stop_deferring() {
    deferred_ = -1;
    deferring_ = nullptr;
    fast_path_free_ = kFastPathFree;
}

void Epochs::acquire_deferred() {
    const Rank target = deferred_;
    stop_deferring();
    HeldLock* const mine = held_.find(target);
    mine->hold = acquire_late(target, mine->exclusive);
    remote_->end_section(target);
}

bool Epochs::hold_deferred(HeldLock& mine) {
    static constexpr unsigned kMostAtOnce = 64;
    const Mode mode = mine.exclusive ? Mode::exclusive : Mode::shared;
    const auto [target, exclusive] = std::pair(mine.target, mine.exclusive);
    stop_deferring();
    lock_->announce_section(target, exclusive);
    const network::SectionOutcome outcome = remote_->send_section(target, exclusive);
    if (!outcome.held)
        lock_->strike_section(target, exclusive);
    if (outcome.over) {
        acquisitions_.acquired(mode);
        next_at_once_ = 1;
        // Locks alone are cheaper where the node counts its readers, and passes the lock on.
        const bool on_node = !exclusive || lock_->most_in_a_row() > 1;
        at_once_ = outcome.applied == 0 && on_node ? kMostAtOnce : 0;
    }
    if (outcome.over && !outcome.held) {
        remote_->end_section(target, outcome.applied);
        return false;
    }
    if (outcome.over) {
        mine.hold = lock_->section_hold(exclusive);
    } else if (outcome.held) {
        observe({mode, target}, [&] { mine.hold = lock_->take_over_section(target, exclusive); });
    } else {
        at_once_ = next_at_once_;
        next_at_once_ = std::min(2 * next_at_once_, kMostAtOnce);
        mine.hold = acquire_late(target, exclusive);
    }
    remote_->end_section(target, outcome.applied);
    return true;
}

} // namespace rmalock::window
