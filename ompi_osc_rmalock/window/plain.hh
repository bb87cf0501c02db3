// Lock, unlock and flush where nothing else is to be done: of a plain window, when at most one of
// its locks is held. They are what lock_any, unlock_any and flush_any (passive.cc) come to then,
// inlined down to the lock's atomics: osc/sm does little more than these, so that each call and
// question shows.
#pragma once

#include "window/host.hh"
#include "window/window.hh"

namespace rmalock::window {

[[gnu::always_inline]] inline Status Window::lock(bool exclusive, Rank target, bool nocheck) {
    if (!plain_ || nocheck || !held_.none()) [[unlikely]]
        return lock_any(exclusive, target, nocheck);
    if (const Status status = advance(Event::lock, kLock, target); status != RMALOCK_OK)
        [[unlikely]]
        return status;
    HeldLock& mine = held_.sole();
    mine = {target, exclusive, false, plain_lock_->alone(exclusive)};
    if (locks::Value seen; !plain_lock_->begin(target, exclusive, seen)) [[unlikely]]
        finish_lock(mine, seen);
    acquisitions_.acquired(exclusive ? Mode::exclusive : Mode::shared, false);
    count_process_hold(+1, false);
    return RMALOCK_OK;
}

[[gnu::always_inline]] inline Status Window::unlock(Rank target) {
    HeldLock& mine = held_.sole();
    if (!plain_ || !held_.only(target) || mine.nocheck) [[unlikely]]
        return unlock_any(target);
    mine.target = -1;
    epoch_.store(Epoch::none, std::memory_order_relaxed);
    count_process_hold(-1, false);
    // Field by field: they were written one by one a moment ago, and wider loads would wait for
    // the stores.
    plain_lock_->release(target, mine.exclusive, {mine.hold.opaque, mine.hold.in_room});
    return RMALOCK_OK;
}

/// Puts to memory of this node are plain stores, and loads of this process must not overtake them;
/// later loads see what others did before. Where the processor only lets loads overtake stores
/// (x86), nothing is to be done if there were none: atomics are not overtaken.
inline void Window::finish_stores() {
#if defined(__x86_64__)
    if (!threads_ && !stored_) {
        std::atomic_signal_fence(std::memory_order_seq_cst);
        return;
    }
#endif
    stored_ = false;
    fabric::full_fence();
}

inline Status Window::flush(Flush kind, Rank target) {
    const bool one = kind == Flush::target || kind == Flush::local;
    const bool all_open = epoch_.load(std::memory_order_relaxed) == Epoch::locked_all;
    // Open MPI does not check the rank of a flush.
    const bool is_rank = static_cast<unsigned>(target) < static_cast<unsigned>(comm_.size);
    const bool open =
        one ? is_rank && (all_open || held_.sole().target == target) : all_open || !held_.none();
    if (!plain_ || !open) [[unlikely]]
        return flush_any(kind, target);
    finish_stores();
    return RMALOCK_OK;
}

} // namespace rmalock::window
