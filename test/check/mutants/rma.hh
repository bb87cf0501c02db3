// What can be wrong with RMA-MCS and RMA-RW; each has to be caught.
#pragma once

#include "broken_fabric.hh"
#include "fabric/layout.hh"

namespace rmalock::check::rma_fault {

/// Cleaned nodes and reset counters may be late.
struct NoFlush : Sound {
    bool skips_flush(Rank) { return true; }
};

/// Listing 6 as printed: the writer flags the counters and does not look for readers inside. (A
/// tree of the root alone has no element records: DEPART is the second line behind the root's.)
struct NoDrain : Sound {
    bool skips_await(Word w) { return w.slot == 2 * fabric::kWordsPerLine; }
};

} // namespace rmalock::check::rma_fault
