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
// waiting processes outnumber cores: the turn of a process that does not run is not given to
// another.
//
// Cost off node: acquire uncontended 1 atomic = 1 round trip; release 1 posted atomic. Waiting
// polls the target's word. Memory: 1 word per target; none per process.
#pragma once

#include "locks/lock_env.hh"

namespace rmalock::locks {

/// `counter_bits` of each counter; the model checker takes few, so that they wrap. More than there
/// can be processes, of all threads, in the queue.
template <fabric::Fabric F, unsigned counter_bits = 32>
class Ticket {
  public:
    static constexpr LockTraits kTraits{.name = "ticket", .shared = false};

    /// The lock words are slot `home` of every rank, zeroed before the first acquire of anybody.
    Ticket(F& fabric, Slot home) : fabric_(fabric), home_(home) {}

    Hold acquire_exclusive(Rank target) {
        const Word word{target, home_};
        const Value before = fabric_.fetch_add(word, kNext);
        const Value mine = next(before);
        if (serving(before) != mine)
            fabric_.await(word, [mine](Value v) { return serving(v) == mine; });
        return {.opaque = mine};
    }

    void release_exclusive(Rank target, Hold hold) {
        fabric_.add({target, home_}, hold.opaque == kLast ? kServed - kNext : kServed);
    }

    Hold acquire_shared(Rank target) { return acquire_exclusive(target); }
    void release_shared(Rank target, Hold hold) { release_exclusive(target, hold); }

  private:
    static constexpr unsigned kNextShift = 64 - counter_bits;
    static constexpr unsigned kServingShift = kNextShift - counter_bits;
    static constexpr Value kNext = Value{1} << kNextShift;         ///< a ticket
    static constexpr Value kServed = Value{1} << kServingShift;    ///< a holder that has gone
    static constexpr Value kLast = (Value{1} << counter_bits) - 1; ///< before a counter wraps

    static Value next(Value word) { return word >> kNextShift; }
    static Value serving(Value word) { return word >> kServingShift & kLast; }

    F& fabric_;
    Slot home_;
};

} // namespace rmalock::locks
