// A window's epochs and its lock: passive.cc has lock … flush, active.cc fence and
// post/start/complete/wait, fast_path.hh the short ways.
#pragma once

#include <atomic>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "locks/window_lock/gated_lock.hh"
#include "network/servers.hh"
#include "window/diag/observed.hh"
#include "window/sync/courtesy.hh"
#include "window/sync/epoch.hh"
#include "window/sync/held.hh"
#include "window/sync/rounds.hh"

namespace rmalock::window {

/// The calls of the flush family.
enum class Flush { target, local, all, local_all };

/// The third of a window's layers (window.hh).
class Epochs : public Observed {
  public:
    const locks::Choice& choice() const { return choice_; }

    Status lock(bool exclusive, Rank target, bool nocheck);
    Status unlock(Rank target);
    Status lock_all(bool nocheck);
    Status unlock_all();
    Status flush(Flush kind, Rank target);
    Status sync();

    Status fence(bool nosucceed);
    Status start(const int* group, int count, bool nocheck);
    Status complete();
    Status post(const int* group, int count, bool nocheck);
    Status wait();
    Status test(bool& done);

  protected:
    /// The window is left; the lock is never acquired.
    void abandon_deferred() {
        if (deferring_ == this)
            stop_deferring();
    }
    /// An origin's MPI_Win_complete has come as a message.
    void complete_by_message();
    Epochs(const rmalock_spec_t& spec, Segment segment, const Plan& plan,
           std::unique_ptr<network::Remote> remote);
    ~Epochs() = default;

    /// Whether the epoch that is open is for RMA calls to `target`. False: a longer look is needed.
    [[gnu::always_inline]] bool is_open_to(Rank target) {
        if (only_lock_ == target)
            return true;
        // Epochs that open every target; no other thread can close one while an RMA call is under
        // way, so a Guard would protect nothing.
        const Epoch epoch = epoch_.load(std::memory_order_relaxed);
        if (epoch == Epoch::locked_all || epoch == Epoch::fence)
            return true;
        if (epoch != Epoch::locked)
            return false;
        return threads_ ? opened_.load(std::memory_order_relaxed) == target
                        : held_.find(target) != nullptr;
    }
    [[gnu::always_inline]] Status check_epoch(const char* call, Rank target) {
        return is_open_to(target) ? RMALOCK_OK : check_epoch_in_full(call, target);
    }
    /// Whether an RMA call opens a fence epoch. One that fails behind check_epoch takes that back.
    bool may_open_fence() const {
        return epoch_.load(std::memory_order_relaxed) == Epoch::fence_maybe;
    }
    /// Something is held that a flush or unlock has to send.
    void leave_short_ways() {
        if (!fast_path_)
            return;
        materialize_fast_lock();
        flush_is_short_ = false;
    }
    void leave_fence() {
        Epoch opened = Epoch::fence;
        epoch_.compare_exchange_strong(opened, Epoch::fence_maybe, std::memory_order_relaxed);
    }
    /// Whether an exclusive lock of `target`, the only lock held, excludes everybody else. Only a
    /// window of one thread is sure that no other thread of this process is in the same epoch.
    bool has_alone(Rank target) const { return only_lock_ == target && only_exclusive_; }
    /// The checks of MPI_Win_free; from here on no epoch begins.
    Status end();

    // Deferred locks (deferred.cc).
    bool may_defer() const { return may_defer_; }
    bool is_deferred(Rank target) const { return deferred_ == target; }
    /// Acquires the lock that is deferred, and sends what was to go along with it.
    void acquire_deferred();
    // At home, for others.
    locks::SectionEntry enter_section(bool exclusive) { return lock_->enter_section(exclusive); }
    locks::SectionEnd leave_section(bool exclusive) { return lock_->leave_section(exclusive); }
    /// One of `origin` is over.
    void note_section(ucx::PeerId origin) {
        fabric_.parts().add({fabric_.part_of(rank()), fabric::WindowSlots::sections},
                            sections_ended_.ends_one(origin));
    }

  private:
    static constexpr char kLock[] = "MPI_Win_lock";

    std::unique_ptr<locks::WindowLock> make_lock(const Plan& plan);
    /// Moves the epoch on, or fails. The caller holds a Guard.
    Status advance(Event event, const char* call, Rank target = -1) {
        materialize_fast_lock();
        const Next next = transition(epoch_.load(std::memory_order_relaxed), event);
        if (next == kError) [[unlikely]]
            return wrong_epoch(call, target);
        epoch_.store(static_cast<Epoch>(next), std::memory_order_relaxed);
        // Elsewhere it never changes: with several threads, the short ways read it without a Guard.
        if (fast_path_)
            only_lock_ = static_cast<Epoch>(next) == Epoch::none ? kFastPathFree : kFastPathOff;
        return RMALOCK_OK;
    }
    [[gnu::noinline]] Status wrong_epoch(const char* call, Rank target) const;
    Status check_epoch_in_full(const char* call, Rank target);

