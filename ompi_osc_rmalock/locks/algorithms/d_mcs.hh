// D-MCS: one queue per target; waiters spin on a word of their own.
//
// P. Schmid, M. Besta, T. Hoefler: "High-Performance Distributed RMA Locks", HPDC 2016, section
// 2.4, Listings 2 (acquire) and 3 (release).
//
// Words: TAIL of target t at t (atomic), and a stand-in; NEXT and STATUS in each qnode (mailbox).
// See mcs_queue.hh.
//
//    acquire   pred = SWAP(TAIL, me)                                              L2: 6-7
//              if pred: PUT(pred.NEXT, me);  await STATUS != 0                    L2: 8-14
//    release   succ = GET(NEXT)                                                   L3: 2
//              if !succ: if CAS(TAIL, me -> 0) == me: return;  succ = await NEXT  L3: 3-12
//              PUT(succ.STATUS, GRANTED)                                          L3: 14
//
// Deviations from the paper
//   D1  Listing 2 sets STATUS and spins on WAIT; both are STATUS here, and inverted: 0 waits.
//   D2  Qnodes are clean while free, instead of being prepared by lines 3-4 (see mcs_queue.hh).
//   D3  A process has many qnodes, so that it can be in the queues of many targets.
//   D4  The hand-over is posted and not flushed: only its waiter looks for it.
//   D5  There is no shared mode: shared acquires queue like exclusive ones.
//
// Overtaking: none. A process that has swapped TAIL comes after those before it, and no others.
//
// Cost off node: acquire 1 atomic = 1 round trip, contended a posted put more; release 1 atomic = 1
// round trip if there is no successor, else 1 posted put. Waiters read their own memory.
// Memory: 3 words per target, and the qnodes (qnodes.hh).
#pragma once

#include "locks/lock_env.hh"
#include "locks/parts/mcs_queue.hh"

namespace rmalock::locks {

/// Its words at home; those of a qnode are McsQueueWords.
struct DMcsWords {
    /// TAIL: the last of the queue, 0 if it is empty. A process comes by one swap. So no two have
    /// the same one before them, and one that finds 0 owns the lock.
    static constexpr Slot kTail = 0;
    /// The stand-in, a qnode of which NEXT and STATUS are used.
    static constexpr Slot kStandIn = 1, kHomeSlots = kStandIn + 2;
};

template <fabric::Fabric F>
class DMcs : private DMcsWords {
  public:
    static constexpr LockTraits kTraits{
        .name = "d_mcs", .shared = false, .needs = {.queue_nodes = true}};

    static Footprint footprint(const MachineView&) { return {.home = kHomeSlots}; }
    static LockLimits limits(const Thresholds&, const MachineView&) { return {}; }

    explicit DMcs(const LockEnv<F>& env)
        : fabric_(env.fabric), queue_(env.fabric), home_(env.home), qnodes_(env.qnodes) {}

    Hold acquire_exclusive(Rank target) {
        const Word qnode = qnodes_.take(fabric_), last = tail(target);
        if (queue_.join(last, qnode))
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

    F& fabric_;
    McsQueue<F> queue_;
    Slot home_;
    QueueNodes& qnodes_;
};

} // namespace rmalock::locks
