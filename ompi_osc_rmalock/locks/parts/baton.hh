// The right to be the next exclusive on one node, which a running process may take before those in
// the queue, but not for ever.
//
// Our own. A queue hands its lock to the next in line. Where ranks outnumber cores that one mostly
// is not running, and the lock lies idle until it is given a core. Here a released lock lies free
// in a word; the first of the queue watches it, and newcomers may take it past the first one, at
// most `passes` times in a row. As the spin locks of Linux: W. Long, P. Zijlstra, "qspinlock",
// 2015, whose queue ends at its first one, too; there nothing bounds how often it is passed.
//
// Words: BATON (atomic), 0 while somebody has it or nobody needs it; TAIL, NEXT, STATUS of
// mcs_queue.hh.
//
//    BATON  [ free:1 | passed:21 | message:42 ]   how often the first of the queue has been passed,
//                                                 and what its giver says to its taker
//
//    take   b = BATON
//           if b.free and b.passed < passes and CAS(BATON, b -> 0) == b:       // past the first
//               passed = b.passed + 1;  return b.message
//           if join(TAIL): await STATUS == FIRST
//           do await BATON.free  until CAS(BATON, b -> 0) == b;  passed = 0
//           succ = NEXT or leave(TAIL);  if succ: PUT(succ.STATUS, FIRST)
//           return b.message
//    give   ADD(BATON, [1 | passed | message])
//
// There is one baton: its giver has it, and gives it only where a taker is known to come
// (pf_mcs.hh: is registered). So BATON is 0 before it is given, and `add` writes all of it. It need
// not be seen at once by anybody; in particular a process may come back before its own add has
// landed, and then queues.
//
// Overtaking: between two takes by a first one at most `passes` others take it that did not queue.
// A process in the queue therefore waits for those before it, and `passes` others for each of them
// and for itself.
//
// Cost: take past the queue 1 get, 1 atomic; in the queue 2 atomics more and a put; give 1 posted.
// The first of the queue polls BATON, so all that use it have to be on its node. Memory: 2 words
// per target; a qnode (a line) while a process waits, and none while it holds.
#pragma once

#include "locks/parts/mcs_queue.hh"

namespace rmalock::locks {

/// BATON, and STATUS of its queue. Beside each part: what it promises, and the race that it settles.
template <unsigned message_bits = 42>
struct BatonWord {
    static constexpr unsigned kMessageBits = message_bits;
    static constexpr unsigned kPassedBits = 63 - kMessageBits;
    static constexpr Value kMostPassed = (Value{1} << kPassedBits) - 1;
    /// The baton lies free: the word is not 0. A process takes it by a compare-and-swap to 0, so
    /// one of those that see it gets it.
    static constexpr Value kFree = Value{1} << 63;

    /// What the giver says to the taker, which it need not know.
    static constexpr Value message(Value b) { return b & ((Value{1} << kMessageBits) - 1); }
    /// How often the first of the queue has been passed: in the word, so that it outlives the giver
    /// and bounds the next taker.
    static constexpr Value passed(Value b) { return (b & ~kFree) >> kMessageBits; }

    /// STATUS: the one before has taken the baton. Its successor is the first of the queue, which
    /// alone watches it.
    static constexpr Value kFirst = 1;
};

/// `message_bits` of BATON are the message, the rest counts.
template <fabric::Fabric F, unsigned message_bits = BatonWord<>::kMessageBits>
class Baton : private BatonWord<message_bits> {
    using W = BatonWord<message_bits>;

  public:
    using W::kMessageBits, W::kMostPassed, W::kPassedBits;

    /// What a process that has the baton knows.
    struct Taken {
        Value message;
        Value passed; ///< how many have taken it past the first of the queue, this process included
    };

    explicit Baton(F& fabric) : fabric_(fabric), queue_(fabric) {}

    /// `limit`: passes, at most kMostPassed.
    Taken take(Word baton, Word tail, QueueNodes& qnodes, Value limit) {
        const Value seen = fabric_.get(baton);
        if (seen != 0 && passed(seen) < limit && taken(baton, seen))
            return {message(seen), passed(seen) + 1};
        const Word qnode = qnodes.take(fabric_);
        if (queue_.join(tail, qnode))
            queue_.await_and_take_status(qnode);
        const Taken got{as_first(baton), 0};
        Value succ = queue_.next(qnode);
        if (succ == 0)
            succ = queue_.leave(tail, qnode);
        if (succ != 0)
            queue_.notify(succ, kFirst);
        qnodes.give(qnode);
        return got;
    }

    void give(Word baton, Value what, Value times_passed) {
        fabric_.add(baton, kFree | times_passed << kMessageBits | what);
    }

  private:
    using W::kFree, W::kFirst, W::message, W::passed;

    bool taken(Word baton, Value seen) { return fabric_.compare_swap(baton, seen, 0) == seen; }

    Value as_first(Word baton) {
        for (;;) {
            const Value seen = fabric_.await(baton, fabric::differs(0));
            if (taken(baton, seen))
                return message(seen);
        }
    }

    F& fabric_;
    McsQueue<F> queue_;
};

} // namespace rmalock::locks
