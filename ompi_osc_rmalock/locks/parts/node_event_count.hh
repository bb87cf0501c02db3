// An event count on every node: processes wait there for a word of another node to change.
//
// Our own.
//
// Words, at the first rank of each node:
//
//    EVENTS   how often something has changed (atomic)
//    LOOKED   2e + 1: a process of the node reads w, and has read e of EVENTS before that;
//             2e + 2: COPY is what it found (cohort)
//    COPY     (cohort)
//
//    await(p)   e = GET(EVENTS of the own node);  v = GET(w);  until p(v):
//                   await EVENTS != e;  e = GET(EVENTS)
//                   l = await LOOKED even
//                   l > 2e + 1:  v = GET(COPY)
//                   else CAS(LOOKED, l -> 2e + 1):  v = GET(w);  SWAP(COPY, v);  ADD(LOOKED, 1)
//                   else again from l
//    advance    ADD_EACH(EVENTS, 1)
//
// A process that changes w so that a waiter's p may hold now advances the counts afterwards. No
// waiter is forgotten: a wait that read w before the change has read EVENTS before that, and so
// before it was advanced. A waiter need not be known, leaves nothing behind when it gives up, and
// owes nobody anything when it is woken: no chain of processes has to wake each other.
//
// What is found in COPY was read from w after e of EVENTS had been, and e grows while the process
// waits: so w has had that value since the wait began, as with a GET of one's own that took long,
// and what changed w afterwards advances the counts once more. The first look is the process's
// own: it may have changed w itself since the node's last event. COPY is overwritten only by what
// was read after a later event, which is as good.
//
// Cost: to wait, two reads, one of them off the node; each time the counts advance one more off it
// for all that wait on the node, and on the node three atomics of one of them, two reads of each
// other. Where w is on the node each reads w. To advance, an atomic for each node, all for one
// round trip. Memory: three words for each node.
#pragma once

#include <optional>
#include <span>

#include "locks/lock.hh"

namespace rmalock::locks {

/// Beside each: what it promises, and the race that it settles.
struct EventCountWords {
    /// EVENTS: the watched word has changed since, or may have. It is advanced behind the change:
    /// of a waiter that reads it first and the word then, either finds the change, or waits for an
    /// event that comes.
    static constexpr Value kEvent = 1;

    // LOOKED. A process comes by a CAS of an even value, so one of the node looks at a time, and no
    // other one writes COPY.
    /// A process that has read so many events looks at the word for all.
    static constexpr Value looking(Value events) { return 2 * events + 1; }
    static constexpr bool is_looking(Value looked) { return looked % 2 != 0; }
    /// It has found, added to that: COPY has the word as it was after those events. So COPY is as
    /// good as a look of one's own if LOOKED is more than one's own `looking`.
    static constexpr Value kFound = 1;

    /// COPY, so far behind LOOKED: the word as one process found it. Only the one whose CAS of
    /// LOOKED has won writes it, before it adds kFound. A process reads it behind that, and finds
    /// what was read after its own events, or after later ones, which is as good.
    static constexpr Slot kCopyBehind = 1;
};

/// `copies`: one process of a node looks for all; else, in checks of what waits, each does.
template <class F, bool copies = true>
class NodeEventCount : private EventCountWords {
  public:
    /// Of the node of the calling process; zeroed before anybody waits.
    struct Words {
        Word events;
        Slot looked; ///< at the same rank; COPY is kCopyBehind words further
    };

    /// EVENTS is slot `events.slot` of each of `nodes`, a span that outlives this.
    NodeEventCount(F& fabric, std::span<const Rank> nodes, const Words& words, Word watched)
        : fabric_(fabric), nodes_(nodes),
          events_(words.events), looked_{words.events.rank, words.looked}, copy_{words.events.rank,
                                                                                 words.looked +
                                                                                     kCopyBehind},
          watched_(watched), copies_(copies && !fabric.same_node(watched.rank)) {}

    void advance() { fabric_.add_each(nodes_, events_.slot, kEvent); }

    /// Returns what the word was when pred held.
    template <fabric::Predicate P>
    Value await(P pred) {
        return *await_until(pred, {});
    }
    /// The same, but gives up when `end` has come.
    template <fabric::Predicate P>
    std::optional<Value> await_until(P pred, fabric::Moment end) {
        for (bool came = true;; came = false) {
            const Value events = fabric_.get(events_);
            const Value seen = came || !copies_ ? fabric_.get(watched_) : look_once(events);
            if (pred(seen))
                return seen;
            if (!fabric_.await_until(events_, fabric::differs(events), end))
                return std::nullopt;
        }
    }

  private:
    /// What the word was after so many events, or later.
    Value look_once(Value events) {
        const Value mine = looking(events);
        for (;;) {
            const Value looked = fabric_.await(looked_, [](Value v) { return !is_looking(v); });
            if (looked > mine)
                return fabric_.get(copy_);
            if (fabric_.near_compare_swap(looked_, looked, mine) == looked)
                return look_for_all();
        }
    }
    Value look_for_all() {
        const Value seen = fabric_.get(watched_);
        fabric_.near_swap(copy_, seen);
        fabric_.near_add(looked_, kFound);
        return seen;
    }

    F& fabric_;
    const std::span<const Rank> nodes_;
    const Word events_, looked_, copy_, watched_;
    const bool copies_;
};

} // namespace rmalock::locks
