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
// Words of target t at t, beside the qnodes (NEXT and STATUS are mailbox, see mcs_queue.hh):
//
//     TAIL_R   the remote queue: name of its last qnode, 0 if it is empty          atomic
//     TAIL_L   the local one, changed by the CPUs of the node, read by all         cohort
//     VICTIM   the cohort that yields to the other one                             mailbox
//     stand-in a qnode for a holder                                                mailbox
//
//    STATUS of a qnode: 1 + what is left of the cohort's budget, 0 until its predecessor says so
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
//   D5  A leader reads what it needs in one round trip, the first time in that of its swap (line 3),
//       where adapters do atomics (fetch_then_get). Neither word has to be read first: what either
//       says lets it in, and stays true until it is in.
//   D6  A budget that is used up competes before its process enters, as in the paper; while the
//       other queue is empty that is a read.
//   D7  Qnodes are clean while free, and a process has many (mcs_queue.hh). There is no shared
//       mode.
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
// and 1 read of CPUs; release 1 atomic. Off node: acquire 1 atomic and 1 read behind it = 1 round
// trip, 2 where CPUs do the atomics; release 1 atomic = 1 round trip. Contended: within a cohort 1 posted put each to queue and to hand
// over; between cohorts 1 put and its flush, and a round trip for each look of a remote leader.
// Memory: 4 words per target, and the qnodes (qnodes.hh).
#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "fabric/on_node.hh"
#include "locks/lock_env.hh"
#include "locks/parts/mcs_queue.hh"

namespace rmalock::locks {

/// Its words, in a home record of their own. Beside each: what it promises, and the race that it
/// settles.
struct ALockWords {
    /// TAIL_R, TAIL_L: the last of a cohort. It is not 0 from before its leader looks at the other
    /// one until the last of the cohort has left: of two leaders the later one finds the other.
    /// Each is changed by one kind of atomics, as CPUs' and adapters' do not exclude each other.
    static constexpr Slot kTailR = 0, kTailL = 1;
    /// VICTIM: of two leaders that both found the other, the one that wrote it last waits.
    static constexpr Slot kVictim = 2;
    /// The stand-in's STATUS, a word further, is nobody's: what was said to its holder was taken.
    static constexpr Slot kStandIn = 3, kWords = 4;
};

/// What they say.
struct ALockValues {
    /// A cohort, as VICTIM names it; 0 in VICTIM is neither.
    enum class Side : Value { remote = 1, local = 2 };
    /// STATUS: what is left of the cohort's budget, and 1, so that it is never 0. With nothing left
    /// the waiter is the leader, and competes before it goes in: the other cohort may go first.
    static constexpr Value status(Value left) { return left + 1; }
    static constexpr Value left(Value status) { return status - 1; }
    // In a hold: the qnode's name, and above it what is left of the budget.
    static_assert(kLargestThreshold < Value{1} << (64 - kNameBits));
};

/// The two queues and the handshake, for each lock that is taken that way: ALock, and pf_alock.hh.
/// Words says where the words are. A leader that looks at the other tail looks at kAlso, too.
template <fabric::Fabric F, class Words, Slot... kAlso>
class ALockQueues : private ALockValues {
  public:
    /// What a process has seen of the home record, by slots; from the own node only what it asked
    /// for.
    using Seen = std::array<Value, Words::kWords>;

    explicit ALockQueues(const LockEnv<F>& env)
        : fabric_(env.fabric), near_(env.fabric), remote_(env.fabric), local_(near_),
          home_(env.home), qnodes_(env.qnodes), budgets_(env.limits.budgets) {}
    ALockQueues(const ALockQueues&) = delete;
    ALockQueues& operator=(const ALockQueues&) = delete;

    /// `take(also)`: what the first of a chain does when no process of either cohort is in, or comes
    /// in. `also`: kAlso were not all 0 when it saw them, with its tail set.
    template <class Take>
    Hold acquire(Rank target, Take take) {
        return fabric_.same_node(target) ? acquire(local_, Side::local, target, take)
                                         : acquire(remote_, Side::remote, target, take);
    }

    /// Returns whether the next of the cohort has it. Else its queue is empty, and kBehind, if any,
    /// were looked at behind that.
    template <Slot... kBehind>
    bool release(Rank target, Hold hold, Seen& seen) {
        return fabric_.same_node(target)
                   ? release<kBehind...>(local_, Side::local, target, hold, seen)
                   : release<kBehind...>(remote_, Side::remote, target, hold, seen);
    }

    /// From elsewhere in one round trip, with what lies between them (D5).
    template <Slot... kSlots>
    void look(Rank target, Seen& seen) {
        if (!fabric_.same_node(target))
            fabric_.scan(std::span(&target, 1), home_ + first<kSlots...>(), 1,
                         range<kSlots...>(seen));
        else
            ((seen[kSlots] = fabric_.get(word(target, kSlots))), ...);
    }
    /// The same behind a read-modify-write, by CPUs on the own node.
    template <Slot... kSlots>
    void look_behind(const Rmw& rmw, Seen& seen) {
        const Rank target = rmw.word.rank;
        if (!fabric_.same_node(target)) {
            fabric_.fetch_then_get(rmw, home_ + first<kSlots...>(), range<kSlots...>(seen));
            return;
        }
        near_.fetch_then_get(rmw, 0, {});
        look<kSlots...>(target, seen);
    }

    Word word(Rank target, Slot slot) const { return {target, home_ + slot}; }

