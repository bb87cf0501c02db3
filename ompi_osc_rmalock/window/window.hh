// One MPI window in one process: its memory, its epochs, its lock.
//
// passive.cc: lock … flush; active.cc: fence and post/start/complete/wait; access.cc: put and get;
// accumulate.cc: the accumulate family; window.cc: creation and the checks all of them share.
#pragma once

#include <atomic>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "fabric/hybrid.hh"
#include "locks/parts/passing_ticket.hh"
#include "locks/parts/ticket.hh"
#include "locks/window_lock/registered.hh"
#include "rmalock_api.h"
#include "window/diag/counts.hh"
#include "window/sync/courtesy.hh"
#include "window/sync/epoch.hh"
#include "window/sync/held.hh"
#include "window/data/kernels.hh"
#include "window/create/memory.hh"
#include "network/message.hh"
#include "network/neighbours.hh"
#include "window/create/plan.hh"
#include "window/data/regions.hh"
#include "network/remote.hh"
#include "window/create/segment.hh"
#include "window/data/stores.hh"
#include "window/diag/watch.hh"

namespace rmalock::window {

using Status = rmalock_status_t;

/// The calls of the flush family.
enum class Flush { target, local, all, local_all };

class Window final : public network::MessageSink {
  public:
    /// Collective. All processes get a window, or none does.
    static Status create(const rmalock_spec_t& spec, std::unique_ptr<Window>& window);
    Status free();

    /// This process's memory; null: it has none.
    void* base() const { return base_of(part(rank())); }
    Status shared_query(Rank rank, std::size_t& size, int& disp_unit, void*& base) const;
    Status attach(void* base, std::size_t size);
    Status detach(const void* base);
    const locks::Choice& choice() const { return choice_; }
    /// Whether the rank is on another node.
    bool is_far(Rank rank) const { return !fabric_.same_node(rank); }
    void wait_for(const ucx::Completion& completion);
    rmalock_counters_t counters() const;
    /// A call that its caller has found wrong.
    Status refuse(Status status, const char* call, Rank target, const char* what) const {
        return fail(status, call, target, "%s", what);
    }

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

    /// Put and get. `completion` may be null; it is done when the operation is complete at this
    /// side.
    Status transfer(Direction direction, const char* call, Rank target, std::ptrdiff_t displacement,
                    const rmalock_layout_t& origin_side, const rmalock_layout_t& target_side,
                    ucx::Completion* completion);
    /// See rmalock_at_hand.
    std::byte* at_hand(Direction direction, Rank target, std::ptrdiff_t displacement,
                       std::ptrdiff_t offset, std::size_t bytes);
    std::byte* elements_at_hand(Rank target, std::ptrdiff_t displacement, std::size_t bytes);
    /// Of the target's elements, for the accumulate that this process begins. An exclusive lock
    /// excludes all others, those of other nodes, too: their unlock has waited for theirs. Only a
    /// window of one thread is sure that no other thread of this process accumulates in the same
    /// epoch.
    Sharing sharing(Rank target) {
        if (only_lock_ != target || !only_exclusive_)
            return Sharing::shared;
        order(Direction::put); // its stores are plain ones
        return Sharing::alone;
    }
    /// Where the caller may copy itself, or null; see rmalock_find_memory.
    Status find_memory(Direction direction, const char* call, Rank target,
                       std::ptrdiff_t displacement, std::ptrdiff_t low, std::ptrdiff_t high,
                       void*& memory);
    /// One contiguous range at `origin`, and at `offset` bytes from the displacement.
    Status transfer_plain(Direction direction, const char* call, Rank target,
                          std::ptrdiff_t displacement, std::ptrdiff_t offset, void* origin,
                          std::size_t bytes, ucx::Completion* completion);
    Status accumulate(const char* call, Rank target, std::ptrdiff_t displacement,
                      const rmalock_combination_t& what);
    Status compare_and_swap(Rank target, std::ptrdiff_t displacement, std::size_t size,
                            const void* compare, const void* desired, void* result);

