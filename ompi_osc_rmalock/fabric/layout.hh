// Which slot of a rank's state holds what. Words that different processes write while somebody
// waits on another one do not share a cache line.
#pragma once

#include <cstddef>

#include "fabric/concept.hh"

namespace rmalock::fabric {

inline constexpr std::size_t kCacheLine = 64;
inline constexpr Slot kWordsPerLine = kCacheLine / sizeof(Value);

/// The first slot of cache line `line` of a rank's state.
constexpr Slot line(Slot line) { return line * kWordsPerLine; }

/// Bytes that `slots` words take, rounded up to whole cache lines.
constexpr std::size_t bytes_of(Slot slots) {
    return (slots + kWordsPerLine - 1) / kWordsPerLine * kCacheLine;
}

/// The state a window keeps for each rank, in slots.
struct WindowSlots {
    /// The lock's home record: the words of the target that origins contend for. One line; a lock
    /// that needs more says so in its header and gets more lines behind `post_bits`.
    static constexpr Slot lock = line(0);
    /// At rank 0: the gate between lock_all and exclusive locks (locks/all_gate.hh).
    static constexpr Slot gate = line(1);
    /// Serialises accumulates that no single CPU atomic can do.
    static constexpr Slot accumulate = line(2);
    /// Active target: how many origins have called MPI_Win_complete towards this rank.
    static constexpr Slot completions = line(3);
    /// Active target: bit t of this array says that rank t has posted to this rank. Variable length.
    static constexpr Slot post_bits = line(4);

    /// Slots a rank needs in a window of `ranks` processes.
    static constexpr Slot count(Rank ranks) {
        return post_bits + (static_cast<Slot>(ranks) + 63) / 64;
    }
};

static_assert(WindowSlots::lock % kWordsPerLine == 0);
static_assert(WindowSlots::post_bits % kWordsPerLine == 0);
// Protocol state per process and window, the formula of the README: 256 + 8 * ceil(P / 64) bytes,
// in whole cache lines.
static_assert(bytes_of(WindowSlots::count(1)) == 320);
static_assert(bytes_of(WindowSlots::count(1024)) == 384);
static_assert(bytes_of(WindowSlots::count(65536)) == 256 + 8192);

} // namespace rmalock::fabric
