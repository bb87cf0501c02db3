// What a lock of all.def is made of, for one rank of a test, on nodes of two ranks.
#pragma once

#include <string>
#include <vector>

#include "fabric/layout.hh"
#include "locks/lock_env.hh"
#include "topology/machine.hh"

namespace rmalock::test {

/// Nodes of two successive ranks, the last one smaller where the number is odd.
inline topology::Machine nodes_of_two(fabric::Rank ranks) {
    std::string why;
    return topology::build(topology::parse("node:2", why),
                           std::vector<topology::ProcessPlace>(static_cast<std::size_t>(ranks)));
}

template <class F>
struct LockParts {
    using Slots = fabric::WindowSlots;
    static constexpr fabric::Slot kMostRecords = fabric::line(64);

    /// For so many ranks.
    static constexpr fabric::LockSlots kinds(fabric::Rank ranks) {
        return {.nodes = Slots::node_count(ranks), .elements = kMostRecords, .holders = 2};
    }

    explicit LockParts(F& f)
        : fabric(f), qnodes(f.self(), Slots::nodes(f.size()), Slots::node_count(f.size())),
          records(Slots::elements(f.size(), kinds(f.size()))),
          holders(Slots::holders(f.size(), kinds(f.size()))), machine(nodes_of_two(f.size())),
          counters(topology::counters(machine, 0)) {}

    locks::MachineView view() const { return {machine.tree, machine.nodes, counters, false}; }
    locks::LockEnv<F> env(const locks::LockLimits& limits) {
        return {.fabric = fabric,
                .home = Slots::lock,
                .records = records,
                .qnodes = qnodes,
                .machine = view(),
                .limits = limits};
    }

    F& fabric;
    locks::QueueNodes qnodes;
    fabric::Slot records, holders;
    topology::Machine machine;
    topology::Level counters;
};

} // namespace rmalock::test
