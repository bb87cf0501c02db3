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
        constexpr Value kFew = 32, kSome = 64, kAlls = 2, kExclusives = 4;
        static_assert(kAlls <= GateWord::kLongestRow && kExclusives <= GateWord::kLongestStreak);
        const Value flip = nodes > 1 ? nodes : static_cast<Value>(ranks);
        const auto each = [](Value times, Value counted) {
            return std::bit_ceil((times + counted - 1) / counted);
        };
        return {kAlls, kExclusives, each(std::max<Value>(nodes, kFew), kAlls),
                each(std::max(flip, kSome), kExclusives), patience};
    }
};

/// The gate's words, from a slot of each rank on. Beside each: what it promises, and the race of
/// all_gate.hh that it settles.
struct GateSlots {
    /// G, at rank 0 (GateWord).
    static constexpr Slot kG = 0;
    /// M, at each node's first rank: exclusives have to go through the gate. It is set everywhere
    /// before the look for holders, and read with the target in hand: of a lock_all and an
    /// exclusive one sees the other (R1). An exclusive inside the room takes it away (R5).
    static constexpr Slot kM = 1;
    static constexpr Value kMarked = 1;
    /// L, beside M (NodeCount).
    static constexpr Slot kL = 2;
    /// Of each node: where its processes wait for G (EventCountWords). COPY is behind LOOKED.
    static constexpr Slot kEvents = 3, kLooked = 5, kCopy = kLooked + EventCountWords::kCopyBehind;
    /// GONE, at each rank: the last lock_all has left an L that this process has named itself in.
    /// The process takes back what it has waited for, so none of the next close is lost.
    static constexpr Slot kGone = 4;
    static constexpr Value kGone1 = 1;
    static constexpr Slot kSlots = kCopy + 1;
};
static_assert(fabric::WindowSlots::gate + GateSlots::kSlots <= fabric::WindowSlots::sections);

/// L of a node. Beside each field: what it promises, and the race of all_gate.hh that it settles.
struct NodeCount {
    /// A lock_all inside by this node. No exclusive enters before it has left. It counts none that
    /// only tries: a lock_all enters by a CAS of an L that is open (R3).
    static constexpr Value kOne = DrainWord::kReader;
    /// Lock_alls may enter by the node. Set by a lock_all inside its room, so no exclusive is in
    /// (R6). It is in the word of the CAS, so once it is taken away the count grows no more.
    static constexpr Value kOpen = Value{1} << (kNameBits - 1);
    /// The rank that is to be told, and 1; 0: none. One atomic names the closer and shows the
    /// count, and one takes a lock_all out and shows the closer: either the closer finds 0, or the
    /// last lock_all finds the closer.
    static constexpr Value closer(Value l) { return l % kOpen; }

    static constexpr Value inside(Value l) { return DrainWord::inside(l); }
    static constexpr bool open(Value l) { return (l & kOpen) != 0; }
    static constexpr Value named(Rank rank) { return static_cast<Value>(rank) + 1; }
};
// A process is in one lock_all, and its count is read as a signed one (drain.hh).
static_assert(fabric::kMostRanks < NodeCount::kOpen);
static_assert(NodeCount::inside(Value{fabric::kMostRanks} * NodeCount::kOne) == fabric::kMostRanks);

/// How often in a row a process has gone past others that waited, when its round was over: the next
/// one is longer, as long as the same ones wait. `others` tells those from later ones: two processes
/// that meet under a new one each time wait for one short round each time. Threads may count past
/// each other, which only makes a round shorter or longer.
template <fabric::Fabric F>
class TimesPast {
  public:
    static constexpr bool kGrows = !F::kTimeless;

    Duration next(Duration first, Value others) {
        if (others != others_.load(std::memory_order_relaxed))
            reset();
        return Rounds<F>(first, times_.load(std::memory_order_relaxed)).next();
    }
    void note(bool past, Value others) {
        if (!past) {
            reset();
        } else if (kGrows) {
            times_.fetch_add(1, std::memory_order_relaxed);
            others_.store(others, std::memory_order_relaxed);
        }
    }
    void reset() { times_.store(0, std::memory_order_relaxed); }

  private:
    std::atomic<unsigned> times_{0};
    std::atomic<Value> others_{0};
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
        : fabric(gate_fabric), gate{0, slot + GateSlots::kG}, mark{places.mine,
                                                                   slot + GateSlots::kM},
          resolved_mark(fabric.resolve(mark)), count{places.mine, slot + GateSlots::kL},
          gone{fabric.self(), slot + GateSlots::kGone}, nodes(places.all), limits(how),
          events(fabric, places.all,
                 {{places.mine, slot + GateSlots::kEvents}, slot + GateSlots::kLooked}, gate) {}

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
