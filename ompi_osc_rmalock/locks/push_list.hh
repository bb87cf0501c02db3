// A list of waiters that is pushed onto with swaps and woken as a whole, when something is over.
//
// Words: the list's head, the name of the last node pushed (atomic); WAKE of each node (mailbox).
//
//    wait       loop  prev = SWAP(head, me)
//                     if over: wake_all             // who ended it may have emptied the list
//                     before await WAKE; WAKE = 0; if prev: wake(prev) if over, then or now: return
//                     // a wake is a hint, verify it
//    wake_all   h = SWAP(head, 0); if h: PUT(h.WAKE, 1)
//
// `over` must stay true until the waiter has done what it waited for, and who makes it true calls
// wake_all afterwards. Then nobody is lost: a node on the list is woken through the ones pushed
// after it, and the last one either was found by that wake_all or sees that it is over and serves
// the list. A node may be woken twice; WAKE is a word of its own, so a wake that comes late, when
// the node waits for something else, only makes it look again.
//
// Cost: each waiter wakes one other, a chain of one hop per waiter.
#pragma once

#include "locks/pool.hh"

namespace rmalock::locks {

template <fabric::Fabric F>
class PushList {
  public:
    static constexpr Slot kWake = 3; // of a node; 0-2 are in mcs_queue.hh and pfx.hh

    explicit PushList(F& fabric) : fabric_(fabric) {}

    template <class Over>
    void wait(Word head, Word node, Over&& over) {
        for (bool done = false; !done; done = done || over()) {
            const Value prev = fabric_.swap(head, name_of(node));
            done = over();
            if (done)
                wake_all(head);
            fabric_.await(field(node, kWake), fabric::equals(1));
            fabric_.put(field(node, kWake), 0);
            if (prev != 0)
                wake(prev);
        }
    }

    /// Returns the name of the node that was woken first, 0 if there was none.
    Value wake_all(Word head) {
        const Value last = fabric_.swap(head, 0);
        if (last != 0)
            wake(last);
        return last;
    }

  private:
    void wake(Value name) { fabric_.put(field(node_of(name), kWake), 1); }

    F& fabric_;
};

} // namespace rmalock::locks
