// The gate's word as a state machine: which mode follows which, and what each of them admits. Pure:
// nothing here touches memory.
#pragma once

#include "locks/window_lock/gate_word.hh"

namespace rmalock::locks {

/// A change of the mode. One that begins is a CAS, which one process wins; until the same process
/// ends it, by an addition, no other change begins (R5, R6 of all_gate.hh).
struct GateChange {
    using Mode = GateWord::Mode;
    enum class By { lock_all, exclusive };
    enum class Step { begins, ends };

    Mode from, to;
    By by;
    Step step;
    friend constexpr bool operator==(const GateChange&, const GateChange&) = default;

    static constexpr GateChange begin(By by, Mode from, Mode to) {
        return {from, to, by, Step::begins};
    }
    static constexpr GateChange end(By by, Mode from, Mode to) {
        return {from, to, by, Step::ends};
    }
};

/// All there are.
inline constexpr GateChange kGateChanges[] = {
    // A lock_all comes where exclusives ignore the gate: it sets every M, and visits the holders.
    GateChange::begin(GateChange::By::lock_all, GateWord::Mode::ungated, GateWord::Mode::revoking),
    GateChange::end(GateChange::By::lock_all, GateWord::Mode::revoking, GateWord::Mode::gated),
    // K_A lock_alls in a row: the last of them opens every L.
    GateChange::begin(GateChange::By::lock_all, GateWord::Mode::gated, GateWord::Mode::opening),
    GateChange::end(GateChange::By::lock_all, GateWord::Mode::opening, GateWord::Mode::alls),
    // An exclusive comes where lock_alls enter by their nodes: it closes every L, and waits.
    GateChange::begin(GateChange::By::exclusive, GateWord::Mode::alls, GateWord::Mode::closing),
    GateChange::end(GateChange::By::exclusive, GateWord::Mode::closing, GateWord::Mode::gated),
    // K_X exclusives in a row: the last of them clears every M.
    GateChange::begin(GateChange::By::exclusive, GateWord::Mode::gated, GateWord::Mode::opening),
    GateChange::end(GateChange::By::exclusive, GateWord::Mode::opening, GateWord::Mode::ungated),
};

constexpr bool is_gate_change(const GateChange& change) {
    for (const GateChange& row : kGateChanges)
        if (row == change)
            return true;
    return false;
}

/// Each change that begins in a mode that stays is ended by the same side, and by one change only.
consteval bool every_gate_change_ends() {
    for (const GateChange& row : kGateChanges) {
        int ends = 0;
        for (const GateChange& other : kGateChanges)
            ends +=
                other.step == GateChange::Step::ends && other.by == row.by && other.from == row.to;
        if (row.step == GateChange::Step::begins && ends != 1)
            return false;
    }
    return true;
}
static_assert(every_gate_change_ends());

/// What a value of the word admits. `gated_always`: in front of a lock without a shared mode, where
/// the mode counts as `gated` from the start.
template <bool gated_always>
struct GateRules {
    using G = GateWord;
    using Mode = GateWord::Mode;

    static constexpr Mode mode(Value g) {
        const Mode field = G::mode(g);
        return gated_always && field == Mode::ungated ? Mode::gated : field;
    }
    /// Lock_alls go on without a further look.
    static constexpr bool only_alls(Value g) {
        return G::only_alls(g) ||
               (gated_always && G::only_alls(g + G::step(Mode::ungated, Mode::gated)));
    }
    static constexpr bool admits_alls(Value g) {
        return mode(g) >= Mode::gated && G::exclusives(g) == 0;
    }
    /// `past_waiting`: also past lock_alls that only wait, or look for exclusives.
    static constexpr bool admits_exclusive(Value g, bool past_waiting) {
        if (mode(g) == Mode::gated)
            return G::alls(g) == 0 || (past_waiting && G::exclusives(g) != 0);
        return mode(g) == Mode::revoking && past_waiting;
    }
    /// A lock_all that comes lets exclusives go first.
    static constexpr bool sends_alls_back(Value g) {
        return G::waiting(g) != 0 && mode(g) != Mode::ungated;
    }
    /// Those of `turn` are in, or have no need of the gate.
    static constexpr bool turn_is_over(Value g, Value turn) {
        return G::turn(g) != turn || G::waiting(g) == 0 || mode(g) == Mode::ungated;
    }
    /// The row of lock_alls may take the gate.
    static constexpr bool may_open_for_alls(Value g) {
        return mode(g) == Mode::gated && G::waiting(g) == 0;
    }
    /// The row of exclusives may take it.
    static constexpr bool may_open_for_exclusives(Value g, Value enough) {
        return !gated_always && mode(g) == Mode::gated && G::alls(g) == 0 && G::streak(g) >= enough;
    }
    /// A process waits that is not counted in `me`.
    static constexpr bool others_wait(Value g, Value me) {
        return G::alls(g - me) != 0 || G::waiting(g - me) != 0;
    }
};

} // namespace rmalock::locks
