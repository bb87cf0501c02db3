// What can be wrong with the gate; each has to be caught.
#pragma once

#include "broken_fabric.hh"

namespace rmalock::check::gate_fault {

inline constexpr Slot kG = 0;

/// Who comes to a room that is open enters, though the other room waits: the epoch turns on it.
struct EnterClosedDoor : Sound {
    Value seen(Word w, Value v) {
        // The wait looks whether its epoch has begun; on the first look, it always has.
        return w.slot == kG && first_look_ ? v ^ (Value{2} << 62) : v;
    }
    void done(Verb verb, Word w, Value v) {
        constexpr Value kMembers = (Value{1} << 31) - 1;
        const bool open_0 = (v >> 62 & 1) == 0;
        first_look_ =
            verb == Verb::fetch_add && w.slot == kG && open_0 && (v >> 31 & kMembers) != 0;
    }
    bool first_look_ = false;
};

/// Nobody is woken. WAKE is word 3 of the one node behind two lines of home records.
struct NoWake : Sound {
    bool skips_put(Word w, Value v) { return w.slot == 19 && v == 1; }
};

} // namespace rmalock::check::gate_fault
