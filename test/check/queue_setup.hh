// What the cases of queueing locks have in common: a home record, then a pool of nodes.
#pragma once

#include "locks/parts/pool.hh"
#include "mutants/broken_fabric.hh"
#include "scenario.hh"

namespace rmalock::check {

struct NoLimits {};

/// Where a queueing lock's words are, and its thresholds.
template <class Limits>
struct QueueSetup {
    Slot home_slots = locks::Pool::kNodeSlots;
    unsigned nodes = 1; ///< per process: as many locks as it holds and awaits at once
    Limits limits{};

    Slot slots() const { return home_slots + locks::Pool::slots(nodes); }
};

/// Lock<F> made of (fabric, home, pool), or of (fabric, home, pool, limits).
template <template <class> class Lock, class Fault, class Limits>
struct Queueing {
    BrokenFabric<Fault> fabric;
    locks::Pool pool;
    Lock<BrokenFabric<Fault>> lock;

    Queueing(CheckerFabric& real, const QueueSetup<Limits>& setup)
        : fabric(real), pool(real.self(), setup.home_slots, setup.nodes),
          lock(make(fabric, pool, setup)) {}

  private:
    static auto make(BrokenFabric<Fault>& f, locks::Pool& p, const QueueSetup<Limits>& setup) {
        if constexpr (std::is_same_v<Limits, NoLimits>)
            return Lock<BrokenFabric<Fault>>(f, 0, p);
        else
            return Lock<BrokenFabric<Fault>>(f, 0, p, setup.limits);
    }
};

/// The program of a queueing lock; a Fault other than Sound makes a mutant of it.
template <template <class> class Lock, class Fault = Sound, class Limits = NoLimits>
Program queueing(std::vector<Script> scripts, const QueueSetup<Limits>& setup = {}) {
    Cast cast{std::move(scripts)};
    cast.slots = setup.slots();
    return make_program<Queueing<Lock, Fault, Limits>>(cast, setup);
}

} // namespace rmalock::check