    /// Debug parameter check_nocheck: reports when what the program promised to be free is not.
    /// Returns whether the lock need not be taken.
    bool trust_nocheck(const char* call, bool exclusive, Rank first, Rank end);
    [[gnu::noinline]] Status lock_any(bool exclusive, Rank target, bool nocheck);
    /// The second step of the only lock.
    [[gnu::noinline]] Status finish_lock(Rank target, bool exclusive, locks::Value seen);
    /// The lock that was taken by fast_path.hh, if one is held, becomes one like all others. What
    /// looks at epoch_ or held_ does this first.
    void materialize_fast_lock() {
        if (only_lock_ >= 0)
            materialize_fast_lock(only_lock_, only_exclusive_,
                                  locks::WordLock::alone(only_exclusive_));
    }
    [[gnu::noinline]] void materialize_fast_lock(Rank target, bool exclusive, locks::Hold hold);
    [[gnu::noinline]] Status unlock_any(Rank target);
    [[gnu::noinline]] Status flush_any(Flush kind, Rank target);
    [[gnu::noinline]] bool defers(bool exclusive, Rank target);
    void defer(Rank target);
    /// Whatever lock this process has deferred, in whichever window, before it acquires another one:
    /// it would acquire that one first else, and a program that takes locks in order could deadlock.
    /// Several threads have no order in common.
    void settle() {
        if (!threads_ && deferring_ != nullptr) [[unlikely]]
            deferring_->acquire_deferred();
    }
    void stop_deferring();
    network::SectionOutcome send_deferred(const HeldLock& mine, bool keeps);
    void go_on_with(HeldLock& mine, const network::SectionOutcome& outcome, bool kept);
    /// At the unlock of a lock that is deferred. False: it was acquired and released meanwhile, all
    /// operations done; else it is held now.
    [[gnu::noinline]] bool hold_deferred(HeldLock& mine);
    /// At a flush of its target: all operations are done. The rest may stay deferred, with the lock held.
    [[gnu::noinline]] void flush_deferred(bool local);
    /// At the end of a call that a program may make in a loop until another process has done
    /// something. That process may wait for what this one has begun by other calls of MPI, and where
    /// no thread does it, for what this one does for others. Both go on in each so-manieth call.
    void serve_others();
    /// The same in the calls of fast_path.hh.
    void count_quick_call() {
        if (--quick_calls_ == 0) [[unlikely]]
            count_quick_calls_anew();
    }
    static constexpr unsigned kQuickCalls = 512;
    [[gnu::noinline, gnu::cold]] void count_quick_calls_anew();
    static void run_host();
    bool goes_with_release(Rank target);
    /// Whether there are any: then courtesy, which looks for processes that hold the lock for longer,
    /// would wait for what it does not see.
    bool let_sections_in(Rank target);
    locks::Hold acquire(Rank target, bool exclusive);
    [[gnu::noinline]] locks::Hold acquire_late(Rank target, bool exclusive);
    void release(Rank target, bool exclusive, locks::Hold hold);

    const bool check_nocheck_;
    std::atomic<unsigned> calls_{0};     ///< see serve_others; relaxed: may be miscounted
    unsigned quick_calls_ = kQuickCalls; ///< left; of one thread, or there would be none
    const locks::Choice choice_;
    std::optional<locks::WordLock> word_lock_; ///< none: another one is made
    const std::unique_ptr<locks::WindowLock> made_lock_;
    locks::WindowLock* const lock_; ///< whichever it is
    std::optional<network::Servers::Entry> served_;
    /// It is word_lock_, and all there is to a lock is to acquire it (fast_path.hh).
    const bool fast_path_;
    bool flush_is_short_ = fast_path_; ///< nothing is held (HeldBack)

    const bool courteous_; ///< several nodes, one thread
    Courtesy courtesy_;
    RoundsOfOthers rounds_of_others_;
    SectionsEnded sections_ended_;
    // Under Guard.
    /// Written under Guard. Relaxed: a thread that reads it without one is in an RMA call or a flush,
    /// and the program orders those behind the call that opened the epoch.
    std::atomic<Epoch> epoch_{Epoch::none};
    /// What the short ways need to know: the target, if fast_path.hh has taken a lock and nothing
    /// has happened since that they do not look after; or whether one may be taken there. Neither
    /// is a rank, but a program can pass these numbers as one: Open MPI does not check that of a
    /// flush.
    static constexpr Rank kFastPathFree = std::numeric_limits<Rank>::min(),
                          kFastPathOff = kFastPathFree + 1, kFastPathShut = kFastPathFree + 2;
    Rank only_lock_;
    /// What only_lock_ is where fast_path.hh may take a lock. While a lock of this process is
    /// deferred that is what it never is.
    static Rank fast_path_free_;
    bool only_exclusive_ = false; ///< while it is a target
    HeldLocks held_;
    // Only in processes of one thread.
    static Epochs* deferring_; ///< the window of this process that has deferred a lock, at most one
    const bool may_defer_;
    Rank deferred_ = -1; ///< the target whose lock is
    bool kept_ = false;  ///< it is held, and what is deferred is its end
    /// So many locks are acquired at once, because one that was deferred was not free; and the next
    /// time.
    unsigned at_once_ = 0, next_at_once_ = 1;
    /// With several threads, which look at held_ under a Guard: a target in it, the last one that
    /// was looked for; or -1. Written under Guard. Relaxed: a thread that finds another one looks at
    /// held_, and none unlocks the target while another is in a call to it.
    std::atomic<Rank> opened_{-1};
    bool all_nocheck_ = false;       ///< the open lock_all acquired nothing
    std::vector<bool> access_group_; ///< started: by rank
    std::vector<Rank> targets_;      ///< started: the same, as a list
    bool exposed_ = false;           ///< between post and wait
    std::size_t origins_ = 0;        ///< exposed: how many completes to wait for
};

} // namespace rmalock::window
