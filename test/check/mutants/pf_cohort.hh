// What can be wrong with the phase-fair lock over nodes; each has to be caught.
#pragma once

#include "locks/algorithms/pf_cohort.hh"
#include "pf_mcs.hh"

namespace rmalock::check::pf_cohort_fault {

using locks::DrainWord;
using pf_mcs_fault::DataOvertaken;
using pf_mcs_fault::LooksOnAHint; // the words at home are where they are in pf_mcs.hh
using pf_mcs_fault::NeverJoins;
using pf_mcs_fault::NoDelivery;

// Words as in locks/algorithms/pf_cohort.hh. Behind the home record the map, then the record of
// target 0.
using Words = locks::PfCohortWords;
inline constexpr Slot kS = Words::kS, kRo = Words::kRo, kTail = Words::kTail, kJoin = Words::kJoin,
                      kHw = Words::kHw, kNear = Words::kNear;
inline constexpr Slot kMap = fabric::kWordsPerLine, kRecord = 2 * kMap;
inline constexpr Slot kMet = kRecord + Words::kMetOthers, kWaiting = kRecord + Words::kWaiting,
                      kBaton = kRecord + Words::kBaton, kGroup = kRecord + Words::kGroup,
                      kCome = kRecord + Words::kCome, kA = kRecord + Words::kCounter;
inline constexpr Slot kKey = kA + locks::MemberWords::kKey,
                      kD = kA + locks::MemberWords::kDepartures;
inline constexpr Slot kGoneOfQnode = locks::MemberWords::kGone;
inline constexpr Slot kCallOfQnode = locks::ReaderGroupWords::kCall;
inline constexpr Value kWrite = locks::MemberWords::kWrite, kMember = locks::MemberWords::kMember;
inline constexpr Value kX1 = Words::kX1, kMember1 = Words::kMember1, kPhase = Words::kPhase;

inline constexpr Value kPhases = ~(kPhase - 1);
using JoinNoRecheck = pf_mcs_fault::JoinNoRecheckOf<kPhases>;
using NoSelfServe = pf_mcs_fault::NoSelfServeOf<kPhases>;
using NoVerify = pf_mcs_fault::NoVerifyOf<kPhases>;

/// A process that has counted itself in L does not look at S again.
struct NearLooksOnce : Sound {
    Value seen(Word w, Value v) { return w.slot == kS && counted_ ? 0 : v; }
    void done(Verb verb, Word w, Value) { counted_ = verb == Verb::fetch_add && w.slot == kNear; }
    bool counted_ = false;
};
/// An exclusive by S does not see the readers in L.
struct OverlooksNearReaders : Sound {
    Value seen(Word w, Value v) { return w.slot == kNear ? v & ~(locks::NearWord::kAlone - 1) : v; }
};
/// Nobody by S sees the writers in L.
struct OverlooksNearWriters : Sound {
    Value seen(Word w, Value v) { return w.slot == kNear ? v & (locks::NearWord::kAlone - 1) : v; }
};
/// The head of a cohort does not see a writer that is in L alone.
struct HeadOverlooksAlone : Sound {
    Value fetched(Word w, Value operand, Value v) {
        using Near = locks::NearWord;
        return w.slot == kNear && operand == Near::kHead ? v & (Near::kAlone - 1) : v;
    }
};
/// A reader that comes to L does not see the writers there.
struct NearReaderOverlooks : Sound {
    Value fetched(Word w, Value operand, Value v) {
        using Near = locks::NearWord;
        return w.slot == kNear && operand == Near::kReader ? v & (Near::kAlone - 1) : v;
    }
};
/// A writer that leaves L does not look for readers that wait for that.
struct NearWakesNobody : Sound {
    Value seen(Word w, Value v) { return w.slot == kJoin ? 0 : v; }
};
/// The first of the queue leaves in HW what it was told.
struct KeepsPhase : Sound {
    bool skips_put(Word w, Value v) { return w.slot == kHw && v == 0; }
};
/// Nobody by S sees a turn in L.
struct OverlooksTurns : Sound {
    Value seen(Word w, Value v) { return w.slot == kNear ? v & ~locks::NearWord::kTurns : v; }
};
/// A head that waits for its turn takes the phase for what it was before it said so.
struct TurnLooksOnce : Sound {
    Value seen(Word w, Value v) {
        if (w.slot != kS || !announced_)
            return w.slot == kS ? met_ = v : v;
        announced_ = false;
        return met_;
    }
    void done(Verb verb, Word w, Value) {
        announced_ = announced_ || (verb == Verb::compare_swap && w.slot == kNear);
    }
    Value met_ = 0;
    bool announced_ = false;
};
/// Nobody waits for a writer that it finds in L.
struct PassesNearWriters : Sound {
    bool skips_await(Word w) { return w.slot == kNear; }
};
/// A process has the adapter count it in L.
struct NearByAdapter : Sound {
    bool leaves_to_adapter(Word w, Value) { return w.slot == kNear; }
};

/// Not wrong: a node of the cohorts, whose record says that others are at home, always.
struct Crowded : Sound {
    Value seen(Word w, Value v) { return w.slot == kMet ? Words::kMetSome : v; }
};

/// A reader that went home for its group calls none of it.
struct CallsNobody : Sound {
    bool skips_put(Word w, Value v) {
        return w.slot % fabric::kWordsPerLine == kCallOfQnode && v != 0;
    }
};
/// A reader that is called does not call the one before it.
struct NoCallChain : CallsNobody {
    bool skips_put(Word w, Value v) { return CallsNobody::skips_put(w, v) && called_; }
    void done(Verb verb, Word w, Value) {
        if (verb == Verb::await)
            called_ = w.slot % fabric::kWordsPerLine == kCallOfQnode;
        else if (verb != Verb::put)
            called_ = false;
    }
    bool called_ = false;
};

/// Two readers of a group that leave at a time count as one.
struct GroupUncompared : Sound {
    bool compares(Word w) { return w.slot != kGroup; }
};

/// An owner that changes the phase leaves no registration to its successor, which may have none.
struct LeavesNone : Crowded {
    Value added(Word w, Value v) { return w.slot == kS && v == kPhase ? v - kX1 : v; }
};

/// An owner whose chain is at its end goes on, whatever waits.
struct LooksPastReaders : Sound {
    Value seen(Word w, Value v) { return w.slot == kS ? v & ~(kX1 - 1) : v; }
};

/// Members are opened by posted adds that may be late: the next owner closes them first.
struct NoFlush : Sound {
    bool skips_flush(Rank home) { return home < 0; }
};

/// A writer that comes has the adapter count it, where CPUs count those that go.
struct ComesByAdapter : Sound {
    bool leaves_to_adapter(Word w, Value v) {
        return w.slot == kCome && v == locks::ComeWord::kWriter;
    }
};

/// What a cohort leaves in its node may be erased when the next one waits there.
struct NoFlushOfTheNode : Sound {
    bool skips_flush(Rank home) { return home >= 0; }
};

/// A word that a CPU put for the network, by storing it twice: a process that was told, and has
/// cleared it, finds it there again (Remote::put).
struct PutsTwice : Sound {
    bool repeats_far_puts() { return true; }
};

/// A reader that meets a closed member takes its count back before it waits.
struct CountThenUndo : Sound {
    bool undoes(Word w, Value, Value found) {
        return w.slot == kA && (found & kMember) != 0 && (found & kWrite) != 0;
    }
};

inline constexpr unsigned kCountBits = locks::CohortHold::kCountBits; ///< of what the baton says

/// An owner that gives the baton forgets how often the first of the queue has been passed.
struct ForgetsPassed : Sound {
    Value posted(Word w, Value v) {
        using Baton = locks::BatonWord<locks::CohortHold::kBits>;
        return w.slot == kBaton ? v & (Baton::kFree | Baton::message(~Value{0})) : v;
    }
};

/// Four bits for how many of a node have had the lock in a row, and in a chain.
struct NarrowCount : Sound {
    Value posted(Word w, Value v) {
        const Value count = ((Value{1} << kCountBits) - 1) & ~Value{15};
        const Value lost = count | count << kCountBits;
        return w.slot == kBaton ? v & ~lost : v;
    }
};

/// A reader whose patience is over takes its arrival back, though an open or a swap came first.
struct TakesBackByAddition : Sound {
    bool compares(Word w) { return w.slot != kA; }
};

/// An owner closes the members and goes in beside the readers that are inside them.
struct NoDrain : Sound {
    Value fetched(Word w, Value, Value v) { return w.slot == kD ? 0 : v; }
    bool skips_await(Word w) { return w.slot % fabric::kWordsPerLine == kGoneOfQnode; }
};

/// An exclusive believes what S said of members before it waited for the readers at home.
struct NoSecondLook : Sound {
    Value seen(Word w, Value v) { return w.slot == kS ? v & ~(kPhase - kMember1) : v; }
};

/// An owner takes a member for all nodes.
struct OneForAll : Sound {
    static Value one_more(Word w, Value v) {
        return w.slot == kS && Words::members(v) == 1 ? v + kMember1 : v;
    }
    Value seen(Word w, Value v) { return one_more(w, v); }
    Value fetched(Word w, Value, Value v) { return one_more(w, v); }
};

/// A node leaves though a reader has come to its counter and waits.
struct LeavesAnyway : Sound {
    bool compares(Word w) { return w.slot != kA; }
};

/// A reader joins the readers at home only, not an owner that waits for those of members.
struct JoinsAtHomeOnly : Sound {
    Value seen(Word w, Value v) { return w.slot == kRo && DrainWord::inside(v) == 0 ? 0 : v; }
};

/// The target that a process was at last: it has looked at S there.
struct KnowsTarget : Sound {
    void done(Verb, Word w, Value) {
        if (w.slot == kS)
            key_ = locks::NodeRecords::key(w.rank);
    }
    Value key_ = 0;
};

/// A reader takes another target's member for its own.
struct TakesAnyMember : KnowsTarget {
    Value seen(Word w, Value v) { return w.slot == kKey && v != 0 && key_ != 0 ? key_ : v; }
};

/// A reader looks whose the counter is before it arrives, and not again.
struct LooksOnce : KnowsTarget {
    void done(Verb verb, Word w, Value v) {
        KnowsTarget::done(verb, w, v);
        arrived_ = verb == Verb::fetch_add && w.slot == kA;
    }
    Value seen(Word w, Value v) { return w.slot == kKey && arrived_ && key_ != 0 ? key_ : v; }
    bool arrived_ = false;
};

/// A writer takes its node's record from the target that has it.
struct TakesAnyRecord : Sound {
    Value seen(Word w, Value v) { return w.slot == kCome ? 0 : v; }
    bool compares(Word w) { return w.slot != kCome; }
};

/// Of a critical section that comes in a message (section.hh).
template <class Faulty>
struct OfSections {
    template <class F>
    struct Lock : locks::PfCohort<F> {
        using locks::PfCohort<F>::PfCohort;
        using SectionWords = Faulty;
    };
};
/// The home does not ask whether somebody waits for its end.
struct EndsUnasked : Words {
    static constexpr bool section_alone(Value, bool) { return true; }
};
/// It hands the lock on past readers that wait for the end of this phase.
struct PassesReadersBy : Words {
    static constexpr bool section_passes(Value s, bool exclusive) {
        return exclusive && exclusives(s) > 1;
    }
};
/// It hands the lock on, and the one that has it now is told nothing.
struct PassesUntold : Words {
    static constexpr Value phase_message(Value) { return 0; }
};
/// It lets an exclusive one begin beside readers, or where nodes have readers of their own.
struct BeginsBesideReaders : Words {
    static constexpr bool admits_section(Value s, bool) { return exclusives(s) == 0; }
    static constexpr bool section_alone(Value s, bool) { return exclusives(s) <= 1; }
};
/// It lets a shared one begin beside an exclusive.
struct ReadsBesideWriters : Words {
    static constexpr bool admits_section(Value s, bool exclusive) {
        return !exclusive || Words::admits_section(s, exclusive);
    }
};
/// What it puts into S may overwrite what others have put there since it looked.
struct SectionUncompared : Sound {
    bool compares(Word w) { return w.slot != kS; }
};

/// A reader lets its node join after it has left, when a writer may have looked at S already.
template <class F>
struct JoinsOutside : locks::PfCohort<F> {
    explicit JoinsOutside(const locks::LockEnv<F>& env)
        : locks::PfCohort<F>(env), fabric_(env.fabric),
          members_(env.fabric, env.records, env.machine.nodes, env.limits.members, false),
          node_(env.machine.nodes.element(env.fabric.self())),
          rank_(env.machine.nodes.place(node_, 0).rank) {}

    void release_shared(Rank target, locks::Hold held) {
        const bool joins = held.opaque == Words::kJoins;
        locks::PfCohort<F>::release_shared(target, joins ? locks::Hold{} : held);
        if (joins && members_.join(node_, target, {rank_, kA}, [&] {
                return Words::phase(fabric_.get({target, kS}));
            }))
            fabric_.fetch_add({target, kS}, kMember1);
    }

  private:
    F& fabric_;
    locks::Members<F> members_;
    std::size_t node_;
    Rank rank_;
};

} // namespace rmalock::check::pf_cohort_fault
