// The verbs of a window that is on one node and used by one thread: CPU atomics, counted.
//
// HybridFabric does the same for any window, and asks at every verb what kind it is. To a lock that
// nobody contends for, these questions are half of the work.
#pragma once

#include "fabric/adapter.hh"
#include "fabric/cpu.hh"
#include "fabric/tally.hh"

namespace rmalock::fabric {

class NodeFabric : public Adapter<NodeFabric, CpuFabric> {
  public:
    NodeFabric(WordSpace space, Rank self, Waiter waiter)
        : Adapter(CpuFabric(space, self, waiter)) {}

    static constexpr bool kOneNode = true;

    [[gnu::always_inline]] void before(Use use, Rank) {
        if (use != Use::flush)
            tally_.near_verbs.add(false);
    }

    /// A wait that ends at its first look is none.
    template <Predicate P>
    Value await(Word w, P pred) {
        before(Use::wait, w.rank);
        if (const Value seen = inner().look(w); pred(seen))
            return seen;
        const Waiting waiting(false);
        return inner().await(w, pred);
    }
    template <Predicate P>
    std::optional<Value> await_until(Word w, P pred, Moment end) {
        before(Use::wait, w.rank);
        if (const Value seen = inner().look(w); pred(seen))
            return seen;
        const Waiting waiting(false);
        return inner().await_until(w, pred, end);
    }
    void backoff(unsigned attempt) {
        const Waiting waiting(false);
        inner().backoff(attempt);
    }

    const Waiter& waiter() const { return inner().waiter(); }
    Tally& tally() { return tally_; }
    const Tally& tally() const { return tally_; }
    void handed_over(Rank) { tally_.near_handovers.add(false); }
    void mode_changed() { tally_.mode_changes.add(false); }

  private:
    Tally tally_;
};

static_assert(Fabric<NodeFabric>);

} // namespace rmalock::fabric
