// The parameter `topology`, and the trees that come of it.
#include <gtest/gtest.h>

#include "topology/machine.hh"

namespace rmalock::topology {
namespace {

std::string flaw(std::string_view text) {
    std::string why;
    parse(text, why);
    return why;
}

Spec spec(std::string_view text) {
    std::string why;
    const Spec read = parse(text, why);
    EXPECT_EQ(why, "") << text;
    return read;
}

/// Ranks on nodes, in order.
std::vector<ProcessPlace> on_nodes(std::initializer_list<int> nodes) {
    std::vector<ProcessPlace> places;
    for (const int node : nodes)
        places.push_back({.node = node});
    return places;
}

std::string tree(std::string_view text, const std::vector<ProcessPlace>& places) {
    std::string all;
    for (const std::string& line : list(build(spec(text), places)))
        all += line.substr(line.find(',') + 2) + "\n";
    return all;
}

using Groups = std::vector<std::vector<Rank>>;
Groups groups(const Level& level) {
    Groups all;
    for (std::size_t e = 0; e < level.elements(); ++e)
        all.push_back(level.members(e));
    return all;
}

TEST(TopologySpec, IsRead) {
    EXPECT_TRUE(spec("auto").automatic);
    EXPECT_TRUE(spec("flat").items.empty());
    EXPECT_EQ(spec("numa:2,node,rack:3").items,
              (std::vector<Spec::Item>{{Kind::numa, 2}, {Kind::node, 0}, {Kind::rack, 3}}));
}

TEST(TopologySpec, WhatIsWrongIsNamed) {
    EXPECT_EQ(flaw("cabinet"),
              "'cabinet' is no level; there are l3, numa, node and rack, or auto or flat alone");
    EXPECT_EQ(flaw("node,flat"),
              "'flat' is no level; there are l3, numa, node and rack, or auto or flat alone");
    EXPECT_EQ(flaw(""), "'' is no level; there are l3, numa, node and rack, or auto or flat alone");
    EXPECT_EQ(flaw("node,"),
              "'' is no level; there are l3, numa, node and rack, or auto or flat alone");
    EXPECT_EQ(flaw("node:0"), "'node:0' needs a number from 1 to 65536 behind the colon");
    EXPECT_EQ(flaw("node:2x"), "'node:2x' needs a number from 1 to 65536 behind the colon");
    EXPECT_EQ(flaw("node:"), "'node:' needs a number from 1 to 65536 behind the colon");
    EXPECT_EQ(flaw("node:-1"), "'node:-1' needs a number from 1 to 65536 behind the colon");
    EXPECT_EQ(flaw("node,numa"), "'numa' comes behind 'node'; levels go from small to large");
    EXPECT_EQ(flaw("node,node"), "'node' comes behind 'node'; levels go from small to large");
    EXPECT_EQ(flaw("l3,numa,node,rack:2"), "more than 3 levels");
    EXPECT_EQ(flaw(std::string(64, 'n')), "more than 63 characters");
}

TEST(TopologySpec, KnowsWhenItMattersWhereOneIs) {
    EXPECT_TRUE(spec("auto").looks_around());
    EXPECT_TRUE(spec("numa,node").looks_around());
    EXPECT_TRUE(spec("node,rack").looks_around());
    EXPECT_FALSE(spec("numa:2,node,rack:2").looks_around());
    EXPECT_FALSE(spec("flat").looks_around());
}

TEST(Topology, ElementsAreMadeOfRanksOrHaveOthers) {
    const Level threes = Level::blocks(6, 3);
    EXPECT_TRUE(threes.made_of({0, 1, 2}));
    EXPECT_TRUE(threes.made_of({0, 1, 2, 3, 4, 5}));
    EXPECT_FALSE(threes.made_of({0, 1, 2, 3})) << "0 to 2 are an element, and 3 is in another one";
    EXPECT_FALSE(threes.made_of({4, 5}));
    EXPECT_TRUE(Level::blocks(6, 1).made_of({2, 4}));
}

TEST(Topology, NodesOfTheJob) {
    EXPECT_EQ(tree("node", on_nodes({7, 7, 3, 7, 3})), "node: {0 1 3} {2 4}\n");
}

TEST(Topology, SyntheticLevels) {
    EXPECT_EQ(tree("numa:2,node:4,rack:2", std::vector<ProcessPlace>(9)),
              "rack: {0 1 2 3 4 5 6 7} {8}\n"
              "node: {0 1 2 3} {4 5 6 7} {8}\n"
              "numa: {0 1} {2 3} {4 5} {6 7} {8}\n");
    EXPECT_EQ(tree("l3:3", std::vector<ProcessPlace>(7)), "l3: {0 1 2} {3 4} {5 6}\n");
    EXPECT_EQ(tree("numa:4,node", on_nodes({0, 1, 0})), "node: {0 2} {1}\nnuma: {0} {1} {2}\n");
}

TEST(Topology, ElementsOfALevelLieInOneOfTheLevelAbove) {
    // Memory 0 of node 0 is not memory 0 of node 1.
    const std::vector<ProcessPlace> places = {{0, 0, -1}, {1, 0, -1}, {0, 1, -1}, {0, 0, -1}};
    EXPECT_EQ(tree("numa,node", places), "node: {0 2 3} {1}\nnuma: {0 3} {1} {2}\n");
}

TEST(Topology, AutomaticTakesWhatDivides) {
    EXPECT_EQ(tree("auto", std::vector<ProcessPlace>(4)), "");
    EXPECT_EQ(tree("auto", on_nodes({0, 0, 1, 1})), "node: {0 1} {2 3}\n");
    EXPECT_EQ(tree("auto", {{0, 0, 0}, {0, 1, 1}, {0, 0, 0}}), "numa: {0 2} {1}\n");
    EXPECT_EQ(tree("auto", {{0, 0, 0}, {0, 0, 1}, {1, 0, 0}}),
              "node: {0 1} {2}\nl3: {0} {1} {2}\n");
    // Unbound processes are in one element each node.
    EXPECT_EQ(tree("auto", {{0, -1, -1}, {0, -1, -1}}), "");
}

TEST(Topology, RacksAreWhatSlurmSays) {
    EXPECT_EQ(rack_in("", ""), -1);
    EXPECT_EQ(rack_in("node17", "node"), -1);
    EXPECT_EQ(rack_in("b0.node17", "block.node"), -1);
    const std::string_view pattern = "switch.switch.node";
    const std::int32_t rack = rack_in("s0.s4.node17", pattern);
    EXPECT_GE(rack, 0);
    EXPECT_EQ(rack_in("s0.s4.node18", pattern), rack);
    EXPECT_NE(rack_in("s0.s5.node19", pattern), rack);
    EXPECT_NE(rack_in("s1.s4.node20", pattern), rack);

    const std::vector<ProcessPlace> places = {{.node = 0, .rack = 8},
                                              {.node = 1, .rack = 9},
                                              {.node = 2, .rack = 8},
                                              {.node = 1, .rack = 9}};
    EXPECT_EQ(tree("node,rack", places), "rack: {0 2} {1 3}\nnode: {0} {1 3} {2}\n");
    EXPECT_EQ(tree("auto", places), "rack: {0 2} {1 3}\nnode: {0} {1 3} {2}\n");
    EXPECT_EQ(tree("rack", places), "rack: {0 2} {1 3}\n");
    EXPECT_EQ(tree("auto", on_nodes({0, 1})), "node: {0} {1}\n") << "nothing is known of racks";
    // At most three levels, the largest ones.
    EXPECT_EQ(tree("auto", {{0, 0, 0, 1}, {1, 0, 0, 2}, {2, 0, 0, 2}, {2, 1, 1, 2}, {2, 1, 2, 2}}),
              "rack: {0} {1 2 3 4}\nnode: {0} {1} {2 3 4}\nnuma: {0} {1} {2} {3 4}\n");
}

TEST(Topology, CountersKeepToNodes) {
    const Machine machine = build(spec("auto"), on_nodes({0, 0, 0, 1, 1, 2}));
    EXPECT_EQ(groups(counters(machine, 0)), (Groups{{0, 1, 2}, {3, 4}, {5}}));
    EXPECT_EQ(groups(counters(machine, 1)), (Groups{{0}, {1}, {2}, {3}, {4}, {5}}));
    EXPECT_EQ(groups(counters(machine, 2)), (Groups{{0, 1}, {2}, {3, 4}, {5}}));
    EXPECT_EQ(groups(counters(machine, 3)), (Groups{{0, 1, 2}, {3, 4, 5}}));
    EXPECT_EQ(groups(counters(machine, 4)), (Groups{{0, 1, 2, 3, 4}, {5}}));
    EXPECT_EQ(groups(counters(machine, 100)), (Groups{{0, 1, 2, 3, 4, 5}}));
    // Two small nodes before a large one.
    const Machine uneven = build(spec("auto"), on_nodes({0, 1, 2, 2, 2}));
    EXPECT_EQ(groups(counters(uneven, 2)), (Groups{{0, 1}, {2, 3}, {4}}));
}

TEST(Topology, NodesShareCountersEvenly) {
    const Machine machine = build(spec("auto"), on_nodes({0, 0, 1, 1, 2, 2, 3, 3}));
    EXPECT_EQ(groups(shared_counters(machine, 2)), (Groups{{0, 1, 2, 3}, {4, 5, 6, 7}}));
    EXPECT_EQ(groups(shared_counters(machine, 3)), (Groups{{0, 1, 2, 3}, {4, 5}, {6, 7}}));
    EXPECT_EQ(groups(shared_counters(machine, 1)), (Groups{{0, 1, 2, 3, 4, 5, 6, 7}}));
    const Machine uneven = build(spec("auto"), on_nodes({0, 1, 1, 1, 2, 2}));
    EXPECT_EQ(groups(shared_counters(uneven, 2)), (Groups{{0, 1, 2, 3}, {4, 5}}));
}

TEST(Topology, RecordsHaveRoomInTheSmallestElement) {
    const Level level = build(spec("node"), on_nodes({0, 0, 0, 1})).tree.level(2);
    EXPECT_EQ(level.records(), 4U); // rank 3 keeps the records of its element for all four targets
    for (Rank target = 0; target < 4; ++target)
        for (const std::size_t element : {0U, 1U}) {
            const RecordPlace at = level.place(element, target);
            EXPECT_EQ(level.element(at.rank), element);
            EXPECT_LT(at.record, level.records());
        }
}

TEST(Topology, IsDescribed) {
    EXPECT_EQ(describe(build(spec("numa:2,node"), on_nodes({0, 0, 0, 0, 1, 1}))),
              "2 nodes of 2 to 4, 4 numas of 1 to 2 ranks");
    EXPECT_EQ(describe(build(spec("node"), on_nodes({0, 0}))), "1 node of 2 ranks");
    EXPECT_EQ(describe(build(spec("flat"), on_nodes({0}))), "flat");
}

TEST(Topology, HwlocAnswers) {
    ProcessPlace place{.node = 5};
    look_around(place);
    EXPECT_EQ(place.node, 5);
    EXPECT_GE(place.numa, -1);
    EXPECT_GE(place.l3, -1);
}

} // namespace
} // namespace rmalock::topology
