// What can be wrong with SRSL; each has to be caught.
#pragma once

#include "broken_fabric.hh"
#include "locks/algorithms/srsl.hh"

namespace rmalock::check::srsl_fault {

using W = locks::SrslWords;

/// A server does not look for those inside.
struct NobodyInside : Sound {
    Value seen(Word w, Value v) {
        return w.slot == W::kIn ? W::tickets(v) + passed_ * W::kLeft : v;
    }
    void done(Verb verb, Word w, Value v) {
        if (verb == Verb::get && w.slot == W::kPassed)
            passed_ = W::next(v);
    }
    Value passed_ = 0;
};

/// A reader does not see that a writer is inside.
struct NoWriter : Sound {
    Value seen(Word w, Value v) { return w.slot == W::kPassed ? W::next(v) : v; }
    bool compares(Word w) { return w.slot != W::kPassed; }
};

/// A request on the home's node is not there yet when its sender serves.
struct Unflushed : Sound {
    bool skips_flush(Rank) { return true; }
};

/// A process that gives a lock back on the home's node does not serve.
struct ReleasesUnserved : Sound {
    Value fetched(Word w, Value operand, Value v) {
        released_ = w.slot == W::kIn && operand == W::kLeft;
        tickets_ = W::tickets(v);
        return v;
    }
    Value seen(Word w, Value v) {
        const bool unserved = w.slot == W::kPassed && released_ != 0;
        if (unserved)
            released_ = 0;
        return unserved ? tickets_ : v;
    }
    Value released_ = 0, tickets_ = 0;
};

/// Two servers grant the same request.
struct GrantsTwice : Sound {
    bool compares(Word w) { return w.slot != W::kPassed; }
};

/// A request takes a place of the ring before that is free.
struct NoRoomNeeded : Sound {
    bool skips_await(Word w) { return w.slot == W::kPassed; }
};

} // namespace rmalock::check::srsl_fault