    // As the network sees it. False from apply(): the accumulate lock is taken.
    bool apply(const network::MessageHeader& header, std::span<const std::byte> data,
               std::vector<std::byte>& result) override;
    std::string flaw_of(ucx::PeerId from, const network::MessageHeader& header,
                        std::span<const std::byte> data) const override;
    void wake_neighbours() override { fabric_.wake(rank()); }

  private:
    static constexpr char kLock[] = "MPI_Win_lock";
    using AccumulateLock = locks::PassingTicket<locks::WindowFabric>;
    using AccumulateQueue = locks::Ticket<locks::WindowFabric>;

    /// Locks the epoch state where several threads may call. Never held while waiting.
    class Guard {
      public:
        explicit Guard(const Window& window) : mutex_(window.threads_ ? &window.mutex_ : nullptr) {
            if (mutex_ != nullptr)
                mutex_->lock();
        }
        ~Guard() {
            if (mutex_ != nullptr)
                mutex_->unlock();
        }
        Guard(const Guard&) = delete;
        Guard& operator=(const Guard&) = delete;

      private:
        std::mutex* mutex_;
    };

    /// Holds the target's accumulate lock for a scope. Both locks are fair: a process that spins on
    /// an element must not keep out the one that it waits for.
    ///
    /// Where CPUs do the atomics, a handler of messages wants the lock, too, and cannot wait
    /// (apply): a released lock lies free, and running processes pass waiters that do not run, a
    /// bounded number of times. Where adapters do, everybody takes it for every accumulate over the
    /// network, and it is handed over without a further round trip.
    class AccumulateGuard {
      public:
        AccumulateGuard(Window& window, Rank target)
            : window_(window), target_(target),
              hold_(window.cpu_atomics() ? window.accumulate_lock_.acquire_exclusive(target)
                                         : window.accumulate_queue_.acquire_exclusive(target)) {}
        ~AccumulateGuard() {
            if (window_.cpu_atomics())
                window_.accumulate_lock_.release_exclusive(target_, hold_);
            else
                window_.accumulate_queue_.release_exclusive(target_, hold_);
        }
        AccumulateGuard(const AccumulateGuard&) = delete;
        AccumulateGuard& operator=(const AccumulateGuard&) = delete;

      private:
        Window& window_;
        Rank target_;
        locks::Hold hold_;
    };

    Window(const rmalock_spec_t& spec, Segment segment, const Plan& plan,
           std::unique_ptr<network::Remote> remote);

    static Status open_file(const rmalock_spec_t& spec, const Plan& plan,
                            std::unique_ptr<SegmentFile>& file, OpenFile& opened, int& error);
    static Status join(const rmalock_spec_t& spec, const Plan& plan, network::Remote* remote,
                       const Segment& segment, int error);
    /// Says at verbose levels what was chosen.
    void announce(const Plan& plan) const;
    std::unique_ptr<Watch> watch(const rmalock_spec_t& spec, const Plan& plan) const;
    /// For the watchdog, for a scope: this process waits for what is no lock.
    std::unique_ptr<Watch::Await> awaiting(Lock what) const;
    /// Collective: says what the window was used for.
    Status sum_up() const;
    Status agree_to_end() const;
    std::unique_ptr<locks::WindowLock> make_lock(const Plan& plan);

    /// Reports "window …, rank …, <call>[ to rank …]: <what>" and returns `status`.
    __attribute__((format(printf, 5, 6))) Status fail(Status status, const char* call, Rank target,
                                                      const char* format, ...) const;
    /// Moves the epoch on, or fails. The caller holds a Guard.
    Status advance(Event event, const char* call, Rank target = -1) {
        spell_out();
        const Next next = transition(epoch_.load(std::memory_order_relaxed), event);
        if (next == kError) [[unlikely]]
            return wrong_epoch(call, target);
        epoch_.store(static_cast<Epoch>(next), std::memory_order_relaxed);
        // Elsewhere it never changes: with several threads, the short ways read it without a Guard.
        if (plain_)
            only_lock_ = static_cast<Epoch>(next) == Epoch::none ? kMayLock : kAskFurther;
        return RMALOCK_OK;
    }
    [[gnu::noinline]] Status wrong_epoch(const char* call, Rank target) const;

