// ALock: a queue for the processes of the target's node, whose CPUs do its atomics, one for all
// others, and a handshake of reads and writes between the two.
//
// A. Baran, J. Nelson-Slivon, L. Tseng, R. Palmieri: "ALock: Asymmetric Lock Primitive for RDMA
// Systems", SPAA 2024, Algorithms 1-4.
//
// Where network adapters do the atomics, those of CPUs are not atomic with them. So elsewhere even
// the processes of the target's node ask their adapter. Here each *cohort* (local: of the target's
// node; remote: all others) has a queue of its own, which one kind of atomics serves. Between the
// leaders of the queues G. L. Peterson's algorithm ("Myths About the Mutual Exclusion Problem",
// 1981) decides, whose flags are the queues' tails.
//
// Words of target t at t, beside the queue nodes (NEXT and STATUS are mailbox, see mcs_queue.hh):
//
//     TAIL_R   the remote queue: name of its last node, 0 if it is empty           atomic
//     TAIL_L   the local one, changed by the CPUs of the node, read by all         cohort
//     VICTIM   the cohort that yields to the other one                             mailbox
//     stand-in a queue node for a holder                                           mailbox
//
//    STATUS of a node: 1 + what is left of the cohort's budget, 0 until its predecessor says so
//
//    acquire   pred = SWAP(TAIL_C, me);  C: the caller's cohort, O: the other one   A3: 2-4
//              if pred: PUT(pred.NEXT, me);  left = await STATUS - 1               A3: 7-9
//              if !pred or left == 0:  compete;  left = budget of C                A3: 5, 10-12
//    compete   if GET(TAIL_O) == 0: return
//              PUT(VICTIM, C);  flush                                              A4: 4
//              until GET(TAIL_O) == 0 or GET(VICTIM) != C: back off                A4: 5-6
//    release   succ = GET(NEXT)
//              if !succ: if CAS(TAIL_C, me -> 0) == me: return;  succ = await NEXT A3: 15-17
//              PUT(succ.STATUS, 1 + (left - 1))                                    A3: 18
//
// Deviations from the paper
//   D1  Algorithm 3 joins by one compare-and-swap (line 3), which changes nothing where somebody
//       stands in the queue: a second process would never be in it. It is a swap here.
//   D2  Algorithm 4 waits while the other queue is not empty *or* it is the victim (line 5): so one
//       process alone waits for ever. Peterson's condition has *and*.
//   D3  VICTIM is there before the other tail is looked at: a flush, on the own node a full fence.
//       Without it both leaders may look before either's word is seen, and both enter.
//   D4  A leader that finds the other queue empty writes nothing. Its own tail is its flag, and was
//       before it looked; a leader that comes later finds it, and yields by itself.
//   D5  The waiting leader reads both words in one round trip. Neither read has to come first: what
//       either says lets it in, and stays true until it is in.
//   D6  A budget that is used up competes before its process enters, as in the paper; while the
//       other queue is empty that is a read.
//   D7  Nodes are clean while free, and a process has many (mcs_queue.hh). There is no shared mode.
//
// Why it excludes. Within a cohort: the queue. Between cohorts: a tail is set before its leader looks
// at the other one, and until the last of its queue has left. So of two leaders the one that swapped
// later finds the other's tail, and writes VICTIM. If the other one looked before that, it is in,
// writes no more, and the later one waits for it. If it did not, both write VICTIM, each before it
// looks: the one whose write lasts finds its own name and the other's tail, and waits. Both tails
// and VICTIM lie at one process, where leaders from other nodes read behind their own atomics and
// puts; so CPUs that see these late (fabric/concept.hh) do no harm.
//
// Overtaking: within a cohort none. A leader waits for what is left of the other cohort's budget,
// and where it yields last for one budget more: two budgets at most each time it competes, which is
// once for every budget of its own cohort.
//
// Cost, uncontended. On the target's node no verb of an adapter, in either domain: acquire 1 atomic
// and 1 read of CPUs; release 1 atomic. Off node: acquire 1 atomic and 1 read = 2 round trips;
// release 1 atomic = 1 round trip. Contended: within a cohort 1 posted put each to queue and to hand
// over; between cohorts 1 put and its flush, and a round trip for each look of a remote leader.
// Memory: 5 words per target, and the queue nodes (qnodes.hh).
#pragma once

#include <array>

#include "fabric/on_node.hh"
#include "locks/lock_env.hh"
#include "locks/parts/mcs_queue.hh"

namespace rmalock::locks {

template <fabric::Fabric F>
class ALock {
  public:
    static constexpr LockTraits kTraits{
        .name = "alock", .shared = false, .needs = {.queue_nodes = true}};

