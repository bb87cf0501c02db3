// The queue of MCS locks, which D-MCS, RMA-MCS, RMA-RW and the phase-fair lock have in common.
//
// J. M. Mellor-Crummey, M. L. Scott: "Algorithms for Scalable Synchronization on Shared-Memory
// Multiprocessors", TOCS 1991; over remote memory as in Listings 2 and 3 of P. Schmid, M. Besta,
// T. Hoefler: "High-Performance Distributed RMA Locks", HPDC 2016.
//
//     TAIL    name of the last qnode, 0 if the queue is empty                      atomic
//     NEXT    of a qnode: name of the qnode behind it                              mailbox
//     STATUS  of a qnode: what its predecessor says to it, 0 until it has          mailbox
//
//    join    pred = SWAP(TAIL, me);  if pred: PUT(pred.NEXT, me)
//    leave   if CAS(TAIL, me -> 0) == me: alone;  else await NEXT
//
//    move_hold   by the first of the queue:                    // where its qnodes are scarce
//                if CAS(TAIL, me -> stand-in) != me: PUT(stand-in.NEXT, await NEXT)
//                PUT(stand-in.STATUS, STATUS);  flush
//
// A qnode is all zero while it is in no queue. So a join needs no writes before its swap, and
// nobody waits for the flush that would have to order them: the reader of a NEXT or STATUS that is
// not 0 clears it before the qnode can be used again. No late put can hit the qnode afterwards: its
// predecessor wrote STATUS once and its successor NEXT once, and both were seen before.
//
// A stand-in is a qnode beside TAIL, which only the first of the queue uses. So a process that
// holds many locks needs no qnode for each. K42's MCS lock keeps the first place in the lock
// itself, for another purpose (M. L. Scott: "Shared-Memory Synchronization", 2013, section 4.3). A
// stand-in is clean, and flushed, before its user lets the next one in. A release by way of a
// stand-in off the node polls there if a successor has swapped TAIL and not yet shown itself.
#pragma once

#include "locks/parts/qnodes.hh"

namespace rmalock::locks {

/// Of a qnode. Beside each: what it promises, and the race that it settles.
struct McsQueueWords {
    /// NEXT: the one behind, which waits. It writes this once, after its swap of TAIL. So an owner
    /// that leaves and finds TAIL swapped waits for it.
    static constexpr Slot kNext = 0;
    /// STATUS: the queue is its owner's now. The one before writes this once, never 0, and nothing
    /// later. So a qnode whose owner has seen both is clean once it has cleared them.
    static constexpr Slot kStatus = 1;
    /// STATUS of a lock that has no more to say.
    static constexpr Value kGranted = 1;
};

template <fabric::Fabric F>
class McsQueue : private McsQueueWords {
  public:
    explicit McsQueue(F& fabric) : fabric_(fabric) {}

    /// Puts `qnode` behind the others. Returns whether there are any, of which one will write its
    /// STATUS.
    bool join(Word tail, Word qnode) { return follow(fabric_.swap(tail, name_of(qnode)), qnode); }

    /// The same, and gets of the home's words from slot `first` on behind the swap.
    bool join(Word tail, Word qnode, Slot first, std::span<Value> out) {
        return follow(fabric_.fetch_then_get(Rmw::swap(tail, name_of(qnode)), first, out), qnode);
    }

    /// What the predecessor says. STATUS keeps it until somebody takes it.
    Value await_status(Word qnode) {
        return fabric_.await(field(qnode, kStatus), fabric::differs(0));
    }

    /// What the predecessor said, 0 if there was none.
    Value take_status(Word qnode) { return taken(qnode, fabric_.get(field(qnode, kStatus))); }

    Value await_and_take_status(Word qnode) { return taken(qnode, await_status(qnode)); }

    /// The qnode behind `qnode` if it has shown itself, else 0.
    Value next(Word qnode) { return seen(qnode, fabric_.get(field(qnode, kNext))); }

