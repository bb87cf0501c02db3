// What the paths cost, in verbs, against the figures in the headers of the locks.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <random>
#include <source_location>
#include <string_view>
#include <thread>
#include <vector>

#include "harness/counting.hh"
#include "harness/lock_parts.hh"
#include "harness/thread_words.hh"
#include "locks/all.hh"
#include "locks/parts/passing_ticket.hh"
#include "locks/parts/ticket.hh"
#include "locks/window_lock/all_gate.hh"

namespace rmalock::test {
namespace {

using fabric::WindowSlots;
using CountingFabric = Counting<NodesOfTwo>;
using Lock = locks::DirectPassive<CountingFabric>;
using Gate = locks::AllGate<CountingFabric, Lock>;

constexpr VerbCounts kOneAtomic{.atomics = 1};
constexpr VerbCounts kOnePosted{.posted = 1};

class Cost : public testing::Test {
  protected:
    static constexpr fabric::Rank kHere = 0, kTarget = 1, kFarTarget = 2;
    using Parts = LockParts<CountingFabric>;
    ThreadWords words{4, WindowSlots::count(4, Parts::kinds(4))};
    CountingFabric fabric{words.fabric(kHere)};
    Parts parts{fabric};
    Lock lock{parts.env({})};
    Gate gate{fabric, lock, WindowSlots::gate};
};

/// What a lock costs that nobody else wants, of a target of the own node, on two nodes of two.
struct Price {
    const char* lock;
    VerbCounts acquire_exclusive, release_exclusive, acquire_shared, release_shared;
};
constexpr VerbCounts kReadsNextAndLeaves{.gets = 1, .atomics = 1};
constexpr VerbCounts kCohort{.gets = 1, .atomics = 2};
// Of both levels: TAIL; then NEXT and STATUS of the process's qnode and of its element's, which is
// flushed for the next one.
constexpr VerbCounts kClimbs{.atomics = 2}, kDescends{.gets = 4, .atomics = 2, .flushes = 1};
constexpr Price kPrices[] = {
    {"direct_passive", kOneAtomic, kOnePosted, kOneAtomic, kOnePosted},
    {"pf_mcs", kOneAtomic, kOneAtomic, kOneAtomic, kOneAtomic},
    {"pf_cohort", kCohort, kCohort, kOneAtomic, kOneAtomic},
    // A writer closes both counters by two atomics each, and opens them by posted adds.
    {"rma_rw",
     {.atomics = 2 + 2 * 2},
     {.gets = 4, .atomics = 2, .posted = 2, .flushes = 2},
     kOneAtomic,
     kOnePosted},
    {"rma_mcs", kClimbs, kDescends, kClimbs, kDescends},
    {"d_mcs", kOneAtomic, kReadsNextAndLeaves, kOneAtomic, kReadsNextAndLeaves},
    {"alock",
     {.gets = 1, .atomics = 1},
     kReadsNextAndLeaves,
     {.gets = 1, .atomics = 1},
     kReadsNextAndLeaves},
    // A writer and a reader look at three words, a writer that leaves at both tails and JOIN.
    {"pf_alock",
     {.gets = 3, .atomics = 1},
     {.gets = 1 + 3, .atomics = 1},
     {.gets = 3, .atomics = 1},
     kOnePosted},
    {"n_cosed", kOneAtomic, kReadsNextAndLeaves, kOneAtomic, kOneAtomic},
    {"dqnl", kOneAtomic, kReadsNextAndLeaves, kOneAtomic, kReadsNextAndLeaves},
    // A request, which its sender grants itself: it looks for what comes next, too.
    {"srsl",
     {.gets = 3 + 2, .atomics = 2, .posted = 3, .flushes = 1},
     {.gets = 2, .atomics = 1},
     {.gets = 3 + 2, .atomics = 2, .posted = 3, .flushes = 1},
     {.gets = 2, .atomics = 1}},
    {"fompi_spin", kOneAtomic, kOnePosted, kOneAtomic, kOnePosted},
    {"fompi_rw", {.atomics = 2}, {.posted = 2}, kOneAtomic, kOnePosted},
};

template <class L>
void expect_price(LockParts<CountingFabric>& parts, fabric::Rank target) {
    const auto price = std::ranges::find_if(
        kPrices, [](const Price& p) { return std::string_view(p.lock) == L::kTraits.name; });
    ASSERT_NE(price, std::end(kPrices)) << L::kTraits.name << " has no price";
    L lock(parts.env(L::limits({}, parts.view())));
    const locks::Hold exclusive = lock.acquire_exclusive(target);
    EXPECT_EQ(parts.fabric.take(), price->acquire_exclusive) << price->lock;
    lock.release_exclusive(target, exclusive);
    EXPECT_EQ(parts.fabric.take(), price->release_exclusive) << price->lock;
    const locks::Hold shared = lock.acquire_shared(target);
    EXPECT_EQ(parts.fabric.take(), price->acquire_shared) << price->lock;
    lock.release_shared(target, shared);
    EXPECT_EQ(parts.fabric.take(), price->release_shared) << price->lock;
}

TEST_F(Cost, OfEveryLockWithoutContention) {
    locks::for_each_lock([&]<template <class> class L>(locks::LockClass<L>) {
        SCOPED_TRACE(L<CountingFabric>::kTraits.name);
        ThreadWords fresh(4, WindowSlots::count(4, Parts::kinds(4)));
        CountingFabric its_fabric(fresh.fabric(kHere));
        Parts its_parts(its_fabric);
        expect_price<L<CountingFabric>>(its_parts, kTarget);
    });
}

TEST_F(Cost, ALocksOfTheOwnNodeAskNoAdapter) {
    locks::ALock<CountingFabric> alock(parts.env({}));
    locks::PfAlock<CountingFabric> pf_alock(parts.env({}));
    locks::DMcs<CountingFabric> d_mcs(parts.env({}));
    const auto exclusive = [&](auto& its, fabric::Rank target) {
        fabric.take_of_adapters();
        its.release_exclusive(target, its.acquire_exclusive(target));
        return fabric.take_of_adapters();
    };
    const auto shared = [&](auto& its, fabric::Rank target) {
        fabric.take_of_adapters();
        its.release_shared(target, its.acquire_shared(target));
        return fabric.take_of_adapters();
    };
    EXPECT_EQ(exclusive(alock, kTarget), 0U);
    EXPECT_EQ(exclusive(alock, kFarTarget), 2U);
    EXPECT_EQ(exclusive(pf_alock, kTarget), 0U);
    EXPECT_EQ(exclusive(pf_alock, kFarTarget), 2U);
    EXPECT_EQ(shared(pf_alock, kTarget), 0U);
    EXPECT_EQ(shared(pf_alock, kFarTarget), 2U);
    EXPECT_EQ(exclusive(d_mcs, kTarget), 2U);
}

constexpr VerbCounts kOneAtomicAndALook{.atomics = 1, .along = 1};

TEST_F(Cost, ALockOffTheNodeIsOneRoundTripAndOneToRelease) {
    locks::ALock<CountingFabric> alock(parts.env({}));
    const locks::Hold hold = alock.acquire_exclusive(kFarTarget);
    EXPECT_EQ(fabric.take_off_node(), kOneAtomicAndALook);
    alock.release_exclusive(kFarTarget, hold);
    EXPECT_EQ(fabric.take_off_node(), kOneAtomic);
}

/// Of a lock whose target is on another node: each call is one round trip.
void expect_a_round_trip_each(auto& fabric, auto& lock, fabric::Rank target) {
    const locks::Hold exclusive = lock.acquire_exclusive(target);
    EXPECT_EQ(fabric.take_off_node(), kOneAtomicAndALook);
    lock.release_exclusive(target, exclusive);
    EXPECT_EQ(fabric.take_off_node(), kOneAtomicAndALook);
    const locks::Hold shared = lock.acquire_shared(target);
    EXPECT_EQ(fabric.take_off_node(), kOneAtomicAndALook);
    lock.release_shared(target, shared);
    EXPECT_EQ(fabric.take_off_node(), kOneAtomic);
}

TEST_F(Cost, PfAlockOffTheNodeIsOneRoundTripForEachCall) {
    locks::PfAlock<CountingFabric> pf_alock(parts.env({}));
    expect_a_round_trip_each(fabric, pf_alock, kFarTarget);
}

using InAdapters = Counting<InNic<NodesOfTwo>>;

class CostOfAdapters : public testing::Test {
  protected:
    static constexpr fabric::Rank kTarget = 1, kFarTarget = 2;
    ThreadWords words{4, WindowSlots::count(4, LockParts<InAdapters>::kinds(4))};
    InAdapters fabric{InNic<NodesOfTwo>(words.fabric(0))};
    LockParts<InAdapters> parts{fabric};
    locks::PfCohort<InAdapters> lock{
        parts.env(locks::PfCohort<InAdapters>::limits({}, parts.view()))};
};

TEST_F(CostOfAdapters, PfCohortOfTheOwnNodeAsksNone) {
    lock.release_exclusive(kTarget, lock.acquire_exclusive(kTarget));
    lock.release_shared(kTarget, lock.acquire_shared(kTarget));
    EXPECT_EQ(fabric.take_of_adapters(), 0U);
    // One that another process holds by the adapter.
    InAdapters far_fabric{InNic<NodesOfTwo>(words.fabric(2))};
    LockParts<InAdapters> far_parts(far_fabric);
    locks::PfCohort<InAdapters> far(far_parts.env({}));
    const locks::Hold its = far.acquire_shared(kTarget);
    lock.release_shared(kTarget, lock.acquire_shared(kTarget));
    EXPECT_EQ(fabric.take_of_adapters(), 0U) << "a reader beside a reader";
    far.release_shared(kTarget, its);
}

TEST_F(CostOfAdapters, PfCohortOfTheOwnNodeWaitsForAWriterByCpus) {
    InAdapters far_fabric{InNic<NodesOfTwo>(words.fabric(kFarTarget))};
    LockParts<InAdapters> far_parts(far_fabric);
    locks::PfCohort<InAdapters> far(far_parts.env({}));
    const locks::Hold its = far.acquire_exclusive(kTarget);
    std::thread near([&] { lock.release_exclusive(kTarget, lock.acquire_exclusive(kTarget)); });
    auto home = words.fabric(kTarget);
    const fabric::Word l{kTarget, parts.env({}).home + locks::PfCohortWords::kNear};
    EXPECT_TRUE(
        home.await_until(l, locks::NearWord::has_turns, home.after(std::chrono::seconds(60))));
    far.release_exclusive(kTarget, its);
    near.join();
    EXPECT_EQ(fabric.take_of_adapters(), 0U);
    EXPECT_EQ(home.get(l), 0U);
}

TEST(CostOfMeeting, AnOwnerAndTheFirstOfTheQueueWaitForNoAtomic) {
    constexpr fabric::Rank kRanks = 6, kHome = 0, kOwner = 2,
                           kFirst = 4; // each on a node of its own
    ThreadWords words{kRanks, WindowSlots::count(kRanks, LockParts<InAdapters>::kinds(kRanks))};
    InAdapters owner_fabric{InNic<NodesOfTwo>(words.fabric(kOwner))};
    InAdapters first_fabric{InNic<NodesOfTwo>(words.fabric(kFirst))};
    LockParts<InAdapters> owner_parts(owner_fabric), first_parts(first_fabric);
    locks::PfCohort<InAdapters> owner(owner_parts.env({})), first(first_parts.env({}));
    const locks::Hold its = owner.acquire_exclusive(kHome);
    std::thread meets([&] { first.release_exclusive(kHome, first.acquire_exclusive(kHome)); });
    auto home = words.fabric(kHome);
    const fabric::Word tail{kHome, owner_parts.env({}).home + locks::PfCohortWords::kTail};
    EXPECT_TRUE(home.await_until(tail, fabric::differs(0), home.after(std::chrono::seconds(60))));
    owner.release_exclusive(kHome, its);
    meets.join();
    EXPECT_EQ(owner_fabric.take_of_adapters(), 2U) << "S twice";
    EXPECT_EQ(first_fabric.take_of_adapters(), 4U) << "S and TAIL twice each";
}

TEST_F(CostOfAdapters, PfCohortOffTheNodeIsOneRoundTripForEachCall) {
    expect_a_round_trip_each(fabric, lock, kFarTarget);
}

TEST_F(Cost, PhaseFairThatMayBePassedCostsTheSame) {
    locks::PfMcs<CountingFabric> pf_mcs(parts.env({.t_w = 8, .passes = 8}));
    const locks::Hold exclusive = pf_mcs.acquire_exclusive(kTarget);
    EXPECT_EQ(fabric.take(), kOneAtomic);
    pf_mcs.release_exclusive(kTarget, exclusive);
    EXPECT_EQ(fabric.take(), kOneAtomic);
}

TEST_F(Cost, TicketIsOneAtomicAndOnePosted) {
    locks::Ticket<CountingFabric> ticket(fabric, WindowSlots::accumulate);
    const locks::Hold hold = ticket.acquire_exclusive(kTarget);
    EXPECT_EQ(fabric.take(), kOneAtomic);
    ticket.release_exclusive(kTarget, hold);
    EXPECT_EQ(fabric.take(), kOnePosted);
}

TEST_F(Cost, PassingTicketIsOneAtomicAndOnePosted) {
    locks::PassingTicket<CountingFabric> ticket(fabric, WindowSlots::accumulate);
    const locks::Hold hold = ticket.acquire_exclusive(kTarget);
    EXPECT_EQ(fabric.take(), kOneAtomic);
    ticket.release_exclusive(kTarget, hold);
    EXPECT_EQ(fabric.take(), kOnePosted);
}

TEST_F(Cost, ABatonIsTakenPastTheQueueByOneAtomicAndInItByThree) {
    locks::QueueNodes qnodes(kHere, WindowSlots::qnodes(4), locks::QueueNodes::Room::of(4));
    locks::Baton<CountingFabric> baton(fabric);
    const fabric::Word word{kTarget, WindowSlots::lock}, tail{kTarget, WindowSlots::lock + 1};
    baton.give(word, 7, 2);
    EXPECT_EQ(fabric.take(), kOnePosted);
    EXPECT_EQ(baton.take(word, tail, qnodes, 3).passed, 3U);
    EXPECT_EQ(fabric.take(), (VerbCounts{.gets = 1, .atomics = 1}));
    baton.give(word, 7, 3); // as often as it may be
    fabric.take();
    const auto got = baton.take(word, tail, qnodes, 3);
    EXPECT_EQ(got.message, 7U);
    EXPECT_EQ(got.passed, 0U);
    EXPECT_EQ(fabric.take(), (VerbCounts{.gets = 2, .atomics = 3, .polls_elsewhere = 1}));
}

TEST_F(Cost, CountersOfAFlatTreeAreOneAtomicForReadersAndTwoEachForAWriter) {
    const topology::Tree flat{};
    locks::LockEnv<CountingFabric> env = parts.env({});
    const locks::MachineView machine{flat, parts.machine.nodes, parts.counters};
    locks::RmaRw<CountingFabric> rma_rw(
        {env.fabric, env.home, env.records, env.qnodes, machine, {}});
    const locks::Hold shared = rma_rw.acquire_shared(kTarget);
    EXPECT_EQ(fabric.take(), kOneAtomic);
    rma_rw.release_shared(kTarget, shared);
    EXPECT_EQ(fabric.take(), kOnePosted);
    const locks::Hold exclusive = rma_rw.acquire_exclusive(kTarget);
    EXPECT_EQ(fabric.take(), (VerbCounts{.atomics = 1 + 2 * 2}));
    rma_rw.release_exclusive(kTarget, exclusive);
    EXPECT_EQ(fabric.take(), (VerbCounts{.gets = 2, .atomics = 1, .posted = 2, .flushes = 1}));
}

TEST_F(Cost, OfTheCapOnReadersIsAGetEachAndTwoAtomicsAtTheCap) {
    locks::RmaRw<CountingFabric> rma_rw(parts.env({.t_r = 2, .hold = locks::Duration(1)}));
    const auto cost_of_one = [&] {
        rma_rw.release_shared(kTarget, rma_rw.acquire_shared(kTarget));
        return fabric.take();
    };
    constexpr VerbCounts kBelow{.gets = 1, .atomics = 1, .posted = 1};
    EXPECT_EQ(cost_of_one(), kBelow);
    EXPECT_EQ(cost_of_one(), kBelow);
    // Nobody waits: the count begins anew.
    EXPECT_EQ(cost_of_one(), (VerbCounts{.gets = 2, .atomics = 2, .posted = 1}));
    EXPECT_EQ(cost_of_one(), kBelow);
}

/// Rank 0's pf_cohort and, beside it, rank 3's, on the other node.
class CostOverNodes : public Cost {
  protected:
    using PfCohort = locks::PfCohort<CountingFabric>;
    static constexpr fabric::Rank kNear = 1, kFar = 2;
    const locks::LockLimits limits{
        .t_w = 8, .t_l = 2, .passes = 2, .members = {.k_in = 2, .idle = 2}};
    CountingFabric other_fabric{words.fabric(3)};
    Parts other_parts{other_fabric};
    PfCohort pf_cohort{parts.env(limits)};
    PfCohort other{other_parts.env(limits)};

