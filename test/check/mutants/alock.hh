// ALock with one thing wrong each; the checker must say so.
#pragma once

#include "broken_fabric.hh"
#include "locks/algorithms/alock.hh"

namespace rmalock::check {

/// Faults of the shipped header's fabric. Words: alock.hh.
namespace alock_fault {

using Words = locks::ALockWords;
inline constexpr Slot kTailR = Words::kTailR, kTailL = Words::kTailL, kVictim = Words::kVictim;

/// The other tail is looked at while VICTIM may be on its way, or in the store buffer.
struct NoFence : Sound {
    bool skips_flush(Rank) { return true; }
};
/// No leader says that it yields.
struct NeverYields : Sound {
    bool skips_put(Word w, Value) { return w.slot == kVictim; }
};
/// A leader from elsewhere finds no one on the target's node.
struct OverlooksLocal : Sound {
    Value seen(Word w, Value v) { return w.slot == kTailL ? 0 : v; }
};
struct OverlooksRemote : Sound {
    Value seen(Word w, Value v) { return w.slot == kTailR ? 0 : v; }
};
/// The local queue by the adapter's atomics, from a process that is not the only one in it.
struct LocalByAdapter : Sound {
    bool swaps_by_adapter(Word w) { return w.slot == kTailL; }
};

} // namespace alock_fault

/// Algorithms 2 to 4 line by line, with one of the paper's mistakes, or none.
enum class ALockPrinted {
    corrected,
    single_cas,  ///< Algorithm 3, line 3: one compare-and-swap joins the queue
    or_victim,   ///< Algorithm 4, line 5: waits while the other is there, or it is the victim
    unfenced,    ///< "assuming that sequential consistency is enforced"
    flags_apart, ///< the local cohort's flag is a word of another node, not its tail
    keeps_going, ///< without line 11: a budget that is used up changes nothing
};

template <fabric::Fabric F, ALockPrinted M>
class PrintedALock {
    using Value = locks::Value;
    using Word = locks::Word;

  public:
    static constexpr locks::LockTraits kTraits = locks::ALock<F>::kTraits;
    static locks::Footprint footprint(const locks::MachineView&) { return {.home = 4}; }

    explicit PrintedALock(const locks::LockEnv<F>& env)
        : fabric_(env.fabric), home_(env.home), qnodes_(env.qnodes), budgets_(env.limits.budgets) {}

    locks::Hold acquire_exclusive(Rank target) {
        const Word desc = qnodes_.take(fabric_);
        if (!q_lock(target, desc))
            p_reacquire(target);
        return {locks::name_of(desc)};
    }

    void release_exclusive(Rank target, locks::Hold hold) {
        const Word desc = locks::qnode_of(hold.opaque);
        const Value left = fabric_.get(locks::field(desc, kBudget));
        fabric_.put(locks::field(desc, kBudget), 0);
        if (M == ALockPrinted::flags_apart && mine(target) == 1)
            set_flag(0);
        const bool alone = cas(tail(target, mine(target)), hold.opaque, 0) == hold.opaque; // 15-16
        Value succ = 0;
        if (!alone) {
            succ = fabric_.await(locks::field(desc, kNext), fabric::differs(0)); // 17
            fabric_.put(locks::field(desc, kNext), 0);
        }
        qnodes_.give(desc);
        if (succ != 0)
            fabric_.put(locks::field(locks::qnode_of(succ), kBudget), left - 1); // 18
    }

    locks::Hold acquire_shared(Rank target) { return acquire_exclusive(target); }
    void release_shared(Rank target, locks::Hold hold) { release_exclusive(target, hold); }

  private:
    static constexpr Slot kNext = 0, kBudget = 1; // of a descriptor
    static constexpr Slot kVictim = 2, kFlag = 3;
    // A budget is in its word with 2 more: 0 is a qnode that is free, and waits.
    static constexpr Value kUsedUp = 2;

    Slot mine(Rank target) const { return fabric_.same_node(target) ? 1 : 0; }
    Word tail(Rank target, Slot cohort) const { return {target, home_ + cohort}; }
    Value init_budget(Rank target) const {
        return kUsedUp + (mine(target) == 1 ? budgets_.local : budgets_.remote);
    }

    Value swap(Word w, Value v) {
        return mine(w.rank) == 1 ? fabric_.near_swap(w, v) : fabric_.swap(w, v);
    }
    Value cas(Word w, Value expected, Value desired) {
        return mine(w.rank) == 1 ? fabric_.near_compare_swap(w, expected, desired)
                                 : fabric_.compare_swap(w, expected, desired);
    }

    Word flag(Rank target, Slot cohort) const {
        return M == ALockPrinted::flags_apart && cohort == 1 ? flag_apart() : tail(target, cohort);
    }
    /// Of the only local process, at the last rank.
    Word flag_apart() const { return {fabric_.size() - 1, home_ + kFlag}; }
    void set_flag(Value v) {
        fabric_.put(flag_apart(), v);
        fabric_.flush(flag_apart().rank);
    }

    bool q_lock(Rank target, Word desc) {
        const Word last = tail(target, mine(target));
        const Value me = locks::name_of(desc);
        const Value prev = M == ALockPrinted::single_cas ? cas(last, 0, me) : swap(last, me); // 3
        if (M == ALockPrinted::flags_apart && mine(target) == 1)
            set_flag(1);
        if (prev == 0) {
            fabric_.put(locks::field(desc, kBudget), init_budget(target)); // 5
            return false;
        }
        fabric_.put(locks::field(locks::qnode_of(prev), kNext), me);                       // 8
        const Value left = fabric_.await(locks::field(desc, kBudget), fabric::differs(0)); // 9
        if (left == kUsedUp) {                                                             // 10
            if (M != ALockPrinted::keeps_going)
                p_reacquire(target);                                       // 11
            fabric_.put(locks::field(desc, kBudget), init_budget(target)); // 12
        }
        return true;
    }

    /// Lines 4 to 6 of Algorithm 4.
    void p_reacquire(Rank target) {
        const Value id = mine(target) + 1;
        fabric_.put({target, home_ + kVictim}, id);
        if (M != ALockPrinted::unfenced)
            fabric_.flush(target);
        const auto mark = fabric_.mark();
        for (unsigned attempt = 0;; ++attempt) {
            const bool locked = fabric_.get(flag(target, 1 - mine(target))) != 0;
            const bool victim = fabric_.get({target, home_ + kVictim}) == id;
            if (M == ALockPrinted::or_victim ? !(locked || victim) : !(locked && victim))
                return;
            fabric_.backoff(attempt);
            fabric_.rewind(mark);
        }
    }

    F& fabric_;
    Slot home_;
    locks::QueueNodes& qnodes_;
    locks::Budgets budgets_;
};

} // namespace rmalock::check
