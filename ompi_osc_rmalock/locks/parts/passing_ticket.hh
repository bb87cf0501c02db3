// Ticket lock with bounded bypass: a running process may take a released lock ahead of the waiters.
//
// Our own, of ticket.hh and baton.hh. A ticket lock hands over to the next waiter, which mostly
// does not run where ranks outnumber cores: the lock lies idle until the system gives it a core. A
// spin lock lies free for any running process, but then a waiter may lose for ever. Here a released
// lock lies free, and the first of the queue takes it like others; they pass that one `passes`
// times at most. baton.hh does the same with an MCS queue. That one needs qnodes of the process, and
// knowledge of when the lock is wanted. This one is a word: any thread may wait, and zeroed memory
// is free.
//
// The word of target t at t (atomic):
//
//     63       40 39       16 15      1    0
//    [ next      | serving   | passed  | held ]   free, and nobody waits: 0
//
//    acquire   v = CAS(word, 0 -> [held])                                     if it was 0: alone
//              if !v.held and v.passed < passes and CAS(word, v -> v + [passed:1 | held]) == v:
//                  return                                                     past the first
//              mine = FADD(word, [next:1]).next
//              do  v = await !word.held and word.serving == mine
//                  w = v.next == mine + 1 ? [held] : [v.next | mine + 1 | 0 | held]
//              until CAS(word, v -> w) == v
//    release   ADD(word, -[held])                                             (posted)
//
// The last waiter to leave the queue sets its counters to 0: no ticket is out, so nobody compares
// with them, and the next acquire is a single compare-and-swap again. A ticket that is given out
// meanwhile changes the word, and that compare-and-swap fails.
//
// Why it excludes: `held` becomes set by a compare-and-swap of a word without it, and is taken away
// by the holder alone.
//
// Why a waiter gets in: between two takes by a first one others pass `passes` times at most, as its
// take resets `passed`. Its compare-and-swap fails beside that only when a process joins the queue,
// once for each. So a waiter waits for those before it, and `passes` others for each of them and for
// itself.
//
// Both counters wrap at 2^24. `next` wraps off the top; `serving` is written whole. There are fewer
// waiters than that: 65,536 processes of 255 threads each.
//
// Cost off node: acquire uncontended 1 atomic = 1 round trip; release 1 posted atomic; past the
// queue 1 atomic more; in the queue 2 more, and polls of the target's word. Memory: 1 word per
// target; none per process.
#pragma once

#include "locks/lock_env.hh"

namespace rmalock::locks {

/// The word of a target. Beside each part: what it promises, and the race that it settles.
template <unsigned counter_bits>
struct PassingTicketWord {
    static constexpr unsigned kNextShift = 64 - counter_bits;
    static constexpr unsigned kServingShift = kNextShift - counter_bits;
    /// Set by a compare-and-swap of a word without it, taken away by the holder: one process at a
    /// time has set it.
    static constexpr Value kHeld = 1;
    /// The first of the queue was passed, once more. In the word that is swapped, so that two
    /// processes that pass at once are counted as two.
    static constexpr Value kPassed = 2;
    static constexpr Value kMostPassed = (Value{1} << (kServingShift - 1)) - 1;
    /// A ticket. Given out while the lock may change hands: it makes the swap of a last waiter,
    /// which would set the counters to 0, fail.
    static constexpr Value kNext = Value{1} << kNextShift;
    static constexpr Value kCounter = (Value{1} << counter_bits) - 1;
    /// The ticket of the first of the queue, which alone changes it: in the swap that takes the
    /// lock, so no later one takes it at the same time.
    static constexpr Value serving(Value word) { return word >> kServingShift & kCounter; }

    static constexpr bool held(Value word) { return (word & kHeld) != 0; }
    static constexpr Value next(Value word) { return word >> kNextShift; }
    static constexpr Value passed(Value word) {
        return (word & ((Value{1} << kServingShift) - 1)) / kPassed;
    }
    /// The word once the first of the queue holds the lock.
    static constexpr Value without_first(Value word) {
        const Value then = (serving(word) + 1) & kCounter;
        return next(word) == then ? kHeld
                                  : next(word) << kNextShift | then << kServingShift | kHeld;
    }
};

// As many threads of each process may wait for one target at a time; of more, two would have the
// same ticket.
static_assert(fabric::kMostRanks * Value{255} <= PassingTicketWord<24>::kCounter);

/// `counter_bits` of `next` and of `serving`; the model checker takes few, so that they wrap.
template <fabric::Fabric F, unsigned counter_bits = 24>
class PassingTicket {
    using W = PassingTicketWord<counter_bits>;

  public:
    static constexpr LockTraits kTraits{.name = "passing_ticket", .shared = false};
    /// A switch to a waiter that does not run takes as long as many short sections. With 8 ranks on
    /// 2 cores that accumulate one element, this limit had 0.64 of the rate of a compare-and-swap
    /// lock, 64 had 0.45 (medians of 9 interleaved repeats).
    static constexpr Value kDefaultLimit = 256;
    static_assert(kDefaultLimit <= W::kMostPassed);

    /// The lock words are slot `home` of every rank, zeroed before the first acquire of anybody.
    /// `limit`: passes, at most kMostPassed of the word; 0: nobody is passed.
    PassingTicket(F& fabric, Slot home, Value limit = kDefaultLimit)
        : fabric_(fabric), home_(home), limit_(limit) {}

    Hold acquire_exclusive(Rank target) {
        const Word word{target, home_};
        const auto start = fabric_.mark();
        if (const Value before = fabric_.compare_swap(word, 0, W::kHeld); before != 0)
            acquire_contended(word, before, start);
        return {};
    }

    /// Where nobody may wait (the handler of a message): false if the lock is held, or was passed
    /// on as often as it may be.
    bool try_acquire_exclusive(Rank target) {
        const Word word{target, home_};
        const Value before = fabric_.compare_swap(word, 0, W::kHeld);
        return before == 0 || passes(word, before);
    }

    void release_exclusive(Rank target, Hold) { fabric_.add({target, home_}, Value{0} - W::kHeld); }

    Hold acquire_shared(Rank target) { return acquire_exclusive(target); }
    void release_shared(Rank target, Hold hold) { release_exclusive(target, hold); }

  private:
    /// `start`: see "Loops" in fabric/concept.hh.
    [[gnu::noinline]] void acquire_contended(Word word, Value before, std::uint64_t start) {
        if (!passes(word, before))
            take_in_order(word, start);
    }

    /// `seen` is not 0: it is held, or there is a queue.
    bool passes(Word word, Value seen) {
        return !W::held(seen) && W::passed(seen) < limit_ &&
               fabric_.compare_swap(word, seen, seen + W::kPassed + W::kHeld) == seen;
    }

    void take_in_order(Word word, std::uint64_t start) {
        const Value mine = W::next(fabric_.fetch_add(word, W::kNext));
        for (;;) {
            fabric_.rewind(start, mine); // all it knows is its ticket
            const Value seen = fabric_.await(
                word, [mine](Value v) { return !W::held(v) && W::serving(v) == mine; });
            if (fabric_.compare_swap(word, seen, W::without_first(seen)) == seen)
                return;
        }
    }

    F& fabric_;
    Slot home_;
    Value limit_;
};

} // namespace rmalock::locks
