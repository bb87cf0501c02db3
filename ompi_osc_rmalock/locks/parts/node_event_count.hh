// An event count on every node: processes wait there for a word of another node to change.
//
// Our own.
//
// Words: EVENTS at the first rank of each node (atomic): how often something has changed.
//
//    await(w, p)   e = GET(EVENTS of the own node);  v = GET(w);  if p(v): return v
//                  await EVENTS != e, and again
//    advance       ADD_EACH(EVENTS, 1)
//
// A process that changes w so that a waiter's p may hold now advances the counts afterwards. No
// waiter is forgotten: a wait that read w before the change has read EVENTS before that, and so
// before it was advanced. A waiter need not be known, leaves nothing behind when it gives up, and
// owes nobody anything when it is woken: no chain of processes has to wake each other.
//
// Cost: to wait, two reads, one of them off the node, and one more off it each time the counts
// advance; to advance, an atomic for each node, all for one round trip. Memory: a word for each
// node.
#pragma once

#include <optional>
#include <span>

#include "locks/lock.hh"

namespace rmalock::locks {

template <class F>
class NodeEventCount {
  public:
    /// EVENTS is slot `word.slot` of each of `nodes`, zeroed before anybody waits; `word` is the
    /// calling process's. The span outlives the NodeEventCount.
    NodeEventCount(F& fabric, std::span<const Rank> nodes, Word word)
        : fabric_(fabric), nodes_(nodes), events_(word) {}

    void advance() { fabric_.add_each(nodes_, events_.slot, 1); }

    template <fabric::Predicate P>
    Value await(Word w, P pred) {
        for (;;) {
            const Value seen_events = fabric_.get(events_);
            if (const Value seen = fabric_.get(w); pred(seen))
                return seen;
            fabric_.await(events_, fabric::differs(seen_events));
        }
    }
    /// The same, but gives up when `end` has come.
    template <fabric::Predicate P>
    std::optional<Value> await_until(Word w, P pred, fabric::Moment end) {
        for (;;) {
            const Value seen_events = fabric_.get(events_);
            if (const Value seen = fabric_.get(w); pred(seen))
                return seen;
            if (!fabric_.await_until(events_, fabric::differs(seen_events), end))
                return std::nullopt;
        }
    }

  private:
    F& fabric_;
    const std::span<const Rank> nodes_;
    const Word events_;
};

} // namespace rmalock::locks
