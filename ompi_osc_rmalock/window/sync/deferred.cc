// Locks that are taken late: MPI_Win_lock of a target of another node only notes that it was called,
// and what is short goes along with the unlock, in one message (locks/parts/section.hh). MPI allows it:
// a program learns nothing of the lock before its first operation is complete.
//
// At a flush a first message takes the lock, and does what was called; the process keeps the lock. What
// follows is collected again, for the next flush, or for the unlock, whose message gives the lock back.
//
// The lock is acquired as always as soon as something asks for more: an operation that is long, or that
// the program can wait for (go_along), or another lock of this process.
#include <algorithm>
#include <utility>

#include "window/sync/epochs.hh"

namespace rmalock::window {
namespace {

constexpr unsigned kMostAtOnce = 64;

Mode mode_of(const HeldLock& lock) {
    return lock.exclusive ? Mode::exclusive : Mode::shared;
}

} // namespace

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
    kept_ = false;
    deferring_ = nullptr;
    fast_path_free_ = kFastPathFree;
}

void Epochs::acquire_deferred() {
    const Rank target = deferred_;
    const bool kept = kept_;
    stop_deferring();
    if (!kept) {
        HeldLock* const mine = held_.find(target);
        mine->hold = acquire_late(target, mine->exclusive);
    }
    remote_->end_section(target);
}

/// What has been collected goes to the target, with the lock's end, or not.
network::SectionOutcome Epochs::send_deferred(const HeldLock& mine, bool keeps) {
    using Flags = network::SectionFlags;
    if (!kept_)
        lock_->announce_section(mine.target, mine.exclusive);
    const int flags = (mine.exclusive ? Flags::exclusive : 0) | (kept_ ? Flags::held : 0) |
                      (keeps ? Flags::keeps : 0);
    const auto outcome = remote_->send_section(mine.target, static_cast<std::uint8_t>(flags));
    if (!outcome.held)
        lock_->strike_section(mine.target, mine.exclusive);
    if (outcome.next != 0)
        lock_->notify_next({.over = true, .next = outcome.next, .message = outcome.message});
    if (outcome.over && !kept_) {
        next_at_once_ = 1;
        // Locks alone are cheaper where the node counts its readers, and passes the lock on.
        const bool on_node = !mine.exclusive || lock_->most_in_a_row() > 1;
        at_once_ = outcome.applied == 0 && on_node ? kMostAtOnce : 0;
    }
    return outcome;
}

/// No longer deferred: this process has the lock in the end, and what was not done is sent.
void Epochs::go_on_with(HeldLock& mine, const network::SectionOutcome& outcome, bool kept) {
    const auto [target, exclusive] = std::pair(mine.target, mine.exclusive);
    if (!outcome.held) {
        at_once_ = next_at_once_;
        next_at_once_ = std::min(2 * next_at_once_, kMostAtOnce);
        mine.hold = acquire_late(target, exclusive);
    } else if (!kept && outcome.over) {
        mine.hold = lock_->section_hold(exclusive);
    } else if (!kept) {
        observe({mode_of(mine), target},
                [&] { mine.hold = lock_->take_over_section(target, exclusive); });
    }
    remote_->end_section(target, outcome.applied);
}

bool Epochs::hold_deferred(HeldLock& mine) {
    const bool kept = kept_;
    const network::SectionOutcome outcome = send_deferred(mine, false);
    stop_deferring();
    if (outcome.over && !kept)
        acquisitions_.acquired(mode_of(mine));
    if (outcome.over && !outcome.held) {
        if (kept)
            let_go({mode_of(mine), mine.target});
        remote_->end_section(mine.target, outcome.applied);
        return false;
    }
    go_on_with(mine, outcome, kept);
    return true;
}

void Epochs::flush_deferred(bool local) {
    const Rank target = deferred_;
    if (remote_->section_is_empty(target)) {
        // A flush of nothing need not acquire anything, but programs wait for a lock by it.
        if (!kept_)
            acquire_deferred();
        return;
    }
    if (local && !remote_->section_fetches(target))
        return; // what the program has put was copied
    HeldLock& mine = *held_.find(target);
    const bool kept = kept_;
    const network::SectionOutcome outcome = send_deferred(mine, true);
    if (!outcome.over) {
        stop_deferring();
        go_on_with(mine, outcome, kept);
        return;
    }
    if (!kept)
        observe({mode_of(mine), target}, [&] { mine.hold = lock_->section_hold(mine.exclusive); });
    kept_ = true;
    remote_->begin_section(target);
}

} // namespace rmalock::window
