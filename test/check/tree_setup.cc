// Synthetic machines; see tree_setup.hh.
#include "tree_setup.hh"

namespace rmalock::check {

TreeSetup build(const Machine& machine, Rank ranks) {
    using topology::Level;
    TreeSetup setup{{}, Level::blocks(ranks, machine.t_dc)};
    for (const Rank size : machine.element_sizes)
        setup.tree.below_root.push_back(Level::blocks(ranks, size));
    setup.limits.tree.t_l.fill(machine.t_l);
    setup.limits.tree.t_w = machine.t_w;
    setup.limits.t_r = machine.t_r;
    setup.limits.hold = locks::Duration(1);
    setup.limits.patience = locks::Duration(machine.rounds ? 1 : 0);
    setup.element_slots = locks::RmaRw<CheckerFabric>::element_slots(setup.tree, setup.counters);
    return setup;
}

} // namespace rmalock::check
