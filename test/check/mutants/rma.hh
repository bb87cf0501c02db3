// What can be wrong with RMA-MCS and RMA-RW; each has to be caught.
#pragma once

#include "broken_fabric.hh"
#include "locks/algorithms/rma_rw.hh"

namespace rmalock::check::rma_fault {

/// Cleaned qnodes and reset counters may be late.
struct NoFlush : Sound {
    bool skips_flush(Rank) { return true; }
};

// A tree of the root alone has no element records: the counters are on the lines behind the root's.
using Words = locks::RmaRwWords;
inline constexpr Slot kArrive = fabric::kWordsPerLine + Words::kArrive,
                      kDepart = fabric::kWordsPerLine + locks::CounterRoom::wide().depart;
inline constexpr Value kParity = Words::kParity;

/// Listing 6 as printed: the writer flags the counters and does not look for readers inside.
struct NoDrain : Sound {
    bool compares(Word w) { return w.slot != kDepart; }
};

/// A reader that holds something elsewhere waits like all others: every counter looks closed to it.
struct NeverJoins : Sound {
    Value seen(Word w, Value v) { return w.slot == kDepart ? v ^ kParity : v; }
};

/// A reader joins whether the counter is open or closed.
struct JoinsClosed : Sound {
    Value seen(Word w, Value v) { return w.slot == kDepart ? opened(v) : v; }
    Value fetched(Word w, Value operand, Value v) {
        if (w.slot == kArrive && operand == Words::kArrival)
            mine_ = v & kParity;
        return w.slot == kDepart && operand != Words::kDeparture ? opened(v) : v;
    }
    Value opened(Value) const { return mine_; }
    Value mine_ = 0;
};

/// A reader that has joined leaves its arrival in the counter.
struct KeepsArrival : Sound {
    bool skips_fetch_add(Word w, Value v) { return w.slot == kArrive && v + Words::kArrival == 0; }
};

/// A writer that finds readers at one counter leaves those closed that it has closed beside it.
struct NoReopen : Sound {
    bool skips_fetch_add(Word w, Value v) { return w.slot == kDepart && v == kParity; }
};

/// A reader that gives way at T_R does not depart.
struct NoDeparture : Sound {
    Value posted(Word w, Value v) { return w.slot == kDepart && tail_ ? 0 : v; }
    void done(Verb verb, Word w, Value v) {
        if (w.slot == kTail && verb == Verb::get)
            tail_ = v != 0;
        else if (w.slot == kArrive)
            tail_ = false;
    }
    static constexpr Slot kTail = 0; ///< of level 1
    bool tail_ = false;
};

/// A writer takes its element's record from the target that has it.
struct TakesAnyRecord : Sound {
    static constexpr Slot kTail = fabric::kWordsPerLine + locks::QueueTreeWords::kElementTail;
    Value seen(Word w, Value v) { return w.slot == kTail ? 0 : v; }
    bool compares(Word w) { return w.slot != kTail; }
};

/// Each reader of a group departs from the counter, where the first of them has arrived for all.
struct EachDeparts : Sound {
    static constexpr Slot kGroup = 2 * fabric::kWordsPerLine + 1; ///< behind a record of an element
    Value fetched(Word w, Value, Value v) { return w.slot == kGroup ? 1 : v; }
};

} // namespace rmalock::check::rma_fault
