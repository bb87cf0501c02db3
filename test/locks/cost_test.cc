// What the paths cost, in verbs, against the figures in the headers of the locks.
#include <gtest/gtest.h>

#include "harness/counting.hh"
#include "harness/world.hh"
#include "locks/all_gate.hh"
#include "locks/d_mcs.hh"
#include "locks/direct_passive.hh"
#include "locks/fompi_rw.hh"
#include "locks/fompi_spin.hh"
#include "locks/pfx.hh"
#include "locks/rma_mcs.hh"
#include "locks/rma_rw.hh"

namespace rmalock::test {
namespace {

using fabric::WindowSlots;
using CountingFabric = Counting<fabric::CpuFabric>;
using Lock = locks::DirectPassive<CountingFabric>;
using Gate = locks::AllGate<CountingFabric, Lock>;

constexpr VerbCounts kOneAtomic{.atomics = 1};
constexpr VerbCounts kOnePosted{.posted = 1};

class Cost : public testing::Test {
  protected:
    static constexpr fabric::Rank kHere = 0, kTarget = 1;
    static constexpr fabric::LockSlots kSlots{.nodes = 4, .elements = fabric::line(16)};
    World world{4, WindowSlots::count(4, kSlots)};
    CountingFabric fabric{world.fabric(kHere)};
    Lock lock{fabric, WindowSlots::lock};
    Gate gate{fabric, lock, WindowSlots::gate};
};

TEST_F(Cost, DirectPassiveExclusive) {
    const locks::Hold hold = lock.acquire_exclusive(kTarget);
    EXPECT_EQ(fabric.take(), kOneAtomic);
    lock.release_exclusive(kTarget, hold);
    EXPECT_EQ(fabric.take(), kOnePosted);
}

TEST_F(Cost, DirectPassiveShared) {
    const locks::Hold hold = lock.acquire_shared(kTarget);
    EXPECT_EQ(fabric.take(), kOneAtomic);
    lock.release_shared(kTarget, hold);
    EXPECT_EQ(fabric.take(), kOnePosted);
}

TEST_F(Cost, PhaseFairIsOneAtomicToAcquireAndOneToRelease) {
    locks::Pool pool(kHere, WindowSlots::nodes(4), WindowSlots::node_count(4));
    locks::Pfx<CountingFabric> pfx(fabric, WindowSlots::lock, pool);
    const locks::Hold exclusive = pfx.acquire_exclusive(kTarget);
    EXPECT_EQ(fabric.take(), kOneAtomic);
    pfx.release_exclusive(kTarget, exclusive);
    EXPECT_EQ(fabric.take(), kOneAtomic);
    const locks::Hold shared = pfx.acquire_shared(kTarget);
    EXPECT_EQ(fabric.take(), kOneAtomic);
    pfx.release_shared(kTarget, shared);
    EXPECT_EQ(fabric.take(), kOneAtomic);
}

TEST_F(Cost, PhaseFairThatMayBePassedCostsTheSame) {
    locks::Pool pool(kHere, WindowSlots::nodes(4), WindowSlots::node_count(4));
    locks::Pfx<CountingFabric> pfx(fabric, WindowSlots::lock, pool, {.t_w = 8, .t_l = 8});
    const locks::Hold exclusive = pfx.acquire_exclusive(kTarget);
    EXPECT_EQ(fabric.take(), kOneAtomic);
    pfx.release_exclusive(kTarget, exclusive);
    EXPECT_EQ(fabric.take(), kOneAtomic);
    const locks::Hold shared = pfx.acquire_shared(kTarget);
    EXPECT_EQ(fabric.take(), kOneAtomic);
    pfx.release_shared(kTarget, shared);
    EXPECT_EQ(fabric.take(), kOneAtomic);
}

TEST_F(Cost, ABatonIsTakenPastTheQueueByOneAtomicAndInItByThree) {
    locks::Pool pool(kHere, WindowSlots::nodes(4), WindowSlots::node_count(4));
    locks::Baton<CountingFabric> baton(fabric);
    const fabric::Word word{kTarget, WindowSlots::lock}, tail{kTarget, WindowSlots::lock + 1};
    baton.give(word, 7, 2);
    EXPECT_EQ(fabric.take(), kOnePosted);
    EXPECT_EQ(baton.take(word, tail, pool, 3).passed, 3U);
    EXPECT_EQ(fabric.take(), (VerbCounts{.gets = 1, .atomics = 1}));
    baton.give(word, 7, 3); // as often as it may be
    fabric.take();
    const auto turn = baton.take(word, tail, pool, 3);
    EXPECT_EQ(turn.message, 7U);
    EXPECT_EQ(turn.passed, 0U);
    EXPECT_EQ(fabric.take(), (VerbCounts{.gets = 2, .atomics = 3, .polls_elsewhere = 1}));
}

TEST_F(Cost, OneQueueIsOneAtomicAndOneWithAReadOfTheOwnNode) {
    locks::Pool pool(kHere, WindowSlots::nodes(4), 4);
    locks::DMcs<CountingFabric> d_mcs(fabric, WindowSlots::lock, pool);
    const locks::Hold hold = d_mcs.acquire_exclusive(kTarget);
    EXPECT_EQ(fabric.take(), kOneAtomic);
    d_mcs.release_exclusive(kTarget, hold);
    EXPECT_EQ(fabric.take(), (VerbCounts{.gets = 1, .atomics = 1}));
}

TEST_F(Cost, ATreeOfQueuesIsAnAtomicForEachLevel) {
    locks::Pool pool(kHere, WindowSlots::nodes(4), 4);
    const topology::Tree nodes{{topology::Level::blocks(4, 2)}};
    locks::RmaMcs<CountingFabric> rma_mcs(fabric, WindowSlots::lock,
                                          WindowSlots::elements(4, kSlots), pool, nodes, {});
    const locks::Hold hold = rma_mcs.acquire_exclusive(kTarget);
    EXPECT_EQ(fabric.take(), (VerbCounts{.atomics = 2}));
    rma_mcs.release_exclusive(kTarget, hold);
    // NEXT and STATUS of its own node and of its element's, which is flushed for the next one.
    EXPECT_EQ(fabric.take(), (VerbCounts{.gets = 4, .atomics = 2, .flushes = 1}));
}

TEST_F(Cost, CountersAreOneAtomicForReadersAndTwoEachForAWriter) {
    locks::Pool pool(kHere, WindowSlots::nodes(4), 4);
    const topology::Tree flat{};
    const topology::Level counters = topology::Level::blocks(4, 2);
    locks::RmaRw<CountingFabric> rma_rw(fabric, WindowSlots::lock, WindowSlots::elements(4, kSlots),
                                        pool, flat, counters, {});
    const locks::Hold shared = rma_rw.acquire_shared(kTarget);
    EXPECT_EQ(fabric.take(), kOneAtomic);
    rma_rw.release_shared(kTarget, shared);
    EXPECT_EQ(fabric.take(), kOnePosted);
    const locks::Hold exclusive = rma_rw.acquire_exclusive(kTarget);
    EXPECT_EQ(fabric.take(), (VerbCounts{.atomics = 1 + 2 * 2}));
    rma_rw.release_exclusive(kTarget, exclusive);
    EXPECT_EQ(fabric.take(), (VerbCounts{.gets = 2, .atomics = 1, .posted = 2, .flushes = 1}));
}

TEST_F(Cost, FompisLocks) {
    locks::FompiSpin<CountingFabric> spin(fabric, WindowSlots::lock);
    spin.release_exclusive(kTarget, spin.acquire_exclusive(kTarget));
    EXPECT_EQ(fabric.take(), (VerbCounts{.atomics = 1, .posted = 1}));
    locks::FompiRw<CountingFabric> rw(fabric, WindowSlots::lock);
    rw.release_exclusive(kTarget, rw.acquire_exclusive(kTarget));
    EXPECT_EQ(fabric.take(), (VerbCounts{.atomics = 2, .posted = 2}));
    rw.release_shared(kTarget, rw.acquire_shared(kTarget));
    EXPECT_EQ(fabric.take(), (VerbCounts{.atomics = 1, .posted = 1}));
    rw.release_all(rw.acquire_all());
    EXPECT_EQ(fabric.take(), (VerbCounts{.atomics = 1, .posted = 1}));
}

TEST_F(Cost, ExclusiveBeforeAnyLockAllPaysTwoReadsForTheGate) {
    const locks::Hold hold = gate.acquire_exclusive(kTarget, false);
    EXPECT_EQ(fabric.take(), (VerbCounts{.gets = 2, .atomics = 1}));
    gate.release_exclusive(kTarget, hold);
    EXPECT_EQ(fabric.take(), kOnePosted);
}

TEST_F(Cost, LockAllIsOneAtomicAfterTheFirst) {
    gate.enter_all();
    gate.leave_all();
    fabric.take();
    gate.enter_all();
    EXPECT_EQ(fabric.take(), kOneAtomic);
    gate.leave_all();
    EXPECT_EQ(fabric.take(), kOnePosted);
}

TEST_F(Cost, ExclusiveAfterALockAllEntersTheRoom) {
    gate.enter_all();
    gate.leave_all();
    fabric.take();
    const locks::Hold hold = gate.acquire_exclusive(kTarget, false);
    EXPECT_EQ(fabric.take(), (VerbCounts{.gets = 2, .atomics = 2}));
    gate.release_exclusive(kTarget, hold);
    EXPECT_EQ(fabric.take(), (VerbCounts{.posted = 2}));
}

TEST_F(Cost, LockAllVisitsEveryTargetOnceInTheLifeOfAWindow) {
    gate.enter_all();
    const VerbCounts first = fabric.take();
    // Join, announce, mark the node, one shared acquire a target, settle.
    EXPECT_EQ(first.atomics, 1U + 1 + 1 + 4 + 1);
    EXPECT_EQ(first.posted, 4U);
}

} // namespace
} // namespace rmalock::test
