// What can be wrong with the gate of a window's locks; each has to be caught.
#pragma once

#include "broken_fabric.hh"

namespace rmalock::check::all_gate_fault {

inline constexpr Slot kG = 1; ///< of rank 0, behind the one word of direct-passive
inline constexpr Slot kM = 2; ///< of each node's first rank

/// R1: an exclusive does not look again whether a lock_all has come. It reads the mark of its node
/// twice, before and after it acquires the target; here the second reading always says `ungated`.
struct NoSecondLook : Sound {
    Value seen(Word w, Value v) { return w.slot == kM && target_is_mine_ ? 0 : v; }
    void done(Verb verb, Word w, Value v) {
        target_is_mine_ = verb == Verb::compare_swap && w.slot != kG && v == 0;
    }
    bool target_is_mine_ = false;
};

/// lock_all marks its own node (that of rank 0, where G is) and forgets the others.
struct OneMark : Sound {
    bool skips_swap(Word w, Value) { return w.slot == kM && w.rank != 0; }
};

/// The first time a process should wait at the gate, it goes on at once.
struct NobodyWaits : Sound {
    bool skips_await(Word w) { return w.slot == kG && waits_++ == 0; }
    std::uint64_t waits_ = 0;
};

/// A shared acquire does not wait for the owner, so the lock_all that visits the targets finds
/// nobody.
struct NoVisit : Sound {
    bool skips_await(Word w) { return w.slot != kG; }
};

} // namespace rmalock::check::all_gate_fault
