// Every lock under the stress harness. Built plain and with ThreadSanitizer.
#include "fabric/layout.hh"
#include "harness/stress.hh"
#include "locks/all_gate.hh"
#include "locks/direct_passive.hh"

namespace rmalock::test {
namespace {

using DirectPassive = locks::DirectPassive<StressFabric>;

/// A lock behind the gate, as a window has it.
template <class Lock>
struct Gated {
    explicit Gated(StressFabric& fabric)
        : lock(fabric, fabric::WindowSlots::lock), gate(fabric, lock, fabric::WindowSlots::gate) {}
    locks::Hold acquire(fabric::Rank target, bool exclusive, bool holding) {
        return exclusive ? gate.acquire_exclusive(target, holding) : lock.acquire_shared(target);
    }
    void release(fabric::Rank target, bool exclusive, locks::Hold hold) {
        exclusive ? gate.release_exclusive(target, hold) : lock.release_shared(target, hold);
    }
    void acquire_all() { gate.enter_all(); }
    void release_all() { gate.leave_all(); }
    Lock lock;
    locks::AllGate<StressFabric, Lock> gate;
};

/// Sizes that finish in seconds under ThreadSanitizer on two cores.
StressOptions options(fabric::Rank ranks, unsigned writer_percent, unsigned held) {
    return {.ranks = ranks,
            .slots = fabric::WindowSlots::count(ranks),
            .rounds = 1500,
            .writer_percent = writer_percent,
            .held_at_once = held};
}

TEST(DirectPassiveStress, OneTargetMostlyWriters) {
    StressOptions o = options(4, 80, 1);
    stress<Adapter<DirectPassive>>(o);
}

TEST(DirectPassiveStress, SeveralTargetsMixed) { stress<Adapter<DirectPassive>>(options(4, 40, 3)); }

TEST(DirectPassiveStress, MostlyReaders) { stress<Adapter<DirectPassive>>(options(6, 5, 2)); }

TEST(AllGateStress, LockAllBesideExclusives) {
    StressOptions o = options(4, 60, 2);
    o.all_percent = 30;
    for (o.seed = 1; o.seed <= 3; ++o.seed) // the change of mode happens once a run
        stress<Gated<DirectPassive>>(o);
}

TEST(AllGateStress, ManyShortRuns) {
    StressOptions o = options(4, 60, 2);
    o.all_percent = 20;
    o.rounds = 6;
    for (o.seed = 1; o.seed <= 100; ++o.seed) // mostly the change of mode itself
        stress<Gated<DirectPassive>>(o);
}

} // namespace
} // namespace rmalock::test
