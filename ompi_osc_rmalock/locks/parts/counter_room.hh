// How the counters of RMA-RW lie at a rank, and how many a target has at most, so that a window's
// state at a rank is within 16 KiB (fabric/layout.hh).
//
// A counter has two lines, so that readers that arrive do not meet those that depart. Where that is
// too much beside the tree, it has three words, side by side with other targets' counters. Where
// that is too much as well, T_DC is as many whole nodes as make the counters few enough. What a
// program asks for as T_DC it gets.
//
// Where a counter is that of several nodes, readers of a node that come together go to it as one
// (reader_group.hh): else all of them would meet at it, from off the node.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "locks/lock_env.hh"
#include "topology/machine.hh"

namespace rmalock::locks {

struct CounterRoom {
    Slot depart;         ///< where DEPART is, from ARRIVE on
    Slot each;           ///< slots from one counter to the next
    bool groups = false; ///< readers of a node go to their counter in groups

    /// HERE and GROUP of reader_group.hh; a rank has a line of them, each for a target at a time.
    static constexpr Slot kGroupSlots = 2, kGroups = fabric::kWordsPerLine / kGroupSlots;

    static constexpr CounterRoom wide() {
        return {fabric::kWordsPerLine, 2 * fabric::kWordsPerLine};
    }
    static constexpr CounterRoom tight() { return {2, 3}; }

    /// `tree`: lines of its records, where each target has its own.
    static CounterRoom of(const MachineView& machine, Slot tree) {
        if (wide().lines(machine.counters) + tree <= machine.room())
            return wide();
        CounterRoom made = tight();
        made.groups = span_nodes(machine);
        return made;
    }
    Slot lines(const topology::Level& counters) const {
        return (counters.records() * each + fabric::kWordsPerLine - 1) / fabric::kWordsPerLine;
    }
    /// Lines that are left for the tree's records.
    Slot left(const MachineView& machine) const {
        const Slot room = machine.room(), used = lines(machine.counters) + group_lines();
        return used < room ? room - used : 0;
    }
    Slot group_lines() const { return groups ? 1 : 0; }

  private:
    /// Whether counters are those of whole nodes, and some of several.
    static bool span_nodes(const MachineView& machine) {
        if (machine.counters.elements() >= machine.nodes.elements())
            return false;
        for (std::size_t n = 0; n < machine.nodes.elements(); ++n) {
            const std::vector<Rank>& members = machine.nodes.members(n);
            const std::size_t its = machine.counters.element(members.front());
            if (std::ranges::any_of(members,
                                    [&](Rank p) { return machine.counters.element(p) != its; }))
                return false;
        }
        return true;
    }
};

/// The groups of processes that share a counter: T_DC of them, or, where that is 0, those of a node,
/// and of several where there would be too many.
inline topology::Level counters_within(const topology::Machine& machine, Rank t_dc) {
    topology::Level groups = topology::counters(machine, t_dc);
    if (t_dc != 0)
        return groups;
    const Slot room = fabric::record_lines(machine.nodes.ranks());
    const Slot most = std::max<Slot>(2, room - room / 8) - 1; // groups and the tree have the rest
    for (Slot lines; (lines = CounterRoom::tight().lines(groups)) > most;) {
        const std::size_t fewer = std::min(groups.elements() - 1, groups.elements() * most / lines);
        groups = topology::shared_counters(machine, std::max<std::size_t>(1, fewer));
    }
    return groups;
}

} // namespace rmalock::locks