    /// Two reads in one phase, after which the node is a member.
    void join() {
        for (int i = 0; i < 2; ++i)
            pf_cohort.release_shared(kFar, pf_cohort.acquire_shared(kFar));
        fabric.take(), fabric.take_off_node();
    }
};

TEST_F(CostOverNodes, WithoutMembersEachCallIsOneAtomicOffTheNode) {
    const locks::Hold exclusive = pf_cohort.acquire_exclusive(kFar);
    EXPECT_EQ(fabric.take_off_node(), kOneAtomic);
    EXPECT_EQ(fabric.take(), (VerbCounts{.gets = 1, .atomics = 2}));
    pf_cohort.release_exclusive(kFar, exclusive);
    EXPECT_EQ(fabric.take_off_node(), kOneAtomic);
    EXPECT_EQ(fabric.take(), (VerbCounts{.gets = 1, .atomics = 2}));
    const locks::Hold shared = pf_cohort.acquire_shared(kFar);
    EXPECT_EQ(fabric.take_off_node(), kOneAtomic);
    pf_cohort.release_shared(kFar, shared);
    EXPECT_EQ(fabric.take_off_node(), kOneAtomic);
}

TEST_F(CostOverNodes, AReaderOfAMemberStaysOnItsNode) {
    join();
    const locks::Hold shared = pf_cohort.acquire_shared(kFar);
    EXPECT_EQ(fabric.take(), (VerbCounts{.gets = 1, .atomics = 1}));
    pf_cohort.release_shared(kFar, shared);
    EXPECT_EQ(fabric.take(), kOneAtomic);
    EXPECT_EQ(fabric.take_off_node(), VerbCounts{});
}

TEST_F(CostOverNodes, ReadersOfSeveralPhasesDoNotMakeTheirNodeAMember) {
    for (int i = 0; i < 8; ++i) {
        pf_cohort.release_shared(kFar, pf_cohort.acquire_shared(kFar));
        for (int phases = 0; phases < 1 + i; ++phases)
            other.release_exclusive(kFar, other.acquire_exclusive(kFar));
    }
    fabric.take_off_node();
    pf_cohort.release_shared(kFar, pf_cohort.acquire_shared(kFar));
    EXPECT_EQ(fabric.take_off_node(), (VerbCounts{.atomics = 2}));
}

TEST_F(CostOverNodes, TheOwnNodesTargetHasNoMembersAlone) {
    for (int i = 0; i < 8; ++i) {
        const locks::Hold shared = pf_cohort.acquire_shared(kNear);
        EXPECT_EQ(fabric.take(), kOneAtomic);
        pf_cohort.release_shared(kNear, shared);
        EXPECT_EQ(fabric.take(), kOneAtomic);
    }
}

TEST_F(CostOverNodes, TheTargetsNodeJoinsWhereAnotherHas) {
    for (int i = 0; i < 2; ++i)
        other.release_shared(kNear, other.acquire_shared(kNear));
    // The first read finds members in S, the second makes its node one.
    for (int i = 0; i < 2; ++i)
        pf_cohort.release_shared(kNear, pf_cohort.acquire_shared(kNear));
    fabric.take(), fabric.take_off_node();
    const locks::Hold shared = pf_cohort.acquire_shared(kNear);
    EXPECT_EQ(fabric.take(), (VerbCounts{.gets = 1, .atomics = 1}));
    pf_cohort.release_shared(kNear, shared);
    EXPECT_EQ(fabric.take(), kOneAtomic);
    // A writer of the other node registers, and closes the one that is not its own: S says that
    // both nodes are members, so it reads no map.
    other_fabric.take(), other_fabric.take_off_node();
    const locks::Hold hold = other.acquire_exclusive(kNear);
    EXPECT_EQ(other_fabric.take_off_node(), (VerbCounts{.atomics = 1 + 2}));
    other.release_exclusive(kNear, hold);
    EXPECT_EQ(other_fabric.take_off_node().gets, 0u);
}

TEST_F(CostOverNodes, AMemberIsTwoAtomicsAndOnePostedForAWriterAndLeavesWhenIdle) {
    join();
    pf_cohort.release_shared(kFar, pf_cohort.acquire_shared(kFar));
    // Registers; closes: the counter on the other node, whose reader has left.
    locks::Hold hold = other.acquire_exclusive(kFar);
    EXPECT_EQ(other_fabric.take_off_node(), (VerbCounts{.atomics = 2}));
    EXPECT_EQ(other_fabric.take(), (VerbCounts{.gets = 2, .atomics = 2 + 2}));
    other.release_exclusive(kFar, hold);
    EXPECT_EQ(other_fabric.take_off_node(), kOnePosted);
    // Nobody reads: once it is noted, the second time the node leaves.
    for (int i = 0; i < 2; ++i)
        other.release_exclusive(kFar, other.acquire_exclusive(kFar));
    other_fabric.take(), other_fabric.take_off_node();
    hold = other.acquire_exclusive(kFar);
    EXPECT_EQ(other_fabric.take_off_node(), VerbCounts{});
    EXPECT_EQ(other_fabric.take(), (VerbCounts{.gets = 1, .atomics = 2}));
    other.release_exclusive(kFar, hold);
}

TEST_F(Cost, FompisLockAllIsOneAtomicAndOnePosted) {
    locks::FompiRw<CountingFabric> rw(parts.env({}));
    rw.release_all(rw.acquire_all());
    EXPECT_EQ(fabric.take(), (VerbCounts{.atomics = 1, .posted = 1}));
}

TEST_F(Cost, ExclusiveBeforeAnyLockAllPaysAReadForTheGate) {
    const locks::Hold hold = gate.acquire_exclusive(kTarget);
    EXPECT_EQ(fabric.take(), (VerbCounts{.gets = 1, .atomics = 1}));
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
    EXPECT_EQ(fabric.take(), kOneAtomic);
}

TEST_F(Cost, ExclusiveAfterALockAllEntersTheRoom) {
    gate.enter_all();
    gate.leave_all();
    fabric.take();
    const locks::Hold hold = gate.acquire_exclusive(kTarget);
    EXPECT_EQ(fabric.take(), (VerbCounts{.gets = 2, .atomics = 2})); // M and G
    gate.release_exclusive(kTarget, hold);
    EXPECT_EQ(fabric.take(), (VerbCounts{.atomics = 1, .posted = 1}));
}

TEST_F(Cost, ALockAllThatComesFirstVisitsEveryTarget) {
    gate.enter_all();
    const VerbCounts first = fabric.take();
    // Join, announce, one shared acquire a target, settle; posted: the node's mark, the releases.
    EXPECT_EQ(first.atomics, 1U + 1 + 4 + 1);
    EXPECT_EQ(first.posted, 1U + 4);
    EXPECT_EQ(first.flushes, 1U);
    EXPECT_EQ(gate.changes(), 1U);
}

/// Rank 2's gate, on another node than G: two lock_alls in a row, or three exclusives, make it
/// theirs.
class CostOfTheGate : public Cost {
  protected:
    static constexpr fabric::Rank kSelf = 2, kFirst[] = {0, 2};
    CountingFabric far{words.fabric(kSelf)};
    Parts far_parts{far};
    Lock far_lock{far_parts.env({})};
    Gate far_gate{far, far_lock, WindowSlots::gate, {kSelf, kFirst}, {.alls = 2, .exclusives = 3}};

