#include "network/trial_pairs.hh"

#include <gtest/gtest.h>

#include <algorithm>

namespace rmalock::network {
namespace {

Station at(std::int32_t node, std::uint64_t transports) {
    Station station{};
    station.node = node;
    station.transports = transports;
    return station;
}

/// So many nodes of so many ranks.
std::vector<Station> alike(std::int32_t nodes, std::int32_t ranks) {
    std::vector<Station> stations;
    for (std::int32_t r = 0; r < nodes * ranks; ++r)
        stations.push_back(at(r / ranks * ranks, 7));
    return stations;
}

using Pairs = std::vector<TrialPair>;

TEST(TrialPairs, OneNodeHasNone) {
    EXPECT_TRUE(trial_pairs(alike(1, 4)).empty());
    EXPECT_TRUE(trial_pairs(std::vector{at(0, 1), at(0, 2)}).empty());
}

TEST(TrialPairs, FirstRanksOfNodesMakeAChain) {
    EXPECT_EQ(trial_pairs(alike(3, 2)), (Pairs{{0, 2, true, 0, 0}, {2, 4, false, 1, 0}}));
}

/// Each rank in two connections at most, and in one of those that try out atomics, which all nodes
/// but one are in.
TEST(TrialPairs, AreFewOnManyNodes) {
    static constexpr std::int32_t kNodes = 65'536;
    const Pairs pairs = trial_pairs(alike(kNodes, 1));
    std::vector<int> connections(kNodes), tries(kNodes);
    for (const TrialPair& pair : pairs) {
        for (const Rank rank : {pair.asks, pair.answers}) {
            ++connections[static_cast<std::size_t>(rank)];
            tries[static_cast<std::size_t>(rank)] += pair.tries_atomics ? 1 : 0;
        }
    }
    EXPECT_EQ(pairs.size(), kNodes - 1U);
    EXPECT_EQ(*std::max_element(connections.begin(), connections.end()), 2);
    EXPECT_EQ(std::count(tries.begin(), tries.end(), 1), kNodes);
}

TEST(TrialPairs, EveryTwoKindsOfProcessTry) {
    // Nodes 0 and 2 of one kind, 1 and 3 of another one, 4 of a third one.
    const std::vector stations{at(0, 7), at(1, 8), at(2, 7), at(3, 8), at(4, 9)};
    EXPECT_EQ(trial_pairs(stations), (Pairs{{0, 2, true, 0, 0},
                                            {1, 3, true, 0, 0},
                                            {0, 1, false, 1, 1},
                                            {0, 4, false, 2, 0},
                                            {1, 4, false, 2, 1}}));
}

TEST(TrialPairs, ProcessesOfOneNodeThatDifferBothTry) {
    // Rank 1 may take other transports than rank 0 of its node.
    const std::vector stations{at(0, 7), at(0, 8), at(2, 7), at(2, 7)};
    EXPECT_EQ(trial_pairs(stations), (Pairs{{0, 2, true, 0, 0}, {2, 1, false, 1, 0}}));
}

} // namespace
} // namespace rmalock::network
