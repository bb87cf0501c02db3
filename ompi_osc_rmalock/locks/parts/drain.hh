// The readers that a writer waits for before it goes in, and those that may join them.
//
// Our own.
//
// Words: RO of a target (atomic); JOIN of it, the list of all readers that wait (push_list.hh), for
// the end of their phase or for a round of the writer that drains (patience.hh); DRN of the
// drainer's qnode (mailbox).
//
//    RO     [ inside:24 | drainer:40 ]   readers it still waits for, maybe < 0; the drainer's qnode
//
//    leave  o = FADD(RO, -1);  if o.inside == 1 and o.drainer: PUT(o.drainer.DRN, 1)
//    wait   in JOIN until the phase it came in is over, or until woken by a drainer d and joined:
//    join   o = FADD(RO, 1)
//           if o.drainer == d: if the phase it came in is over: leave; joined
//           else: leave; not joined
//    drain  DRN = 0;  if FADD(RO, [r | me]).inside + r: wait_for_readers
//           close
//    open   FADD(RO, [0 | me])
//    close  until FADD(RO, [0 | -me]).inside == 0:
//               DRN = 0                                                       // somebody joined
//               if FADD(RO, [0 | me]).inside: wait_for_readers
//    wait_for_readers
//           await DRN, and at the end of each round wake_all(JOIN, me)
//
// A reader that leaves counts down, whether the drainer has added its r yet or not: a count below 0
// says that they were faster. DRN is a hint, which may be about an earlier drain; the truth is the
// count that `close` finds in the step in which it takes the name out. So a reader that found the
// name there when it added itself is waited for. Only at the end of `close` nobody is inside.
//
// A wake names the drainer that gave it, so that one which comes late does not let a reader join
// the next drainer before that one's round is over. (That would be sound, but not fair.)
#pragma once

#include "locks/parts/patience.hh"
#include "locks/parts/push_list.hh"

namespace rmalock::locks {

/// RO; D of members.hh has the same fields. Beside each: what it promises, and the race that it
/// settles.
struct DrainWord {
    /// DRN of a qnode: the last reader has left. A hint, which may be about an earlier drain: the
    /// truth is RO, in the step that takes the drainer's name out.
    static constexpr Slot kDrn = 2;
    static constexpr Value kLastLeft = 1;

    /// A reader that the drainer waits for. On top, so that the count disturbs nothing when it runs
    /// below 0 or wraps. Each reader takes itself out once, before the drainer has added it or
    /// after: the sum is the same.
    static constexpr Value kReader = Value{1} << kNameBits;
    static constexpr std::int64_t inside(Value v) {
        return static_cast<std::int64_t>(v) >> kNameBits;
    }
    /// The qnode of the drainer while readers may join. It is in the same word as the count:
    /// of a reader that joins and a drainer that takes its name out one sees the other. The reader
    /// that leaves last finds the name, and tells the drainer.
    static constexpr Value drainer(Value v) { return v & kNameMask; }
};

// Below 0 as well: those that leave before the drainer has added them.
static_assert(std::int64_t{fabric::kMostRanks} < std::int64_t{1} << (63 - kNameBits));

/// Of a target.
struct DrainWords {
    Word ro, join;
};

template <fabric::Fabric F>
class Drain {
  public:
    explicit Drain(F& fabric) : fabric_(fabric), waiting_(fabric) {}

    // ---- readers --------------------------------------------------------------------------------
    /// `readers`: as many departures at once.
    [[gnu::noinline]] void leave(const DrainWords& words, std::int64_t readers = 1) {
        const Value o = fabric_.fetch_add(words.ro, Value{0} - static_cast<Value>(readers) *
                                                                   DrainWord::kReader);
        if (DrainWord::inside(o) != readers || DrainWord::drainer(o) == 0)
            return;
        const Word drainer = qnode_of(DrainWord::drainer(o));
        fabric_.put(field(drainer, DrainWord::kDrn), DrainWord::kLastLeft);
        fabric_.handed_over(drainer.rank);
    }

    /// Returns when the caller was admitted by the end of its phase (`is_over` says so): false, or
    /// may have joined a drain: true.
    template <class IsOver>
    bool wait(const DrainWords& words, QueueNodes& qnodes, IsOver&& is_over) {
        const Word own = qnodes.take(fabric_);
        const bool joined = waiting_.wait(words.join, own, is_over, [&](Value drainer) {
            return joins(words, drainer, is_over);
        });
        qnodes.give(own);
        return joined;
    }

    /// For a caller that the drainer waits for anyhow, so that it joins none. Returns when is_over().
    template <class IsOver>
    void wait_outside(const DrainWords& words, QueueNodes& qnodes, IsOver&& is_over) {
        const Word own = qnodes.take(fabric_);
        waiting_.wait(words.join, own, is_over, [](Value) { return false; });
        qnodes.give(own);
    }

    /// Wakes the readers that wait for the end of a phase, which has come. Returns the name of the
    /// qnode that was woken first, 0 if there was none.
    Value admit(const DrainWords& words) {
        return waiting_.wake_all(words.join, PushListWords::kLook);
    }

    // ---- the drainer ----------------------------------------------------------------------------
    /// Waits until the `r` readers that were inside when the writer took over have left, and those
    /// that joined them.
    void drain(const DrainWords& words, Word own, Value r, Rounds<F>& rounds) {
        await_hint(words, own, r, rounds);
        close(words, own, rounds);
    }

    /// Lets readers join, and `own` be told when they have left.
    void open(const DrainWords& words, Word own) { fabric_.fetch_add(words.ro, name_of(own)); }

    void close(const DrainWords& words, Word own, Rounds<F>& rounds) {
        const Value gone = Value{0} - name_of(own);
        while (DrainWord::inside(fabric_.fetch_add(words.ro, gone)) != 0)
            await_hint(words, own, 0, rounds);
    }

    /// Waits for `word`, by which the caller learns that readers have left, while readers may join.
    template <fabric::Predicate P>
    void await(const DrainWords& words, Word own, Word word, P pred, Rounds<F>& rounds) {
        const auto mark = fabric_.mark();
        while (!fabric_.await_until(word, pred, fabric_.after(rounds.next()))) {
            waiting_.wake_all(words.join, name_of(own));
            fabric_.rewind(mark);
        }
    }

  private:
    /// Whether `drainer` still drains, and the caller is inside, or was admitted meanwhile.
    template <class IsOver>
    bool joins(const DrainWords& words, Value drainer, IsOver&& is_over) {
        if (DrainWord::drainer(fabric_.get(words.ro)) != drainer)
            return false;
        if (DrainWord::drainer(fabric_.fetch_add(words.ro, DrainWord::kReader)) != drainer) {
            leave(words);
            return false;
        }
        if (is_over()) // it is not the drain of the caller's phase
            leave(words);
        return true;
    }

    void await_hint(const DrainWords& words, Word own, Value r, Rounds<F>& rounds) {
        const Word drn = field(own, DrainWord::kDrn);
        const Value more = r * DrainWord::kReader;
        // Late hints of an earlier drain are erased before anybody can send one of this.
        fabric_.put(drn, 0);
        const Value before = fabric_.fetch_add(words.ro, more + name_of(own));
        if (DrainWord::inside(before + more) != 0)
            await(words, own, drn, fabric::equals(DrainWord::kLastLeft), rounds);
    }

    F& fabric_;
    PushList<F> waiting_;
};

} // namespace rmalock::locks