    void lock_all() {
        far_gate.enter_all();
        far_gate.leave_all();
    }
    void exclusive() { far_gate.release_exclusive(kSelf, far_gate.acquire_exclusive(kSelf)); }
    void forget() { far.take(), far.take_off_node(); }
};

TEST_F(CostOfTheGate, LockAllStaysOnItsNodeWhileExclusivesAreRare) {
    lock_all(); // with the one that takes it from exclusives no row begins
    for (int i = 0; i < 4; ++i) {
        lock_all();
        lock_all();
        forget();
        for (int j = 0; j < 100; ++j)
            lock_all();
        EXPECT_EQ(far.take_off_node(), VerbCounts{});
        EXPECT_EQ(far.take(), (VerbCounts{.gets = 100, .atomics = 200}));
        exclusive(); // takes it away
    }
}

TEST_F(CostOfTheGate, ExclusivesTakeItBackAndThenPayARead) {
    lock_all();
    for (int i = 0; i < 3; ++i)
        exclusive();
    forget();
    for (int i = 0; i < 100; ++i) {
        exclusive();
        EXPECT_EQ(far.take(), (VerbCounts{.gets = 1, .atomics = 1, .posted = 1}));
    }
    EXPECT_EQ(far.take_off_node(), VerbCounts{});
}

TEST_F(CostOfTheGate, AChangeIsAnAtomicForEachNodeAndDoesNotComeWithEveryCall) {
    lock_all();
    EXPECT_EQ(far_gate.changes(), 1U); // from those that were there before
    lock_all();
    lock_all();
    EXPECT_EQ(far_gate.changes(), 2U); // to lock_alls
    forget();
    exclusive();
    EXPECT_EQ(far_gate.changes(), 3U); // to nobody
    const VerbCounts change = far.take();
    // G: wait, begin, end, enter, out of the room; the target, twice.
    EXPECT_EQ(change.atomics, 1U + 1 + 1 + 1 + 1 + 2);
    // One a node, at once, and to say that nobody waits any more; the target, given back twice.
    EXPECT_EQ(change.posted, 2U + 2 + 2);
    EXPECT_EQ(change.flushes, 2U);
    for (int i = 0; i < 100; ++i) {
        lock_all();
        exclusive();
    }
    EXPECT_EQ(far_gate.changes(), 3U);
}

/// The same over two nodes that keep holder records.
class CostOfHolderRecords : public Cost {
  protected:
    const topology::Level& nodes = parts.machine.nodes;
    const fabric::Slot first_record = parts.holders;
    const locks::NodeTable table{nodes};

