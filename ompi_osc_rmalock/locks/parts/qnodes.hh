// Queue nodes: where a process waits, one per target it holds or awaits, and how words name them.
//
// The papers give each process one NEXT and one STATUS. A process of MPI may hold and await locks
// on many targets at once, so it has many queue nodes here: qnodes, as a node is a host. A qnode is
// one cache line of its owner's state: others write into it, only its owner waits on it. Qnodes are
// all zero while they are free.
//
// A process has a qnode for each rank, and never more than kMostQnodes. With more ranks than that,
// the last half of the qnodes is spared for waits, and is taken only while the first half is in
// use: a holder with one of these moves its place in the queue to a stand-in at the target
// (mcs_queue.hh). So the locks that a process holds are bounded by nothing, and those that its
// threads await at once by the qnodes.
//
// A name is 40 bits, so that a word has room for a count or a kind beside it:
//
//     39         22 21      0
//    [ rank + 1    | slot    ]      0 names nobody
#pragma once

#include <atomic>
#include <bit>

#include "fabric/layout.hh"
#include "locks/lock.hh"

namespace rmalock::locks {

inline constexpr unsigned kNameSlotBits = 22;
inline constexpr unsigned kNameBits = 40;
inline constexpr Value kNameMask = (Value{1} << kNameBits) - 1;
static_assert(fabric::kMostRanks < Rank{1} << (kNameBits - kNameSlotBits));
// Of what is named, records of trees lie farthest back: 3 levels of a line for each rank.
static_assert(fabric::WindowSlots::count(fabric::kMostRanks,
                                         {64, 3 * fabric::line(fabric::kMostRanks)}) <
              Slot{1} << kNameSlotBits);

/// The name of the qnode whose first word is `qnode`.
constexpr Value name_of(Word qnode) {
    return (static_cast<Value>(qnode.rank) + 1) << kNameSlotBits | qnode.slot;
}

/// The first word of the qnode called `name`.
constexpr Word qnode_of(Value name) {
    return {static_cast<Rank>(name >> kNameSlotBits) - 1,
            static_cast<Slot>(name & ((Value{1} << kNameSlotBits) - 1))};
}

/// Word `offset` of a qnode.
constexpr Word field(Word qnode, Slot offset) {
    return {qnode.rank, qnode.slot + offset};
}

/// The qnodes of one process, for the locks of one window. Threads of the process may share it.
class QueueNodes {
  public:
    static constexpr Slot kQnodeSlots = fabric::kWordsPerLine;
    /// Bits of a word.
    static constexpr unsigned kMostQnodes = 64;

    /// How many qnodes a process has, and how many of them are spared for waits.
    struct Room {
        unsigned qnodes;
        unsigned spared = 0;

        static constexpr Room of(Rank ranks) {
            const auto wanted = static_cast<unsigned>(ranks);
            return wanted <= kMostQnodes ? Room{wanted} : Room{kMostQnodes, kMostQnodes / 2};
        }
        constexpr Slot slots() const { return qnodes * kQnodeSlots; }
    };

    /// Qnodes from slot `first` of rank `self` on, zeroed before anybody uses them.
    QueueNodes(Rank self, Slot first, Room room)
        : self_(self), first_(first),
          first_spared_(first + (room.qnodes - room.spared) * kQnodeSlots), room_(room) {}

    /// A free qnode. Where all are in use, as many threads of the process wait for locks of the
    /// window: this one waits until one of them has its lock.
    template <fabric::Fabric F>
    Word take(F& fabric) {
        const std::atomic_ref<Value> used(used_);
        for (unsigned attempt = 0;; ++attempt) {
            Value seen = used.load(std::memory_order_relaxed);
            // Another thread may take the same bit: then look again at what is left.
            for (unsigned bit; (bit = static_cast<unsigned>(std::countr_one(seen))) < room_.qnodes;)
                if (used.compare_exchange_weak(seen, seen | Value{1} << bit,
                                               std::memory_order_acquire, // what give() releases
                                               std::memory_order_relaxed))
                    return qnode(bit);
            fabric.backoff(attempt);
        }
    }

    /// Release: this thread's use of the qnode comes before the next one's.
    void give(Word qnode) {
        std::atomic_ref(used_).fetch_and(~(Value{1} << index(qnode)), std::memory_order_release);
    }

    /// Whether a holder is to give `qnode`, one of these, back.
    bool spared(Word qnode) const { return qnode.slot >= first_spared_; }

    /// Whether `qnode` is one of these, and not a stand-in.
    bool own(Word qnode) const {
        return qnode.rank == self_ && qnode.slot >= first_ && qnode.slot < first_ + room_.slots();
    }

    /// Qnodes by number, where there are few bits to name one of the own process.
    Value index(Word qnode) const { return (qnode.slot - first_) / kQnodeSlots; }
    Word qnode(Value index) const {
        return {self_, first_ + static_cast<Slot>(index) * kQnodeSlots};
    }

  private:
    Rank self_;
    Slot first_, first_spared_;
    Room room_;
    alignas(8) Value used_ = 0;
};

} // namespace rmalock::locks
