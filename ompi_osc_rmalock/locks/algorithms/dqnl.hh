// DQNL: a distributed queue that processes enter by compare-and-swaps, without a shared mode.
//
// A. Devulapalli, P. Wyckoff: "Distributed Queue-based Locking using Advanced Network Features", ICPP
// 2005; as S. Narravula et al. describe it: "High Performance Distributed Lock Management Services
// using Network-based Remote Atomic Operations", CCGrid 2007, section 2.2.2. For comparison.
//
// Words: TAIL of target t at t (atomic), and a stand-in; NEXT and STATUS in each qnode (mailbox).
// See mcs_queue.hh.
//
//    acquire   pred = 0;  until CAS(TAIL, pred -> me) == pred: pred = what it found     2.2.2
//              if pred: PUT(pred.NEXT, me);  await STATUS != 0
//    release   succ = GET(NEXT)
//              if !succ: if CAS(TAIL, me -> 0) == me: return;  succ = await NEXT
//              PUT(succ.STATUS, GRANTED)
//
// Deviations from the paper
//   D1  A request and a grant are messages there, between daemons of the nodes. Here each is a put
//       into a word that its receiver looks at.
//   D2  A name is that of a qnode instead of a process, so that a process can be in the queues
//       of many targets.
//   D3  Qnodes are clean while free (mcs_queue.hh).
//
// Overtaking: none by those that stand in the queue. But to enter it takes as many attempts as others
// come in between: under contention a process may try for ever. d_mcs.hh is the same queue with a
// swap in place of the loop.
//
// Cost off node: acquire 1 atomic = 1 round trip if the lock is free, 2 at least if it is not, and a
// posted put more; release 1 atomic = 1 round trip if there is no successor, else 1 posted put.
// Memory: 3 words per target, and the qnodes (qnodes.hh).
#pragma once

#include "locks/lock_env.hh"
#include "locks/parts/mcs_queue.hh"

namespace rmalock::locks {

/// Its words at home; those of a qnode are McsQueueWords.
struct DqnlWords {
    /// TAIL: the last of the queue, 0 if it is empty. A process comes by a compare-and-swap of what
    /// it found. So no two have the same one before them, and one that finds 0 owns the lock.
    static constexpr Slot kTail = 0;
    /// The stand-in, a qnode of which NEXT and STATUS are used.
    static constexpr Slot kStandIn = 1, kHomeSlots = kStandIn + 2;
};

template <fabric::Fabric F>
class Dqnl : private DqnlWords {
  public:
    static constexpr LockTraits kTraits{
        .name = "dqnl", .shared = false, .needs = {.queue_nodes = true}};

    static Footprint footprint(const MachineView&) { return {.home = kHomeSlots}; }
    static LockLimits limits(const Thresholds&, const MachineView&) { return {}; }

    explicit Dqnl(const LockEnv<F>& env)
        : fabric_(env.fabric), queue_(env.fabric), home_(env.home), qnodes_(env.qnodes) {}

    Hold acquire_exclusive(Rank target) {
        const Word qnode = qnodes_.take(fabric_), last = tail(target);
        if (queue_.follow(enter(last, name_of(qnode)), qnode))
            queue_.await_and_take_status(qnode);
        return {name_of(queue_.kept(qnodes_, last, qnode, field(last, kStandIn)))};
    }

    void release_exclusive(Rank target, Hold hold) {
        const Word qnode = qnode_of(hold.opaque);
        if (const Value succ = queue_.step_out(qnodes_, tail(target), qnode); succ != 0) {
            queue_.notify(succ, McsQueueWords::kGranted);
            fabric_.handed_over(qnode_of(succ).rank);
        }
    }

    Hold acquire_shared(Rank target) { return acquire_exclusive(target); }
    void release_shared(Rank target, Hold hold) { release_exclusive(target, hold); }

    /// For diagnosis: whether an acquire would have to wait now.
    bool is_taken(Rank target, bool) { return fabric_.get(tail(target)) != 0; }

  private:
    Word tail(Rank target) const { return {target, home_ + kTail}; }

    /// Returns the name that `own` has replaced.
    Value enter(Word last, Value own) {
        const auto mark = fabric_.mark();
        for (Value guess = 0;;) {
            const Value found = fabric_.compare_swap(last, guess, own);
            if (found == guess)
                return found;
            guess = found;
            fabric_.rewind(mark, guess);
        }
    }

    F& fabric_;
    McsQueue<F> queue_;
    Slot home_;
    QueueNodes& qnodes_;
};

} // namespace rmalock::locks
