// D-MCS with one thing wrong each; the checker must say so.
#pragma once

#include "broken_fabric.hh"
#include "locks/algorithms/d_mcs.hh"

namespace rmalock::check {

enum class DMcsMutation {
    listing_2_wait,    ///< as printed: sets STATUS, spins on WAIT, which nobody has set
    late_prepare,      ///< NEXT is cleared after the swap: a successor that was quick is lost
    no_wait_for_next,  ///< a failed CAS is taken for "alone": the successor waits for ever
    unflushed_prepare, ///< a qnode on another rank is prepared by puts that may land after the swap
};

/// What a holder puts into a stand-in, or cleans there, may be late.
struct StandInUnflushed : Sound {
    bool skips_flush(Rank) { return true; }
};

/// A holder that moves to a stand-in leaves a successor behind that has not shown itself.
struct MovesWithoutSuccessor : Sound {
    static constexpr Slot kQnode = fabric::kWordsPerLine;
    bool skips_await(Word w) { return w.slot == kQnode + locks::McsQueueWords::kNext; }
};

template <fabric::Fabric F, DMcsMutation M>
class DMcsMutant {
    using Mutation = DMcsMutation;
    using Word = locks::Word;
    using Value = locks::Value;

  public:
    static constexpr locks::LockTraits kTraits = locks::DMcs<F>::kTraits;

    static locks::Footprint footprint(const locks::MachineView&) { return {.home = 1}; }

    explicit DMcsMutant(const locks::LockEnv<F>& env)
        : fabric_(env.fabric), home_(env.home), qnodes_(env.qnodes) {}

    locks::Hold acquire_exclusive(locks::Rank target) {
        Word qnode = qnodes_.take(fabric_);
        // The qnodes of unflushed_prepare are kept by a neighbour, as an element's are in RMA-MCS.
        if (M == Mutation::unflushed_prepare)
            qnode.rank = (qnode.rank + 1) % fabric_.size();
        if (M != Mutation::late_prepare)
            fabric_.put(locks::field(qnode, kNext), 0);
        fabric_.put(locks::field(qnode, kStatus), kWait);
        const Value pred = fabric_.swap({target, home_}, locks::name_of(qnode));
        if (M == Mutation::late_prepare)
            fabric_.put(locks::field(qnode, kNext), 0);
        if (pred != 0) {
            fabric_.put(locks::field(locks::qnode_of(pred), kNext), locks::name_of(qnode));
            const Slot flag = M == Mutation::listing_2_wait ? kWaitWord : kStatus;
            fabric_.await(locks::field(qnode, flag), fabric::equals(0));
        }
        return {locks::name_of(qnode)};
    }

    void release_exclusive(locks::Rank target, locks::Hold hold) {
        Word qnode = locks::qnode_of(hold.opaque);
        Value succ = fabric_.get(locks::field(qnode, kNext));
        if (succ == 0 && fabric_.compare_swap({target, home_}, hold.opaque, 0) != hold.opaque &&
            M != Mutation::no_wait_for_next)
            succ = fabric_.await(locks::field(qnode, kNext), fabric::differs(0));
        if (M == Mutation::unflushed_prepare)
            qnode.rank = fabric_.self();
        qnodes_.give(qnode);
        if (succ != 0)
            fabric_.put(locks::field(locks::qnode_of(succ), kStatus), 0);
    }

    locks::Hold acquire_shared(locks::Rank target) { return acquire_exclusive(target); }
    void release_shared(locks::Rank target, locks::Hold hold) { release_exclusive(target, hold); }

  private:
    using Slot = locks::Slot;
    static constexpr Slot kNext = locks::McsQueueWords::kNext,
                          kStatus = locks::McsQueueWords::kStatus, kWaitWord = 2;
    static constexpr Value kWait = 1;

    F& fabric_;
    Slot home_;
    locks::QueueNodes& qnodes_;
};

} // namespace rmalock::check
