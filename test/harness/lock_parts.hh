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

/// Whether a process has a queue node for each lock that it holds, and a node a record for each
/// target, or one of each for several.
enum class Room { ample, scarce };

template <class F>
struct LockParts {
    using Slots = fabric::WindowSlots;
    static constexpr fabric::Slot kMostRecords = fabric::line(64);

    /// For so many ranks.
    static constexpr fabric::LockSlots kinds(fabric::Rank ranks) {
        return {.qnodes = locks::QueueNodes::Room::of(ranks).qnodes,
                .elements = kMostRecords,
                .holders = 2};
    }

    explicit LockParts(F& f, Room its_room = Room::ample)
        : fabric(f), room(its_room),
          qnodes(f.self(), Slots::qnodes(f.size()), qnode_room(f.size(), room)),
          records(Slots::elements(f.size(), kinds(f.size()))),
          holders(Slots::holders(f.size(), kinds(f.size()))), machine(nodes_of_two(f.size())),
          counters(topology::counters(machine, 0)) {}

    static locks::QueueNodes::Room qnode_room(fabric::Rank ranks, Room room) {
        return room == Room::scarce ? locks::QueueNodes::Room{1, 1}
                                    : locks::QueueNodes::Room::of(ranks);
    }
    locks::MachineView view() const {
        return {machine.tree, machine.nodes, counters, false, room == Room::scarce ? 1U : 0U};
    }
    locks::LockEnv<F> env(const locks::LockLimits& limits) {
        return {.fabric = fabric,
                .home = Slots::lock,
                .records = records,
                .qnodes = qnodes,
                .machine = view(),
                .limits = limits};
    }

    F& fabric;
    Room room;
    locks::QueueNodes qnodes;
    fabric::Slot records, holders;
    topology::Machine machine;
    topology::Level counters;
};

} // namespace rmalock::test
