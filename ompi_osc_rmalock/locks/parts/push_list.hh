// A list of waiters that is pushed onto with swaps and woken as a whole.
//
// Words: the list's head, the name of the last qnode pushed (atomic); WAKE of each qnode (mailbox).
//
//    wait       loop  prev = SWAP(head, me)
//                     if over: wake_all(LOOK)       // the list may have been woken before the push
//                     w = await WAKE != 0;  WAKE = 0;  if prev: PUT(prev.WAKE, w)
//                     if over, then or now, or w lets it go: return      // a wake is a hint
//    wake_all   h = SWAP(head, 0);  if h: PUT(h.WAKE, w)
//
// `over` must stay true until the waiter has done what it waited for; the process that makes it
// true calls wake_all afterwards. Then no waiter is lost: a qnode on the list is woken through the
// ones pushed after it, and the last one either was found by that wake_all or sees that it is over
// and wakes the list. A qnode may be woken twice; WAKE is a word of its own, so a wake that comes
// late, when the qnode waits for something else, only makes its owner look again. Of two wakes that
// come together one may be lost: LOOK is repeated by the waiter's own look, other wakes by rounds.
//
// Cost: each waiter wakes one other, a chain of one hop per waiter.
#pragma once

#include "locks/parts/qnodes.hh"

namespace rmalock::locks {

/// Its words. Beside each: what it promises, and the race that it settles.
struct PushListWords {
    /// The head: the last that came; empty: none waits. Both push and wake_all are swaps, so each
    /// name is found once, by the process that is to wake it: the one behind, or that of wake_all.
    static constexpr Value kEmpty = 0;
    /// WAKE of a qnode: its owner is to look again, and to wake the one before it on the list. No
    /// other wait uses the word, so a wake that comes late ends none; 0-2 are in mcs_queue.hh and
    /// drain.hh.
    static constexpr Slot kWake = 3;
    /// LOOK: a wake that says nothing, and is no name of a qnode. A hint: the waiter looks
    /// itself.
    static constexpr Value kLook = 1;
};

template <fabric::Fabric F>
class PushList : private PushListWords {
  public:
    explicit PushList(F& fabric) : fabric_(fabric) {}

    /// Returns when over(): false, or when woken(w) for a wake w other than LOOK: true.
    template <class Over, class Woken>
    bool wait(Word head, Word qnode, Over&& over, Woken&& woken) {
        const auto mark = fabric_.mark();
        for (;;) {
            const Value prev = fabric_.swap(head, name_of(qnode));
            const bool done = over();
            if (done)
                wake_all(head, kLook);
            const Value wake = await_wake(qnode, prev);
            if (done || over())
                return false;
            if (wake != kLook && woken(wake))
                return true;
            fabric_.rewind(mark);
        }
    }

    /// Returns the name of the qnode that was woken first, 0 if there was none.
    Value wake_all(Word head, Value wake) { return serve(fabric_.swap(head, kEmpty), wake); }

  private:
    Value await_wake(Word qnode, Value prev) {
        const Value wake = fabric_.await(field(qnode, kWake), fabric::differs(0));
        fabric_.put(field(qnode, kWake), 0);
        serve(prev, wake);
        return wake;
    }
    Value serve(Value name, Value wake) {
        if (name != kEmpty)
            fabric_.put(field(qnode_of(name), kWake), wake);
        return name;
    }

    F& fabric_;
};

} // namespace rmalock::locks