    /// A process's fabric, lock and gate.
    struct Process {
        Process(CostOfHolderRecords& test, fabric::Rank self)
            : fabric(test.words.fabric(self)), parts(fabric), lock(parts.env({})),
              gate(fabric, lock, WindowSlots::gate,
                   test.table.seen_by(self, test.nodes, test.first_record)) {}
        CountingFabric fabric;
        Parts parts;
        Lock lock;
        Gate gate;
    };
    Process here{*this, 0}, beside{*this, 1}, far{*this, 3};
};

TEST_F(CostOfHolderRecords, ALockAllThatComesFirstLooksAtEachNodeAndVisitsNobody) {
    beside.gate.release_exclusive(2, beside.gate.acquire_exclusive(2));
    here.gate.enter_all();
    // Join, announce, settle; a mark for each node, at once; a look at its own counter, and at each
    // node.
    EXPECT_EQ(here.fabric.take(),
              (VerbCounts{.gets = 1 + 2, .atomics = 1 + 1 + 1, .posted = 2, .flushes = 1}));
    EXPECT_EQ(here.fabric.take_off_node(), (VerbCounts{.gets = 1, .posted = 1}));
}

TEST_F(CostOfHolderRecords, TheyNameWhatIsHeldOnceAndOneOfSeveralByAllThereAre) {
    locks::HolderRecords<CountingFabric> holders(here.fabric,
                                                 table.seen_by(0, nodes, first_record).holders);
    locks::HolderRecords<CountingFabric> others(far.fabric,
                                                table.seen_by(3, nodes, first_record).holders);
    const auto named = [&] {
        const auto held = holders.look();
        return std::vector(held.named().begin(), held.named().end());
    };
    EXPECT_TRUE(named().empty());
    holders.enter(2), others.enter(2);
    EXPECT_EQ(named(), std::vector<fabric::Rank>{2});
    others.enter(1); // which of them is not known
    EXPECT_TRUE(holders.look().all());
    others.leave(2);
    EXPECT_FALSE(holders.look().all());
    EXPECT_EQ(named(), (std::vector<fabric::Rank>{2, 1}));
}

TEST_F(CostOfHolderRecords, AnExclusiveCountsOnItsOwnNodeOnly) {
    const locks::Hold hold = far.gate.acquire_exclusive(0);
    EXPECT_EQ(far.fabric.take(), (VerbCounts{.gets = 1, .atomics = 1, .counts = 1}));
    EXPECT_EQ(far.fabric.take_off_node(), kOneAtomic);
    far.gate.release_exclusive(0, hold);
    EXPECT_EQ(far.fabric.take(), (VerbCounts{.posted = 1, .counts = 1}));
    EXPECT_EQ(far.fabric.take_off_node(), kOnePosted);
}

/// All four ranks, as threads: pf_cohort over two nodes behind the gate, with thresholds so small
/// that everything changes often.
class CostOfWaiting : public CostOfHolderRecords {
  protected:
    using PfCohort = locks::PfCohort<CountingFabric>;
    static constexpr locks::LockLimits kSmall{.t_w = 3,
                                              .t_l = 2,
                                              .passes = 2,
                                              .patience = locks::Duration(20),
                                              .members = {.k_in = 1, .idle = 2}};
    struct Contender {
        Contender(CostOfWaiting& test, fabric::Rank self)
            : fabric(test.words.fabric(self)), parts(fabric), pf_cohort(parts.env(kSmall)),
              gate(fabric, pf_cohort, WindowSlots::gate,
                   test.table.seen_by(self, test.nodes, test.first_record),
                   {.alls = 2, .exclusives = 2}) {}

