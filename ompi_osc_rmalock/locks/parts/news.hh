// That a word has changed, said on every node to the processes that wait there for it to change.
//
// Our own.
//
// Words: NEWS at the first rank of each node (atomic): how often something was said.
//
//    await(w, p)   e = GET(NEWS of the own node);  v = GET(w);  if p(v): return v
//                  await NEWS != e, and again
//    tell          ADD_EACH(NEWS, 1)
//
// A process that changes w so that a waiter's p may hold now tells afterwards. No waiter is
// forgotten: a wait that read w before the change has read NEWS before that, and so before it was
// told. A waiter need not be known, leaves nothing behind when it gives up, and owes nobody
// anything when it is told: no chain of processes has to wake each other.
//
// Cost: to wait, two reads, one of them off the node, and one more off it each time something is
// said; to tell, an atomic for each node, all for one round trip. Memory: a word for each node.
#pragma once

#include <optional>
#include <span>

#include "locks/lock.hh"

namespace rmalock::locks {

template <class F>
class News {
  public:
    /// NEWS is slot `word.slot` of each of `nodes`, zeroed before anybody waits; `word` is the
    /// calling process's. The span outlives the News.
    News(F& fabric, std::span<const Rank> nodes, Word word)
        : fabric_(fabric), nodes_(nodes), news_(word) {}

    void tell() { fabric_.add_each(nodes_, news_.slot, 1); }

    template <fabric::Predicate P>
    Value await(Word w, P pred) {
        for (;;) {
            const Value said = fabric_.get(news_);
            if (const Value seen = fabric_.get(w); pred(seen))
                return seen;
            fabric_.await(news_, fabric::differs(said));
        }
    }
    /// The same, but gives up when `end` has come.
    template <fabric::Predicate P>
    std::optional<Value> await_until(Word w, P pred, fabric::Moment end) {
        for (;;) {
            const Value said = fabric_.get(news_);
            if (const Value seen = fabric_.get(w); pred(seen))
                return seen;
            if (!fabric_.await_until(news_, fabric::differs(said), end))
                return std::nullopt;
        }
    }

  private:
    F& fabric_;
    const std::span<const Rank> nodes_;
    const Word news_;
};

} // namespace rmalock::locks
