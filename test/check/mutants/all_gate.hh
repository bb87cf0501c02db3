// What can be wrong with the gate of a window's locks; each has to be caught.
#pragma once

#include "broken_fabric.hh"
#include "locks/parts/holder_records.hh"
#include "locks/window_lock/gate_parts.hh"

namespace rmalock::check::all_gate_fault {

// Where the gate's words begin with slot 0, as in all_gate_setup.hh.
using Slots = locks::GateSlots;
inline constexpr Slot kG = Slots::kG, kM = Slots::kM, kL = Slots::kL, kEvents = Slots::kEvents,
                      kGone = Slots::kGone, kSlots = Slots::kSlots;
using G = locks::GateWord;
/// Of a lock_all.
inline constexpr bool arrives(Word w, Value operand) {
    return w.slot == kG && (operand == G::kOneAll || operand == G::kOneAll + G::kOneInRow);
}

/// R1: an exclusive that has its target does not look whether a lock_all has come.
struct NoLook : Sound {
    Value seen(Word w, Value v) { return w.slot == kM ? 0 : v; }
};

/// R1: the home of a section (section.hh) looks only before it takes the lock.
struct SectionLooksFirst : Sound {
    Value seen(Word w, Value v) { return w.slot == kM && taken_ ? 0 : v; }
    void done(Verb verb, Word w, Value) {
        if (verb == Verb::compare_swap)
            taken_ = w.slot >= kSlots;
        else if (verb != Verb::get)
            taken_ = false;
    }
    bool taken_ = false;
};

/// R1: the same of one that has given its target back once, and has it again.
struct NoSecondLook : Sound {
    Value seen(Word w, Value v) { return w.slot == kM && again_ != 0 ? 0 : v; }
    Value fetched(Word w, Value operand, Value v) {
        if (w.slot == kG && operand == G::kOneWaiting)
            again_ = 1;
        if (w.slot == kG && operand + G::kOneWaiting == 0)
            again_ = 0;
        return v;
    }
    std::uint64_t again_ = 0;
};

/// lock_all marks its own node (that of rank 0, where G is) and forgets the others.
struct OneMark : Sound {
    bool skips_add_each(Word w, Value v) {
        return w.slot == kM && w.rank != 0 && v == Slots::kMarked;
    }
};

/// A lock_all does not see the exclusives that went through the gate.
struct NobodyWaits : Sound {
    Value fetched(Word w, Value operand, Value v) {
        return arrives(w, operand) ? v - G::exclusives(v) * G::kOneExclusive : v;
    }
};

/// The lock_all that visits the targets finds nobody there.
template <template <class> class Lock>
struct Unvisited {
    template <class F>
    struct Of : Lock<F> {
        using Base = Lock<F>;
        using Base::Base;
        locks::Hold acquire_shared(Rank) { return {}; }
        void release_shared(Rank, locks::Hold) {}
    };
};

// Slots from here on are holder records, in front of a lock that does not queue.
inline constexpr Slot kHolders = kSlots + 1;

/// An exclusive does not enter in its holder record what it is about to acquire.
struct NoEntry : Sound {
    bool skips_add_single_writer(Word w, Value) { return w.slot >= kHolders; }
};

/// A lock_all looks into the holder records of its own node (that of rank 0), and forgets the
/// others.
struct OneHolderRecord : Sound {
    Value seen(Word w, Value v) { return w.slot >= kHolders && w.rank != 0 ? 0 : v; }
};

/// It takes a holder record of several locks for one of target 1.
struct NamesOne : Sound {
    Value seen(Word w, Value v) {
        return w.slot >= kHolders && locks::HolderWord::several(v) ? locks::HolderWord::entry(1)
                                                                   : v;
    }
};

/// An exclusive that closes the counters of lock_alls does not wait for those inside.
struct NoWaitForCounted : Sound {
    bool skips_await(Word w) { return w.slot == kGone; }
};

/// It closes the counter of its own node and forgets the others.
struct OneClosed : Sound {
    bool skips_add_each(Word w, Value v) {
        closing_ = closing_ || (w.slot == kL && v + locks::NodeCount::kOpen == 0);
        return closing_ && forgets(w);
    }
    Value seen(Word w, Value v) { return closing_ && forgets(w) ? 0 : v; }
    void done(Verb verb, Word w, Value) {
        if (w.slot == kG && verb == Verb::fetch_add) // it has settled the mode
            closing_ = false;
    }
    static bool forgets(Word w) { return w.slot == kL && w.rank != 0; }
    std::uint64_t closing_ = false;
};

/// A lock_all that enters by a counter does not look whether it is still open.
struct EntersClosed : Sound {
    bool compares(Word w) { return w.slot != kL; }
};

/// A lock_all that comes while exclusives take the gate back does not see that it has become
/// theirs.
struct SeesItGated : Sound {
    Value fetched(Word w, Value operand, Value v) {
        const bool ungated = G::mode(v) == G::Mode::ungated;
        return arrives(w, operand) && ungated && ++times_ == 2
                   ? v + G::step(G::Mode::ungated, G::Mode::gated)
                   : v;
    }
    std::uint64_t times_ = 0;
};

/// A lock_all does not step back for exclusives that wait.
struct NoStepBack : Sound {
    Value fetched(Word w, Value operand, Value v) {
        return arrives(w, operand) ? v - G::waiting(v) * G::kOneWaiting : v;
    }
};

/// An exclusive gives the gate back before it has taken away all marks.
struct OneUnmarked : Sound {
    bool skips_add_each(Word w, Value v) {
        return w.slot == kM && w.rank != 0 && v != Slots::kMarked;
    }
};

/// What a process has last done to G: whether it should tell of that is for the derived mutant.
struct TellsAfter : Sound {
    Value fetched(Word w, Value operand, Value v) {
        if (w.slot == kG)
            last_ = operand;
        return v;
    }
    void done(Verb verb, Word w, Value) {
        if (w.slot == kG && verb == Verb::compare_swap)
            last_ = kSwapped;
    }
    static constexpr Value kSwapped = 0, kLeaves = Value{0} - G::kOneAll,
                           kReleases = Value{0} - G::kOneExclusive,
                           kGivesUp = Value{0} - G::kOneWaiting;
    Value last_ = kSwapped;
};

/// The last lock_all to leave does not tell the exclusives that wait.
struct SilentLeave : TellsAfter {
    bool skips_add_each(Word w, Value) { return w.slot == kEvents && last_ == kLeaves; }
};

/// The last exclusive to leave the room does not tell the lock_alls that wait.
struct SilentRelease : TellsAfter {
    bool skips_add_each(Word w, Value) { return w.slot == kEvents && last_ == kReleases; }
};

/// An exclusive that ends a turn by going in does not tell those that have stepped back.
struct SilentTurn : TellsAfter {
    bool skips_add_each(Word w, Value) { return w.slot == kEvents && last_ == kSwapped; }
};

/// A lock_all that has stepped back does not see that the turn is over: it waits until no
/// exclusive waits any more.
template <class F>
class IgnoresTurn {
  public:
    using Words = typename locks::NodeEventCount<F>::Words;
    IgnoresTurn(F& fabric, std::span<const Rank>, const Words&, Word watched)
        : fabric_(fabric), watched_(watched) {}
    void advance() {}
    template <fabric::Predicate P>
    Value await(P pred) {
        return fabric_.await(watched_, in_every_turn(pred));
    }
    template <fabric::Predicate P>
    std::optional<Value> await_until(P pred, fabric::Moment end) {
        return fabric_.await_until(watched_, in_every_turn(pred), end);
    }

