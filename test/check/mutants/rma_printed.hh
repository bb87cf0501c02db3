// RMA-MCS and RMA-RW as the HPDC 2016 paper prints them, and with single repairs; all have to be
// caught.
//
// Qnodes are one per process, as in the paper: one target at a time.
#pragma once

#include "fabric/layout.hh"
#include "locks/algorithms/rma_mcs.hh"
#include "locks/algorithms/rma_rw.hh"

namespace rmalock::check {

/// Listings 4 and 5 for N = 2, nodes of two processes: the caller's own qnode at both levels.
template <fabric::Fabric F>
class PrintedTree {
    using Rank = locks::Rank;
    using Slot = locks::Slot;
    using Value = locks::Value;
    using Word = locks::Word;

  public:
    static constexpr locks::LockTraits kTraits = locks::RmaMcs<F>::kTraits;

    PrintedTree(F& fabric, Value t_l) : fabric_(fabric), t_l_(t_l) {}

    locks::Hold acquire_exclusive(Rank) {
        if (enqueue(2) && await_status(2) != kAcquireParent)
            return {};
        fabric_.put(mine(2, kStatus), kAcquireStart);
        if (enqueue(1))
            await_status(1);
        else
            fabric_.put(mine(1, kStatus), kAcquireStart);
        return {};
    }

    void release_exclusive(Rank, locks::Hold) {
        Value succ = fabric_.get(mine(2, kNext));
        const Value status = fabric_.get(mine(2, kStatus));
        if (succ != 0 && status - kAcquireStart < t_l_) {
            fabric_.put(of(succ, 2, kStatus), status + 1);
            return;
        }
        release_root();
        if (succ == 0 && (succ = leave(2)) == 0)
            return;
        fabric_.put(of(succ, 2, kStatus), kAcquireParent);
    }

    locks::Hold acquire_shared(Rank target) { return acquire_exclusive(target); }
    void release_shared(Rank target, locks::Hold hold) { release_exclusive(target, hold); }

    static constexpr Slot kSlots = 3 * 3;

  private:
    static constexpr Slot kNext = 0, kStatus = 1, kTail = 2;
    static constexpr Value kWait = 0, kAcquireParent = 1, kAcquireStart = 2;

    static Word of(Value name, Slot level, Slot offset) {
        return {static_cast<Rank>(name) - 1, 3 * level + offset};
    }
    Word mine(Slot level, Slot offset) const { return {fabric_.self(), 3 * level + offset}; }
    Value me() const { return static_cast<Value>(fabric_.self()) + 1; }
    Word tail(Slot level) const {
        return {level == 1 ? 0 : fabric_.self() / 2 * 2, 3 * level + kTail};
    }

    bool enqueue(Slot level) {
        fabric_.put(mine(level, kNext), 0);
        fabric_.put(mine(level, kStatus), kWait);
        const Value pred = fabric_.swap(tail(level), me());
        if (pred != 0)
            fabric_.put(of(pred, level, kNext), me());
        return pred != 0;
    }
    Value await_status(Slot level) {
        return fabric_.await(mine(level, kStatus), fabric::differs(kWait));
    }
    Value leave(Slot level) {
        if (fabric_.compare_swap(tail(level), me(), 0) == me())
            return 0;
        return fabric_.await(mine(level, kNext), fabric::differs(0));
    }
    void release_root() {
        Value succ = fabric_.get(mine(1, kNext));
        if (succ == 0)
            succ = leave(1);
        if (succ != 0)
            fabric_.put(of(succ, 1, kStatus), kAcquireStart);
    }

    F& fabric_;
    Value t_l_;
};

/// How much of Listings 6-10 (N = 1, one physical counter) is repaired.
enum class PrintedCounters {
    as_printed, ///< the writer does not wait for readers: it enters beside them
    wait,       ///< it waits: a reader's reset clears its flag
    torn_reset, ///< no reader clears a flag, but ARRIVE is reduced before DEPART: it sees a drained
                ///< counter with a reader inside
    safe_reset, ///< DEPART first: a reader that met a TAIL that was about to go waits for ever
};

template <fabric::Fabric F, PrintedCounters Repair>
class PrintedRmaRw {
    using Rank = locks::Rank;
    using Slot = locks::Slot;
    using Value = locks::Value;
    using Word = locks::Word;

