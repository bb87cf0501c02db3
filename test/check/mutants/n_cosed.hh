// N-CoSED with one thing wrong each; the checker must say so.
#pragma once

#include <algorithm>

#include "broken_fabric.hh"
#include "locks/algorithms/n_cosed.hh"

namespace rmalock::check::n_cosed_fault {

using Words = locks::NCosedWords;
/// Where the inboxes of few processes are a line.
inline constexpr Slot kInboxes = fabric::line(1), kQnode = fabric::line(2);
inline constexpr Slot kNext = locks::McsQueueWords::kNext, kDrn = locks::DrainWord::kDrn,
                      kWake = locks::PushListWords::kWake;

inline bool of_qnode(Word w, Slot field) {
    return w.slot == kQnode + field;
}
inline bool of_inbox(Word w) {
    return w.slot >= kInboxes && w.slot < kQnode;
}

/// As printed: one that leaves resets both regions, also those of processes that have come meanwhile (D2). They are lost.
struct ResetsBoth : Sound {
    bool compares(Word w) { return w.slot != Words::kWord; }
};
/// An exclusive does not wait for the shared ones before it.
struct DoesNotDrain : Sound {
    Value fetched(Word w, Value operand, Value v) {
        if (w.slot != Words::kRo)
            return v;
        // As if exactly those it asks for had left.
        const auto asked = std::max<std::int64_t>(locks::DrainWord::inside(operand), 0);
        return Value{0} - static_cast<Value>(asked) * locks::DrainWord::kReader;
    }
};
/// The last shared one does not tell the exclusive that waits for it.
struct TellsNobody : Sound {
    bool skips_put(Word w, Value v) { return of_qnode(w, kDrn) && v != 0; }
};
/// A holder wakes those whose requests have come by now.
struct DoesNotAwaitRequests : Sound {
    bool skips_await(Word w) { return of_inbox(w); }
};
struct DoesNotAwaitListed : Sound {
    bool skips_await(Word w) { return of_qnode(w, Words::kListed); }
};
/// One that finds another name in the word takes itself for the last (D2).
struct DoesNotAwaitNext : Sound {
    bool skips_await(Word w) { return of_qnode(w, kNext); }
};
/// A shared one that is woken does not wake the one before it.
struct NoWakeChain : Sound {
    bool skips_put(Word w, Value v) { return of_qnode(w, kWake) && v != 0 && woken_; }
    void done(Verb verb, Word w, Value) {
        if (verb == Verb::await)
            woken_ = of_qnode(w, kWake);
        else if (verb != Verb::put)
            woken_ = false;
    }
    bool woken_ = false;
};
/// A holder that moves to the stand-in leaves the shared ones behind it where they are.
struct MovesAlone : Sound {
    bool skips_put(Word w, Value v) { return of_qnode(w, kWake) && v == Words::kMoved; }
};
/// What a holder puts into the stand-in, or cleans there, may be late.
struct StandInUnflushed : Sound {
    bool skips_flush(Rank) { return true; }
};
/// Departures that were taken out in vain are lost.
struct KeepsDepartures : Sound {
    bool skips_fetch_add(Word w, Value) { return w.slot == Words::kRo && took_; }
    void done(Verb verb, Word w, Value) {
        if (w.slot == Words::kRo)
            took_ = verb == Verb::compare_swap;
    }
    bool took_ = false;
};
/// Departures between the look at them and the step that takes them out are lost.
struct TakesUnseen : Sound {
    bool compares(Word w) { return w.slot != Words::kRo; }
};

} // namespace rmalock::check::n_cosed_fault
