// What can be wrong with the gate of a window's locks; each has to be caught.
#pragma once

#include "broken_fabric.hh"

namespace rmalock::check::all_gate_fault {

inline constexpr Slot kG = 1;         ///< of rank 0, behind the one word of direct-passive
inline constexpr Slot kM = 2, kL = 3; ///< of each node's first rank
inline constexpr Value kOneAll = 1, kOneInRow = Value{1} << 56;
inline constexpr Value kExclusives = ((Value{1} << 20) - 1) << 19;
inline constexpr Value kOneMode = Value{1} << 39;

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

/// A lock_all does not see the exclusives that went through the gate.
struct NobodyWaits : Sound {
    Value fetched(Word w, Value operand, Value v) {
        return w.slot == kG && operand == kOneAll + kOneInRow ? v & ~kExclusives : v;
    }
};

/// A shared acquire does not wait for the owner, so the lock_all that visits the targets finds
/// nobody.
struct NoVisit : Sound {
    bool skips_await(Word w) { return w.slot != kG; }
};

/// An exclusive that closes the counters of lock_alls does not wait for those inside.
struct NoWaitForCounted : Sound {
    bool skips_await(Word w) { return w.slot == kL; }
};

/// It closes the counter of its own node and forgets the others.
struct OneClosed : Sound {
    bool skips_fetch_add(Word w, Value) { return forgets(w) && closing_; }
    bool skips_await(Word w) { return forgets(w); }
    /// Who closes has waited for the gate; who opens has only looked at it.
    void done(Verb verb, Word w, Value) {
        if (w.slot == kG && (verb == Verb::get || verb == Verb::await))
            closing_ = verb == Verb::await;
    }
    static bool forgets(Word w) { return w.slot == kL && w.rank != 0; }
    std::uint64_t closing_ = 0;
};

/// Who enters by a counter does not look whether it is still open.
struct EntersClosed : Sound {
    bool compares(Word w) { return w.slot != kL; }
};

/// A lock_all that comes while exclusives take the gate back does not see that it has become
/// theirs.
struct SeesItGated : Sound {
    Value fetched(Word w, Value operand, Value v) {
        const bool ungated = (v >> 39 & 7) == 0;
        return w.slot == kG && operand == kOneAll + kOneInRow && ungated && ++times_ == 2
                   ? v + 2 * kOneMode
                   : v;
    }
    std::uint64_t times_ = 0;
};

/// An exclusive gives the gate back before it has taken away all marks.
struct OneUnmarked : Sound {
    bool skips_swap(Word w, Value v) { return w.slot == kM && w.rank != 0 && v == 0; }
};

} // namespace rmalock::check::all_gate_fault
