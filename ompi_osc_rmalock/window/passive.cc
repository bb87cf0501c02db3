// Passive target: MPI_Win_lock, _unlock, _lock_all, _unlock_all, the flush family and _sync.
#include "window/host.hh"
#include "window/observe.hh"

namespace rmalock::window {

bool Window::trust_nocheck(const char* call, bool exclusive, Rank first, Rank end) {
    if (!check_nocheck_)
        return true;
    for (Rank target = first; target < end; ++target)
        if (lock_->is_taken(target, exclusive))
            fail(RMALOCK_ERR_SYNC, call, target,
                 "MPI_MODE_NOCHECK was given, but another process holds a lock that conflicts");
    return false;
}

Status Window::lock(bool exclusive, Rank target, bool nocheck) {
    static constexpr char kCall[] = "MPI_Win_lock";
    nocheck = nocheck && trust_nocheck(kCall, exclusive, target, target + 1);
    HeldLock* mine;
    {
        const Guard guard(*this);
        // From here on a second lock of the same target is an error, even by another thread while
        // this one still waits. First, because it may find no memory, and must then leave no epoch.
        mine = held_.claim(target, exclusive, nocheck);
        if (mine == nullptr)
            return fail(RMALOCK_ERR_SYNC, kCall, target, "this process has locked it already");
        if (const Status status = advance(Event::lock, kCall, target); status != RMALOCK_OK) {
            held_.erase(*mine);
            return status;
        }
    }
    renew_regions();
    locks::Hold hold;
    if (!nocheck)
        hold = acquire(target, exclusive);
    count_process_hold(+1);
    const Guard guard(*this);
    if (threads_) // others may have claimed places, and moved this one
        mine = held_.find(target);
    mine->hold = hold;
    return RMALOCK_OK;
}

Status Window::unlock(Rank target) {
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
    }
    // On the node operations are complete when their call returns; the release below is a release
    // in the memory model's sense as well, so the next holder sees them.
    complete_at(target);
    if (!mine.nocheck)
        release(target, mine.exclusive, mine.hold);
    count_process_hold(-1);
    return RMALOCK_OK;
}

Status Window::lock_all(bool nocheck) {
    static constexpr char kCall[] = "MPI_Win_lock_all";
    nocheck = nocheck && trust_nocheck(kCall, false, 0, comm_.size);
    {
        const Guard guard(*this);
        if (const Status status = advance(Event::lock_all, kCall); status != RMALOCK_OK)
            return status;
        all_nocheck_ = nocheck;
    }
    renew_regions();
    if (!nocheck)
        acquire_all();
    count_process_hold(+1);
    return RMALOCK_OK;
}

Status Window::unlock_all() {
    {
        const Guard guard(*this);
        if (const Status status = advance(Event::unlock_all, "MPI_Win_unlock_all");
            status != RMALOCK_OK)
            return status;
    }
    complete_everywhere();
    if (!all_nocheck_)
        release_all();
    count_process_hold(-1);
    return RMALOCK_OK;
}

Status Window::flush(rmalock_flush_kind_t kind, Rank target) {
    static constexpr const char* kCalls[] = {"MPI_Win_flush", "MPI_Win_flush_local",
                                             "MPI_Win_flush_all", "MPI_Win_flush_local_all"};
    const char* const call = kCalls[kind];
    const bool one = kind == RMALOCK_FLUSH || kind == RMALOCK_FLUSH_LOCAL;
    // Open MPI does not check the rank of a flush.
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
    switch (kind) {
    case RMALOCK_FLUSH:
        complete_at(target);
        break;
    case RMALOCK_FLUSH_ALL:
        complete_everywhere();
        break;
    case RMALOCK_FLUSH_LOCAL:
        if (!fabric_.same_node(target))
            remote_->flush_local(target);
        break;
    case RMALOCK_FLUSH_LOCAL_ALL:
        if (remote_ != nullptr)
            remote_->flush_local_all();
        break;
    }
    renew_regions();
    finish_stores();
    return RMALOCK_OK;
}

Status Window::sync() {
    fabric::full_fence();
    return RMALOCK_OK;
}

void Window::complete_at(Rank target) {
    // On the node nothing is ever outstanding.
    if (!fabric_.same_node(target))
        remote_->complete(target);
}

void Window::complete_everywhere() {
    if (remote_ != nullptr)
        remote_->complete_all();
    finish_stores();
}

/// Puts to memory of this node are plain stores, and loads of this process must not overtake them;
/// later loads see what others did before. Where the processor only lets loads overtake stores
/// (x86), nothing is to be done if there were none: atomics are not overtaken.
void Window::finish_stores() {
#if defined(__x86_64__)
    if (!threads_ && !stored_) {
        std::atomic_signal_fence(std::memory_order_seq_cst);
        return;
    }
#endif
    stored_ = false;
    fabric::full_fence();
}

void Window::wait_for(const ucx::Completion& completion) {
    if (remote_ != nullptr)
        remote_->wait_for(completion);
}

void Window::renew_known_regions() {
    const Guard guard(*this);
    regions_->renew();
}

} // namespace rmalock::window
