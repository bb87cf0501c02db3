// Synthetic machines; see lock_setup.hh.
#include "lock_setup.hh"

namespace rmalock::check {

LockSetup::LockSetup(const Machine& machine, Rank ranks)
    : nodes(topology::Level::blocks(ranks, machine.of_a_node())),
      counters(topology::Level::blocks(ranks, machine.t_dc)), limits(machine.limits),
      locks_at_once(machine.locks_at_once) {
    for (const Rank size : machine.element_sizes)
        tree.below_root.push_back(topology::Level::blocks(ranks, size));
}

} // namespace rmalock::check
