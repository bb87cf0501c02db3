// What can be wrong with the phase-fair lock; each has to be caught.
#pragma once

#include "broken_fabric.hh"
#include "locks/algorithms/pf_mcs.hh"
#include "locks/parts/drain.hh"

namespace rmalock::check::pf_mcs_fault {

// Words of the home record and of a qnode, as in locks/algorithms/pf_mcs.hh. Qnodes start behind the
// home record.
using Words = locks::PfMcsWords;
inline constexpr Slot kS = Words::kS, kRo = Words::kRo, kHw = Words::kHw, kJoin = Words::kJoin,
                      kHomeSlots = fabric::kWordsPerLine, kStatus = locks::McsQueueWords::kStatus,
                      kDrn = locks::DrainWord::kDrn, kWake = locks::PushListWords::kWake;
using locks::DrainWord;
inline bool is(Word w, Slot offset) {
    return w.slot == kHomeSlots + offset;
}
inline constexpr Value kPhase = Words::kPhase;

/// A reader that lies to itself about the phase, the bits `kField` of S.
template <Value kField>
struct MisreadOf : Sound {
    Value with_phase(Value v, bool same) const {
        return (v & ~kField) | (same ? registered_ : ~registered_ & kField);
    }
    void done(Verb verb, Word w, Value v) {
        if (verb == Verb::fetch_add && w.slot == kS)
            registered_ = v & kField;
        if (verb != Verb::put)
            last_ = verb;
    }
    Value registered_ = 0;
    Verb last_ = Verb::put;
};

/// A reader takes every wake for the end of its phase.
template <Value kField>
struct NoVerifyOf : MisreadOf<kField> {
    Value seen(Word w, Value v) {
        return w.slot == kS && this->last_ == Verb::await ? this->with_phase(v, false) : v;
    }
};
using NoVerify = NoVerifyOf<kPhase>;

/// A reader that joins the list after its phase was ended does not notice.
template <Value kField>
struct NoSelfServeOf : MisreadOf<kField> {
    Value seen(Word w, Value v) {
        return w.slot == kS && this->last_ == Verb::swap ? this->with_phase(v, true) : v;
    }
};
using NoSelfServe = NoSelfServeOf<kPhase>;

/// A reader that is woken does not wake the one before it on the list.
struct NoWakeChain : Sound {
    bool skips_put(Word w, Value v) { return is(w, kWake) && v != 0 && woken_; }
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

/// A reader that may join the drain does not: it sees no drainer.
struct NeverJoins : Sound {
    Value seen(Word w, Value v) { return w.slot == kRo ? v & ~locks::kNameMask : v; }
};

/// A reader that joined does not look whether it is the drain of its phase.
template <Value kField>
struct JoinNoRecheckOf : MisreadOf<kField> {
    Value seen(Word w, Value v) { return w.slot == kS && joined_ ? this->with_phase(v, true) : v; }
    void done(Verb verb, Word w, Value v) {
        MisreadOf<kField>::done(verb, w, v);
        joined_ = verb == Verb::fetch_add && w.slot == kRo;
    }
    bool joined_ = false;
};
using JoinNoRecheck = JoinNoRecheckOf<kPhase>;

/// A reader joins whenever others are counted, whatever process drains them: the obvious form.
struct JoinUnnamed : JoinNoRecheck {
    Value seen(Word w, Value v) { return w.slot == kRo ? by(v) : JoinNoRecheck::seen(w, v); }
    Value fetched(Word w, Value operand, Value v) {
        const bool join =
            w.slot == kRo && operand == DrainWord::kReader && DrainWord::inside(v) > 0;
        return join ? by(v) : v;
    }
    void done(Verb verb, Word w, Value v) {
        JoinNoRecheck::done(verb, w, v);
        if (verb == Verb::await && w.slot % fabric::kWordsPerLine == kWake)
            woken_ = v;
    }
    Value by(Value v) const { return (v & ~locks::kNameMask) | woken_; }
    Value woken_ = 0;
};

/// The drainer takes the hint for the truth, which may be about readers of an earlier phase.
struct LooksOnAHint : Sound {
    Value fetched(Word w, Value operand, Value v) {
        // Taking the name out: the count is not looked at.
        const bool closes =
            w.slot == kRo && DrainWord::drainer(operand) != 0 && DrainWord::inside(operand) < 0;
        return closes ? DrainWord::drainer(v) : v;
    }
};

/// An exclusive that sees the baton free takes it, whether it is still free or not.
struct TakesAnyway : Sound {
    bool compares(Word w) { return w.slot != kHw; }
};

/// The first of the queue leaves without a word to the next one.
struct NoNextFirst : Sound {
    bool skips_put(Word w, Value v) { return is(w, kStatus) && v == locks::BatonWord<>::kFirst; }
};

/// The baton is given whether a taker is registered or not: readers that wait for the
/// end of the phase wait for an exclusive that never comes.
struct GivesToNobody : Sound {
    Value seen(Word w, Value v) { return w.slot == kS ? v + Words::kX1 : v; }
};

/// An exclusive does not wait for the readers of the phase before it.
struct NoDrain : LooksOnAHint {
    bool skips_await(Word w) { return is(w, kDrn); }
};

/// An owner that hands the lock over does not see to its data first.
struct NoDelivery : Sound {
    bool skips_deliver() { return true; }
};

/// A change of phase, or a reader's leave, is an atomic that may overtake the data.
struct DataOvertaken : Sound {
    bool fetches_before_data(Word) { return true; }
};

} // namespace rmalock::check::pf_mcs_fault
