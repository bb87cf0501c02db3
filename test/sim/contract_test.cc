// What fabric/concept.hh promises holds in the simulator, and takes what the costs add up to.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "sim/plain_costs.hh"

namespace rmalock::sim {
namespace {

constexpr Layout kTwoNodes{2, 1, 0}, kThreeNodes{3, 1, 0}, kOneNode{2, 2, 0}, kTwoRacks{2, 1, 1},
    kTwoOfTwo{4, 2, 0};
constexpr Word kRemote{1, 0}, kOwn{0, 0};

/// How long `verb` takes rank 0.
template <class Verb>
Time time_of(const Layout& layout, const Costs& costs, Verb verb) {
    Time took{};
    simulate(layout, costs, [&](Cluster& cluster, SimFabric& fabric) {
        if (fabric.self() != 0)
            return;
        const Time begin = cluster.now();
        verb(fabric);
        took = cluster.now() - begin;
    });
    return took;
}
void add(SimFabric& fabric, Word word) {
    fabric.fetch_add(word, 1);
}

TEST(SimulatedTime, OfARemoteAtomicIsARoundTripAndItsService) {
    const auto verb = [](SimFabric& f) { add(f, kRemote); };
    EXPECT_EQ(time_of(kTwoNodes, plain_costs(), verb), nanoseconds(50 + 1000 + 200 + 1000 + 40));
    EXPECT_EQ(time_of(kTwoRacks, plain_costs(), verb), nanoseconds(50 + 2000 + 200 + 2000 + 40));
}

TEST(SimulatedTime, OfARemoteGet) {
    EXPECT_EQ(time_of(kTwoNodes, plain_costs(), [](SimFabric& f) { f.get(kRemote); }),
              nanoseconds(50 + 1000 + 30 + 1000 + 40));
}

TEST(SimulatedTime, OfAnAtomicOfTheOwnNodeDependsOnTheDomain) {
    const auto verb = [](SimFabric& f) { add(f, kRemote); };
    EXPECT_EQ(time_of(kOneNode, plain_costs(), verb), nanoseconds(50 + 300 + 200 + 300 + 40));
    EXPECT_EQ(time_of(kOneNode, plain_costs(Domain::cpu), verb), nanoseconds(100));
    EXPECT_EQ(time_of(kOneNode, plain_costs(Domain::cpu),
                      [](SimFabric& f) { add(f, kRemote), add(f, kRemote); }),
              nanoseconds(100 + 10));
    // What is read again without a change in between is in the core's cache.
    EXPECT_EQ(
        time_of(kOneNode, plain_costs(), [](SimFabric& f) { f.get(kRemote), f.get(kRemote); }),
        nanoseconds(100 + 10));
}

/// When each rank but the last has done an atomic at the last.
std::map<Rank, Time> race(const Layout& layout, const Costs& costs) {
    std::map<Rank, Time> ends;
    simulate(layout, costs, [&](Cluster& cluster, SimFabric& fabric) {
        if (fabric.self() == layout.ranks - 1)
            return;
        add(fabric, {layout.ranks - 1, 0});
        ends[fabric.self()] = cluster.now();
    });
    return ends;
}

TEST(SimulatedTime, AtomicsQueueAtTheTargetsAdapter) {
    const auto ends = race(kThreeNodes, plain_costs());
    EXPECT_EQ(ends.at(0), nanoseconds(2290));
    EXPECT_EQ(ends.at(1), nanoseconds(2290 + 200));
}

TEST(SimulatedTime, AtomicsQueueOnALineOfTheNode) {
    const auto ends = race({3, 3, 0}, plain_costs(Domain::cpu));
    EXPECT_EQ(ends.at(0), nanoseconds(100));
    EXPECT_EQ(ends.at(1), nanoseconds(200));
}

TEST(SimulatedTime, MessagesOfANodeQueueAtItsAdapter) {
    Costs costs = plain_costs();
    costs.serve_atomic = nanoseconds(0);
    const auto ends = race({4, 2, 0}, costs); // rank 2 shares the target's node
    EXPECT_EQ(ends.at(1) - ends.at(0), costs.inject);
}

TEST(SimulatedTime, APostedVerbTakesTheOriginItsSending) {
    Time posted{}, flushed{};
    simulate(kTwoNodes, plain_costs(), [&](Cluster& cluster, SimFabric& fabric) {
        if (fabric.self() != 0)
            return;
        fabric.add(kRemote, 1);
        cluster.pass(0, Time{});
        posted = cluster.now();
        fabric.flush(kRemote.rank);
        flushed = cluster.now();
    });
    EXPECT_EQ(posted, nanoseconds(50));
    EXPECT_EQ(flushed, nanoseconds(50 + 1000 + 200 + 1000));
}

TEST(SimulatedTime, ACpuThatServesIsAskedByAFlush) {
    const auto verb = [](SimFabric& f) { f.add(kRemote, 1), f.flush(kRemote.rank); };
    // Two messages one behind the other; the second one is answered.
    EXPECT_EQ(time_of(kTwoNodes, plain_costs(Domain::cpu, ServedBy::cpu), verb),
              nanoseconds(50 + 1000 + 200 + 30 + 1000 + 40));
}

TEST(SimulatedTime, AWaiterLooksWhenTheLineHasComeToIt) {
    Time woken{};
    simulate(kTwoNodes, plain_costs(), [&](Cluster& cluster, SimFabric& fabric) {
        if (fabric.self() == 0) {
            fabric.await(kOwn, fabric::equals(7));
            woken = cluster.now();
        } else {
            fabric.put(kOwn, 7);
        }
    });
    EXPECT_EQ(woken, nanoseconds(50 + 1000 + 100));
}

TEST(SimulatedTime, AWaiterThatSleepsIsWoken) {
    Costs costs = plain_costs();
    costs.wake = nanoseconds(7000);
    const Time round_trip = nanoseconds(50 + 1000 + 200 + 1000);
    EXPECT_EQ(time_of(kTwoNodes, costs, [](SimFabric& f) { f.fetch_add(kRemote, 1); }),
              round_trip + costs.receive + costs.wake);
    EXPECT_EQ(
        time_of(kTwoNodes, costs, [](SimFabric& f) { f.add(kRemote, 1), f.flush(kRemote.rank); }),
        round_trip + costs.wake);
    EXPECT_EQ(time_of(kTwoNodes, costs, [](SimFabric& f) { f.get(kOwn); }), costs.near);
    Time woken{};
    simulate(kTwoNodes, costs, [&](Cluster& cluster, SimFabric& fabric) {
        if (fabric.self() == 1)
            return fabric.put(kOwn, 7);
        fabric.await(kOwn, fabric::equals(7));
        woken = cluster.now();
    });
    EXPECT_EQ(woken, nanoseconds(50 + 1000) + costs.near + costs.wake);
}

TEST(SimulatedTime, AWaitForAnotherNodesWordIsRoundTripsAndBackOffs) {
    Time seen{};
    Counts counts;
    simulate(kThreeNodes, plain_costs(), [&](Cluster& cluster, SimFabric& fabric) {
        if (fabric.self() == 0) {
            fabric.await(kRemote, fabric::equals(1));
            seen = cluster.now();
            counts = cluster.counts(0);
        } else if (fabric.self() == 2) {
            cluster.pass(2, nanoseconds(3000));
            fabric.put(kRemote, 1);
        }
    });
    // The put lands at 4050; reads land at 1050, 1050 + 2120 + 8, and 2120 + 16 later.
    EXPECT_EQ(counts.round_trips, 3U);
    EXPECT_EQ(seen, nanoseconds(3 * 2120 + 8 + 16));
}

TEST(SimulatedTime, BackOffsGrowToABound) {
    const auto backoff = [](unsigned attempt) {
        return time_of(kTwoNodes, plain_costs(), [=](SimFabric& f) { f.backoff(attempt); });
    };
    EXPECT_EQ(backoff(0), nanoseconds(8));
    EXPECT_EQ(backoff(3), nanoseconds(64));
    EXPECT_EQ(backoff(40), nanoseconds(1024));
}

TEST(SimulatedTime, DataTakeBandwidth) {
    Time took{};
    simulate(kTwoNodes, plain_costs(), [&](Cluster& cluster, SimFabric& fabric) {
        if (fabric.self() == 0)
            cluster.access(0, 1, 500), took = cluster.now();
    });
    EXPECT_EQ(took, nanoseconds(50 + 1000 + 30 + 500 + 1000 + 40));
}

TEST(SimulatedTime, AWaitThatMayEndEndsInTime) {
    bool gave_up = false;
    const auto verb = [&](SimFabric& f) {
        gave_up = !f.await_until(kOwn, fabric::equals(1), f.after(Duration(3))).has_value();
    };
    EXPECT_EQ(time_of(kTwoNodes, plain_costs(), verb), nanoseconds(3000));
    EXPECT_TRUE(gave_up);
}

// ---- promises ----------------------------------------------------------------------------------

TEST(SimulatedFabric, PostedVerbsTakeEffectLaterAndWithoutAFlush) {
    Value before = 1;
    Simulation sim(kTwoNodes, plain_costs(), [&](Cluster& cluster, SimFabric& fabric) {
        if (fabric.self() == 0) {
            fabric.put(kRemote, 5);
            before = cluster.word(kRemote);
        }
    });
    sim.cluster.run();
    EXPECT_EQ(before, 0U);
    EXPECT_EQ(sim.cluster.word(kRemote), 5U);
}

TEST(SimulatedFabric, AFlushWaitsForWhatWasPosted) {
    for (const ServedBy served_by : {ServedBy::adapter, ServedBy::cpu})
        for (std::uint64_t seed = 1; seed < 50; ++seed) {
            Costs costs = plain_costs(Domain::cpu, served_by);
            costs.jitter = 5; // so that the question would overtake what it is about
            Value after = 0;
            const auto process = [&](Cluster& cluster, SimFabric& fabric) {
                if (fabric.self() != 0)
                    return;
                fabric.add({1, 0}, 1), fabric.add({2, 0}, 1), fabric.add({1, 0}, 1);
                fabric.flush(1);
                after = cluster.word({1, 0});
                fabric.flush_all();
                after += cluster.word({2, 0});
            };
            simulate(kThreeNodes, costs, process, seed);
            ASSERT_EQ(after, 3U) << "seed " << seed;
        }
}

TEST(SimulatedFabric, PutsMayLandSwappedUnlessFlushed) {
    const auto last = [](bool flushed, std::uint64_t seed) {
        Costs costs = plain_costs();
        costs.jitter = 1;
        const auto process = [=](Cluster&, SimFabric& fabric) {
            if (fabric.self() != 0)
                return;
            fabric.put(kRemote, 1);
            if (flushed)
                fabric.flush(kRemote.rank);
            fabric.put(kRemote, 2);
        };
        Simulation sim(kTwoNodes, costs, process, seed);
        sim.cluster.run();
        return sim.cluster.word(kRemote);
    };
    int swapped = 0;
    for (std::uint64_t seed = 1; seed < 50; ++seed) {
        swapped += last(false, seed) == 1;
        EXPECT_EQ(last(true, seed), 2U);
    }
    EXPECT_GT(swapped, 0);
}

TEST(SimulatedFabric, AVerbPostedToTheOwnRankComesBeforeTheNextAtomic) {
    for (const Domain domain : {Domain::cpu, Domain::nic}) {
        Value seen = 0;
        simulate(kTwoNodes, plain_costs(domain), [&](Cluster& cluster, SimFabric& fabric) {
            if (fabric.self() != 0)
                return;
            fabric.add({0, 1}, 4);
            fabric.put(kOwn, 3);
            fabric.fetch_add(kRemote, 1);
            seen = cluster.word(kOwn) + cluster.word({0, 1});
        });
        EXPECT_EQ(seen, 7U);
    }
}

TEST(SimulatedFabric, FetchingVerbsHaveOneOrder) {
    for (const Domain domain : {Domain::cpu, Domain::nic})
        for (std::uint64_t seed = 1; seed < 200; ++seed) {
            Costs costs = plain_costs(domain);
            costs.jitter = 1;
            Value seen[2] = {1, 1};
            const auto process = [&](Cluster&, SimFabric& fabric) {
                const Rank self = fabric.self();
                if (self > 1)
                    return;
                fabric.swap({2 + self, 0}, 1);
                seen[self] = fabric.get({3 - self, 0});
            };
            simulate(kTwoOfTwo, costs, process, seed);
            ASSERT_EQ(seen[0] + seen[1] > 0, true) << "each read before the other wrote";
        }
}

TEST(SimulatedFabric, NoAtomicIsLost) {
    for (const Domain domain : {Domain::cpu, Domain::nic}) {
        Costs costs = plain_costs(domain);
        costs.jitter = 0.5;
        Simulation sim({8, 2, 0}, costs, [](Cluster&, SimFabric& fabric) {
            for (int i = 0; i < 100; ++i) {
                fabric.fetch_add({3, 0}, 1);
                Value v = fabric.get({4, 0});
                while (fabric.compare_swap({4, 0}, v, v + 1) != v)
                    v = fabric.get({4, 0});
            }
        });
        sim.cluster.run();
        EXPECT_EQ(sim.cluster.word({3, 0}), 800U);
        EXPECT_EQ(sim.cluster.word({4, 0}), 800U);
    }
}

TEST(SimulatedFabric, ScansReadAndAddEachAddsEverywhere) {
    std::vector<Value> out(8);
    Counts counts;
    simulate(kTwoOfTwo, plain_costs(), [&](Cluster& cluster, SimFabric& fabric) {
        if (fabric.self() != 0)
            return;
        const std::vector<Rank> ranks{0, 1, 2, 3};
        fabric.add_each(ranks, 8, 5);
        fabric.add_each(ranks, 16, 6);
        const std::uint64_t before = cluster.counts(0).round_trips;
        fabric.scan(ranks, 8, 8, out);
        counts = cluster.counts(0);
        counts.round_trips -= before;
    });
    EXPECT_EQ(out, (std::vector<Value>{5, 6, 5, 6, 5, 6, 5, 6}));
    EXPECT_EQ(counts.round_trips, 1U);
}

TEST(SimulatedFabric, FetchEachTakesOneRoundTrip) {
    std::vector<Value> first(4), second(4);
    Counts counts;
    simulate(kTwoOfTwo, plain_costs(), [&](Cluster& cluster, SimFabric& fabric) {
        using fabric::Rmw;
        if (fabric.self() != 0)
            return;
        const std::vector<Rmw> adds{Rmw::fetch_add({0, 8}, 1), Rmw::fetch_add({1, 8}, 2),
                                    Rmw::fetch_add({2, 8}, 3), Rmw::fetch_add({3, 8}, 4)};
        fabric.fetch_each(adds, first);
        const std::uint64_t before = cluster.counts(0).round_trips;
        const std::vector<Rmw> mixed{Rmw::swap({0, 8}, 9), Rmw::compare_swap({1, 8}, 2, 9),
                                     Rmw::compare_swap({2, 8}, 2, 9), Rmw::swap({3, 8}, 9)};
        fabric.fetch_each(mixed, second);
        counts = cluster.counts(0);
        counts.round_trips -= before;
        EXPECT_EQ(cluster.word({0, 8}), 9U);
        EXPECT_EQ(cluster.word({1, 8}), 9U);
        EXPECT_EQ(cluster.word({2, 8}), 3U);
        EXPECT_EQ(cluster.word({3, 8}), 9U);
    });
    EXPECT_EQ(first, (std::vector<Value>{0, 0, 0, 0}));
    EXPECT_EQ(second, (std::vector<Value>{1, 2, 3, 4}));
    EXPECT_EQ(counts.round_trips, 1U);
}

TEST(SimulatedFabric, SleepersOfALineAreWokenByTheirOwnWord) {
    std::vector<Rank> order;
    simulate({3, 3, 0}, plain_costs(), [&](Cluster& cluster, SimFabric& fabric) {
        const Rank self = fabric.self();
        if (self == 2) {
            cluster.pass(self, nanoseconds(1000));
            fabric.put({0, 1}, 1);
            cluster.pass(self, nanoseconds(1000));
            fabric.put({0, 0}, 1);
        } else {
            fabric.await({0, static_cast<Slot>(self)}, fabric::equals(1));
            order.push_back(self);
        }
    });
    EXPECT_EQ(order, (std::vector<Rank>{1, 0}));
}

TEST(SimulatedFabric, TheSameSeedIsTheSameRun) {
    const auto end = [](std::uint64_t seed) {
        Costs costs = plain_costs();
        costs.jitter = 0.5;
        const auto process = [](Cluster&, SimFabric& fabric) {
            for (int i = 0; i < 20; ++i)
                fabric.fetch_add({i % 4, 0}, 1);
        };
        Simulation sim(kTwoOfTwo, costs, process, seed);
        sim.cluster.run();
        return sim.cluster.now();
    };
    EXPECT_EQ(end(1), end(1));
    EXPECT_NE(end(1), end(2));
}

// ---- what is reported --------------------------------------------------------------------------

template <class Process>
Failure failure_of(const Layout& layout, Process process, std::uint64_t most_verbs = 0) {
    Simulation sim(layout, plain_costs(), process);
    try {
        sim.cluster.run(most_verbs);
    } catch (const Failure& failure) {
        return failure;
    }
    throw std::logic_error("it did not fail");
}

TEST(SimulatedFabric, ADeadlockNamesProcessLineAndWord) {
    const Failure failure = failure_of(kTwoNodes, [](Cluster& cluster, SimFabric& fabric) {
        cluster.wait(fabric.self(), model::Mode::exclusive);
        if (fabric.self() == 1)
            fabric.await({1, 9}, fabric::equals(1));
    });
    EXPECT_EQ(failure.kind, Failure::deadlock);
    const std::string text = failure.what();
    EXPECT_NE(text.find("1 of 2 processes wait"), std::string::npos) << text;
    EXPECT_NE(text.find("rank 1 (exclusive, contract_test.cc:"), std::string::npos) << text;
    EXPECT_NE(text.find("word 1[9], which is 0x0"), std::string::npos) << text;
}

TEST(SimulatedFabric, AWriterBesideAnybodyIsReported) {
    for (const auto other : {model::Mode::exclusive, model::Mode::shared}) {
        const Failure failure = failure_of(kTwoNodes, [=](Cluster& cluster, SimFabric& fabric) {
            const auto mode = fabric.self() == 0 ? model::Mode::exclusive : other;
            cluster.wait(fabric.self(), mode);
            cluster.enter(fabric.self(), mode);
        });
        EXPECT_EQ(failure.kind, Failure::exclusion);
        EXPECT_NE(std::string(failure.what()).find("rank 1"), std::string::npos);
    }
    Simulation readers(kTwoNodes, plain_costs(), [](Cluster& cluster, SimFabric& fabric) {
        cluster.enter(fabric.self(), model::Mode::shared);
    });
    EXPECT_NO_THROW(readers.cluster.run());
}

TEST(SimulatedFabric, ARunThatDoesNotEndIsStopped) {
    const auto forever = [](Cluster&, SimFabric& fabric) {
        fabric.await(kRemote, [](Value v) { return v > 0; });
    };
    EXPECT_EQ(failure_of(kThreeNodes, forever, 1000).kind, Failure::endless);
}

TEST(SimulatedFabric, AWordThatIsNotThereIsNamed) {
    const Failure failure = failure_of(kTwoNodes, [](Cluster&, SimFabric& fabric) {
        fabric.fetch_add({1, kSlots}, 1);
    });
    EXPECT_EQ(failure.kind, Failure::wild_word);
    EXPECT_NE(std::string(failure.what()).find("1[64]"), std::string::npos) << failure.what();
}

} // namespace
} // namespace rmalock::sim
