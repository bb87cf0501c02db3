// The ticket lock with bounded bypass, with one thing wrong each; the checker must say so.
#pragma once

#include "locks/parts/passing_ticket.hh"

namespace rmalock::check {

enum class PassingTicketMutation {
    passes_uncounted, ///< a process passes the first of the queue, and does not count that
    passes_held,      ///< a process passes without a look at `held`
    takes_blindly,    ///< the first of the queue adds what it should compare and swap
    resets_counters, ///< it always leaves as if it were the last one: tickets that are out are lost
    keeps_carry,     ///< `serving` wraps into `next`
    release_by_put,  ///< a release writes 0 over the queue
};

/// As locks/parts/passing_ticket.hh with passes = 1; counters of two bits, which wrap.
template <fabric::Fabric F, PassingTicketMutation M>
class PassingTicketMutant {
    using Mutation = PassingTicketMutation;
    using Value = locks::Value;
    using Word = locks::Word;
    using W = locks::PassingTicketWord<2>;

  public:
    static constexpr Value kTicket = W::kNext;

    static constexpr locks::LockTraits kTraits = locks::PassingTicket<F>::kTraits;

    PassingTicketMutant(F& fabric, locks::Slot home) : fabric_(fabric), home_(home) {}

    locks::Hold acquire_exclusive(locks::Rank target) {
        const Word word{target, home_};
        const auto start = fabric_.mark();
        const Value before = fabric_.compare_swap(word, 0, W::kHeld);
        if (before != 0 && !passes(word, before))
            take_in_order(word, start);
        return {};
    }

    void release_exclusive(locks::Rank target, locks::Hold) {
        if (M == Mutation::release_by_put)
            fabric_.put({target, home_}, 0);
        else
            fabric_.add({target, home_}, Value{0} - W::kHeld);
    }

    locks::Hold acquire_shared(locks::Rank target) { return acquire_exclusive(target); }
    void release_shared(locks::Rank target, locks::Hold hold) { release_exclusive(target, hold); }

  private:
    bool passes(Word word, Value seen) {
        const Value expected = seen;
        if (M == Mutation::passes_held)
            seen &= ~W::kHeld;
        const Value count = M == Mutation::passes_uncounted ? 0 : W::kPassed;
        return !W::held(seen) && W::passed(seen) < 1 &&
               fabric_.compare_swap(word, expected, (seen + count) | W::kHeld) == expected;
    }

    void take_in_order(Word word, std::uint64_t start) {
        const Value mine = W::next(fabric_.fetch_add(word, W::kNext));
        for (;;) {
            fabric_.rewind(start, mine);
            const Value seen = fabric_.await(
                word, [mine](Value v) { return !W::held(v) && W::serving(v) == mine; });
            const Value then = without_first(seen);
            if (M == Mutation::takes_blindly) {
                fabric_.fetch_add(word, then - seen);
                return;
            }
            if (fabric_.compare_swap(word, seen, then) == seen)
                return;
        }
    }

    static Value without_first(Value word) {
        if (M == Mutation::resets_counters)
            return W::kHeld;
        const Value rest = word - W::passed(word) * W::kPassed;
        if (M == Mutation::keeps_carry && W::serving(word) == W::kCounter)
            return rest + (Value{1} << W::kServingShift) + W::kHeld;
        return W::without_first(word);
    }

    F& fabric_;
    locks::Slot home_;
};

/// The shipped one, of a release that would have to bring the holder's data, and does not.
template <fabric::Fabric F>
struct PassingTicketBeforeData : locks::PassingTicket<F> {
    using locks::PassingTicket<F>::PassingTicket;
    static constexpr locks::LockTraits kTraits{
        .name = "passing_ticket", .shared = false, .delivers = true};
};

} // namespace rmalock::check
