// What the cases of locks on a tree of queues have in common: a synthetic machine.
#pragma once

#include "locks/algorithms/rma_mcs.hh"
#include "locks/algorithms/rma_rw.hh"
#include "mutants/broken_fabric.hh"
#include "scenario.hh"

namespace rmalock::check {

/// A machine of equal elements, with thresholds at their smallest unless said otherwise.
struct Machine {
    std::vector<Rank> element_sizes; ///< of level 2 … N, in ranks; empty: the root alone
    Rank t_dc = 1;
    Value t_l = 2; ///< at every level
    Value t_w = 2;
    Value t_r = 0;
    bool rounds = false; ///< writers let readers join
};

/// Where the words of a lock on a tree are, and its machine.
struct TreeSetup {
    topology::Tree tree;
    topology::Level counters;
    locks::RmaRwLimits limits{};
    Slot element_slots = 0;

    static constexpr Slot kElements = fabric::kWordsPerLine;
    Slot pool() const { return kElements + element_slots; }
    Slot slots() const { return pool() + locks::Pool::slots(1); }
};

TreeSetup build(const Machine& machine, Rank ranks);

template <class Fault>
struct TreeLocal {
    using F = BrokenFabric<Fault>;
    F fabric;
    locks::Pool pool;

    TreeLocal(CheckerFabric& real, const TreeSetup& setup)
        : fabric(real), pool(real.self(), setup.pool(), 1) {}
};

template <class Fault = Sound>
struct RmaMcsLocal : TreeLocal<Fault> {
    locks::RmaMcs<BrokenFabric<Fault>> lock;

    RmaMcsLocal(CheckerFabric& real, const TreeSetup& setup)
        : TreeLocal<Fault>(real, setup),
          lock(this->fabric, 0, TreeSetup::kElements, this->pool, setup.tree, setup.limits.tree) {}
};

template <class Fault = Sound>
struct RmaRwLocal : TreeLocal<Fault> {
    locks::RmaRw<BrokenFabric<Fault>> lock;

    RmaRwLocal(CheckerFabric& real, const TreeSetup& setup)
        : TreeLocal<Fault>(real, setup), lock(this->fabric, 0, TreeSetup::kElements, this->pool,
                                              setup.tree, setup.counters, setup.limits) {}
};

/// The program of a lock on a tree. The smallest elements are the nodes of the modelled machine.
template <class Local>
Program on_tree(std::vector<Script> scripts, const Machine& machine) {
    Cast cast{std::move(scripts)};
    const TreeSetup setup = build(machine, cast.ranks());
    cast.slots = setup.slots();
    cast.ranks_per_node = machine.element_sizes.empty() ? 1 : machine.element_sizes.back();
    return make_program<Local>(cast, setup);
}

} // namespace rmalock::check