    /// What every RMA call checks first: whether it fits the epoch (a fence epoch is opened if need
    /// be), and where the displacement is. The call touches the bytes [low, high) from there, or
    /// those of `side`, if given; it fails if they reach outside the target's memory.
    Status access(const char* call, Rank target, std::ptrdiff_t displacement, std::ptrdiff_t low,
                  std::ptrdiff_t high, Place& place, const rmalock_layout_t* side = nullptr);
    /// Whether the epoch that is open is for RMA calls to `target`. False: a longer look is needed.
    bool is_open_to(Rank target);
    Status check_epoch(const char* call, Rank target);
    Status check_epoch_in_full(const char* call, Rank target);
    bool locate(Rank target, std::ptrdiff_t displacement, std::ptrdiff_t low, std::ptrdiff_t high,
                Place& place) const;
    /// DYNAMIC: whether the bytes of `side` from the address `displacement`, or [low, high) from
    /// it, are attached at the target.
    bool attached(Rank target, std::ptrdiff_t displacement, std::ptrdiff_t low, std::ptrdiff_t high,
                  const rmalock_layout_t* side);
    Status out_of_range(const char* call, Rank target, std::ptrdiff_t displacement,
                        std::ptrdiff_t low, std::ptrdiff_t high) const;
    /// A copy that reports what failed. Across the network it is only begun.
    Status move(Direction direction, const char* call, Rank target,
                const rmalock_layout_t& origin_side, const rmalock_layout_t& target_side,
                const Place& place, ucx::Completion* completion = nullptr);
    [[gnu::noinline]] Status move_plain(Direction direction, const char* call, Rank target,
                                        std::ptrdiff_t offset, const void* origin,
                                        std::size_t bytes, const Place& place,
                                        ucx::Completion* completion);
    /// The same, complete on return.
    Status move_and_wait(Direction direction, const char* call, Rank target,
                         const rmalock_layout_t& origin_side, const rmalock_layout_t& target_side,
                         const Place& place);
    Status move_far(Direction direction, const char* call, Rank target,
                    const rmalock_layout_t& origin_side, const rmalock_layout_t& target_side,
                    const Place& place, ucx::Completion* completion);
    /// What this process has begun at a target, or at all, is complete there.
    void complete_at(Rank target);
    bool goes_with_release(Rank target);
    void complete_everywhere();
    /// DYNAMIC: what others have attached may have changed.
    void renew_regions() {
        if (regions_ != nullptr)
            regions_->renew();
    }
    /// This process is about to store to memory of this node, or to load from it.
    void order(Direction direction) {
        if (!threads_)
            direction == Direction::put ? stores.begun() : stores.before_load();
    }
    /// A flush, as far as this node is concerned.
    void finish_stores() { threads_ ? fabric::full_fence() : stores.flushed(); }

    /// Whether CPUs do all atomics on window memory, or the accumulate lock guards them.
    bool cpu_atomics() const { return fabric_.domain() == fabric::Domain::cpu; }
    void send_accumulate(Rank target, const rmalock_combination_t& what, const Place& place);
    void send_compare_and_swap(Rank target, std::size_t size, const void* compare,
                               const void* desired, void* result, const Place& place);
    void apply_run(const network::MessageHeader& header, std::byte* place, std::size_t count,
                   std::span<const std::byte>& data, std::vector<std::byte>& result);
    [[gnu::noinline]] void combine_misaligned(const rmalock_combination_t& what, Rank target,
                                              std::byte* theirs, const Elements& mine,
                                              std::size_t bytes);
    Status accumulate_locked(const char* call, Rank target, const rmalock_combination_t& what,
                             const Place& place);

    Status compare_and_swap_locked(const char* call, Rank target, std::size_t size,
                                   const void* compare, const void* desired, void* result,
                                   const Place& place);

