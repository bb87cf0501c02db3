// The shipped locks in the simulator: they exclude, all processes get the lock, and their verbs
// are those of the component.
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fstream>

#include "sim/benchmark.hh"
#include "sim/plain_costs.hh"
#include "sim/servers.hh"

namespace rmalock::sim {
namespace {

constexpr locks::Thresholds kAsShipped{.t_l = {}, .passes = {}, .patience = Duration(1000)};

WindowRequest two_nodes(const std::string& lock) {
    return {.lock = lock, .layout = {2, 1, 0}, .thresholds = kAsShipped};
}

/// `on_each(cluster, fabric, lock)` is what each process does.
template <class OnEach>
void on_all_ranks(const WindowRequest& request, const Costs& costs, OnEach on_each) {
    const Window window(request);
    Servers servers(window, 1);
    const auto start = [&](Cluster& w, Rank rank) {
        SimFabric fabric(w, rank);
        on_each(w, fabric, *make_lock(window, fabric));
    };
    Cluster cluster(window.request().layout, window.slots(), costs, 1, start,
                    servers.of_each_rank(), [&](Cluster& w, Rank self) { servers.serve(w, self); });
    cluster.run();
}

/// `process(cluster, fabric, lock)` on rank 0, which has the lock.
template <class Process>
void on_rank_0(const WindowRequest& request, const Costs& costs, Process process) {
    on_all_ranks(request, costs, [&](Cluster& cluster, SimFabric& fabric, WindowLock& lock) {
        if (fabric.self() == 0)
            process(cluster, fabric, lock);
    });
}
template <class Process>
void on_rank_0(const std::string& lock, const Costs& costs, Process process) {
    on_rank_0(two_nodes(lock), costs, process);
}

TEST(SimulatedLocks, AReaderOfAnotherNodesTargetPaysARoundTripAndItsService) {
    Time took{};
    on_rank_0("pf_mcs", plain_costs(), [&](Cluster& cluster, SimFabric&, WindowLock& lock) {
        lock.acquire(1, false);
        took = cluster.now();
    });
    EXPECT_EQ(took, nanoseconds(50 + 1000 + 200 + 1000 + 40));
}

TEST(SimulatedLocks, AnExclusiveReadsTheGatesMarkBesideItAndCountsItselfTwice) {
    Time took{};
    on_rank_0("pf_mcs", plain_costs(), [&](Cluster& cluster, SimFabric&, WindowLock& lock) {
        lock.acquire(1, true);
        took = cluster.now();
    });
    // Its holder record and the mark, both for the first time; then the lock's own atomic.
    EXPECT_EQ(took, nanoseconds(100 + 50 + 1000 + 200 + 1000 + 40 + 100));
}

TEST(SimulatedLocks, ExcludeAndServeEveryProcess) {
    for (const std::string& lock : lock_names())
        for (const Domain domain : {Domain::cpu, Domain::nic})
            for (const Layout layout : {Layout{12, 3, 2}, Layout{6, 6, 0}, Layout{5, 1, 0}}) {
                SCOPED_TRACE(fmt::format("{}, {} ranks", lock, layout.ranks));
                sim::Run run{.window = {.lock = lock, .layout = layout, .thresholds = kAsShipped},
                             .costs = plain_costs(domain),
                             .benchmark = benchmark("WCSB"),
                             .writers = 0.3,
                             .operations = 30};
                run.costs.jitter = 0.3;
                const Result result = sim::run(run);
                EXPECT_EQ(result.operations, 30U);
                EXPECT_GT(result.per_second, 0);
                EXPECT_GE(result.longest, result.latency);
                EXPECT_LE(result.fewest, 30U);
            }
}

TEST(SimulatedLocks, TheSameSeedIsTheSameResult) {
    for (const std::string& lock : lock_names()) {
        sim::Run run{.window = {.lock = lock, .layout = {8, 2, 0}, .thresholds = kAsShipped},
                     .costs = plain_costs(),
                     .writers = 0.2,
                     .operations = 20};
        run.costs.jitter = 0.3;
        const Result one = sim::run(run), same = sim::run(run);
        EXPECT_EQ(one.seconds, same.seconds) << lock;
        EXPECT_EQ(one.counts.verbs, same.counts.verbs) << lock;
        run.seed = 2;
        EXPECT_NE(one.seconds, sim::run(run).seconds) << lock;
    }
}

/// Where writers come one behind another, readers of the target's node do not wait longer than others.
TEST(SimulatedLocks, ProcessesOfTheTargetsNodeHaveTheirShare) {
    sim::Run run{.window = {.lock = "pf_cohort", .layout = {32, 16, 0}, .thresholds = kAsShipped},
                 .costs = read_costs(RMALOCK_SIM_MODELS, "tcp")};
    run.benchmark = benchmark("ECSB");
    run.writers = 0.05, run.operations = 2000;
    EXPECT_GT(sim::run(run).fewest, run.operations / 2);
}

TEST(SimulatedLocks, AsManyOperationsAsTheBudgetPermits) {
    sim::Run run{.window = {.lock = "d_mcs", .layout = {4, 2, 0}, .thresholds = kAsShipped},
                 .costs = plain_costs(),
                 .budget = 20'000};
    const Result result = sim::run(run);
    EXPECT_GT(result.counts.verbs, 10'000U);
    EXPECT_LT(result.counts.verbs, 40'000U);
    run.budget = 1;
    EXPECT_EQ(sim::run(run).operations, 10U);
}

// ---- perf/verbs.json, which perf/guard holds the component to ----------------------------------

constexpr unsigned kWalks = 1000, kWarmUp = 100;

/// Messages and round trips of a walk of `path`, as perf/paths counts them.
template <class Path>
std::array<double, 2> counted(Cluster& cluster, Path path) {
    for (unsigned i = 0; i < kWarmUp; ++i)
        path();
    const Counts before = cluster.counts(0);
    for (unsigned i = 0; i < kWalks; ++i)
        path();
    const Counts after = cluster.counts(0);
    return {static_cast<double>(after.messages - before.messages) / kWalks,
            static_cast<double>(after.round_trips - before.round_trips) / kWalks};
}

void expect_recorded(const nlohmann::json& recorded, const std::string& path,
                     const std::array<double, 2>& found) {
    constexpr double kSome = 0.05; // as perf/guard
    EXPECT_NEAR(found[0], recorded.at(path)[0].get<double>(), kSome) << path << ", messages";
    EXPECT_NEAR(found[1], recorded.at(path)[1].get<double>(), kSome) << path << ", round trips";
}

TEST(SimulatedLocks, UncontendedPathsHaveTheVerbsOfTheComponent) {
    std::ifstream in(RMALOCK_VERBS);
    const auto recorded = nlohmann::json::parse(in);
    for (const std::string& name : lock_names())
        for (const Domain domain : {Domain::cpu, Domain::nic}) {
            const std::string key =
                fmt::format("rmalock/{}, {}", name, domain == Domain::cpu ? "cpu" : "nic");
            SCOPED_TRACE(key);
            ASSERT_TRUE(recorded.contains(key));
            const auto& paths = recorded[key];
            const Costs costs =
                plain_costs(domain, domain == Domain::cpu ? ServedBy::cpu : ServedBy::adapter);
            on_rank_0(name, costs, [&](Cluster& cluster, SimFabric&, WindowLock& lock) {
                const auto one = [&](bool exclusive) {
                    lock.release(1, exclusive, lock.acquire(1, exclusive));
                };
                expect_recorded(paths, "lock_shared", counted(cluster, [&] { one(false); }));
                expect_recorded(paths, "lock_exclusive", counted(cluster, [&] { one(true); }));
                expect_recorded(paths, "lock_all", counted(cluster, [&] {
                                    lock.acquire_all();
                                    lock.release_all();
                                }));
            });
        }
}

// ---- words of many nodes, side by side ---------------------------------------------------------

constexpr std::uint64_t kInOneTrip = 64; // fetch_each of as many words

/// Round trips of rank 0 for `what`.
template <class What>
std::uint64_t round_trips(Cluster& cluster, What what) {
    const std::uint64_t before = cluster.counts(0).round_trips;
    what();
    return cluster.counts(0).round_trips - before;
}

/// Of a writer of RMA-RW that nobody contends with, on nodes of one process: to acquire.
std::uint64_t round_trips_of_writer(Rank nodes, Domain domain) {
    std::uint64_t found = 0;
    on_rank_0({.lock = "rma_rw/ungated", .layout = {nodes, 1, 0}, .thresholds = kAsShipped},
              plain_costs(domain), [&](Cluster& cluster, SimFabric&, WindowLock& lock) {
                  locks::Hold hold;
                  found = round_trips(cluster, [&] { hold = lock.acquire(0, true); });
                  lock.release(0, true, hold);
              });
    return found;
}

TEST(SimulatedLocks, AWriterOfRmaRwVisitsTheCountersOfSixtyFourNodesInOneRoundTrip) {
    // To flag them, and to close them. The queue is on the node.
    EXPECT_EQ(round_trips_of_writer(3, Domain::cpu), 2U);
    EXPECT_EQ(round_trips_of_writer(50, Domain::cpu), 2U);
    EXPECT_EQ(round_trips_of_writer(2 * kInOneTrip + 1, Domain::cpu), 2U * 3);
    // There adapters do the atomics on the own node as well.
    const std::uint64_t on_three = round_trips_of_writer(3, Domain::nic);
    EXPECT_EQ(round_trips_of_writer(50, Domain::nic), on_three);
    EXPECT_EQ(round_trips_of_writer(kInOneTrip + 1, Domain::nic), on_three + 2);
}

TEST(SimulatedLocks, AWriterOfRmaRwOpensTheCountersOfAllBatchesAgain) {
    // It finds the reader at the last counter, and waits for that; had it left one of the others
    // closed, it would wait for ever.
    constexpr Rank kNodes = 2 * kInOneTrip + 1;
    constexpr Time kReads = std::chrono::milliseconds(5);
    Time written{};
    on_all_ranks({.lock = "rma_rw/ungated", .layout = {kNodes, 1, 0}, .thresholds = kAsShipped},
                 plain_costs(Domain::cpu),
                 [&](Cluster& cluster, SimFabric& fabric, WindowLock& lock) {
                     const Rank self = fabric.self();
                     if (self == kNodes - 1) {
                         const locks::Hold hold = lock.acquire(0, false);
                         cluster.pass(self, kReads);
                         lock.release(0, false, hold);
                     } else if (self == 0) {
                         cluster.pass(self, kReads / 2);
                         const locks::Hold hold = lock.acquire(0, true);
                         written = cluster.now();
                         lock.release(0, true, hold);
                     }
                 });
    EXPECT_GE(written, kReads);
}

/// Of an exclusive that closes the gate while a process of each other node is in a lock_all that it
/// entered by the counter of its node.
std::uint64_t round_trips_of_closer(Rank nodes) {
    constexpr Time kAllIn = std::chrono::seconds(1), kAllOut = 2 * kAllIn;
    std::uint64_t found = 0;
    const auto until = [](Cluster& cluster, Rank self, Time time) {
        cluster.pass(self, time - cluster.now());
    };
    on_all_ranks({.lock = "pf_mcs", .layout = {nodes, 1, 0}, .thresholds = kAsShipped},
                 plain_costs(Domain::cpu),
                 [&](Cluster& cluster, SimFabric& fabric, WindowLock& lock) {
                     const Rank self = fabric.self();
                     if (self == 0) {
                         until(cluster, self, kAllIn);
                         locks::Hold hold;
                         found = round_trips(cluster, [&] { hold = lock.acquire(0, true); });
                         EXPECT_GE(cluster.now(), kAllOut);
                         lock.release(0, true, hold);
                         return;
                     }
                     constexpr unsigned kInARow = 2000; // and the gate is for lock_alls
                     for (unsigned i = 0; i < kInARow; ++i) {
                         lock.acquire_all();
                         lock.release_all();
                     }
                     lock.acquire_all();
                     until(cluster, self, kAllOut);
                     lock.release_all();
                 });
    return found;
}

TEST(SimulatedLocks, AnExclusiveClosesTheGateOfManyNodesInAsManyRoundTripsAsOfFew) {
    const std::uint64_t on_three = round_trips_of_closer(3);
    EXPECT_EQ(round_trips_of_closer(50), on_three);
    // The looks at the counts of 64 nodes, and the names in them.
    EXPECT_EQ(round_trips_of_closer(kInOneTrip + 6), on_three + 2);
}

// ---- benchmarks --------------------------------------------------------------------------------

Result of_benchmark(const std::string& name, const std::string& lock, double writers) {
    return run({.window = {.lock = lock, .layout = {32, 4, 0}, .thresholds = kAsShipped},
                .costs = plain_costs(),
                .benchmark = benchmark(name),
                .writers = writers,
                .operations = 100});
}

TEST(SimulatedBenchmarks, ALookUpByAtomicsIsOneVerbAndNoLocks) {
    EXPECT_EQ(of_benchmark("DHTA", "pf_mcs", 0).counts.verbs, 32U * 100);
    EXPECT_GT(of_benchmark("DHT", "pf_mcs", 0).counts.verbs, 2 * 32U * 100);
}

TEST(SimulatedBenchmarks, InsertsCollideMoreOftenAsTheTableFills) {
    // An insert is one verb into an empty element, and 4 at least where the element is taken.
    const std::uint64_t verbs = of_benchmark("DHTA", "pf_mcs", 1).counts.verbs;
    constexpr std::uint64_t kInserts = 32 * 100, kElements = 1024;
    EXPECT_GE(verbs, kElements + 4 * (kInserts - kElements));
}

TEST(SimulatedBenchmarks, LocksOfRandomRanksAreHardlyContended) {
    // Not pf_cohort: on the node it is handed over faster than a free lock is taken elsewhere.
    for (const char* const lock : {"pf_mcs", "d_mcs", "fompi_rw"})
        EXPECT_GT(of_benchmark("MANY", lock, 1).per_second,
                  2 * of_benchmark("ECSB", lock, 1).per_second)
            << lock;
}

sim::Run lock_table(const char* lock, unsigned locks, double local) {
    sim::Run run{.window = {.lock = fmt::format("{}/ungated", lock), .layout = {8, 4, 0}},
                 .costs = read_costs(RMALOCK_SIM_MODELS, "cray"),
                 .benchmark = benchmark("LOCKS")};
    run.locks = locks, run.local = local, run.writers = 1, run.operations = 50;
    return run;
}

TEST(SimulatedBenchmarks, ALocksTableNeedsNoMessageWhereAllIsLocal) {
    EXPECT_EQ(run(lock_table("alock", 8, 1)).counts.messages, 0U);
    EXPECT_GT(run(lock_table("alock", 8, 0.5)).counts.messages, 0U);
    EXPECT_GT(run(lock_table("d_mcs", 8, 1)).counts.messages, 0U);
}

TEST(SimulatedBenchmarks, AsManyLocksAreOnEachNodeAsAreAskedFor) {
    // 4 processes on the one lock of their node wait for each other, on 500 hardly ever.
    const Result few = run(lock_table("alock", 2, 1)), many = run(lock_table("alock", 1000, 1));
    EXPECT_GT(few.p99, 1.5 * many.p99);
    EXPECT_LE(many.median, many.p90);
    EXPECT_LE(many.p90, many.p99);
    EXPECT_LE(many.p99, many.longest);
    EXPECT_TRUE(std::ranges::is_sorted(many.twentieths));
    EXPECT_EQ(many.twentieths[9], many.median);
    EXPECT_EQ(many.twentieths[17], many.p90);
    try {
        run(lock_table("d_mcs", 7, 1));
        FAIL();
    } catch (const Refused& refused) {
        EXPECT_STREQ(refused.what(), "7 locks on 2 nodes; a multiple of 2 is allowed, or 0 for one "
                                     "at each process");
    }
}

/// Two processes, each of which takes the other one's lock.
sim::Run one_at_a_time(const char* lock, const char* model) {
    sim::Run run = lock_table(lock, 2, 0);
    run.window.layout = {2, 1, 0};
    run.costs = read_costs(RMALOCK_SIM_MODELS, model);
    return run;
}

TEST(SimulatedBenchmarks, AServersLockIsMoreNotificationsThanAnAtomic) {
    const Time wake = read_costs(RMALOCK_SIM_MODELS, "notified").wake;
    const auto more_to_acquire = [](const char* lock) {
        return run(one_at_a_time(lock, "notified")).acquire -
               run(one_at_a_time(lock, "cray")).acquire;
    };
    const double one = std::chrono::duration<double, std::micro>(wake).count();
    // An atomic; a ticket, the server, and its grant.
    EXPECT_NEAR(more_to_acquire("n_cosed"), one, 0.1);
    EXPECT_NEAR(more_to_acquire("dqnl"), one, 0.1);
    EXPECT_NEAR(more_to_acquire("srsl"), 3 * one, 0.1);
}

TEST(SimulatedBenchmarks, ToAcquireIsAPartOfTheLatency) {
    const Result result = run(one_at_a_time("n_cosed", "cray"));
    // One round trip of two.
    EXPECT_NEAR(result.acquire, result.latency / 2, 0.1);
}

TEST(SimulatedBenchmarks, WithoutTheGateALocksOwnVerbsAreLeft) {
    for (const char* const lock : {"d_mcs", "rma_mcs", "pf_cohort"})
        EXPECT_LT(of_benchmark("ECSB", fmt::format("{}/ungated", lock), 1).counts.verbs,
                  of_benchmark("ECSB", lock, 1).counts.verbs)
            << lock;
}

TEST(SimulatedWindow, AutoIsWhatAWindowChooses) {
    EXPECT_EQ(Window({.lock = "auto", .layout = {8, 4, 0}}).request().lock, "pf_cohort");
    EXPECT_EQ(Window({.lock = "auto", .layout = {8, 8, 0}}).request().lock, "pf_mcs");
}

// ---- what is refused ---------------------------------------------------------------------------

std::string refusal(const WindowRequest& request) {
    try {
        const Window window(request);
    } catch (const Refused& refused) {
        return refused.what();
    }
    return "";
}

TEST(SimulatedWindow, RefusesWhatDoesNotFitAndSaysWhatDoes) {
    EXPECT_EQ(refusal(two_nodes("pf_mcs")), "");
    EXPECT_EQ(refusal(two_nodes("nolock")).find("no lock is called 'nolock'; there are direct_pas"),
              0U);
    EXPECT_EQ(refusal({.lock = "pf_mcs", .layout = {0, 1, 0}}), "0 ranks; it may be 1 to 65536");
    EXPECT_EQ(refusal({.lock = "pf_mcs", .layout = {65537, 1, 0}}),
              "65537 ranks; it may be 1 to 65536");
    EXPECT_EQ(refusal({.lock = "pf_mcs", .layout = {100, 16, 0}}),
              "100 ranks do not divide into nodes of 16; a divisor is allowed");
    EXPECT_EQ(refusal({.lock = "pf_mcs", .layout = {96, 16, 4}}),
              "6 nodes do not divide into racks of 4; a divisor is allowed, or 0 for one rack");
    EXPECT_EQ(refusal({.lock = "pf_mcs", .layout = {96, 16, 0}, .topology = "l3,numa,node,rack"}),
              "topology 'l3,numa,node,rack': more than 3 levels");
    EXPECT_EQ(refusal({.lock = "rma_rw", .layout = {2048, 1, 0}}), "");
}

} // namespace
} // namespace rmalock::sim
