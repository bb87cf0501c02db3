// Waiters of a node at a list of another one: the first stands there for all that come behind it.
//
// Our own. A push list (push_list.hh) wakes its waiters one by one. Where they are of several nodes, each hop
// is a message: 144 readers on 9 nodes would be let in one network latency after another. With one of
// each node on the list there are 9 hops, and the others are woken by CPUs meanwhile.
//
// Words: HERE of a record of the node (cohort), used by the node's processes only; CALL of each node
// (mailbox), beside WAKE of push_list.hh.
//
//    HERE   [ key:22 | more:1 | waiter:40 ]   the one that came last, and whether others are behind it;
//                                             key: the target that the record serves now, and what they
//                                             wait for
//    wait   loop  until CAS(HERE, h -> [key | h != 0 | me]) == h:
//                     h.key is another: stand on the list, alone
//                 h == 0:  stand on the list until woken: w
//                          h = SWAP(HERE, 0);  if h != me: PUT(h.waiter.CALL, over ? OVER : w)
//                 else     c = await CALL != 0;  CALL = 0;  if h.more: PUT(h.waiter.CALL, c)
//                          if c == OVER: return
//                 on as in push_list.hh
//
// Why nobody is lost: one that finds HERE not 0 has come behind one that stands on the list, and that has not
// yet taken HERE. It does when it is woken, and calls the last, which calls the one before it, and so
// on. The second in line knows from `more` that only the one on the list is before it. Each that came
// behind another is called once for that, and goes on only then. So a call is never late: what it says
// needs no look at the list's home. A wake may be late, and is a hint.
//
// Why the key says what they wait for: one that is admitted already, but does not know it yet, must not wait
// behind one that is not. The writer that this one waits for may be waiting for it.
//
// Cost: to wait behind another one 1 atomic, to be called 1 put, of CPUs. Memory: 1 word of a record.
#pragma once

#include <optional>

#include "fabric/on_node.hh"
#include "locks/parts/node_records.hh"
#include "locks/parts/push_list.hh"

namespace rmalock::locks {

/// Of a wait for a target.
struct WaitersHere {
    Word word; ///< HERE of the caller's node
    Value key; ///< as NodeRecords has it
    /// Of two things. Once it is over for one that waits, it is for all that wait for it.
    bool what;
};

template <fabric::Fabric F>
class NodeWaiters {
  public:
    static constexpr Slot kCall = 5; ///< of a queue node; 0-4 are in members.hh and what it names

    NodeWaiters(F& fabric, PushList<F>& list) : fabric_(fabric), here_(fabric), list_(list) {}

    /// As PushList::wait.
    template <class Over, class Woken>
    bool wait(WaitersHere here, Word head, Word node, Over&& over, Woken&& woken) {
        return list_.repeat(woken, [&] {
            const std::optional<Value> before = come(here, node);
            if (before && *before != 0) {
                const Value call = await_call(node, more(*before) ? waiter(*before) : 0);
                return call == kOver ? PushedOut{PushList<F>::kLook, true}
                                     : PushedOut{call, over()};
            }
            const PushedOut out = list_.stand(head, node, over);
            if (before)
                call_all(here, node, out.over ? kOver : out.wake);
            return out;
        });
    }

  private:
    static constexpr Value kOver = PushList<F>::kLook + 1; ///< a call that is no wake

    static constexpr unsigned kKeyShift = kNameBits + 1;
    static constexpr Value kMore = Value{1} << kNameBits;
    static_assert(fabric::kMostRanks < Rank{1} << (63 - kKeyShift));
    static constexpr Value waiter(Value here) { return here & kNameMask; }
    static constexpr bool more(Value here) { return (here & kMore) != 0; }

    /// Returns HERE before the caller, or nothing if others wait for something else.
    std::optional<Value> come(WaitersHere here, Word node) {
        const Value key = here.key << 1 | here.what, mine = key << kKeyShift | name_of(node);
        const auto mark = fabric_.mark();
        for (Value seen = fabric_.get(here.word);;) {
            if (seen != 0 && seen >> kKeyShift != key)
                return std::nullopt;
            const Value found = here_.compare_swap(here.word, seen, mine | (seen != 0 ? kMore : 0));
            if (found == seen)
                return seen;
            seen = found;
            fabric_.rewind(mark, seen);
        }
    }

    Value await_call(Word node, Value prev) {
        const Value call = fabric_.await(field(node, kCall), fabric::differs(0));
        fabric_.put(field(node, kCall), 0);
        if (prev != 0)
            fabric_.put(field(node_of(prev), kCall), call);
        return call;
    }

    /// Those that have come behind the caller.
    void call_all(WaitersHere here, Word node, Value call) {
        const Value last = waiter(here_.swap(here.word, 0));
        if (last != name_of(node))
            fabric_.put(field(node_of(last), kCall), call);
    }

    F& fabric_;
    fabric::OnNode<F> here_;
    PushList<F>& list_;
};

} // namespace rmalock::locks
