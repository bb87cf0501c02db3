// The ticket lock with one thing wrong each; the checker must say so.
#pragma once

#include "locks/parts/ticket.hh"

namespace rmalock::check {

enum class TicketMutation {
    get_then_add,       ///< the ticket is read, then taken: two processes may read the same one
    get_then_put,       ///< the same, and the put erases what the adapter counted meanwhile
    serves_two,         ///< a release counts two holders, and skips the next waiter
    release_by_put,     ///< a release writes the word as the holder's acquire saw it
    waits_for_at_least, ///< serving >= ticket, as if the counters did not wrap
    keeps_carry,        ///< the release that wraps `serving` gives out a ticket to nobody
    enters_early,       ///< a waiter that is next enters beside the holder
};

/// As locks/parts/ticket.hh; counters of two bits, which wrap.
template <fabric::Fabric F, TicketMutation M>
class TicketMutant {
    using Mutation = TicketMutation;
    using Value = locks::Value;
    using W = locks::TicketWord<2>;

  public:
    static constexpr locks::LockTraits kTraits = locks::Ticket<F>::kTraits;

    TicketMutant(F& fabric, locks::Slot home) : fabric_(fabric), home_(home) {}

    locks::Hold acquire_exclusive(locks::Rank target) {
        const locks::Word word{target, home_};
        const Value mine = W::next(take(word));
        fabric_.await(word, [mine](Value v) {
            const Value serving = W::serving(v);
            if (M == Mutation::waits_for_at_least)
                return serving >= mine;
            return serving == mine ||
                   (M == Mutation::enters_early && ((serving + 1) & W::kLast) == mine);
        });
        return {.opaque = mine};
    }

    void release_exclusive(locks::Rank target, locks::Hold hold) {
        const locks::Word word{target, home_};
        const bool wraps = hold.opaque == W::kLast && M != Mutation::keeps_carry;
        const Value served = M == Mutation::serves_two ? 2 * W::kServed : W::kServed;
        const Value change = wraps ? served - W::kNext : served;
        if (M == Mutation::release_by_put)
            fabric_.put(word, fabric_.get(word) + change);
        else
            fabric_.add(word, change);
    }

    locks::Hold acquire_shared(locks::Rank target) { return acquire_exclusive(target); }
    void release_shared(locks::Rank target, locks::Hold hold) { release_exclusive(target, hold); }

  private:
    Value take(locks::Word word) {
        if (M != Mutation::get_then_add && M != Mutation::get_then_put)
            return fabric_.fetch_add(word, W::kNext);
        const Value before = fabric_.get(word);
        if (M == Mutation::get_then_add)
            fabric_.fetch_add(word, W::kNext);
        else
            fabric_.put(word, before + W::kNext);
        return before;
    }

    F& fabric_;
    locks::Slot home_;
};

/// The shipped one, of a release that would have to bring the holder's data, and does not.
template <fabric::Fabric F>
struct TicketBeforeData : locks::Ticket<F> {
    using locks::Ticket<F>::Ticket;
    static constexpr locks::LockTraits kTraits{.name = "ticket", .shared = false, .delivers = true};
};

} // namespace rmalock::check
