// The verbs of a window that is on one node and used by one thread: CPU atomics, counted.
//
// HybridFabric does the same for any window, and asks at every verb what kind it is. To a lock that
// nobody contends for, these questions are half of the work.
#pragma once

#include "fabric/cpu.hh"
#include "fabric/tally.hh"

namespace rmalock::fabric {

class NodeFabric : public CpuFabric {
  public:
    using CpuFabric::CpuFabric;

    static constexpr bool kOneNode = true;

    Value get(Word w) { return counted().get(w); }
    Value get(AtHand w) { return counted().get(w); }
    Value fetch_add(Word w, Value v) { return counted().fetch_add(w, v); }
    Value swap(Word w, Value v) { return counted().swap(w, v); }
    Value compare_swap(Word w, Value expected, Value desired) {
        return counted().compare_swap(w, expected, desired);
    }
    void put(Word w, Value v) { counted().put(w, v); }
    void add(Word w, Value v) { counted().add(w, v); }
    void count(Word w, Value v) { counted().count(w, v); }
    void scan(std::span<const Rank> ranks, Slot first, Slot stride, std::span<Value> out) {
        counted().scan(ranks, first, stride, out);
    }
    void add_each(std::span<const Rank> ranks, Slot slot, Value v) {
        counted().add_each(ranks, slot, v);
    }

    template <Predicate P>
    Value await(Word w, P pred) {
        if (const Value seen = counted().look(w); pred(seen))
            return seen;
        const Waiting waiting(false);
        return CpuFabric::await(w, pred);
    }
    template <Predicate P>
    std::optional<Value> await_until(Word w, P pred, Moment end) {
        if (const Value seen = counted().look(w); pred(seen))
            return seen;
        const Waiting waiting(false);
        return CpuFabric::await_until(w, pred, end);
    }
    void backoff(unsigned attempt) {
        const Waiting waiting(false);
        CpuFabric::backoff(attempt);
    }

    // Beside the verbs: see fabric/tally.hh.
    Tally& tally() { return tally_; }
    const Tally& tally() const { return tally_; }
    void handed_over(Rank) { tally_.near_handovers.add(false); }
    void mode_changed() { tally_.mode_changes.add(false); }

  private:
    [[gnu::always_inline]] CpuFabric& counted() {
        tally_.near_verbs.add(false);
        return *this;
    }

    Tally tally_;
};

static_assert(Fabric<NodeFabric>);

} // namespace rmalock::fabric
