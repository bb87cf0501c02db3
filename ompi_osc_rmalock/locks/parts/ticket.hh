// Ticket lock: one word per target, served in the order of arrival.
//
// D. P. Reed, R. K. Kanodia: "Synchronization with Eventcounts and Sequencers", CACM 22(2), 1979;
// J. M. Mellor-Crummey, M. L. Scott: "Algorithms for Scalable Synchronization on Shared-Memory
// Multiprocessors", TOCS 9(1), 1991, figure 1.
//
// The word of target t at t (atomic):
//
//     63            32 31             0
//    [ next           | serving        ]      tickets given out, holders gone; free if they are
//                                             equal
//
//    acquire   v = FADD(word, [1 | 0]);  my ticket is v.next
//              if v.serving != my ticket: await word.serving == my ticket
//    release   ADD(word, [0 | 1])                                                      (posted)
//
// Deviations from the paper
//   D1  Both counters are in one word, so that the uncontended acquire is one atomic. `next` wraps
//       off the top of the word. `serving` would carry into `next`: only the holder changes
//       `serving`, and it knows its value, so the release that wraps it takes the carry away in the
//       same add.
//   D2  There is no shared mode.
//
// Why it is fair: a ticket is served after those that were given out before it, and no others. A
// holder that asks again at once is behind everybody that waits.
//
// Not for words that a process must be able to take without waiting while others wait, nor where
// waiting processes outnumber cores: the place of a process that does not run is not given to
// another.
//
// Cost off node: acquire uncontended 1 atomic = 1 round trip; release 1 posted atomic. Waiting
// polls the target's word. Memory: 1 word per target; none per process.
#pragma once

#include "locks/lock_env.hh"

namespace rmalock::locks {

/// The word of a target. Beside each part: what it promises, and the race that it settles.
template <unsigned counter_bits>
struct TicketWord {
    static constexpr unsigned kNextShift = 64 - counter_bits;
    static constexpr unsigned kServingShift = kNextShift - counter_bits;
    /// A ticket. Given out by a fetching add, so no two processes have the same.
    static constexpr Value kNext = Value{1} << kNextShift;
    /// A holder that has gone. Only the holder adds it, so it knows the value (D1).
    static constexpr Value kServed = Value{1} << kServingShift;
    static constexpr Value kLast = (Value{1} << counter_bits) - 1; ///< before a counter wraps

    static constexpr Value next(Value word) { return word >> kNextShift; }
    static constexpr Value serving(Value word) { return word >> kServingShift & kLast; }
};
static_assert(fabric::kMostRanks < TicketWord<32>::kLast);

/// `counter_bits` of each counter; the model checker takes few, so that they wrap. More than there
/// can be threads, of all processes, in the queue: else two would have the same ticket.
template <fabric::Fabric F, unsigned counter_bits = 32>
class Ticket {
    using W = TicketWord<counter_bits>;

  public:
    static constexpr LockTraits kTraits{.name = "ticket", .shared = false};

    /// The lock words are slot `home` of every rank, zeroed before the first acquire of anybody.
    Ticket(F& fabric, Slot home) : fabric_(fabric), home_(home) {}

    Hold acquire_exclusive(Rank target) {
        const Word word{target, home_};
        const Value before = fabric_.fetch_add(word, W::kNext);
        const Value mine = W::next(before);
        if (W::serving(before) != mine)
            fabric_.await(word, [mine](Value v) { return W::serving(v) == mine; });
        return {.opaque = mine};
    }

    void release_exclusive(Rank target, Hold hold) {
        fabric_.add({target, home_}, hold.opaque == W::kLast ? W::kServed - W::kNext : W::kServed);
    }

    Hold acquire_shared(Rank target) { return acquire_exclusive(target); }
    void release_shared(Rank target, Hold hold) { release_exclusive(target, hold); }

  private:
    F& fabric_;
    Slot home_;
};

} // namespace rmalock::locks