    /// Takes `qnode`, which showed no successor, out of the queue. Returns 0 if it was the last,
    /// else the successor, which had swapped TAIL but not yet shown itself. `key`: what TAIL has
    /// beside a name.
    Value leave(Word tail, Word qnode, Value key = 0) {
        const Value last = fabric_.compare_swap(tail, key | name_of(qnode), 0);
        return successor(qnode, last & kNameMask);
    }

    /// Where the first of the queue, which stands at `qnode`, is to stand while it holds the lock.
    Word kept(QueueNodes& qnodes, Word tail, Word qnode, Word stand_in, Value key = 0) {
        if (!qnodes.spared(qnode)) [[likely]]
            return qnode;
        move_hold(tail, qnode, stand_in, key);
        qnodes.give(qnode);
        return stand_in;
    }

    /// For the first of the queue when it has left it, and before it lets the next one in.
    void give_back(QueueNodes& qnodes, Word qnode) {
        if (qnodes.own(qnode)) [[likely]]
            qnodes.give(qnode);
        else
            fabric_.flush(qnode.rank);
    }

    /// Takes the holder's `qnode` out of the queue and gives it back. Returns the successor, which
    /// is to be told, or 0.
    Value step_out(QueueNodes& qnodes, Word tail, Word qnode) {
        return step_out(qnodes, qnode, [&] { return leave(tail, qnode); });
    }

    /// The same, and where it returns 0 gets of the home's words from slot `first` on behind that.
    Value step_out(QueueNodes& qnodes, Word tail, Word qnode, Slot first, std::span<Value> out) {
        return step_out(qnodes, qnode, [&] {
            const Rmw take_out = Rmw::compare_swap(tail, name_of(qnode), 0);
            return successor(qnode, fabric_.fetch_then_get(take_out, first, out));
        });
    }

    /// The only thing that ever ends the successor's wait.
    void notify(Value succ, Value status) { fabric_.put(field(qnode_of(succ), kStatus), status); }

    /// By one that has written TAIL itself, and found `pred` there. Returns as join.
    bool follow(Value pred, Word qnode) {
        if (pred != 0)
            fabric_.put(field(qnode_of(pred), kNext), name_of(qnode));
        return pred != 0;
    }

  private:
    template <class Leave>
    Value step_out(QueueNodes& qnodes, Word qnode, Leave leave) {
        Value succ = next(qnode);
        if (succ == 0)
            succ = leave();
        give_back(qnodes, qnode);
        return succ;
    }

    /// `last`: what TAIL was when the first of the queue would have emptied it.
    Value successor(Word qnode, Value last) {
        if (last == name_of(qnode))
            return 0;
        return seen(qnode, fabric_.await(field(qnode, kNext), fabric::differs(0)));
    }

    /// The first of the queue stands at `stand_in` instead of `qnode`, which is clean afterwards.
    [[gnu::noinline]] void move_hold(Word tail, Word qnode, Word stand_in, Value key) {
        if (const Value status = take_status(qnode); status != 0)
            fabric_.put(field(stand_in, kStatus), status);
        const Value mine = key | name_of(qnode);
        if (fabric_.compare_swap(tail, mine, key | name_of(stand_in)) != mine) {
            const Value succ = fabric_.await(field(qnode, kNext), fabric::differs(0));
            fabric_.put(field(stand_in, kNext), seen(qnode, succ));
        }
        // The holder itself reads what it has put there.
        fabric_.flush(stand_in.rank);
    }

    Value taken(Word qnode, Value status) {
        if (status != 0)
            fabric_.put(field(qnode, kStatus), 0);
        return status;
    }

    Value seen(Word qnode, Value next) {
        if (next != 0)
            fabric_.put(field(qnode, kNext), 0);
        return next;
    }

    F& fabric_;
};

} // namespace rmalock::locks
