// What the cases of queueing locks have in common: a home record, then a pool of nodes.
#pragma once

#include "locks/pool.hh"
#include "scenario.hh"

namespace rmalock::check {

/// Where a queueing lock's words are, and its thresholds: `more` is the lock's own affair.
template <class More>
struct QueueSetup {
    Slot home_slots = locks::Pool::kNodeSlots;
    unsigned nodes = 1; ///< per process: as many locks as it holds and awaits at once
    More more{};

    Slot slots() const { return home_slots + locks::Pool::slots(nodes); }
};

struct NoMore {};

/// A lock made of (fabric, home, pool), or of (fabric, home, pool, more).
template <class L, class More = NoMore>
struct Queueing {
    locks::Pool pool;
    L lock;

    Queueing(CheckerFabric& fabric, const QueueSetup<More>& setup)
        : pool(fabric.self(), setup.home_slots, setup.nodes), lock(make(fabric, setup, pool)) {}

  private:
    static L make(CheckerFabric& fabric, const QueueSetup<More>& setup, locks::Pool& pool) {
        if constexpr (std::is_same_v<More, NoMore>)
            return L(fabric, 0, pool);
        else
            return L(fabric, 0, pool, setup.more);
    }
};

template <class L, class More = NoMore>
Program queueing(Cast cast, QueueSetup<More> setup = {}) {
    cast.slots = setup.slots();
    return make_program<Queueing<L, More>>(cast, setup);
}

} // namespace rmalock::check
