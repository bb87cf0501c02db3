#include "network/trial_pairs.hh"

#include <gtest/gtest.h>

#include <algorithm>

namespace rmalock::network {
namespace {

Station at(std::int32_t node, std::uint64_t transports) {
    Station station{};
    station.node = node;
    station.transports = transports;
    station.has_room = true;
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

TEST(TrialPairs, FirstRanksOfFewNodesAllTry) {
    EXPECT_EQ(trial_pairs(alike(3, 2)),
              (Pairs{{0, 2, true, 0, 0}, {2, 4, false, 1, 0}, {0, 4, false, 1, 1}}));
    EXPECT_EQ(trial_pairs(alike(8, 2)).size(), 8 * 7 / 2);
}

TEST(TrialPairs, WithoutRoomFewNodesMakeAChain) {
    std::vector<Station> stations = alike(8, 2);
    stations.back().has_room = false;
    EXPECT_EQ(trial_pairs(stations).size(), 7);
}

TEST(TrialPairs, FirstRanksOfManyNodesMakeAChain) {
    const Pairs pairs = trial_pairs(alike(9, 2));
    ASSERT_EQ(pairs.size(), 8);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        EXPECT_EQ(pairs[i].asks, 2 * static_cast<Rank>(i));
        EXPECT_EQ(pairs[i].answers, 2 * static_cast<Rank>(i + 1));
    }
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
    // The even nodes of one kind, the odd ones of another one, the last one of a third one.
    std::vector<Station> stations;
    for (std::int32_t node = 0; node < 8; ++node)
        stations.push_back(at(node, node % 2 == 0 ? 7 : 8));
    stations.push_back(at(8, 9));
    EXPECT_EQ(trial_pairs(stations), (Pairs{{0, 2, true, 0, 0},
                                            {2, 4, false, 1, 0},
                                            {4, 6, true, 1, 0},
                                            {1, 3, true, 0, 0},
                                            {3, 5, false, 1, 0},
                                            {5, 7, true, 1, 0},
                                            {0, 1, false, 1, 1},
                                            {0, 8, false, 2, 0},
                                            {1, 8, false, 2, 1}}));
}

TEST(TrialPairs, ProcessesOfOneNodeThatDifferBothTry) {
    // Rank 1 may take other transports than rank 0 of its node.
    const std::vector stations{at(0, 7), at(0, 8), at(2, 7), at(2, 7)};
    EXPECT_EQ(trial_pairs(stations), (Pairs{{0, 2, true, 0, 0}, {2, 1, false, 1, 0}}));
    std::vector<Station> more = alike(9, 2);
    more[1].transports = 8;
    EXPECT_EQ(trial_pairs(more).back(), (TrialPair{2, 1, false, 2, 0}));
}

} // namespace
} // namespace rmalock::network
