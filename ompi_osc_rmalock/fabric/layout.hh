// Which slot of a rank's state holds what. Words that different processes write while somebody
// waits on another one do not share a cache line.
#pragma once

#include <cstddef>

#include "fabric/concept.hh"

namespace rmalock::fabric {

inline constexpr std::size_t kCacheLine = 64;
inline constexpr Slot kWordsPerLine = kCacheLine / sizeof(Value);

/// The first slot of cache line `line` of a rank's state.
constexpr Slot line(Slot line) {
    return line * kWordsPerLine;
}

/// Bytes that `slots` words take, rounded up to whole cache lines.
constexpr std::size_t bytes_of(Slot slots) {
    return (slots + kWordsPerLine - 1) / kWordsPerLine * kCacheLine;
}

/// Ranks of a window at most. More are refused when it is created.
inline constexpr Rank kMostRanks = 65536;
/// Nodes that a window's state has room for within 16 KiB at each rank.
inline constexpr Rank kManyNodes = 4096;

/// What the lock of a window needs at each rank beside the home record; the same at every rank.
struct LockSlots {
    Slot qnodes = 0;   ///< queue nodes, of a line each
    Slot elements = 0; ///< words for the records of the tree's elements and counters, whole lines
    Slot holders =
        0; ///< what processes of a node hold (locks/parts/holder_records.hh), of a line each
};

/// The state a window keeps for each rank, in slots.
struct WindowSlots {
    /// The lock's home record: the words of the target that origins contend for. One line.
    static constexpr Slot lock = line(0);
    /// At rank 0, and at the first rank of each node: the gate between lock_all and exclusive locks
    /// (locks/window_lock/all_gate.hh).
    static constexpr Slot gate = line(1);
    /// Sections from other nodes that its target has seen (SectionCount, window/sync/rounds.hh).
    static constexpr Slot sections = gate + 7;
    /// Serialises accumulates that no single CPU atomic can do. Beside it what tells processes that
    /// change single elements of arrays at work (locks/parts/element_marks.hh): one line has both.
    static constexpr Slot accumulate = line(2);
    static constexpr Slot arrays = accumulate + 1;
    /// Active target: how many origins have called MPI_Win_complete towards this rank. Each adds 1
    /// behind its operations there, so a target that counts all of them finds their data. It
    /// subtracts those it has waited for: one that comes meanwhile is not lost.
    static constexpr Slot completions = line(3);
    /// Where processes of the node sleep that wait for a word of this rank (fabric/bell.hh). With a
    /// word that passive target leaves alone, so that a look for sleepers finds it in the cache.
    static constexpr Slot bell = completions + 1;
    /// Which single elements the threads of this rank work on, a line each.
    static constexpr Slot marks = line(4);
    static constexpr Slot kMarkLines = 8;
    /// Active target: bit t of this array says that rank t has posted to this rank, and done its
    /// own stores before. Rank t adds it, and this rank subtracts it, in turns: t posts again only
    /// when this rank has completed. So bits of others that change at the same time are spared.
    /// Variable length.
    static constexpr Slot post_bits = marks + line(kMarkLines);

    static constexpr Slot post_lines(Rank ranks) {
        constexpr Slot kBits = 64 * kWordsPerLine;
        return (static_cast<Slot>(ranks) + kBits - 1) / kBits;
    }
    /// The first qnode of a rank; a qnode is a line.
    static constexpr Slot qnodes(Rank ranks) { return post_bits + line(post_lines(ranks)); }
    /// The first of the lock's records of elements and counters.
    static constexpr Slot elements(Rank ranks, LockSlots lock) {
        return qnodes(ranks) + line(lock.qnodes);
    }
    /// The first holder record of a node, at its first rank; a holder record is a line.
    static constexpr Slot holders(Rank ranks, LockSlots lock) {
        return elements(ranks, lock) + lock.elements;
    }
    /// Slots a rank needs in a window of `ranks` processes.
    static constexpr Slot count(Rank ranks, LockSlots lock) {
        return holders(ranks, lock) + line(lock.holders);
    }
};

static_assert(WindowSlots::lock % kWordsPerLine == 0);
static_assert(WindowSlots::post_bits % kWordsPerLine == 0);
// Protocol state per process and window, the formula of docs/design.md, in lines of 64 bytes:
// 12 + ceil(P / 512), and what the lock needs.
static_assert(bytes_of(WindowSlots::count(1, {})) == 64 * (12 + 1));
static_assert(bytes_of(WindowSlots::count(128, {64, 0})) == 64 * (12 + 1 + 64));
static_assert(bytes_of(WindowSlots::count(1024, {64, line(3)})) == 64 * (12 + 2 + 64 + 3));
static_assert(bytes_of(WindowSlots::count(65536, {64, line(3), 16})) ==
              64 * (12 + 128 + 64 + 3 + 16));

/// Lines for records of nodes, or of elements and counters, at each rank: what makes 16 KiB with 64 queue nodes, 16 holder records
/// and a map of 4,096 nodes.
constexpr Slot record_lines(Rank ranks) {
    constexpr Slot kAll = 16384 / kCacheLine, kMap = kManyNodes / (64 * kWordsPerLine);
    constexpr LockSlots kOthers{64, 0, 16};
    const Slot used = WindowSlots::count(ranks, kOthers) / kWordsPerLine + kMap;
    return used < kAll ? kAll - used : 1;
}
static_assert(record_lines(1024) == 154 && record_lines(kMostRanks) == 28);

} // namespace rmalock::fabric
