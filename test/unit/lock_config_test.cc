// What the processes of a window agree on, and the locks that come of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "harness/thread_words.hh"
#include "locks/all.hh"
#include "locks/window_lock/configure.hh"
#include "locks/window_lock/registry.hh"

namespace rmalock::locks {
namespace {

struct Row {
    const char* name;
    bool shares; ///< a target with others
    bool patient;
};
constexpr Row kAll[] = {
#define RMALOCK_LOCK(name, Class)                                                                  \
    {#name, Class<WindowFabric>::kTraits.shared, Class<WindowFabric>::kTraits.patient},
#include "locks/all.def"
#undef RMALOCK_LOCK
};

LockConfig alike(std::size_t ranks, const LockRequest& request) {
    return configure(to_wire(request), std::vector<ProcessInfo>(ranks));
}

/// A window's lock as each of its processes has it.
struct Party {
    explicit Party(const LockRequest& request, Rank ranks = 4)
        : made(alike(static_cast<std::size_t>(ranks), request)),
          words(ranks, fabric::WindowSlots::count(ranks, made.slots)) {
        for (Rank r = 0; r < ranks; ++r) {
            fabrics.push_back(std::make_unique<WindowFabric>(
                words.space(), fabric::Placement{.self = r, .size = ranks, .parts = nullptr},
                words.fabric(r).waiter(), fabric::Domain::cpu, nullptr, false));
            lock.push_back(make(made, *fabrics.back()));
        }
    }
    LockConfig made;
    test::ThreadWords words;
    std::vector<std::unique_ptr<WindowFabric>> fabrics;
    std::vector<std::unique_ptr<WindowLock>> lock;
};

TEST(LockConfig, IsWhatWasAskedForAndWhatAnybodySees) {
    std::vector<ProcessInfo> infos(3);
    infos[1].oversubscribed = true;
    const LockConfig made = configure(to_wire({.lock = "rma_rw",
                                               .t_l = "3,5",
                                               .passes = "1000000",
                                               .t_r = 8,
                                               .reader_batch = 7,
                                               .budget_remote = 9,
                                               .budget_local = 3}),
                                      infos);
    EXPECT_STREQ(made.choice.name, "rma_rw");
    EXPECT_EQ(made.thresholds.passes, 1'000'000U);
    EXPECT_EQ(made.thresholds.t_r, 8U);
    EXPECT_EQ(made.thresholds.reader_batch, 7U);
    EXPECT_EQ(made.thresholds.budgets.remote, 9U);
    EXPECT_EQ(made.thresholds.budgets.local, 3U);
    EXPECT_EQ(made.thresholds.of_level(2, 1), 3U);
    EXPECT_EQ(made.thresholds.of_level(3, 1), 5U);
    EXPECT_EQ(made.thresholds.of_level(4, 1), 5U);
    EXPECT_TRUE(made.oversubscribed);
}

TEST(LockConfig, ALockWithoutASharedModeOrPatienceSaysSo) {
    const WindowTraits traits{.ranks = 4, .one_node = false};
    for (const auto& [name, shares, patient] : kAll) {
        const std::string reason = choose(name, traits).reason;
        const auto warns = [&](const char* of) { return reason.find(of) != reason.npos; };
        EXPECT_NE(warns("shared locks of one target exclude each other"), shares) << name;
        EXPECT_NE(warns("a shared lock waits behind exclusives"), patient) << name;
    }
}

TEST(LockConfig, ALockThatLacksAServerSaysWhatToChoose) {
    using fabric::Domain;
    for (const auto& [name, shares, patient] : kAll) {
        const bool serves = std::string_view(name) == "srsl";
        EXPECT_EQ(lacks(name, Domain::nic, true) != nullptr, serves) << name;
        EXPECT_EQ(lacks(name, Domain::cpu, false) != nullptr, serves) << name;
        EXPECT_EQ(lacks(name, Domain::cpu, true), nullptr) << name;
    }
    EXPECT_NE(std::string_view(lacks("srsl", Domain::nic, true)).find("choose n_cosed"),
              std::string_view::npos);
}

TEST(LockConfig, AutomaticNeverTakesALockWithoutASharedModeOrPatience) {
    for (const Rank ranks : {1, 2, 4, 1024})
        for (const bool one_node : {false, true}) {
            const std::string_view chosen = choose({.ranks = ranks, .one_node = one_node}).name;
            const auto row =
                std::ranges::find_if(kAll, [&](const Row& r) { return chosen == r.name; });
            ASSERT_NE(row, std::end(kAll)) << chosen;
            EXPECT_TRUE(row->shares && row->patient) << chosen;
        }
}

TEST(LockConfig, AutomaticChoosesByNodes) {
    const auto chosen = [](std::initializer_list<std::int32_t> nodes, bool oversubscribed) {
        std::vector<ProcessInfo> infos;
        for (const std::int32_t node : nodes)
            infos.push_back({.place = {.node = node}, .oversubscribed = oversubscribed});
        return std::string(configure(to_wire({.topology = "node:1"}), infos).choice.name);
    };
    EXPECT_EQ(chosen({3}, false), "direct_passive");
    EXPECT_EQ(chosen({3, 3}, false), "pf_mcs");
    EXPECT_EQ(chosen({3, 3}, true), "pf_mcs");
    EXPECT_EQ(chosen({3, 4}, false), "pf_cohort");
    EXPECT_EQ(chosen({3, 4}, true), "pf_cohort");
}

TEST(LockConfig, ProcessesThatShareCoresAreSeenAsSuch) {
    struct Process {
        std::int32_t node;
        topology::Cpus cpus;
    };
    const auto oversubscribed = [](std::initializer_list<Process> processes) {
        std::vector<ProcessInfo> infos;
        for (const Process& process : processes)
            infos.push_back({.place = {.node = process.node}, .cpus = process.cpus});
        return configure(to_wire({}), infos).oversubscribed;
    };
    const topology::Cpus first{11, 1}, second{22, 1}, both{33, 2}, unknown;
    EXPECT_TRUE(oversubscribed({{0, first}, {0, first}}));
    EXPECT_TRUE(oversubscribed({{0, first}, {0, second}, {0, second}}));
    EXPECT_TRUE(oversubscribed({{0, both}, {0, both}, {0, both}}));
    EXPECT_FALSE(oversubscribed({{0, first}, {0, second}})); // bound to a core each
    EXPECT_FALSE(oversubscribed({{0, both}, {0, both}}));
    EXPECT_FALSE(oversubscribed({{0, first}, {1, first}})); // of two nodes
    EXPECT_FALSE(oversubscribed({{0, unknown}, {0, unknown}}));
}

TEST(LockConfig, NodesOfSeveralHostsTakeNoSections) {
    const auto on_hosts = [](const char* topology, std::initializer_list<std::int32_t> hosts) {
        std::vector<ProcessInfo> infos;
        for (const std::int32_t host : hosts)
            infos.push_back({.place = {.node = host}});
        return configure(to_wire({.topology = topology}), infos).nodes_on_hosts;
    };
    EXPECT_TRUE(on_hosts("node:2", {3, 3, 4, 4}));
    EXPECT_TRUE(on_hosts("node:1", {3, 3, 4, 4}));
    EXPECT_TRUE(on_hosts("auto", {3, 3, 3, 4}));
    EXPECT_FALSE(on_hosts("node:2", {3, 4, 5, 6}));
    EXPECT_FALSE(on_hosts("node:2", {3, 3, 3, 4}));
}

TEST(LockConfig, MemoryIsWhatTheLockNeeds) {
    const auto slots = [](const char* lock, const char* topology, std::int32_t t_dc) {
        return alike(6, {.lock = lock, .topology = topology, .t_dc = t_dc}).slots;
    };
    constexpr Slot kLine = fabric::kWordsPerLine;
    EXPECT_EQ(slots("direct_passive", "node:2", 0).qnodes, 0U);
    EXPECT_EQ(slots("d_mcs", "node:2", 0).qnodes, 6U);
    EXPECT_EQ(slots("d_mcs", "node:2", 0).elements, 0U);
    // Elements of two: each of the two keeps the records of three targets.
    EXPECT_EQ(slots("rma_mcs", "node:2", 0).elements, 3 * kLine);
    EXPECT_EQ(slots("rma_mcs", "flat", 0).elements, 0U);
    // The map, and three lines for each record.
    EXPECT_EQ(slots("pf_cohort", "node:2", 0).elements, (1 + 3 * 3) * kLine);
    EXPECT_EQ(slots("pf_cohort", "flat", 0).elements, (1 + 3 * 1) * kLine);
    // Elements of two in elements of four, and one of two: a record for two of the six, or for
    // three.
    EXPECT_EQ(slots("rma_mcs", "node:2,rack:2", 0).elements, (3 + 3) * kLine);
    // Two lines for each counter: of one process, six of them; of a node, three; of all, one.
    EXPECT_EQ(slots("rma_rw", "flat", 1).elements, 6 * 2 * kLine);
    EXPECT_EQ(slots("rma_rw", "node:2", 0).elements, (3 + 3 * 2) * kLine);
    EXPECT_EQ(slots("rma_rw", "flat", 0).elements, 1 * 2 * kLine);
}

/// Bytes of a window's state at each rank, with so many ranks on each node.
std::size_t state(const char* lock, std::size_t ranks, std::size_t of_a_node) {
    std::vector<ProcessInfo> infos(ranks);
    for (std::size_t r = 0; r < ranks; ++r)
        infos[r].place.node = static_cast<std::int32_t>(r / of_a_node);
    const LockConfig made = configure(to_wire({.lock = lock}), infos);
    EXPECT_STREQ(made.choice.name, lock);
    return fabric::bytes_of(fabric::WindowSlots::count(static_cast<Rank>(ranks), made.slots));
}

// The formulas of docs/design.md, in lines.
TEST(LockConfig, StateIsWithin16KiBOnAnyMachine) {
    constexpr std::size_t kRanks[] = {1024, 65536}, kOfANode[] = {16, 64, 128};
    for (const std::size_t ranks : kRanks)
        for (const std::size_t of_a_node : kOfANode) {
            const std::size_t base = 12 + ranks / 512, holders = 16, nodes = ranks / of_a_node;
            const std::size_t map = (nodes + 511) / 512;
            EXPECT_EQ(state("direct_passive", ranks, of_a_node), 64 * (base + holders));
            EXPECT_EQ(state("fompi_rw", ranks, of_a_node), 64 * base);
            EXPECT_EQ(state("fompi_spin", ranks, of_a_node), 64 * base);
            EXPECT_EQ(state("d_mcs", ranks, of_a_node), 64 * (base + 64));
            EXPECT_EQ(state("pf_mcs", ranks, of_a_node), 64 * (base + 64 + holders));
            const std::size_t records = ranks == 65536 ? 9 : std::min<std::size_t>(nodes, 51);
            const std::size_t cohort = state("pf_cohort", ranks, of_a_node);
            EXPECT_EQ(cohort, 64 * (base + 64 + holders + map + 3 * records));
            const std::size_t elements = ranks == 65536 ? 28 : nodes;
            EXPECT_EQ(state("rma_mcs", ranks, of_a_node), 64 * (base + 64 + elements));
            // Counters have two lines each, or three words. At 65,536 there are 64 of them, a line of
            // groups of readers, and 3 of elements.
            const std::size_t both =
                ranks == 65536 ? 24 + 1 + 3 : nodes + (nodes == 64 ? 24 : 2 * nodes);
            EXPECT_EQ(state("rma_rw", ranks, of_a_node), 64 * (base + 64 + holders + both));
            for (const auto& [name, shares, patient] : kAll)
                EXPECT_LE(state(name, ranks, of_a_node), 16384U) << name;
        }
}

TEST(LockConfig, CountersAreSharedWhereOneForEachNodeIsTooMuch) {
    const auto made = [](std::size_t ranks, std::size_t of_a_node, std::int32_t t_dc) {
        std::vector<ProcessInfo> infos(ranks);
        for (std::size_t r = 0; r < ranks; ++r)
            infos[r].place.node = static_cast<std::int32_t>(r / of_a_node);
        return configure(to_wire({.lock = "rma_rw", .t_dc = t_dc}), infos);
    };
    const auto counters = [&](std::size_t ranks, std::size_t of_a_node, std::int32_t t_dc = 0) {
        return made(ranks, of_a_node, t_dc).counters.elements();
    };
    EXPECT_EQ(counters(1024, 16), 64U);
    EXPECT_EQ(counters(4096, 16), 256U);
    EXPECT_EQ(counters(65536, 128), 64U);
    EXPECT_EQ(counters(65536, 16), 64U);
    // What is asked for: three words for each, whatever it takes.
    EXPECT_EQ(counters(65536, 16, 16), 4096U);
    const fabric::LockSlots slots = made(65536, 16, 16).slots;
    EXPECT_EQ(slots.elements, 3 * 4096 + fabric::kWordsPerLine);
    // A node of one rank would keep a record for each target.
    EXPECT_LE(fabric::bytes_of(fabric::WindowSlots::count(1025, made(1025, 16, 0).slots)), 16384U);
}

TEST(LockConfig, AutomaticKeepsItsLockOnLargeMachines) {
    for (const Rank ranks : {600, 65536}) {
        EXPECT_STREQ(choose("auto", {.ranks = ranks, .one_node = true}).name, "pf_mcs");
        EXPECT_STREQ(choose("auto", {.ranks = ranks, .one_node = false}).name, "pf_cohort");
    }
}

// More of them than a process has queue nodes; and targets that share a node's records.
TEST(LockConfig, AProcessHoldsALockOnEachOfManyTargets) {
    constexpr Rank kRanks = 1000;
    for (const auto& [name, shares, patient] : kAll) {
        Party party({.lock = name, .topology = "node:8"}, kRanks);
        EXPECT_STREQ(party.made.choice.name, name);
        for (const std::size_t rank : {0, 1, 999}) {
            WindowLock& mine = *party.lock[rank];
            std::vector<Hold> holds;
            for (Rank target = 0; target < kRanks; ++target)
                holds.push_back(mine.acquire(target, true));
            for (Rank target = kRanks; target-- > 0;)
                mine.release(target, true, holds[static_cast<std::size_t>(target)]);
        }
    }
}

TEST(LockConfig, SaysWhatTheTreeIs) {
    const LockConfig made = alike(4, {.lock = "rma_rw", .topology = "node:2"});
    EXPECT_EQ(summary(made), ", tree of 2 nodes of 2 ranks, 2 counters");
    const std::vector<std::string> lines = describe(made);
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_EQ(lines[0], "level 2, node: {0 1} {2 3}");
    EXPECT_EQ(lines[1], "lines of 64 bytes at each rank: 1 home record, 4 queue nodes, 6 for "
                        "elements and counters, 2 for holder records");
    EXPECT_EQ(summary(alike(4, {.lock = "pf_mcs"})), "");
    EXPECT_EQ(summary(alike(4, {.lock = "pf_cohort", .topology = "node:2"})), ", 2 nodes");
}

TEST(LockConfig, ThereIsALockOfEveryName) {
    for (const auto& [name, shares, patient] : kAll)
        for (const char* topology : {"flat", "node:2", "numa:2,node:3,rack:2"}) {
            Party party({.lock = name, .topology = topology}, 5);
            EXPECT_STREQ(party.made.choice.name, name);
            // Everybody locks everything in turn, in every mode: words of one lie in no other's
            // way.
            for (const auto& lock : party.lock) {
                std::vector<Hold> holds;
                for (const bool exclusive : {true, false}) {
                    for (Rank target = 0; target < 5; ++target)
                        holds.push_back(lock->acquire(target, exclusive));
                    for (Rank target = 0; target < 5; ++target)
                        lock->release(target, exclusive, holds[static_cast<std::size_t>(target)]);
                    holds.clear();
                }
                lock->acquire_all();
                lock->release_all();
            }
        }
}

TEST(LockConfig, EveryLockKnowsWhetherItIsTaken) {
    for (const auto& [name, shares, patient] : kAll) {
        Party party({.lock = name, .topology = "node:2"});
        WindowLock &mine = *party.lock[0], &other = *party.lock[3];
        for (const Rank target : {0, 3}) {
            EXPECT_FALSE(other.is_taken(target, true)) << name;
            Hold hold = mine.acquire(target, true);
            EXPECT_TRUE(other.is_taken(target, true)) << name;
            EXPECT_EQ(other.is_taken(target, false), shares) << name;
            mine.release(target, true, hold);
            EXPECT_FALSE(other.is_taken(target, true)) << name;
            hold = mine.acquire(target, false);
            EXPECT_TRUE(other.is_taken(target, true)) << name;
            EXPECT_FALSE(other.is_taken(target, false)) << name;
            mine.release(target, false, hold);
            EXPECT_FALSE(other.is_taken(target, true)) << name;
            EXPECT_FALSE(other.is_taken(target, false)) << name;
        }
    }
}

TEST(LockConfig, LockAllIsSharedUnderEveryLock) {
    for (const auto& [name, shares, patient] : kAll) {
        Party party({.lock = name, .topology = "node:2"});
        // Beside a shared holder, and beside another lock_all: nobody may wait here.
        const Hold hold = party.lock[1]->acquire(2, false);
        party.lock[0]->acquire_all();
        party.lock[2]->acquire_all();
        party.lock[2]->release_all();
        party.lock[0]->release_all();
        party.lock[1]->release(2, false, hold);
    }
}

} // namespace
} // namespace rmalock::locks
