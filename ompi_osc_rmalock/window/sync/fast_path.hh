// Lock, unlock and flush where nothing else is to be done: of a window on one node with one thread,
// when at most one of its locks is held. They are what lock_any, unlock_any and flush_any
// (passive.cc) come to then, inlined down to the lock's atomics: osc/sm does little more than
// these, so that each call and question shows, and each store: an atomic waits for all stores
// before it. Hence one word to ask and to set, only_lock_; the epoch and the table of locks held
// are made true when somebody needs them (materialize_fast_lock).
#pragma once

#include "host.hh"
#include "window/sync/epochs.hh"

namespace rmalock::window {

[[gnu::always_inline]] inline Status Epochs::lock(bool exclusive, Rank target, bool nocheck) {
    static_assert(transition(Epoch::none, Event::lock) == static_cast<Next>(Epoch::locked));
    if (only_lock_ != fast_path_free_ || nocheck) [[unlikely]]
        return lock_any(exclusive, target, nocheck);
    if (locks::Value seen; !word_lock_->begin(target, exclusive, seen)) [[unlikely]]
        return finish_lock(target, exclusive, seen);
    only_lock_ = target;
    only_exclusive_ = exclusive;
    acquisitions_.acquired(exclusive ? Mode::exclusive : Mode::shared, false);
    return RMALOCK_OK;
}

[[gnu::always_inline]] inline Status Epochs::unlock(Rank target) {
    static_assert(transition(Epoch::locked, Event::unlock_last) == static_cast<Next>(Epoch::none));
    if (only_lock_ != target) [[unlikely]]
        return unlock_any(target);
    only_lock_ = kFastPathFree;
    word_lock_->release(target, only_exclusive_, word_lock_->alone(only_exclusive_));
    count_quick_call();
    return RMALOCK_OK;
}

inline Status Epochs::flush(Flush kind, Rank target) {
    const bool one = kind == Flush::target || kind == Flush::local;
    if (only_lock_ >= 0 && (!one || only_lock_ == target)) [[likely]] {
        stores.flushed(); // one thread, or there would be no fast path
        count_quick_call();
        return RMALOCK_OK;
    }
    // Open MPI does not check the rank of a flush.
    const bool is_rank = static_cast<unsigned>(target) < static_cast<unsigned>(comm_.size);
    if (!flush_is_short_ || is_rank != one ||
        epoch_.load(std::memory_order_relaxed) != Epoch::locked_all)
        return flush_any(kind, target);
    stores.flushed();
    count_quick_call();
    return RMALOCK_OK;
}

} // namespace rmalock::window
