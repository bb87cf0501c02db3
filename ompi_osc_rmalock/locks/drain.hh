// The readers that a writer waits for before it goes in, and those that may join them.
//
// Our own.
//
// Words: RO of a target (atomic); JOIN of it, the list of readers that wait for a drain to join, or
// for the end of their phase (push_list.hh); DRN of the drainer's node of the pool (mailbox).
//
//    RO     [ inside:24 | drainer:40 ]   readers it still waits for, maybe < 0; the drainer's node
//
//    leave  o = FADD(RO, -1);  if o.inside == 1 and o.drainer: PUT(o.drainer.DRN, 1)
//    join   o = FADD(RO, 1)
//           if o.drainer: if the phase it came in is over: leave; joined
//           else: leave; not joined
//    pass   wait(JOIN), and ask whoever wakes the list of the phase to wake this one too, until
//               the phase it came in is over, or GET(RO).drainer and joined
//    drain  DRN = 0;  if FADD(RO, [r | me]).inside + r: wake_all(JOIN); await DRN
//           close
//    open   FADD(RO, [0 | me]);  wake_all(JOIN)
//    close  until FADD(RO, [0 | -me]).inside == 0:
//               DRN = 0                                                       // somebody joined
//               if FADD(RO, [0 | me]).inside: wake_all(JOIN); await DRN
//
// Who leaves counts down, whether the drainer has added its r yet or not: a count below 0 says that
// they were faster. DRN is a hint, which may be about an earlier drain; the truth is the count that
// `close` finds in the step in which it takes the name out. So who found the name there when it
// added itself is waited for. Only at the end of `close` nobody is inside.
//
// Who waits in JOIN is woken by every drain that has to wait, and by the end of its phase. A drain
// may have ended by then; it then waits for the next one.
#pragma once

#include "locks/push_list.hh"

namespace rmalock::locks {

/// A count of readers and the node of who waits for it to become 0. The count is in the top bits,
/// so that it disturbs nothing when it runs below 0 or wraps.
struct DrainWord {
    static constexpr Value kReader = Value{1} << kNameBits;
    static constexpr std::int64_t inside(Value v) {
        return static_cast<std::int64_t>(v) >> kNameBits;
    }
    static constexpr Value drainer(Value v) { return v & kNameMask; }
};

/// Of a target.
struct DrainWords {
    Word ro, join;
};

template <fabric::Fabric F>
class Drain {
  public:
    static constexpr Slot kDrn = 2; ///< of a pool node

    explicit Drain(F& fabric) : fabric_(fabric), joiners_(fabric) {}

    [[gnu::noinline]] void leave(const DrainWords& words) {
        const Value o = fabric_.fetch_add(words.ro, Value{0} - DrainWord::kReader);
        if (DrainWord::inside(o) != 1 || DrainWord::drainer(o) == 0)
            return;
        const Word drainer = node_of(DrainWord::drainer(o));
        fabric_.put(field(drainer, kDrn), 1);
        fabric::handed_over(fabric_, drainer.rank);
    }

    /// Returns when the caller, who waits with `own` where others wait in `list` for the end of
    /// their phase, has joined a drain, or was admitted: `is_over` says so.
    template <class IsOver>
    void pass(const DrainWords& words, Word list, Word own, IsOver&& is_over) {
        const auto may_go = [&] { return is_over() || joins(words, is_over); };
        for (bool done = false; !done; done = done || may_go()) {
            fabric::start_over(fabric_);
            const Value prev = joiners_.push(words.join, own);
            joiners_.ask(list);
            done = may_go();
            if (done)
                wake_joiners(words);
            joiners_.await_wake(own, prev);
        }
    }
    void wake_joiners(const DrainWords& words) { joiners_.wake_all(words.join); }

    /// Waits until the `r` readers that were inside when the writer took over have left, and those
    /// that joined them.
    void drain(const DrainWords& words, Word own, Value r) {
        await_hint(words, own, r);
        close(words, own);
    }

    /// Lets readers join, and `own` be told when they have left.
    void open(const DrainWords& words, Word own) {
        fabric_.fetch_add(words.ro, name_of(own));
        wake_joiners(words);
    }

    void close(const DrainWords& words, Word own) {
        const Value gone = Value{0} - name_of(own);
        while (DrainWord::inside(fabric_.fetch_add(words.ro, gone)) != 0)
            await_hint(words, own, 0);
    }

  private:
    /// Whether there is a drain, and the caller is inside, or was admitted meanwhile.
    template <class IsOver>
    bool joins(const DrainWords& words, IsOver&& is_over) {
        if (DrainWord::drainer(fabric_.get(words.ro)) == 0)
            return false;
        if (DrainWord::drainer(fabric_.fetch_add(words.ro, DrainWord::kReader)) == 0) {
            leave(words);
            return false;
        }
        if (is_over()) // it is not the drain of the caller's phase
            leave(words);
        return true;
    }

    void await_hint(const DrainWords& words, Word own, Value r) {
        const Word drn = field(own, kDrn);
        const Value more = r * DrainWord::kReader;
        // Late hints of an earlier drain are erased before anybody can send one of this.
        fabric_.put(drn, 0);
        const Value before = fabric_.fetch_add(words.ro, more + name_of(own));
        if (DrainWord::inside(before + more) == 0)
            return;
        wake_joiners(words);
        fabric_.await(drn, fabric::equals(1));
    }

    F& fabric_;
    PushList<F> joiners_;
};

} // namespace rmalock::locks