        void exclusive(fabric::Rank target) {
            const locks::Hold hold = gate.acquire_exclusive(target);
            std::this_thread::yield();
            gate.release_exclusive(target, hold);
        }
        void lock_all() {
            gate.enter_all();
            std::this_thread::yield();
            gate.leave_all();
        }
        /// The second one goes past waiting writers when their round is over.
        void two_shared(fabric::Rank first, fabric::Rank second) {
            const locks::Hold one = pf_cohort.acquire_shared(first);
            const locks::Hold other = pf_cohort.acquire_shared(second);
            std::this_thread::yield();
            pf_cohort.release_shared(second, other);
            pf_cohort.release_shared(first, one);
        }
        void contend(unsigned seed) {
            std::minstd_rand random(seed);
            for (int round = 0; round < 2000; ++round) {
                const auto dice = random() % 10;
                dice < 2   ? lock_all()
                : dice < 6 ? exclusive(static_cast<fabric::Rank>(random() % 2))
                           : two_shared(0, 2);
            }
        }
        CountingFabric fabric;
        Parts parts;
        PfCohort pf_cohort;
        locks::AllGate<CountingFabric, PfCohort> gate;
    };
};

TEST_F(CostOfWaiting, NobodyPollsAWordOfAnotherNode) {
    std::deque<Contender> contenders;
    std::vector<std::thread> threads;
    for (fabric::Rank rank = 0; rank < 4; ++rank) {
        Contender& contender = contenders.emplace_back(*this, rank);
        threads.emplace_back([&contender, rank] { contender.contend(1 + rank); });
    }
    for (std::thread& thread : threads)
        thread.join();
    unsigned waits = 0;
    for (Contender& contender : contenders) {
        EXPECT_EQ(contender.fabric.take_off_node().polls_elsewhere, 0U);
        waits += contender.fabric.take().polls_elsewhere; // of the node's other rank
    }
    EXPECT_GT(waits, 0U);
}

/// A process that waits for a word of rank 0, which ranks 2 and 3 have another node for.
class Watcher {
  public:
    Watcher(ThreadWords& words, fabric::Rank self)
        : fabric(words.fabric(self)), events(fabric, kNodes, kOfTheirNode, kWatched) {}
    void await(fabric::Value last) {
        events.await([this, last](fabric::Value v) {
            seen = v;
            return v == last;
        });
    }