    static Footprint footprint(const MachineView&) { return {.home = kStandIn + 2}; }
    static LockLimits limits(const Thresholds& asked, const MachineView&) {
        return {.budgets = asked.budgets};
    }

    explicit ALock(const LockEnv<F>& env)
        : fabric_(env.fabric), near_(env.fabric), remote_(env.fabric), local_(near_),
          home_(env.home), qnodes_(env.qnodes), budgets_(env.limits.budgets) {}
    ALock(const ALock&) = delete;
    ALock& operator=(const ALock&) = delete;

    Hold acquire_exclusive(Rank target) {
        return fabric_.same_node(target) ? acquire(local_, Side::local, target)
                                         : acquire(remote_, Side::remote, target);
    }
    void release_exclusive(Rank target, Hold hold) {
        if (fabric_.same_node(target))
            release(local_, Side::local, target, hold);
        else
            release(remote_, Side::remote, target, hold);
    }

    Hold acquire_shared(Rank target) { return acquire_exclusive(target); }
    void release_shared(Rank target, Hold hold) { release_exclusive(target, hold); }

    /// For diagnosis: whether an acquire would have to wait now.
    bool is_taken(Rank target, bool) {
        return fabric_.get(tail(target, Side::remote)) != 0 ||
               fabric_.get(tail(target, Side::local)) != 0;
    }

  private:
    /// A cohort. VICTIM names it, and its tail is that far from the home record.
    enum class Side : Slot { remote = 0, local = 1 };
    static constexpr Slot kVictim = 2, kStandIn = 3;
    /// In a hold: the node's name, and above it what is left of the budget.
    static_assert(kLargestThreshold < Value{1} << (64 - kNameBits));

    static constexpr Side other(Side side) {
        return side == Side::remote ? Side::local : Side::remote;
    }
    /// What VICTIM holds, never 0: nobody has yielded yet.
    static constexpr Value named(Side side) { return static_cast<Value>(side) + 1; }
    Word tail(Rank target, Side side) const { return {target, home_ + static_cast<Slot>(side)}; }
    Word victim(Rank target) const { return {target, home_ + kVictim}; }
    Value budget(Side side) const {
        return side == Side::remote ? budgets_.remote : budgets_.local;
    }

    template <class Queue>
    Hold acquire(Queue& queue, Side side, Rank target) {
        const Word node = qnodes_.take(fabric_), last{tail(target, side)};
        Value left = queue.join(last, node) ? queue.await_and_take_status(node) - 1 : 0;
        if (left == 0) {
            compete(side, target);
            left = budget(side);
        }
        const Word kept = queue.kept(qnodes_, last, node, {target, home_ + kStandIn});
        return {left << kNameBits | name_of(kept)};
    }

    template <class Queue>
    void release(Queue& queue, Side side, Rank target, Hold hold) {
        const Word node = node_of(hold.opaque & kNameMask);
        if (const Value succ = queue.step_out(qnodes_, tail(target, side), node); succ != 0) {
            queue.tell(succ, hold.opaque >> kNameBits);
            fabric_.handed_over(node_of(succ).rank);
        }
    }

    /// Algorithm 4, by the leader of a cohort.
    void compete(Side side, Rank target) {
        if (const Value seen = fabric_.get(tail(target, other(side))); seen != 0) { // D4
            yield_and_wait(side, target);
            fabric_.handed_over(node_of(seen).rank);
        }
    }

    [[gnu::noinline]] void yield_and_wait(Side side, Rank target) {
        fabric_.put(victim(target), named(side));
        fabric_.flush(target); // D3
        const auto mark = fabric_.mark();
        for (unsigned attempt = 0;; ++attempt) {
            const Look seen = look(target, other(side));
            if (seen.tail == 0 || seen.victim != named(side))
                return;
            fabric_.backoff(attempt);
            fabric_.rewind(mark);
        }
    }

    struct Look {
        Value tail, victim;
    };
    /// The tail of a cohort, and VICTIM, in one round trip (D5).
    Look look(Rank target, Side side) {
        const Word first = tail(target, side);
        std::array<Value, 2> seen;
        fabric_.scan(std::span(&target, 1), first.slot, home_ + kVictim - first.slot, seen);
        return {seen[0], seen[1]};
    }

    F& fabric_;
    fabric::OnNode<F> near_;
    McsQueue<F> remote_;
    McsQueue<fabric::OnNode<F>> local_;
    Slot home_;
    QueueNodes& qnodes_;
    Budgets budgets_;
};

} // namespace rmalock::locks
