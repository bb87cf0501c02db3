// Queue nodes: where a process waits, one per target it holds or awaits, and how words name them.
//
// The papers give each process one NEXT and one STATUS. A process of MPI may hold and await locks
// on many targets at once, so it has many nodes here. A node is one cache line of its owner's
// state: others write into it, only its owner waits on it. Nodes are all zero while they are free.
//
// A name is 40 bits, so that a word has room for a count or a kind beside it:
//
//     39         18 17      0
//    [ rank + 1    | slot    ]      0 names nobody
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdio>
#include <cstdlib>

#include "fabric/layout.hh"
#include "locks/lock.hh"

namespace rmalock::locks {

inline constexpr unsigned kNameSlotBits = 18;
inline constexpr unsigned kNameBits = 40;
inline constexpr Value kNameMask = (Value{1} << kNameBits) - 1;

/// The name of the node whose first word is `node`.
constexpr Value name_of(Word node) {
    return (static_cast<Value>(node.rank) + 1) << kNameSlotBits | node.slot;
}

/// The first word of the node called `name`.
constexpr Word node_of(Value name) {
    return {static_cast<Rank>(name >> kNameSlotBits) - 1,
            static_cast<Slot>(name & ((Value{1} << kNameSlotBits) - 1))};
}

/// Word `offset` of a node.
constexpr Word field(Word node, Slot offset) {
    return {node.rank, node.slot + offset};
}

/// The nodes of one process, for the locks of one window. Threads of the process may share it.
class QueueNodes {
  public:
    static constexpr Slot kNodeSlots = fabric::kWordsPerLine;
    static constexpr unsigned kMaxNodes = 512;

    /// `nodes` nodes from slot `first` of rank `self` on, zeroed before anybody uses them.
    QueueNodes(Rank self, Slot first, unsigned nodes) : self_(self), first_(first), nodes_(nodes) {}

    /// The slots `nodes` nodes take.
    static constexpr Slot slots(unsigned nodes) { return nodes * kNodeSlots; }

    /// A free node. The window has one for each lock that it lets a process hold and await at
    /// once; running out is an error of the window, not a state a lock could wait in.
    Word take() {
        for (unsigned i = 0; i < nodes_; i += kBits) {
            const std::atomic_ref<Value> used(used_[i / kBits]);
            Value seen = used.load(std::memory_order_relaxed);
            // Another thread may take the same bit: then look again at what is left.
            for (unsigned bit; (bit = static_cast<unsigned>(std::countr_one(seen))) < limit(i);)
                if (used.compare_exchange_weak(seen, seen | Value{1} << bit))
                    return {self_, first_ + (i + bit) * kNodeSlots};
        }
        std::fprintf(stderr, "rmalock: all %u queue nodes of rank %d are in use\n", nodes_, self_);
        std::abort();
    }

    void give(Word node) {
        const Value i = index(node);
        std::atomic_ref(used_[i / kBits]).fetch_and(~(Value{1} << i % kBits));
    }

    /// Nodes by number, where there are few bits to name one of the own process.
    Value index(Word node) const { return (node.slot - first_) / kNodeSlots; }
    Word node(Value index) const { return {self_, first_ + static_cast<Slot>(index) * kNodeSlots}; }

  private:
    static constexpr unsigned kBits = 64;

    unsigned limit(unsigned i) const { return nodes_ - i < kBits ? nodes_ - i : kBits; }

    Rank self_;
    Slot first_;
    unsigned nodes_;
    alignas(8) std::array<Value, kMaxNodes / kBits> used_{};
};

} // namespace rmalock::locks