    static constexpr fabric::Slot kFirst = WindowSlots::gate;
    static constexpr fabric::Word kWatched{0, kFirst};
    static constexpr std::array<fabric::Rank, 1> kNodes{2};
    static constexpr locks::NodeEventCount<CountingFabric>::Words kOfTheirNode{{2, kFirst + 1},
                                                                               kFirst + 2};
    CountingFabric fabric;
    locks::NodeEventCount<CountingFabric> events;
    std::atomic<fabric::Value> seen{0};
};

/// Each has looked at every value before the next one comes.
TEST_F(Cost, OneOfANodeThatWaitsLooksForAll) {
    constexpr fabric::Value kLast = 50;
    Watcher first(words, 2), second(words, 3), at_home(words, 0);
    std::thread one([&] { first.await(kLast); }), other([&] { second.await(kLast); });
    for (fabric::Value value = 1; value <= kLast; ++value) {
        at_home.fabric.near_add(Watcher::kWatched, 1);
        at_home.events.advance();
        while (first.seen < value || second.seen < value)
            std::this_thread::yield();
    }
    one.join(), other.join();
    // Each process's first look is its own, and may be one at a value.
    const unsigned looks = first.fabric.take_off_node().gets + second.fabric.take_off_node().gets;
    EXPECT_LE(looks, kLast + 2);
    EXPECT_GE(looks, kLast);
}

/// At the word that all exclusives enter by another process is faster a few times.
class Overtaken : public CountingFabric {
  public:
    static constexpr int kTimes = 5;
    using At = std::source_location;
    using CountingFabric::CountingFabric;

