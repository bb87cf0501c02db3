// What the cases of pfl have in common: a machine of equal nodes, and thresholds at their smallest.
#pragma once

#include "locks/algorithms/pfl.hh"
#include "mutants/broken_fabric.hh"
#include "scenario.hh"

namespace rmalock::check {

/// Where the words of the lock are, its machine and its thresholds.
struct PflMachine {
    Rank ranks_per_node = 1;
    locks::PflLimits limits{.t_w = 2, .t_l = 2, .members = {.k_in = 1, .idle = 1}};
    unsigned locks_at_once = 1;

    static constexpr Slot kRecords = fabric::kWordsPerLine;
};

template <class Fault, template <class> class Lock>
struct PflLocal {
    using F = BrokenFabric<Fault>;
    struct Setup {
        PflMachine machine;
        topology::Level nodes;
        Slot pool() const {
            return PflMachine::kRecords + locks::Pfl<CheckerFabric>::node_slots(nodes);
        }
    };
    F fabric;
    locks::Pool pool;
    Lock<F> lock;

    PflLocal(CheckerFabric& real, const Setup& setup)
        : fabric(real), pool(real.self(), setup.pool(), setup.machine.locks_at_once),
          lock(fabric, 0, PflMachine::kRecords, pool, setup.nodes, setup.machine.limits) {}
};

template <class Fault = Sound, template <class> class Lock = locks::Pfl>
Program on_nodes(std::vector<Script> scripts, const PflMachine& machine) {
    using Local = PflLocal<Fault, Lock>;
    Cast cast{std::move(scripts), machine.ranks_per_node};
    const typename Local::Setup setup{
        machine, topology::Level::blocks(cast.ranks(), machine.ranks_per_node)};
    cast.slots = setup.pool() + locks::Pool::slots(machine.locks_at_once);
    return make_program<Local>(cast, setup);
}

} // namespace rmalock::check