  private:
    static constexpr Slot tail_of_others(Side side) {
        return side == Side::remote ? Words::kTailL : Words::kTailR;
    }
    Word tail(Rank target, Side side) const {
        return word(target, side == Side::remote ? Words::kTailR : Words::kTailL);
    }
    Value budget(Side side) const {
        return side == Side::remote ? budgets_.remote : budgets_.local;
    }

    template <Slot... kSlots>
    static constexpr Slot first() {
        return std::min({kSlots...});
    }
    template <Slot... kSlots>
    static std::span<Value> range(Seen& seen) {
        return std::span(seen).subspan(first<kSlots...>(),
                                       std::max({kSlots...}) + 1 - first<kSlots...>());
    }

    template <class Queue, class Take>
    Hold acquire(Queue& queue, Side side, Rank target, Take& take) {
        const auto mark = fabric_.mark();
        const Word qnode = qnodes_.take(fabric_), last{tail(target, side)};
        Seen seen;
        Value mine = 0;
        if (join(queue, side, last, qnode, seen)) {
            mine = left(queue.await_and_take_status(qnode));
            if (mine == 0)
                look_at_others(side, target, seen);
        }
        if (mine == 0) {
            compete(side, target, seen);
            const bool also = (Value{0} | ... | seen[kAlso]) != 0;
            fabric_.rewind(mark, also);
            take(also);
            mine = budget(side);
        }
        fabric_.rewind(mark, mine);
        const Word kept = queue.kept(qnodes_, last, qnode, word(target, Words::kStandIn));
        return {mine << kNameBits | name_of(kept)};
    }

    template <Slot... kBehind, class Queue>
    bool release(Queue& queue, Side side, Rank target, Hold hold, Seen& seen) {
        const Word qnode = qnode_of(hold.opaque & kNameMask), last = tail(target, side);
        Value succ = 0;
        if constexpr (sizeof...(kBehind) != 0) {
            if (side == Side::remote)
                succ = queue.step_out(qnodes_, last, qnode, home_ + first<kBehind...>(),
                                      range<kBehind...>(seen));
            else if (succ = queue.step_out(qnodes_, last, qnode); succ == 0)
                look<kBehind...>(target, seen);
        } else
            succ = queue.step_out(qnodes_, last, qnode);
        if (succ != 0) {
            queue.notify(succ, status((hold.opaque >> kNameBits) - 1));
            fabric_.handed_over(qnode_of(succ).rank);
        }
        return succ != 0;
    }

    /// Algorithm 4, by the leader of a cohort.
    void compete(Side side, Rank target, Seen& seen) {
        if (const Value first = seen[tail_of_others(side)]; first != 0) { // D4
            yield_and_wait(side, target, seen);
            fabric_.handed_over(qnode_of(first).rank);
        }
    }

    [[gnu::noinline]] void yield_and_wait(Side side, Rank target, Seen& seen) {
        const Value mine = static_cast<Value>(side);
        fabric_.put(word(target, Words::kVictim), mine);
        fabric_.flush(target); // D3
        const auto mark = fabric_.mark();
        for (unsigned attempt = 0;; ++attempt) {
            look_at_others<Words::kVictim>(side, target, seen);
            if (seen[tail_of_others(side)] == 0 || seen[Words::kVictim] != mine)
                return;
            fabric_.backoff(attempt);
            fabric_.rewind(mark);
        }
    }

    template <class Queue>
    bool join(Queue& queue, Side side, Word last, Word qnode, Seen& seen) {
        if (side == Side::remote)
            return queue.join(last, qnode, home_ + first<Words::kTailL, kAlso...>(),
                              range<Words::kTailL, kAlso...>(seen));
        if (queue.join(last, qnode))
            return true;
        look_at_others(side, last.rank, seen);
        return false;
    }

    template <Slot... kMore>
    void look_at_others(Side side, Rank target, Seen& seen) {
        if (side == Side::remote)
            look<Words::kTailL, kMore..., kAlso...>(target, seen);
        else
            look<Words::kTailR, kMore..., kAlso...>(target, seen);
    }

    F& fabric_;
    fabric::OnNode<F> near_;
    McsQueue<F> remote_;
    McsQueue<fabric::OnNode<F>> local_;
    Slot home_;
    QueueNodes& qnodes_;
    Budgets budgets_;
};

template <fabric::Fabric F>
class ALock {
    using Queues = ALockQueues<F, ALockWords>;

  public:
    static constexpr LockTraits kTraits{
        .name = "alock", .shared = false, .needs = {.queue_nodes = true}};

    static Footprint footprint(const MachineView&) { return {.home = ALockWords::kWords}; }
    static LockLimits limits(const Thresholds& asked, const MachineView&) {
        return {.budgets = asked.budgets};
    }

    explicit ALock(const LockEnv<F>& env) : fabric_(env.fabric), queues_(env) {}

    Hold acquire_exclusive(Rank target) {
        return queues_.acquire(target, [](bool) {});
    }
    void release_exclusive(Rank target, Hold hold) {
        typename Queues::Seen nothing;
        queues_.release(target, hold, nothing);
    }

    Hold acquire_shared(Rank target) { return acquire_exclusive(target); }
    void release_shared(Rank target, Hold hold) { release_exclusive(target, hold); }

    /// For diagnosis: whether an acquire would have to wait now.
    bool is_taken(Rank target, bool) {
        return fabric_.get(queues_.word(target, ALockWords::kTailR)) != 0 ||
               fabric_.get(queues_.word(target, ALockWords::kTailL)) != 0;
    }

  private:
    F& fabric_;
    Queues queues_;
};

} // namespace rmalock::locks