    const char* name() const { return *name_ != '\0' ? name_ : label_.c_str(); }
    /// Debug parameter check_nocheck: reports when what the program promised to be free is not.
    /// Returns whether the lock need not be taken.
    bool trust_nocheck(const char* call, bool exclusive, Rank first, Rank end);
    [[gnu::noinline]] Status lock_any(bool exclusive, Rank target, bool nocheck);
    /// The second step of the only lock.
    [[gnu::noinline]] Status finish_lock(Rank target, bool exclusive, locks::Value seen);
    /// The lock that was taken by plain.hh, if one is held, becomes one like all others. What looks
    /// at epoch_ or held_ does this first.
    void spell_out() {
        if (only_lock_ >= 0)
            spell_out(only_lock_, only_exclusive_, locks::PlainLock::alone(only_exclusive_));
    }
    [[gnu::noinline]] void spell_out(Rank target, bool exclusive, locks::Hold hold);
    [[gnu::noinline]] Status unlock_any(Rank target);
    [[gnu::noinline]] Status flush_any(Flush kind, Rank target);
    /// Where no thread does it, others are served by the calls of this process. One that loops on
    /// words of its own node waits in none of them, so every so-manieth looks for what they want.
    void serve_others();
    // The window's lock, observed (observe.hh).
    template <class Acquire>
    void observe(Lock lock, Acquire acquire);
    locks::Hold acquire(Rank target, bool exclusive);
    void acquire_all();
    void release(Rank target, bool exclusive, locks::Hold hold);
    void release_all();

    Rank rank() const { return comm_.rank; }
    const Part& part(Rank rank) const { return parts_[rank]; }
    void* base_of(const Part& part) const;

    const char* const name_; ///< the program's, may be empty and may change
    const std::string label_;
    const rmalock_flavor_t flavor_;
    const rmalock_comm_t comm_;
    const bool threads_;
    const bool check_nocheck_;

    Segment segment_;
    Part* const parts_;                                     ///< in the segment, one per rank
    const std::unique_ptr<network::Remote> remote_;         ///< null: the window needs no network
    std::atomic<unsigned> calls_unserved_{0};               ///< see serve_others
    const std::unique_ptr<network::Neighbours> neighbours_; ///< where there is a network
    locks::WindowFabric fabric_;
    const locks::Choice choice_;
    std::optional<locks::PlainLock> plain_lock_; ///< none: another one is made
    const std::unique_ptr<locks::WindowLock> made_lock_;
    locks::WindowLock* const lock_; ///< whichever it is
    /// It is plain_lock_, and all there is to a lock is to acquire it (plain.hh).
    const bool plain_;
    AccumulateLock accumulate_lock_;   ///< see AccumulateGuard; its word …
    AccumulateQueue accumulate_queue_; ///< … is this one's, too: a window uses one of them
    Acquisitions acquisitions_;
    const bool summary_;           ///< a line at the end is wanted
    std::unique_ptr<Watch> watch_; ///< null: no watchdog

    const bool courteous_; ///< several nodes, one thread
    Courtesy courtesy_;
    mutable std::mutex mutex_;              ///< see Guard; protects what follows
    std::atomic<Epoch> epoch_{Epoch::none}; ///< written under Guard
    /// What the short ways need to know: the target, if plain.hh has taken a lock and nothing has
    /// happened since that they do not look after; or whether one may be taken there. Neither is a
    /// rank, but a program can pass these numbers as one: Open MPI does not check that of a flush.
    static constexpr Rank kMayLock = std::numeric_limits<Rank>::min(), kAskFurther = kMayLock + 1;
    Rank only_lock_;
    bool only_exclusive_ = false; ///< while it is a target
    HeldLocks held_;
    bool all_nocheck_ = false;         ///< the open lock_all acquired nothing
    std::vector<bool> access_group_;   ///< started: by rank
    std::vector<Rank> targets_;        ///< started: the same, as a list
    std::unique_ptr<Regions> regions_; ///< DYNAMIC: what is attached, here and elsewhere
    bool exposed_ = false;             ///< between post and wait
    std::size_t origins_ = 0;          ///< exposed: how many completes to wait for
};

} // namespace rmalock::window
