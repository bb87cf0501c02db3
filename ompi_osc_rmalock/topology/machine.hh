// From where every process runs to the tree of elements that the locks climb.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology/spec.hh"
#include "topology/tree.hh"

namespace rmalock::topology {

/// Where one process runs. Any numbers will do that are equal for the processes of one element and
/// differ between elements of one parent; -1: not known, or in several of them. Memories and caches
/// are numbered within their node; a rack is what hangs on one switch.
struct ProcessPlace {
    std::int32_t node = 0;
    std::int32_t numa = -1;
    std::int32_t l3 = -1;
    std::int32_t rack = -1;
};

struct Machine {
    Tree tree;
    std::vector<Kind> kinds; ///< of tree.below_root
    Level nodes;             ///< also if the tree has no such level
};

/// Every process computes the same from what all have contributed: places[p] is rank p's.
Machine build(const Spec& spec, const std::vector<ProcessPlace>& places);

/// The groups of processes that share a counter, T_DC of them. 0: those of a node each; n: groups
/// of n that cross no border of nodes, or, if n is more than a node has, as many whole nodes as n
/// take.
Level counters(const Machine& machine, Rank t_dc);
/// Groups of successive whole nodes, `most` of them, with about as many processes each.
Level shared_counters(const Machine& machine, std::size_t most);

/// In a line: "4 nodes of 2, 8 numas of 1 ranks".
std::string describe(const Machine& machine);

/// A line for each level: the ranks of every element.
std::vector<std::string> list(const Machine& machine);

/// What hwloc and the job's scheduler say about the calling process. `node` is left as it is.
void look_around(ProcessPlace& place);

/// The CPUs that a thread may run on.
struct Cpus {
    std::uint64_t which = 0; ///< a hash: alike for those that may run on the same ones of a node
    std::int32_t count = 0;  ///< 0: not known
};
/// The calling thread's, now.
Cpus own_cpus();

/// The rack of a node, from Slurm's SLURM_TOPOLOGY_ADDR and SLURM_TOPOLOGY_ADDR_PATTERN, such as
/// "s0.s4.node17" and "switch.switch.node"; -1: they name no switch, or are not there (empty).
std::int32_t rack_in(std::string_view address, std::string_view pattern);

} // namespace rmalock::topology