  public:
    static constexpr locks::LockTraits kTraits = locks::RmaRw<F>::kTraits;

    PrintedRmaRw(F& fabric, Value t_r, Value t_w) : fabric_(fabric), t_r_(t_r), t_w_(t_w) {}

    locks::Hold acquire_shared(Rank) { // Listing 9
        for (bool barrier = false;;) {
            if (barrier)
                fabric_.await(kArrive, [t = t_r_](Value v) { return v < t; });
            const Value before = fabric_.fetch_add(kArrive, 1);
            if (before < t_r_)
                return {};
            barrier = true;
            if (before == t_r_ && fabric_.get(kTail) == 0) {
                reset_by_reader();
                barrier = false;
            }
            fabric_.fetch_add(kArrive, Value{0} - 1);
            // Two lines, because what is left of the attempt is `barrier`.
            if (barrier)
                fabric_.backoff(1);
            else
                fabric_.backoff(1);
        }
    }

    void release_shared(Rank, locks::Hold) { fabric_.add(kDepart, 1); } // Listing 10

    locks::Hold acquire_exclusive(Rank) { // Listing 7
        fabric_.put(mine(kNext), 0);
        fabric_.put(mine(kStatus), kWait);
        const Value pred = fabric_.swap(kTail, me());
        Value status = kModeChange;
        if (pred != 0) {
            fabric_.put(of(pred, kNext), me());
            status = fabric_.await(mine(kStatus), fabric::differs(kWait));
        }
        if (status == kModeChange) {
            set_counter_to_write();
            fabric_.put(mine(kStatus), kAcquireStart);
        }
        return {};
    }

    void release_exclusive(Rank, locks::Hold) { // Listing 8
        Value status = fabric_.get(mine(kStatus)) + 1;
        const bool full = status - kAcquireStart == t_w_;
        if (full)
            reset_counter();
        Value succ = fabric_.get(mine(kNext));
        if (succ == 0) {
            if (!full)
                reset_counter();
            status = kModeChange;
            if (fabric_.compare_swap(kTail, me(), 0) == me())
                return;
            succ = fabric_.await(mine(kNext), fabric::differs(0));
        }
        fabric_.put(of(succ, kStatus), full ? kModeChange : status);
    }

    static constexpr Slot kSlots = 5;

  private:
    static constexpr Slot kNext = 0, kStatus = 1;
    static constexpr Word kTail{0, 2}, kArrive{0, 3}, kDepart{0, 4};
    static constexpr Value kWait = 0, kModeChange = 1, kAcquireStart = 2;
    static constexpr Value kFlag = Value{1} << 62; // INT64_MAX / 2

    static Word of(Value name, Slot offset) { return {static_cast<Rank>(name) - 1, offset}; }
    Word mine(Slot offset) const { return {fabric_.self(), offset}; }
    Value me() const { return static_cast<Value>(fabric_.self()) + 1; }

    void set_counter_to_write() { // Listing 6
        fabric_.add(kArrive, kFlag);
        fabric_.flush(0);
        if (Repair == PrintedCounters::as_printed)
            return;
        // The text of section 4.1: until those that arrived have departed.
        for (;;) {
            const Value departed = fabric_.get(kDepart);
            if (fabric_.get(kArrive) - kFlag == departed)
                return;
            fabric_.backoff(1);
        }
    }

    void reset_counter() { // Listing 6
        const Value arrived = fabric_.get(kArrive), departed = fabric_.get(kDepart);
        Value less = departed;
        if (arrived >= kFlag)
            less += kFlag;
        fabric_.add(kArrive, Value{0} - less);
        fabric_.add(kDepart, Value{0} - departed);
        fabric_.flush(0);
    }

    void reset_by_reader() {
        if (Repair <= PrintedCounters::wait)
            return reset_counter();
        const Value departed = fabric_.get(kDepart);
        const bool torn = Repair == PrintedCounters::torn_reset;
        fabric_.fetch_add(torn ? kArrive : kDepart, Value{0} - departed);
        fabric_.fetch_add(torn ? kDepart : kArrive, Value{0} - departed);
    }

    F& fabric_;
    Value t_r_, t_w_;
};

} // namespace rmalock::check
