// The queue of MCS locks, which D-MCS, RMA-MCS, RMA-RW and the phase-fair lock have in common.
//
// J. M. Mellor-Crummey, M. L. Scott: "Algorithms for Scalable Synchronization on Shared-Memory
// Multiprocessors", TOCS 1991; over remote memory as in Listings 2 and 3 of P. Schmid, M. Besta,
// T. Hoefler: "High-Performance Distributed RMA Locks", HPDC 2016.
//
//     TAIL    name of the last node, 0 if the queue is empty                       atomic
//     NEXT    of a node: name of the node behind it                                mailbox
//     STATUS  of a node: what its predecessor says to it, 0 until it has           mailbox
//
//    join    pred = SWAP(TAIL, me);  if pred: PUT(pred.NEXT, me)
//    leave   if CAS(TAIL, me -> 0) == me: alone;  else await NEXT
//
//    move_hold   by the first of the queue:                    // where its nodes are scarce
//                if CAS(TAIL, me -> stand-in) != me: PUT(stand-in.NEXT, await NEXT)
//                PUT(stand-in.STATUS, STATUS);  flush
//
// A node is all zero while it is in no queue. So a join needs no writes before its swap, and nobody
// waits for the flush that would have to order them: the reader of a NEXT or STATUS that is not 0
// clears it before the node can be used again. No late put can hit the node afterwards: its
// predecessor wrote STATUS once and its successor NEXT once, and both were seen before.
//
// A stand-in is a node beside TAIL, which only the first of the queue uses. So a process that holds
// many locks needs no node for each. K42's MCS lock keeps the first place in the lock itself, for
// another purpose (M. L. Scott: "Shared-Memory Synchronization", 2013, section 4.3). A stand-in is
// clean, and flushed, before its user lets the next one in. A release by way of a stand-in off the
// node polls there if a successor has swapped TAIL and not yet shown itself.
#pragma once

#include "locks/parts/qnodes.hh"

namespace rmalock::locks {

/// Of a queue node. Beside each: what it promises, and the race that it settles.
struct McsQueueWords {
    /// NEXT: the one behind, which waits. It writes this once, after its swap of TAIL. So an owner
    /// that leaves and finds TAIL swapped waits for it.
    static constexpr Slot kNext = 0;
    /// STATUS: the queue is its owner's now. The one before writes this once, never 0, and nothing
    /// later. So a queue node whose owner has seen both is clean once it has cleared them.
    static constexpr Slot kStatus = 1;
    /// STATUS of a lock that has no more to say.
    static constexpr Value kGranted = 1;
};

template <fabric::Fabric F>
class McsQueue : private McsQueueWords {
  public:
    explicit McsQueue(F& fabric) : fabric_(fabric) {}

    /// Puts `node` behind the others. Returns whether there are any, of which one will write its
    /// STATUS.
    bool join(Word tail, Word node) { return follow(fabric_.swap(tail, name_of(node)), node); }

    /// The same, and gets of the home's words from slot `first` on behind the swap.
    bool join(Word tail, Word node, Slot first, std::span<Value> out) {
        return follow(fabric_.fetch_then_get(Rmw::swap(tail, name_of(node)), first, out), node);
    }

    /// What the predecessor says. STATUS keeps it until somebody takes it.
    Value await_status(Word node) {
        return fabric_.await(field(node, kStatus), fabric::differs(0));
    }

    /// What the predecessor said, 0 if there was none.
    Value take_status(Word node) { return taken(node, fabric_.get(field(node, kStatus))); }

    Value await_and_take_status(Word node) { return taken(node, await_status(node)); }

    /// The node behind `node` if it has shown itself, else 0.
    Value next(Word node) { return seen(node, fabric_.get(field(node, kNext))); }

    /// Takes `node`, which showed no successor, out of the queue. Returns 0 if it was the last,
    /// else the successor, which had swapped TAIL but not yet shown itself.
    Value leave(Word tail, Word node) {
        return successor(node, fabric_.compare_swap(tail, name_of(node), 0));
    }

    /// Where the first of the queue, which stands at `node`, is to stand while it holds the lock.
    Word kept(QueueNodes& qnodes, Word tail, Word node, Word stand_in) {
        if (!qnodes.spared(node)) [[likely]]
            return node;
        move_hold(tail, node, stand_in);
        qnodes.give(node);
        return stand_in;
    }

    /// For the first of the queue when it has left it, and before it lets the next one in.
    void give_back(QueueNodes& qnodes, Word node) {
        if (qnodes.own(node)) [[likely]]
            qnodes.give(node);
        else
            fabric_.flush(node.rank);
    }

    /// Takes the holder's `node` out of the queue and gives it back. Returns the successor, which is
    /// to be told, or 0.
    Value step_out(QueueNodes& qnodes, Word tail, Word node) {
        return step_out(qnodes, node, [&] { return leave(tail, node); });
    }

    /// The same, and where it returns 0 gets of the home's words from slot `first` on behind that.
    Value step_out(QueueNodes& qnodes, Word tail, Word node, Slot first, std::span<Value> out) {
        return step_out(qnodes, node, [&] {
            const Rmw take_out = Rmw::compare_swap(tail, name_of(node), 0);
            return successor(node, fabric_.fetch_then_get(take_out, first, out));
        });
    }

    /// The only thing that ever ends the successor's wait.
    void tell(Value succ, Value status) { fabric_.put(field(node_of(succ), kStatus), status); }

    /// By one that has written TAIL itself, and found `pred` there. Returns as join.
    bool follow(Value pred, Word node) {
        if (pred != 0)
            fabric_.put(field(node_of(pred), kNext), name_of(node));
        return pred != 0;
    }

  private:
    template <class Leave>
    Value step_out(QueueNodes& qnodes, Word node, Leave leave) {
        Value succ = next(node);
        if (succ == 0)
            succ = leave();
        give_back(qnodes, node);
        return succ;
    }

    /// `last`: what TAIL was when the first of the queue would have emptied it.
    Value successor(Word node, Value last) {
        if (last == name_of(node))
            return 0;
        return seen(node, fabric_.await(field(node, kNext), fabric::differs(0)));
    }

    /// The first of the queue stands at `stand_in` instead of `node`, which is clean afterwards.
    [[gnu::noinline]] void move_hold(Word tail, Word node, Word stand_in) {
        if (const Value status = take_status(node); status != 0)
            fabric_.put(field(stand_in, kStatus), status);
        if (fabric_.compare_swap(tail, name_of(node), name_of(stand_in)) != name_of(node)) {
            const Value succ = fabric_.await(field(node, kNext), fabric::differs(0));
            fabric_.put(field(stand_in, kNext), seen(node, succ));
        }
        // The holder itself reads what it has put there.
        fabric_.flush(stand_in.rank);
    }

    Value taken(Word node, Value status) {
        if (status != 0)
            fabric_.put(field(node, kStatus), 0);
        return status;
    }

    Value seen(Word node, Value next) {
        if (next != 0)
            fabric_.put(field(node, kNext), 0);
        return next;
    }

    F& fabric_;
};

} // namespace rmalock::locks
