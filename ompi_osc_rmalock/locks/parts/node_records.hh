// Records that the nodes keep for targets: one for each target where there is room, else one for
// several targets, of which one has it at a time.
//
// Our own; a direct-mapped table, as caches have.
//
// A node of m processes with r records each keeps target t's at number t mod m*r, dealt out to its
// processes in turn. So every process finds the record of any node by arithmetic. Where m*r >= P
// each target has its own. Else a word of the record names the target that has it (`key`), and a
// target that finds another one there does without a record. Two targets never share one.
//
// Memory: r is ceil(P / processes of the smallest node), and at most what keeps the window's state
// at a rank within 16 KiB (fabric/layout.hh).
#pragma once

#include <algorithm>

#include "locks/lock_env.hh"

namespace rmalock::locks {

class NodeRecords {
  public:
    /// r for records of so many lines.
    static Slot at_each_rank(const MachineView& machine, Slot lines) {
        return std::min(machine.nodes.records(), std::max<Slot>(1, machine.room() / lines));
    }

    /// The first record of each rank is at slot `first`, `each` of them of `slots` words.
    NodeRecords(const topology::Level& nodes, Slot first, Slot each, Slot slots)
        : nodes_(nodes), first_(first), each_(each), slots_(slots),
          shared_(each < nodes.records()) {}

    Word at(std::size_t node, Rank target) const {
        const topology::RecordPlace place =
            nodes_.place(node, shared_ ? number(node, target) : target);
        return {place.rank, first_ + place.record * slots_};
    }

    /// Whether there are records that several targets want.
    bool shared() const { return shared_; }
    /// The name of a target in a record that has it; 0 names none.
    static constexpr Value key(Rank target) { return static_cast<Value>(target) + 1; }

  private:
    Rank number(std::size_t node, Rank target) const {
        const auto room = static_cast<Slot>(nodes_.members(node).size()) * each_;
        return static_cast<Rank>(static_cast<Slot>(target) % room);
    }

    const topology::Level& nodes_;
    Slot first_, each_, slots_;
    bool shared_;
};

} // namespace rmalock::locks
