// How a process gets at elements of targets on its node: a mark for single ones, the target's
// accumulate lock for arrays and for what no CPU atomic can do.
#pragma once

#include <atomic>
#include <cstddef>
#include <numeric>
#include <vector>

#include "locks/parts/element_marks.hh"
#include "locks/parts/passing_ticket.hh"
#include "locks/parts/ticket.hh"
#include "locks/window_lock/window_lock.hh"
#include "window/create/held_accumulates.hh"
#include "window/create/plan.hh"
#include "window/data/kernels.hh"
#include "window/data/thread_number.hh"

namespace rmalock::window {

/// What an accumulate changes.
struct ElementAmount {
    std::size_t count, bytes; ///< elements, and their bytes
    bool atomics;             ///< there are CPU atomics for the type
    bool by_mark;             ///< they fit all of them, so that a mark may be enough
};

class ElementLock final : public ElementGate {
  public:
    using Mark = fabric::CpuFabric::Own;

    ElementLock(locks::WindowFabric& fabric, const Plan& plan, bool threads)
        : fabric_(fabric), parts_(fabric.parts()), node_(parts_of(plan)),
          far_lock_(fabric, Slots::accumulate), near_lock_(parts_, Slots::accumulate),
          queue_(fabric, Slots::accumulate),
          marks_(parts_, {Slots::arrays, Slots::marks, plan.mark_lines(),
                          threads ? kNumberedThreads : 1, plan.node_fence(), node_}),
          has_own_mark_(plan.node_fence() && !threads && plan.hosts() == 1 && cpu_atomics()),
          threads_(threads) {}
    ElementLock(const ElementLock&) = delete;
    ElementLock& operator=(const ElementLock&) = delete;

    /// The caller may change elements by the kernels for shared ones, until end; null: under the
    /// lock.
    [[gnu::noinline]] Mark begin(Rank target) {
        return cpu_atomics() ? marks_.begin(fabric_.part_of(target), threads_ ? thread_number() : 0)
                             : nullptr;
    }
    /// The same for what serves other nodes, which may be another thread.
    Mark begin_beside(Rank target) { return marks_.begin_beside(fabric_.part_of(target)); }
    /// Whether the process has a mark that no other thread sets, and CPUs do the atomics, all on one
    /// node: then begin_by_own_mark does the same.
    bool has_own_mark() const { return has_own_mark_; }
    [[gnu::always_inline]] Mark begin_by_own_mark(Rank target) {
        return marks_.begin_first(target);
    }
    [[gnu::always_inline]] void end(Mark mark) { marks_.end(mark); }
    /// Whether single elements are under the lock by now.
    bool raised(Rank target) { return marks_.raised(fabric_.part_of(target)); }

    /// Whether an array of `bytes` bytes is to be changed by plain loops, even if that has to raise
    /// the target's word first. Atomics cost 1 ns a byte more; so it is by the time they have cost
    /// what that costs (locks/parts/element_marks.hh), over several arrays.
    bool worth_raising(std::size_t bytes) {
        const std::size_t paid = paid_.load(std::memory_order_relaxed) + bytes;
        const bool worth = paid >= kBytesWorthRaising;
        paid_.store(worth ? 0 : paid, std::memory_order_relaxed);
        return worth;
    }

    /// The target's accumulate lock. Both are fair: a process that spins on an element must not
    /// keep out the one that it waits for.
    ///
    /// Where CPUs do the atomics, a handler of messages wants the lock, too, and cannot wait
    /// (Accesses::apply_message): a released lock lies free, and running processes pass waiters
    /// that do not run, a bounded number of times. Where adapters do, everybody takes it for every
    /// accumulate over the network, and it is handed over without a further round trip.
    locks::Hold lock(Rank target) {
        if (!is_near(target))
            return lock_elsewhere(target);
        lock_near(target);
        return {};
    }
    void unlock(Rank target, locks::Hold hold) {
        is_near(target) ? unlock_near(target) : unlock_elsewhere(target, hold);
    }

    // Of targets on this node, where CPUs do the atomics.

    void lock_near(Rank target) override {
        near_lock_.acquire_exclusive(fabric_.part_of(target));
    }
    /// Where nobody may wait (the handler of a message).
    bool try_lock_near(Rank target) override {
        return near_lock_.try_acquire_exclusive(fabric_.part_of(target));
    }
    void unlock_near(Rank target) override {
        near_lock_.release_exclusive(fabric_.part_of(target), {});
    }

    // Under that lock.

    /// How an array may be changed: not alone only if `few`, and nobody has raised the word.
    Sharing exclude(Rank target, bool few) {
        if (few && !raised(target))
            return Sharing::shared;
        marks_.exclude(fabric_.part_of(target));
        return Sharing::alone;
    }
    /// As exclude, where nobody may wait; false: somebody is at work.
    bool try_exclude(Rank target, bool few, Sharing& sharing) {
        sharing = few && !raised(target) ? Sharing::shared : Sharing::alone;
        return sharing == Sharing::shared || marks_.try_exclude(fabric_.part_of(target));
    }
    void count_single(Rank target) { marks_.count_single(fabric_.part_of(target)); }

  private:
    using Slots = fabric::WindowSlots;
    static_assert(kNumberedThreads < Slots::kMarkLines, "some are for handlers of messages");
    static constexpr std::size_t kBytesWorthRaising = 4096;

    bool cpu_atomics() const { return fabric_.domain() == fabric::Domain::cpu; }
    bool is_near(Rank target) const { return cpu_atomics() && fabric_.same_node(target); }
    /// Not inline, as what comes then takes the network's time.
    [[gnu::noinline]] locks::Hold lock_elsewhere(Rank target) {
        return cpu_atomics() ? far_lock_.acquire_exclusive(target)
                             : queue_.acquire_exclusive(target);
    }
    [[gnu::noinline]] void unlock_elsewhere(Rank target, locks::Hold hold) {
        cpu_atomics() ? far_lock_.release_exclusive(target, hold)
                      : queue_.release_exclusive(target, hold);
    }
    static std::vector<Rank> parts_of(const Plan& plan) {
        std::vector<Rank> parts(plan.members().size());
        std::iota(parts.begin(), parts.end(), 0);
        return parts;
    }

    locks::WindowFabric& fabric_;
    fabric::CpuFabric parts_;
    const std::vector<Rank> node_; ///< of all processes here: their parts
    // A window uses the first two of these, on the same words, or the third.
    locks::PassingTicket<locks::WindowFabric> far_lock_;
    locks::PassingTicket<fabric::CpuFabric> near_lock_;
    locks::Ticket<locks::WindowFabric> queue_;
    locks::ElementMarks<fabric::CpuFabric> marks_;
    const bool has_own_mark_, threads_;
    /// Bytes of arrays by atomics since the last raise. Relaxed: threads may count past each other.
    std::atomic<std::size_t> paid_{0};
};

} // namespace rmalock::window
