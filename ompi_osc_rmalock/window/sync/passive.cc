// Passive target: MPI_Win_lock, _unlock, _lock_all, _unlock_all, the flush family and _sync.
#include <chrono>

#include "host.hh"
#include "network/network.hh"
#include "window/sync/fast_path.hh"

namespace rmalock::window {

bool Epochs::trust_nocheck(const char* call, bool exclusive, Rank first, Rank end) {
    if (!check_nocheck_)
        return true;
    for (Rank target = first; target < end; ++target)
        if (lock_->is_taken(target, exclusive))
            fail(RMALOCK_ERR_SYNC, call, target,
                 "MPI_MODE_NOCHECK was given, but another process holds a lock that conflicts");
    return false;
}

bool Epochs::let_sections_in(Rank target) {
    using Clock = std::chrono::steady_clock;
    if (!lock_->takes_sections())
        return false;
    const locks::Word word{target, fabric::WindowSlots::sections};
    return rounds_of_others_.before(
        target, [&] { return fabric_.get(word); },
        [&](locks::Value seen, locks::Duration most) {
            const Clock::time_point begin = Clock::now();
            fabric_.await_until(word, fabric::differs(seen), fabric_.after(most));
            return std::chrono::ceil<locks::Duration>(Clock::now() - begin);
        });
}

inline locks::Hold Epochs::acquire(Rank target, bool exclusive) {
    locks::Hold hold;
    const bool here = exclusive && courteous_ && fabric_.same_node(target);
    const bool polite = here && !let_sections_in(target);
    if (polite) [[unlikely]]
        courtesy_.before(target, lock_->most_in_a_row(), fabric_.waiter(),
                         [&] { return lock_->is_taken(target, true); });
    observe({exclusive ? Mode::exclusive : Mode::shared, target},
            [&] { hold = lock_->acquire(target, exclusive); });
    if (here && lock_->takes_sections())
        rounds_of_others_.acquired(fabric_.get({target, fabric::WindowSlots::sections}));
    if (polite) [[unlikely]]
        courtesy_.after(target, std::chrono::nanoseconds(
                                    fabric_.waits().times != 0 ? fabric_.waits().nanoseconds : 0));
    return hold;
}

locks::Hold Epochs::acquire_late(Rank target, bool exclusive) {
    return acquire(target, exclusive);
}

inline void Epochs::release(Rank target, bool exclusive, locks::Hold hold) {
    let_go({exclusive ? Mode::exclusive : Mode::shared, target});
    lock_->release(target, exclusive, hold);
}

Status Epochs::lock_any(bool exclusive, Rank target, bool nocheck) {
    materialize_fast_lock();
    nocheck = nocheck && trust_nocheck(kLock, exclusive, target, target + 1);
    HeldLock* mine;
    {
        const Guard guard(*this);
        // From here on a second lock of the same target is an error, even by another thread while
        // this one still waits. First, because it may find no memory, and must then leave no epoch.
        mine = held_.claim(target, exclusive, nocheck);
        if (mine == nullptr)
            return fail(RMALOCK_ERR_SYNC, kLock, target, "this process has locked it already");
        if (const Status status = advance(Event::lock, kLock, target); status != RMALOCK_OK) {
            held_.erase(*mine);
            return status;
        }
    }
    renew_regions();
    locks::Hold hold;
    if (!nocheck) {
        settle();
        if (may_defer_ && defers(exclusive, target)) {
            defer(target);
            return RMALOCK_OK;
        }
        hold = acquire(target, exclusive);
    }
    const Guard guard(*this);
    if (threads_) // others may have claimed places, and moved this one
        mine = held_.find(target);
    mine->hold = hold;
    return RMALOCK_OK;
}

Status Epochs::finish_lock(Rank target, bool exclusive, locks::Value seen) {
    const Mode mode = exclusive ? Mode::exclusive : Mode::shared;
    fabric::Waits& waits = fabric_.waits();
    waits.times = 0;
    const locks::Hold hold = word_lock_->finish(target, exclusive, seen);
    acquisitions_.acquired(mode, false);
    if (waits.times != 0)
        acquisitions_.waited(mode, waits.nanoseconds);
    materialize_fast_lock(target, exclusive, hold);
    return RMALOCK_OK;
}

void Epochs::materialize_fast_lock(Rank target, bool exclusive, locks::Hold hold) {
    epoch_.store(Epoch::locked, std::memory_order_relaxed);
    held_.claim(target, exclusive, false)->hold = hold;
    only_lock_ = kFastPathOff;
}

Status Epochs::unlock_any(Rank target) {
    materialize_fast_lock();
    static constexpr char kCall[] = "MPI_Win_unlock";
    HeldLock mine;
    {
        const Guard guard(*this);
        HeldLock* const found = held_.find(target);
        if (found == nullptr)
            return fail(RMALOCK_ERR_SYNC, kCall, target, "this process has not locked it");
        mine = *found;
        const Event event = held_.size() == 1 ? Event::unlock_last : Event::unlock;
        if (const Status status = advance(event, kCall, target); status != RMALOCK_OK)
            return status;
        held_.erase(*found);
        if (opened_.load(std::memory_order_relaxed) == target)
            opened_.store(-1, std::memory_order_relaxed);
    }
    if (is_deferred(target) && !hold_deferred(mine)) {
        serve_others();
        return RMALOCK_OK;
    }
    // On the node the release below is a release in the memory model's sense as well, so the next
    // holder sees all.
    if (mine.nocheck || !goes_with_release(target))
        complete_at(target);
    if (mine.nocheck)
        finish_stores();
    else
        release(target, mine.exclusive, mine.hold);
    serve_others();
    return copied();
}

Status Epochs::lock_all(bool nocheck) {
    static constexpr char kCall[] = "MPI_Win_lock_all";
    nocheck = nocheck && trust_nocheck(kCall, false, 0, comm_.size);
    {
        const Guard guard(*this);
        if (const Status status = advance(Event::lock_all, kCall); status != RMALOCK_OK)
            return status;
        all_nocheck_ = nocheck;
    }
    renew_regions();
    settle();
    if (!nocheck)
        observe({Mode::all}, [&] { lock_->acquire_all(); });
    return RMALOCK_OK;
}

Status Epochs::unlock_all() {
    {
        const Guard guard(*this);
        if (const Status status = advance(Event::unlock_all, "MPI_Win_unlock_all");
            status != RMALOCK_OK)
            return status;
    }
    complete_everywhere();
    if (!all_nocheck_) {
        let_go({Mode::all});
        lock_->release_all();
    }
    serve_others();
    return copied();
}

Status Epochs::flush_any(Flush kind, Rank target) {
    static constexpr const char* kCalls[] = {"MPI_Win_flush", "MPI_Win_flush_local",
                                             "MPI_Win_flush_all", "MPI_Win_flush_local_all"};
    const char* const call = kCalls[static_cast<int>(kind)];
    materialize_fast_lock();
    const bool one = kind == Flush::target || kind == Flush::local;
    if (one && (target < 0 || target >= comm_.size))
        return fail(RMALOCK_ERR_RANK, call, -1, "there is no rank %d, the window has %d", target,
                    comm_.size);
    if (epoch_.load(std::memory_order_relaxed) != Epoch::locked_all) {
        const Guard guard(*this);
        if (const Status status = advance(Event::flush, call, one ? target : -1);
            status != RMALOCK_OK)
            return status;
        if (one && held_.find(target) == nullptr)
            return fail(RMALOCK_ERR_SYNC, call, target, "this process has not locked it");
    }
    if (deferred_ >= 0 && (!one || target == deferred_))
        flush_deferred(kind == Flush::local || kind == Flush::local_all);
    switch (kind) {
    case Flush::target:
        complete_at(target);
        break;
    case Flush::all:
        complete_everywhere();
        break;
    case Flush::local:
        if (!fabric_.same_node(target))
            remote_->flush_local(target);
        else
            held_back_.send(target);
        break;
    case Flush::local_all:
        held_back_.send_all();
        if (remote_ != nullptr)
            remote_->flush_local_all();
        break;
    }
    if (fast_path_)
        flush_is_short_ = !held_back_.any();
    renew_regions();
    finish_stores();
    serve_others();
    return copied();
}

void Epochs::run_host() {
    if (host().progress != nullptr)
        host().progress();
}

void Epochs::count_quick_calls_anew() {
    quick_calls_ = kQuickCalls;
    run_host();
}

void Epochs::serve_others() {
    constexpr unsigned kOften = 16, kHost = 64;
    // Threads may count past each other: somebody looks all the same.
    const unsigned calls = calls_.load(std::memory_order_relaxed) + 1;
    calls_.store(calls, std::memory_order_relaxed);
    if (calls % kHost == 0)
        run_host();
    else if (calls % kOften == 0 && remote_ != nullptr && !network::Network::get()->has_thread())
        network::Network::get()->progress();
}

Status Epochs::sync() {
    held_back_.send_all();
    threads_ ? fabric::full_fence() : stores.settle();
    serve_others();
    renew_regions();
    return RMALOCK_OK;
}

/// Whether the release sees to what is under way to the target, in the round trip that it takes.
bool Epochs::goes_with_release(Rank target) {
    return !fabric_.same_node(target) && lock_->delivers() && remote_->orders_behind_data(target);
}

} // namespace rmalock::window
