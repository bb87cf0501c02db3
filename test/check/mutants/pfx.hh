// What can be wrong with the phase-fair lock; each has to be caught.
#pragma once

#include "broken_fabric.hh"

namespace rmalock::check::pfx_fault {

// Words of the home record and of a node, as in locks/pfx.hh. Nodes start behind the home record.
inline constexpr Slot kS = 0, kHw = 3, kHomeSlots = 8, kDrn = 2, kWake = 3;
inline bool is(Word w, Slot offset) {
    return w.slot == kHomeSlots + offset;
}
inline constexpr Value kPhase = Value{1} << 63;

/// An exclusive does not wait for the readers of the phase before it.
struct NoDrain : Sound {
    bool skips_await(Word w) { return is(w, kDrn); }
};

/// A reader that lies to itself about the phase.
struct Misread : Sound {
    Value with_phase(Value v, bool same) const {
        return (v & ~kPhase) | (same ? registered_ : registered_ ^ kPhase);
    }
    void done(Verb verb, Word w, Value v) {
        if (verb == Verb::fetch_add && w.slot == kS)
            registered_ = v & kPhase;
        if (verb != Verb::put)
            last_ = verb;
    }
    Value registered_ = 0;
    Verb last_ = Verb::put;
};

/// A reader takes every wake for the end of its phase.
struct NoVerify : Misread {
    Value seen(Word w, Value v) {
        return w.slot == kS && last_ == Verb::await ? with_phase(v, false) : v;
    }
};

/// A reader that joins the list after its phase was ended does not notice.
struct NoSelfServe : Misread {
    Value seen(Word w, Value v) {
        return w.slot == kS && last_ == Verb::swap ? with_phase(v, true) : v;
    }
};

/// A reader that is woken does not wake the one before it on the list.
struct NoWakeChain : Sound {
    bool skips_put(Word w, Value v) { return is(w, kWake) && v == 1 && woken_; }
    void done(Verb verb, Word w, Value) {
        if (verb == Verb::await)
            woken_ = is(w, kWake);
        else if (verb != Verb::put)
            woken_ = false;
    }
    bool woken_ = false;
};

/// What an owner and the first of the queue left in HW is not taken away.
struct HwNotCleared : Sound {
    bool skips_swap(Word w, Value v) { return w.slot == kHw && v == 0; }
};

} // namespace rmalock::check::pfx_fault
