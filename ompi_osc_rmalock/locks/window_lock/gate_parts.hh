// What the two sides of a window's gate (all_gate.hh) share: its words, and the changes of its
// mode.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <span>

#include "locks/parts/drain.hh"
#include "locks/parts/node_event_count.hh"
#include "locks/parts/patience.hh"
#include "locks/window_lock/gate_nodes.hh"
#include "locks/window_lock/gate_rules.hh"

namespace rmalock::locks {

/// How many in a row the gate becomes theirs for, and how long a process lets others go first.
struct GateLimits {
    Value alls;               ///< of lock_alls, of which each process's every `each_all`th counts
    Value exclusives;         ///< of exclusives, in the same way
    Value each_all = 1;       ///< K_A = alls * each_all; a power of 2
    Value each_exclusive = 1; ///< K_X = exclusives * each_exclusive; a power of 2
    Duration patience{};      ///< the first round of a wait (patience.hh); 0: for ever

    static GateLimits of(Rank ranks, std::size_t nodes, Duration patience) {
        constexpr Value kFew = 32, kSome = 64, kAlls = 4, kExclusives = 8;
        const Value flip = nodes > 1 ? nodes : static_cast<Value>(ranks);
        const auto each = [](Value times, Value counted) {
            return std::bit_ceil((times + counted - 1) / counted);
        };
        return {kAlls, kExclusives, each(std::max<Value>(nodes, kFew), kAlls),
                each(std::max(flip, kSome), kExclusives), patience};
    }
};

/// L of a node: how many lock_alls are inside by it, whether more may enter, and which rank is told
/// when they have left.
struct NodeCount {
    static constexpr Value kOne = DrainWord::kReader;
    static constexpr Value kOpen = Value{1} << (kNameBits - 1);
    static constexpr Value inside(Value l) { return DrainWord::inside(l); }
    static constexpr bool open(Value l) { return (l & kOpen) != 0; }
    /// The rank, and 1; 0: none.
    static constexpr Value closer(Value l) { return l % kOpen; }
    static constexpr Value named(Rank rank) { return static_cast<Value>(rank) + 1; }
};

/// How often in a row a process has gone past others that waited, when its round was over: the next
/// one is longer. Threads may count past each other, which only makes a round shorter or longer.
template <fabric::Fabric F>
class TimesPast {
  public:
    Duration next(Duration first) const { return Rounds<F>(first, times_).next(); }
    void note(bool past) {
        if (!past)
            reset();
        else if (!F::kTimeless)
            times_.fetch_add(1, std::memory_order_relaxed);
    }
    void reset() { times_.store(0, std::memory_order_relaxed); }

  private:
    std::atomic<unsigned> times_{0};
};

template <fabric::Fabric F, template <class> class Waits, bool gated_always>
struct GateParts {
    using G = GateWord;
    using Mode = GateWord::Mode;
    using By = GateChange::By;
    using Rules = GateRules<gated_always>;
    using Past = TimesPast<F>;
    static constexpr bool kGatedAlways = gated_always;

    GateParts(F& gate_fabric, Slot slot, const GateNodes& places, const GateLimits& how)
        : fabric(gate_fabric), gate{0, slot}, mark{places.mine, slot + 1},
          resolved_mark(fabric.resolve(mark)), count{places.mine, slot + 2}, gone{fabric.self(),
                                                                                  slot + 4},
          nodes(places.all), limits(how),
          events(fabric, places.all, {{places.mine, slot + 3}, slot + 5}, gate) {}

    /// Exclusives have to go through the gate.
    bool marked() { return gated_always || fabric.get(resolved_mark) != 0; }

    /// Whether the mode is `to` now, which was that of `seen`, `from`.
    template <By by, Mode from, Mode to>
    bool begin(Value seen) {
        static_assert(is_gate_change(GateChange::begin(by, from, to)));
        return fabric.compare_swap(gate, seen, G::with_mode(seen, to)) == seen;
    }
    /// For the process that has changed the mode to `from`, for which all others wait. `me` is what
    /// G counts of it. Returns G.
    template <By by, Mode from, Mode to>
    Value end(Value me) {
        static_assert(is_gate_change(GateChange::end(by, from, to)));
        const Value settled = fabric.fetch_add(gate, G::step(from, to)) + G::step(from, to);
        if (Rules::others_wait(settled, me))
            events.advance();
        ++changes;
        fabric.mode_changed();
        return settled;
    }

    F& fabric;
    const Word gate;
    const Word mark; ///< M of this node
    const typename F::Resolved resolved_mark;
    const Word count; ///< L of this node
    const Word gone;
    const std::span<const Rank> nodes;
    const GateLimits limits;
    Waits<F> events;
    std::uint64_t changes = 0; ///< of the mode, by this process
};

} // namespace rmalock::locks