  private:
    template <class P>
    static auto in_every_turn(P pred) {
        return [pred](Value g) {
            bool all = true;
            for (Value turn = 0; turn < G::kTurns; ++turn)
                all = all && pred(g + (turn - G::turn(g)) * G::kOneTurn);
            return all;
        };
    }
    F& fabric_;
    const Word watched_;
};

/// A round is over as soon as it begins, though the patience is endless.
template <class F>
class EndsRoundsAtOnce {
  public:
    using Words = typename locks::NodeEventCount<F>::Words;
    EndsRoundsAtOnce(F& fabric, std::span<const Rank>, const Words&, Word watched)
        : fabric_(fabric), watched_(watched) {}
    void advance() {}
    template <fabric::Predicate P>
    Value await(P pred) {
        return fabric_.await(watched_, pred);
    }
    template <fabric::Predicate P>
    std::optional<Value> await_until(P pred, fabric::Moment) {
        const Value seen = fabric_.get(watched_);
        return pred(seen) ? std::optional(seen) : std::nullopt;
    }

  private:
    F& fabric_;
    const Word watched_;
};

/// A process that is told does not look whether its round is over.
template <class F>
class NeverGivesUp : public locks::NodeEventCount<F, false> {
    using Base = locks::NodeEventCount<F, false>;

  public:
    using Base::Base;
    template <fabric::Predicate P>
    std::optional<Value> await_until(P pred, fabric::Moment) {
        return Base::await(pred);
    }
};

/// A process that has settled a mode tells nobody.
struct SilentMode : TellsAfter {
    bool skips_add_each(Word w, Value) {
        return w.slot == kEvents && last_ != kLeaves && last_ != kReleases && last_ != kSwapped &&
               last_ != kGivesUp;
    }
};

/// A waiter believes what it found when it came, and looks for events after that.
struct ReadsEventsLast : Sound {
    Value fetched(Word w, Value operand, Value v) {
        if (w.slot == kG)
            found_ = v + operand, fresh_ = true;
        return v;
    }
    Value seen(Word w, Value v) {
        const bool old = w.slot == kG && fresh_;
        fresh_ = fresh_ && !old;
        return old ? found_ : v;
    }
    void done(Verb verb, Word w, Value) {
        if (w.slot == kG && verb == Verb::compare_swap)
            fresh_ = false;
    }
    Value found_ = 0;
    std::uint64_t fresh_ = false;
};

/// The last one to leave a closed counter does not see that somebody waits for that.
struct LeavesUnasked : Sound {
    Value fetched(Word w, Value operand, Value v) {
        const bool leaves = w.slot == kL && operand + locks::NodeCount::kOne == 0;
        return leaves ? v - locks::NodeCount::closer(v) : v;
    }
};

} // namespace rmalock::check::all_gate_fault
