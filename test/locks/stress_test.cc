// Every lock under the stress harness. Built plain and with ThreadSanitizer.
#include "fabric/layout.hh"
#include "harness/stress.hh"
#include "locks/all_gate.hh"
#include "locks/direct_passive.hh"
#include "locks/pfx.hh"

namespace rmalock::test {
namespace {

using fabric::WindowSlots;
using DirectPassive = locks::DirectPassive<StressFabric>;

/// The phase-fair lock with a pool of its own, and a T_W so small that phases change often.
class Pfx : public locks::Pfx<StressFabric> {
  public:
    Pfx(StressFabric& fabric, fabric::Slot home) : Pfx(fabric, home, new_pool(fabric)) {}

  private:
    Pfx(StressFabric& fabric, fabric::Slot home, std::unique_ptr<locks::Pool> pool)
        : locks::Pfx<StressFabric>(fabric, home, *pool, {.t_w = 2}), pool_(std::move(pool)) {}
    static std::unique_ptr<locks::Pool> new_pool(StressFabric& fabric) {
        return std::make_unique<locks::Pool>(fabric.self(), WindowSlots::nodes(fabric.size()),
                                             WindowSlots::node_count(fabric.size()));
    }
    std::unique_ptr<locks::Pool> pool_;
};

/// A lock behind the gate, as a window has it.
template <class Lock>
struct Gated {
    explicit Gated(StressFabric& fabric)
        : lock(fabric, WindowSlots::lock), gate(fabric, lock, WindowSlots::gate) {}
    locks::Hold acquire(fabric::Rank target, bool exclusive, bool holding) {
        return exclusive ? gate.acquire_exclusive(target, holding)
                         : locks::acquire_shared(lock, target, holding);
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

TEST(PfxStress, OneTargetMostlyWriters) { stress<Gated<Pfx>>(options(4, 80, 1)); }

TEST(PfxStress, SeveralTargetsMixed) { stress<Gated<Pfx>>(options(4, 40, 3)); }

TEST(PfxStress, MostlyReaders) { stress<Gated<Pfx>>(options(6, 5, 2)); }

template <class Lock>
class AllGateStress : public testing::Test {};
using GatedLocks = testing::Types<DirectPassive, Pfx>;
TYPED_TEST_SUITE(AllGateStress, GatedLocks);

TYPED_TEST(AllGateStress, LockAllBesideExclusives) {
    StressOptions o = options(4, 60, 2);
    o.all_percent = 30;
    for (o.seed = 1; o.seed <= 3; ++o.seed) // the change of mode happens once a run
        stress<Gated<TypeParam>>(o);
}

TYPED_TEST(AllGateStress, ManyShortRuns) {
    StressOptions o = options(4, 60, 2);
    o.all_percent = 20;
    o.rounds = 6;
    for (o.seed = 1; o.seed <= 100; ++o.seed) // mostly the change of mode itself
        stress<Gated<TypeParam>>(o);
}

} // namespace
} // namespace rmalock::test
