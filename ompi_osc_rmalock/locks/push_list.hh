// A list of waiters that is pushed onto with swaps and woken as a whole, when something is over.
//
// Words: the list's head, [ beside:24 | the last node pushed:40 ] (atomic); WAKE of each node
// (mailbox).
//
//    wait       loop  prev = SWAP(head, me)
//                     if over: wake_all             // who ended it may have emptied the list
//                     before await WAKE; WAKE = 0; serve(prev)
//                     if over, then or now: return  // a wake is a hint, verify it
//    wake_all   serve(SWAP(head, 0))
//    serve(v)   if v.node: PUT(v.node.WAKE, 1);  if v.beside: do what the caller says
//    ask        if !GET(head).beside: FADD(head, beside + 1)
//
// `over` must stay true until the waiter has done what it waited for, or whoever makes it true
// again calls wake_all, as who makes it true has to in any case. Then nobody is lost: a node on the
// list is woken through the ones pushed after it, and the last one either was found by that
// wake_all or sees that it is over and serves the list. A node may be woken twice; WAKE is a word
// of its own, so a wake that comes late, when the node waits for something else, only makes it look
// again.
//
// Who waits elsewhere for the same end as well asks, and looks afterwards whether it is over. What
// was asked for is found by wake_all, or by the next one that was pushed, in its prev, and so done
// when that one is woken: who finds that somebody has asked already need not ask again.
//
// Cost: each waiter wakes one other, a chain of one hop per waiter.
#pragma once

#include "locks/pool.hh"

namespace rmalock::locks {

template <fabric::Fabric F>
class PushList {
  public:
    static constexpr Slot kWake = 3; // of a node; 0-2 are in mcs_queue.hh and drain.hh

    explicit PushList(F& fabric) : fabric_(fabric) {}

    struct Nothing {
        void operator()() const {}
    };

    template <class Over, class Beside = Nothing>
    void wait(Word head, Word node, Over&& over, Beside beside = {}) {
        for (bool done = false; !done; done = done || over()) {
            const Value prev = push(head, node);
            done = over();
            if (done)
                wake_all(head, beside);
            await_wake(node, prev, beside);
        }
    }

    // The same in parts, for who has something to do in between.
    Value push(Word head, Word node) { return fabric_.swap(head, name_of(node)); }
    template <class Beside = Nothing>
    void await_wake(Word node, Value prev, Beside beside = {}) {
        fabric_.await(field(node, kWake), fabric::equals(1));
        fabric_.put(field(node, kWake), 0);
        serve(prev, beside);
    }

    /// Returns the name of the node that was woken first, 0 if there was none.
    template <class Beside = Nothing>
    Value wake_all(Word head, Beside beside = {}) {
        return serve(fabric_.swap(head, 0), beside);
    }

    /// Whoever wakes the list does `beside`, too.
    void ask(Word head) {
        if (fabric_.get(head) <= kNameMask)
            fabric_.fetch_add(head, kNameMask + 1);
    }

  private:
    template <class Beside>
    Value serve(Value v, Beside beside) {
        const Value name = v & kNameMask;
        if (name != 0)
            fabric_.put(field(node_of(name), kWake), 1);
        if (v != name)
            beside();
        return name;
    }

    F& fabric_;
};

} // namespace rmalock::locks
