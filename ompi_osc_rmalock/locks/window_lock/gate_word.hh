// The fields of the word at rank 0 that says which side a window's gate is for; all_gate.hh says
// what they are for.
//
//    [ visit:3 | row of lock_alls:2 | row of exclusives:3 | mode:3 | turn:2 | n_W:17 | n_X:17 | n_A:17 ]
//
// Room for 131,071 processes in lock_all, as many targets held exclusively through the gate, and as
// many threads that wait for it. A turn that comes round unseen after four only keeps its waiters
// waiting for the next one.
//
// n_W alone counts threads, and nothing but their number bounds it: at 65,536 ranks one of each may
// wait at a time, and not two. With more the carry goes into `turn`, until as many have gone. That
// lets no two sides in, because n_W owns nothing. But while n_W reads 0, a lock_all that comes does
// not step back, and one that leaves tells nobody: those that wait hear of the next change only.
#pragma once

#include <algorithm>

#include "fabric/layout.hh"
#include "locks/lock.hh"

namespace rmalock::locks {

/// A value of the word, taken apart. Beside each field: what it promises, and the race of
/// all_gate.hh that it settles.
struct GateWord {
    enum class Mode : Value { ungated, revoking, gated, alls, closing, opening };

    static constexpr unsigned kExclusiveShift = 17, kWaitingShift = 34, kTurnShift = 51,
                              kModeShift = 53, kStreakShift = 56, kRowShift = 59, kVisitShift = 61;
    /// n_A. No exclusive enters before it is 0, but past those that only wait. It may count a
    /// lock_all that looks and steps back, once a turn (R3).
    static constexpr Value kOneAll = 1;
    /// n_X. Each is an owner of its target: no lock_all is in before it is 0, and in the modes that
    /// admit lock_alls it grows by CAS only, which sees n_A in the same value (R2, R3).
    static constexpr Value kOneExclusive = Value{1} << kExclusiveShift;
    /// n_W. Keeps lock_alls that come from entering, for a turn, and hears of the room (R4). It
    /// owns nothing.
    static constexpr Value kOneWaiting = Value{1} << kWaitingShift;
    /// Another value: those that waited when a lock_all stepped back are in.
    static constexpr Value kOneTurn = Value{1} << kTurnShift;
    /// The side that the gate is for, or the change that one process is at (R5, R6).
    static constexpr Value kOneMode = Value{1} << kModeShift;
    /// How many exclusives came since a lock_all did. A hint: only time is lost where it is wrong.
    static constexpr Value kOneInStreak = Value{1} << kStreakShift;
    /// The same of lock_alls. The carry of a row that is too long goes into the visit, a hint too.
    static constexpr Value kOneInRow = Value{1} << kRowShift;
    /// Another value: lock_alls that have waited for the room leave it, so another one waits now. A
    /// hint: a round grows or not by it (TimesPast). It comes round after eight, so of as many
    /// processes that go past by turns none takes a later visit for the one that it has passed.
    static constexpr Value kOneVisit = Value{1} << kVisitShift;
    static constexpr Value kTurns = kOneMode / kOneTurn;
    static constexpr Value kLongestRow = 3, kLongestStreak = 7;

    static constexpr Value alls(Value g) { return g & (kOneExclusive - 1); }
    static constexpr Value exclusives(Value g) { return g % kOneWaiting >> kExclusiveShift; }
    static constexpr Value waiting(Value g) { return g % kOneTurn >> kWaitingShift; }
    static constexpr Value turn(Value g) { return g % kOneMode >> kTurnShift; }
    static constexpr Mode mode(Value g) { return static_cast<Mode>(g >> kModeShift & 7); }
    static constexpr Value streak(Value g) { return g % kOneInRow >> kStreakShift; }
    static constexpr Value row(Value g) { return g % kOneVisit >> kRowShift; }
    static constexpr Value visit(Value g) { return g >> kVisitShift; }

    /// Mode `gated`, and no exclusive is in the room or waits for it.
    static constexpr bool only_alls(Value g) {
        constexpr Value kOthers = 7 * kOneMode + kOneTurn - kOneExclusive;
        return (g & kOthers) == static_cast<Value>(Mode::gated) * kOneMode;
    }

    /// The mode is `to` now. Rows begin anew.
    static constexpr Value with_mode(Value g, Mode to) {
        return g % kOneMode + static_cast<Value>(to) * kOneMode + visit(g) * kOneVisit;
    }
    /// What the word becomes by FADD when the mode does.
    static constexpr Value step(Mode from, Mode to) {
        return static_cast<Value>(to) * kOneMode - static_cast<Value>(from) * kOneMode;
    }
    /// One exclusive more inside; it `counts` in the row of them.
    static constexpr Value with_exclusive(Value g, bool counts) {
        const Value before = row(g) != 0 ? 0 : streak(g);
        const Value now = std::min(before + (counts ? 1 : 0), kLongestStreak);
        return g % kOneInStreak + kOneExclusive + now * kOneInStreak + visit(g) * kOneVisit;
    }
    /// One less waits; with the last one the turn ends.
    static constexpr Value without_waiting(Value g) {
        const Value left = g - kOneWaiting;
        if (waiting(left) != 0)
            return left;
        return left - turn(left) * kOneTurn + (turn(left) + 1) % kTurns * kOneTurn;
    }
};

// A process is in one lock_all, and a target has one exclusive owner. A thread of each process may
// wait.
static_assert(fabric::kMostRanks < GateWord::kOneExclusive / GateWord::kOneAll);
static_assert(fabric::kMostRanks < GateWord::kOneWaiting / GateWord::kOneExclusive);
static_assert(fabric::kMostRanks < GateWord::kOneTurn / GateWord::kOneWaiting);
static_assert(GateWord::turn(GateWord::without_waiting(GateWord::kOneWaiting)) == 1);
static_assert(GateWord::without_waiting(3 * GateWord::kOneTurn + GateWord::kOneWaiting) == 0);
static_assert(GateWord::visit(GateWord::with_exclusive(GateWord::kOneVisit, true)) == 1);
static_assert(GateWord::without_waiting(2 * GateWord::kOneWaiting) == GateWord::kOneWaiting);

} // namespace rmalock::locks