    fabric::Value compare_swap(fabric::Word word, fabric::Value expected, fabric::Value desired,
                               At at = At::current()) {
        if (times < kTimes) {
            ++times;
            add(word, locks::GateWord::kOneVisit);
        }
        return CountingFabric::compare_swap(word, expected, desired, at);
    }
    void backoff(unsigned attempt, At at = At::current()) {
        EXPECT_EQ(attempt, static_cast<unsigned>(backoffs++));
        CountingFabric::backoff(attempt, at);
    }
    int times = 0, backoffs = 0;
};

TEST(CostOfEntering, AnExclusiveStandsBackFromTheWordOfAll) {
    ThreadWords words(4, WindowSlots::count(4, LockParts<Overtaken>::kinds(4)));
    Overtaken fabric(words.fabric(0));
    LockParts<Overtaken> parts(fabric);
    locks::DMcs<Overtaken> lock(parts.env({})); // without a shared mode: gated always
    locks::AllGate<Overtaken, locks::DMcs<Overtaken>> gate(fabric, lock, WindowSlots::gate);
    fabric.times = Overtaken::kTimes;
    const locks::Hold calm = gate.acquire_exclusive(1);
    gate.release_exclusive(1, calm);
    EXPECT_EQ(fabric.backoffs, 0);
    fabric.times = 0;
    gate.release_exclusive(1, gate.acquire_exclusive(1));
    EXPECT_EQ(fabric.backoffs, Overtaken::kTimes);
}

TEST_F(CostOfTheGate, WindowsOfOneNodeNeverBecomeLockAlls) {
    for (int i = 0; i < 300; ++i) {
        gate.enter_all();
        gate.leave_all();
    }
    EXPECT_EQ(gate.changes(), 1U);
}

} // namespace
} // namespace rmalock::test
